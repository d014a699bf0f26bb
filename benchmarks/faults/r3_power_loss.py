"""R3: cut the power at any moment.  Every acknowledged row is there afterwards, and nothing is torn.

The store runs on a file system that records each write, truncation and sync.  At a random point everything that was
not synced is lost, kept, or kept in some of its 512-byte sectors; the store is opened on what remains.  PostgreSQL's
own files are its own business: its server is stopped in an instant (SIGQUIT) while we buy, and started again.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _store_bar as bar
import apsw
from _harness import has_postgres, postgres, postgres_server

from quorate.errors import QuorateError, StoreError
from quorate.stores import open_store
from quorate.stores.sqlite import SqliteStore

SECTOR = 512


@dataclass(frozen=True)
class Entry:
    file: str
    kind: str  # write, truncate, sync, delete
    offset: int = 0
    data: bytes = b""


LOG: list[Entry] = []


class RecordingFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary").name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        LOG.append(Entry(self._name, "write", offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        LOG.append(Entry(self._name, "truncate", size))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        LOG.append(Entry(self._name, "sync"))


class Recording(apsw.VFS):
    def __init__(self) -> None:
        super().__init__("recording", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return RecordingFile(name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        super().xDelete(name, sync)
        LOG.append(Entry(Path(name).name, "delete"))


def apply(image: bytearray, entry: Entry, sectors: list[bool] | None = None) -> None:
    """Do what an entry says to a file's image, or only in some of its sectors."""
    if entry.kind == "truncate":
        del image[entry.offset :]
        return
    end = entry.offset + len(entry.data)
    if len(image) < end:
        image.extend(bytes(end - len(image)))
    for i, start in enumerate(range(0, len(entry.data), SECTOR)):
        if sectors is None or sectors[i]:
            piece = entry.data[start : start + SECTOR]
            image[entry.offset + start : entry.offset + start + len(piece)] = piece


def after_power_loss(log: list[Entry], dice: random.Random) -> dict[str, bytearray]:
    """What may be on the disk after the last of these entries."""
    images: dict[str, bytearray] = {}
    unsynced: dict[str, list[Entry]] = {}
    for entry in log:
        if entry.kind == "delete":  # the journal of the first moments: before any acknowledgement
            images.pop(entry.file, None)
            unsynced.pop(entry.file, None)
        elif entry.kind == "sync":
            for old in unsynced.pop(entry.file, []):
                apply(images.setdefault(entry.file, bytearray()), old)
        else:
            unsynced.setdefault(entry.file, []).append(entry)
    fate = dice.choice(("all lost", "all kept", "each by chance"))
    for name, entries in unsynced.items():
        image = images.setdefault(name, bytearray())
        for entry in entries:
            count = -(-len(entry.data) // SECTOR)
            lot = dice.random() if fate == "each by chance" else {"all lost": 0.0, "all kept": 1.0}[fate]
            if lot > 2 / 3:
                apply(image, entry)
            elif lot > 1 / 3 and entry.kind == "write":
                apply(image, entry, [dice.random() < 0.5 for _ in range(count)])
    return images


def run(options: argparse.Namespace) -> dict[str, Any]:
    dice = random.Random(options.seed)
    lives, cuts = (2, 25) if options.quick else (6, 100)
    failures: list[str] = []
    lost = commits = syncs = 0
    for life in range(lives):
        LOG.clear()
        recording = Recording()
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "bar.db")
            store = open_store(f"sqlite:///{path}")
            assert isinstance(store, SqliteStore)
            ledger = bar.begin(store)
            writer = store._writer
            assert writer is not None
            writer.pragma("wal_autocheckpoint", dice.choice((20, 100, 1000)))  # many checkpoints in a short life
            if options.mutant == "normal":
                writer.pragma("synchronous", "normal")
            buyer = bar.Buyer(ledger, random.Random(dice.random()))
            acknowledged = [(len(LOG), ledger.campaign().head, Path(f"{path}-engine").read_bytes())]
            for _ in range(120):
                buyer.step()
                acknowledged.append((len(LOG), ledger.campaign().head, Path(f"{path}-engine").read_bytes()))
            facts = list(ledger.facts())
            syncs += sum(entry.kind == "sync" for entry in LOG[acknowledged[0][0] :])
            commits += 120
            store.close()
        recording.unregister()
        for _ in range(cuts):
            cut = dice.randint(acknowledged[0][0], acknowledged[-1][0])
            seen = [one for one in acknowledged if one[0] <= cut]
            images = after_power_loss(LOG[:cut], dice)
            companion = dice.choice([b"", seen[-1][2], dice.choice(seen)[2], seen[-1][2][: dice.randrange(200)]])
            problem = judge(images, companion, seen[-1][1], facts)
            if problem:
                lost += "lost" in problem
                failures.append(f"life {life}, cut {cut}: {problem}")
    figures = {"trials": lives * cuts, "lost": lost, "syncs_per_commit": round(syncs / commits, 2)}
    if has_postgres():
        figures["postgres_stops"] = 3 if options.quick else 20
        failures += stopped_at_once(dice, figures["postgres_stops"], unsafe=options.mutant == "normal")
    return {**figures, "failures": failures}


