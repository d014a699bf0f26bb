"""R11: copy the file while it buys, restore copies of any age; kill a migration anywhere.

Every copy holds a prefix of the ledger, verified, and says that it was restored: keys of a new epoch.  A migration
that was killed at its n-th write is done from the start or not at all.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import _store_bar as bar
import apsw
import numpy as np

from quorate.errors import QuorateError
from quorate.facts import OURS, NewAsks
from quorate.stores import open_store
from quorate.stores.sqlite_file import connect, fresh_shape, shape


class Deadly(apsw.VFS):
    """Ends the process at the n-th write, in the middle of it."""

    def __init__(self, nth: int) -> None:
        self.left = nth
        super().__init__("deadly", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return DeadlyFile(self, name, flags)


class DeadlyFile(apsw.VFSFile):
    def __init__(self, disk: Deadly, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.left == 0:
            super().xWrite(data[: len(data) // 2], offset)
            os._exit(9)
        self._disk.left -= 1
        super().xWrite(data, offset)


def backups(copies: int, seed: int, mutant: str | None) -> tuple[list[str], dict[str, int]]:
    """Copies at random ages while a thread buys, each restored and bought with."""
    dice = random.Random(seed)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "bar.db")
        with open_store(f"sqlite:///{path}") as store:
            ledger = bar.begin(store)
            buyer = bar.Buyer(ledger, random.Random(seed))
            done = threading.Event()

            def buying() -> None:
                while not done.is_set():
                    buyer.step()

            thread = threading.Thread(target=buying)
            thread.start()
            heads = []
            try:
                for i in range(copies):
                    time.sleep(dice.uniform(0.0, 0.05))
                    before = ledger.campaign().head
                    if mutant == "plain-copy":
                        shutil.copy(path, Path(place, f"copy-{i}.db"))
                    else:
                        store.backup(Path(place, f"copy-{i}.db"))
                    heads.append((before, ledger.campaign().head))
            finally:
                done.set()
                thread.join()
            facts = list(ledger.facts())
        for i, (low, high) in enumerate(heads):
            url = f"sqlite:///{place}/copy-{i}.db"
            try:
                with open_store(url) as store:
                    copy = store.open("bar")
                    there = list(copy.facts())
                    row = copy.campaign()
                    copy.adopt()
                    turn = max(buyer.turn.values()) + 1
                    won = copy.claim(NewAsks(np.array([0]), np.array([turn]), np.array([0]), np.array([1])))
                    epoch = int(copy.asks(row.head).epoch[0])
                    copy.verify()
                if not (low < len(there) <= high + 1 and there[:-1] == facts[: len(there) - 1]):
                    failures.append(f"copy {i}: {len(there)} rows are no prefix between {low} and {high}")
                if there[-1].row.get("kind") != "restored" or row.epoch != 2 or epoch != 2 or won.outcome[0] != OURS:
                    failures.append(f"copy {i}: does not know that it was restored")
                with open_store(url) as store:
                    if store.open("bar").campaign().epoch != 2:
                        failures.append(f"copy {i}: restored twice")
            except QuorateError as error:
                failures.append(f"copy {i}: {error.message}")
    return failures, {"backups": copies, "rows_bought_meanwhile": len(facts)}


def killed_migration(nth: int) -> tuple[bool, str]:
    """Whether the migration was reached by the kill, and what is wrong afterwards."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "bar.db")
        url = f"sqlite:///{path}"
        child = os.fork()
        if child == 0:
            disk = Deadly(nth)
            with open_store(url) as store:
                bar.begin(store, items=5)
            os._exit(int(disk.left < 0))
        died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        try:
            with open_store(url) as store:
                if not store.campaigns():
                    bar.begin(store, items=5)
                store.open("bar").verify()
            with connect(path, "read") as connection:
                if shape(connection) != fresh_shape():
                    return died, f"write {nth}: the schema is not a fresh one"
        except QuorateError as error:
            return died, f"write {nth}: {error.message}"
    return died, ""


def run(options: argparse.Namespace) -> dict[str, Any]:
    copies, kills = (8, 25) if options.quick else (50, 100)
    failures, figures = backups(copies, options.seed, options.mutant)
    died = 0
    for nth in range(kills):
        reached, problem = killed_migration(nth)
        died += reached
        failures += [problem] if problem else []
    return {**figures, "migrations": kills, "killed": died, "failures": failures}


if __name__ == "__main__":
    bar.main("R11", run, ["plain-copy"])
