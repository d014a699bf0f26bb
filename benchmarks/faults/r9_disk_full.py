"""R9: the disk fills up, or a write fails.  Buying stops before money is spent that could not be recorded.

Lives end with a limit on the file's size at many sizes, and with an I/O error at the n-th write.  Afterwards there is
room again: everything acknowledged is there, and the ledger goes on.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
from pathlib import Path
from typing import Any

import _store_bar as bar
import apsw
import numpy as np

from quorate.errors import QuorateError, StoreError, StoreFull
from quorate.facts import OURS, NewAnswers, NewAsks
from quorate.stores import open_store

FLOOR = 2**20


class Failing(apsw.VFS):
    """Fails the n-th write, and every one after it, until it is healed."""

    def __init__(self) -> None:
        self.left = -1
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FailingFile(self, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: Failing, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.left == 0:
            raise apsw.IOError("the disk refused a write")
        self._disk.left -= 1
        super().xWrite(data, offset)


def full(size: int, floor: int, seed: int) -> tuple[str, list[str]]:
    """One life under a limit of so many bytes more: how it stopped, and what is wrong."""
    problems: list[str] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as place:
        url = f"sqlite:///{place}/bar.db"
        with open_store(url, floor=floor) as store:
            ledger = bar.begin(store)
            resource.setrlimit(resource.RLIMIT_FSIZE, (Path(place, "bar.db-wal").stat().st_size + size, hard))
            stopped, unrecorded, head = "", 0, ledger.campaign().head
            dice = random.Random(seed)
            try:
                for turn in range(4000):
                    rows = np.arange(bar.ITEMS)
                    claimed = ledger.claim(NewAsks(rows, rows * 0 + turn, rows * 0, rows * 0 + 1))
                    head = claimed.head
                    unrecorded = int((claimed.outcome == OURS).sum())  # now the platform is paid
                    raw = [f'{{"said": "{dice.random()}"}}' for _ in rows]
                    columns = (rows, rows * 0 + turn, rows % 2, rows * 0 + 1, rows * 0)
                    head = ledger.record(NewAnswers(*columns, raw=raw)).head
                    unrecorded = 0
            except StoreFull as error:
                stopped = "full" if error.hint else "without a hint"
            except QuorateError as error:
                stopped = f"{type(error).__name__}: {error.message}"
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            if stopped != "full":
                problems.append(f"limit {size}: stopped with {stopped!r}")
            if unrecorded:
                problems.append(f"limit {size}: {unrecorded} paid answers could not be recorded")
            problems += goes_on(ledger, head, f"limit {size}, same process")
        with open_store(url) as store:
            problems += goes_on(store.open("bar"), head, f"limit {size}, next process")
    return stopped, problems


def goes_on(ledger: Any, head: int, where: str) -> list[str]:
    """After there is room: nothing acknowledged is missing, and it works."""
    try:
        if ledger.verify() < head:
            return [f"{where}: acknowledged rows are missing"]
        flying = ledger.in_flight().asks
        told = (flying.item, flying.ordinal, flying.item % 2, flying.item * 0 + 1, flying.item * 0)
        if len(flying) and ledger.record(NewAnswers(*told)).outcome.any():
            return [f"{where}: asks in flight could not be answered"]
        ledger.append("room", {})
        ledger.verify()
    except StoreError as error:
        return [f"{where}: {error.message}"]
    return []


def error_at(disk: Failing, nth: int, seed: int) -> list[str]:
    """One life with a write error at the n-th write."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        url = f"sqlite:///{place}/bar.db"
        with open_store(url) as store:
            buyer = bar.Buyer(bar.begin(store), random.Random(seed))
            head, stopped = buyer.ledger.campaign().head, False
            disk.left = nth
            for _ in range(400):
                try:
                    buyer.step()
                    head = buyer.ledger.campaign().head
                except StoreError:
                    stopped = True
                    break
            disk.left = -1
            if not stopped:
                problems.append(f"write {nth}: nothing was noticed")
            problems += goes_on(buyer.ledger, head, f"write {nth}, same process")
        with open_store(url) as store:
            problems += goes_on(store.open("bar"), head, f"write {nth}, next process")
    return problems


def run(options: argparse.Namespace) -> dict[str, Any]:
    sizes = 4 if options.quick else 16
    writes = range(0, 200, 20) if options.quick else range(200)
    floor = 0 if options.mutant else FLOOR
    failures: list[str] = []
    stops = []
    for i in range(sizes):
        stopped, problems = full(FLOOR // 2 + (i * 3 * FLOOR) // sizes, floor, options.seed)
        stops.append(stopped)
        failures += problems
    disk = Failing()
    for nth in writes:
        failures += error_at(disk, nth, options.seed)
    disk.unregister()
    return {"full": len(stops), "named": stops.count("full"), "write_errors": len(writes), "failures": failures}


if __name__ == "__main__":
    bar.main("R9", run, ["no-floor"])