def judge(images: dict[str, bytearray], companion: bytes, head: int, facts: list[Any]) -> str:
    """What is wrong with what remains, or nothing."""
    with tempfile.TemporaryDirectory() as place:
        for name, image in images.items():
            Path(place, name).write_bytes(image)
        Path(place, "bar.db-engine").write_bytes(companion)
        try:
            with open_store(f"sqlite:///{place}/bar.db") as store:
                ledger = store.open("bar")
                ledger.verify()
                there = list(ledger.facts())
        except QuorateError as error:
            return f"refused: {error}"
    if len(there) < head:
        return f"lost {head - len(there)} acknowledged rows"
    return "" if there == facts[: len(there)] else "other rows than were written"


# ---------------------------------------------------------------------------------------------- PostgreSQL


def stopped_at_once(dice: random.Random, stops: int, *, unsafe: bool) -> list[str]:
    """Buy, stop the server in an instant, start it again: what is wrong with what it then has."""
    import psycopg

    from quorate.stores.postgres import PostgresStore

    if unsafe:
        PostgresStore._refuse_unsafe = lambda *_: None  # type: ignore[method-assign]
    failures = []
    with postgres() as url:
        if unsafe:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("alter database postgres set synchronous_commit = off")
        with open_store(url) as store:
            buyer = bar.Buyer(bar.begin(store), random.Random(dice.random()))
            known = list(buyer.ledger.facts())
        server = None
        try:
            for stop in range(stops):
                head = buy_until_it_stops(url, buyer, after=dice.uniform(0.05, 0.5))
                server = postgres_server(Path(url.partition("host=")[2]))
                with open_store(url) as store:
                    ledger = store.open("bar")
                    ledger.verify()
                    there = list(ledger.facts())
                if len(there) < head:
                    failures.append(f"stop {stop}: lost {head - len(there)} acknowledged rows")
                    break  # whoever buys on would speak of asks that are gone
                if there[: len(known)] != known[: len(there)]:
                    failures.append(f"stop {stop}: other rows than were there before")
                known = there
        finally:
            if server is not None:
                server.send_signal(signal.SIGINT)
                server.wait(30)
    return failures


def buy_until_it_stops(url: str, buyer: bar.Buyer, after: float) -> int:
    """How far the ledger had come when the server was stopped, after so many seconds."""
    server = int(Path(url.partition("host=")[2], "data", "postmaster.pid").read_text().split()[0])
    timer = threading.Timer(after, os.kill, (server, signal.SIGQUIT))
    head = 0
    with open_store(url) as store, suppress(StoreError):
        buyer.ledger = store.open("bar")
        timer.start()
        while True:
            buyer.step()
            head = buyer.ledger.campaign().head
    with suppress(ChildProcessError):
        os.waitpid(server, 0)
    return head


if __name__ == "__main__":
    bar.main("R3", run, ["normal"])
