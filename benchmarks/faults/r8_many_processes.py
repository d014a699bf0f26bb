"""R8: many processes on one SQLite file.  One buys, the others are refused in one sentence; readers never wait long.

Processes try to buy at the same time as readers read; the buyer is killed, and the next one is served at once.
"""

from __future__ import annotations

import argparse
import fcntl
import multiprocessing as mp
import os
import random
import signal
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import _store_bar as bar

from quorate.errors import QuorateError, StoreError, StoreLocked, StoreVersion
from quorate.stores import files, open_store
from quorate.stores.sqlite_file import refuse_old_library

LONGEST = 1.0  # seconds


def buy(url: str, seed: int, seconds: float, say: Connection) -> None:
    """Try to buy for a while: ("served", steps, longest wait) or ("refused", seconds, sentence)."""
    began = time.monotonic()
    try:
        with open_store(url) as store:
            buyer = bar.Buyer(store.open("bar"), random.Random(seed))
            buyer.turn = dict.fromkeys(range(bar.ITEMS), seed * 100)
            steps, longest = 0, 0.0
            while time.monotonic() - began < seconds:
                at = time.monotonic()
                buyer.step()
                longest = max(longest, time.monotonic() - at)
                steps += 1
            say.send(("served", steps, longest))
    except QuorateError as error:
        say.send(("refused" if isinstance(error, StoreLocked) else "failed", time.monotonic() - began, error.message))


def read(url: str, seconds: float, say: Connection) -> None:
    """Read for a while: ("read", looks, longest wait)."""
    began, looks, longest, head = time.monotonic(), 0, 0.0, 0
    try:
        with open_store(url, read_only=True) as store:
            ledger = store.open("bar")
            while time.monotonic() - began < seconds:
                at = time.monotonic()
                now = ledger.changes(head).head
                assert now >= head
                head = now
                longest = max(longest, time.monotonic() - at)
                looks += 1
            say.send(("read", looks, longest))
    except QuorateError as error:
        say.send(("failed", 0, error.message))


def start(target: Any, *arguments: Any) -> tuple[Any, Connection]:
    ear, mouth = mp.Pipe(duplex=False)
    process = mp.get_context("fork").Process(target=target, args=(*arguments, mouth))
    process.start()
    mouth.close()
    return process, ear


def heard(ear: Connection) -> tuple[str, Any, Any]:
    try:
        return ear.recv()  # type: ignore[no-any-return]
    except EOFError:
        return ("died", 0, "without a word")


def together(url: str, buyers: int, readers: int, seconds: float, seed: int) -> list[tuple[str, Any, Any]]:
    crowd = [start(buy, url, seed + i, seconds) for i in range(buyers)]
    crowd += [start(read, url, seconds) for _ in range(readers)]
    said = [heard(ear) for _, ear in crowd]
    for process, _ in crowd:
        process.join()
    return said


def run(options: argparse.Namespace) -> dict[str, Any]:
    seconds = 0.7 if options.quick else 5.0
    failures: list[str] = []
    if options.mutant:
        files.fcntl = type(
            "NoLock", (), {"flock": lambda *_: None, **{n: getattr(fcntl, n) for n in ("LOCK_EX", "LOCK_NB")}}
        )  # type: ignore[assignment]
    longest_read = longest_write = 0.0
    refusals: list[float] = []
    takeovers: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        url = f"sqlite:///{place}/bar.db"
        with open_store(url) as store:
            bar.begin(store)
        for buyers in (2, 8):
            said = together(url, buyers, 2, seconds, options.seed * 100 + buyers)
            served = [one for one in said if one[0] == "served"]
            if len(served) != 1 or sum(one[0] == "refused" for one in said) != buyers - 1:
                failures.append(f"{buyers} buyers: {[one[:1] + one[2:] for one in said if one[0] != 'read']}"[:300])
            refusals += [one[1] for one in said if one[0] == "refused"]
            longest_write = max([longest_write, *(one[2] for one in served)])
            longest_read = max([longest_read, *(one[2] for one in said if one[0] == "read")])
            failures += [
                f"a sentence of several lines: {one[2]}" for one in said if one[0] == "refused" and "\n" in one[2]
            ]
            failures += [f"a reader failed: {one[2]}" for one in said[buyers:] if one[0] != "read"]
        for _ in range(3 if options.quick else 20):
            process, _ = start(buy, url, random.Random(options.seed).randrange(10**6), 60.0)
            time.sleep(0.3)
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            at = time.monotonic()
            with open_store(url) as store:
                store.open("bar").verify()
            takeovers.append(time.monotonic() - at)
        failures += [
            f"{len(bad)} waits over {LONGEST} s"
            for bad in [[w for w in (*refusals, longest_read, longest_write) if w > LONGEST]]
            if bad
        ]
        failures += doors(Path(place))
    waits = {"read": longest_read, "write": longest_write, "refusal": max(refusals, default=0.0)}
    figures = {f"longest_{name}_s": round(value, 3) for name, value in waits.items()}
    return {**figures, "kills_then_served": len(takeovers), "failures": failures}


def doors(place: Path) -> list[str]:
    """Old libraries and network file systems are refused."""
    failures = []
    for version, refused in (
        ("3.40.1", True),
        ("3.51.2", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.3", False),
    ):
        try:
            refuse_old_library(version)
            got = False
        except StoreVersion:
            got = True
        if got != refused:
            failures.append(f"SQLite {version} {'refused' if got else 'let in'}")
    mounts = f"22 1 0:20 / / rw - ext4 /dev/vda rw\n35 22 0:44 / {place.resolve()} rw - nfs4 server:/x rw\n"
    try:
        files.refuse_network(place / "bar.db", mounts)
        failures.append("a network file system was let in")
    except StoreError:
        pass
    return failures


if __name__ == "__main__":
    bar.main("R8", run, ["no-lock"])
