"""R10: flip bits, cut the file, delete the -wal, swap files, edit a price.  Start identical, or refuse with a name.

Each damaged copy is opened, everything in it is read as the engine reads it, and compared with the sound one.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _store_bar as bar
import numpy as np

from quorate.errors import QuorateError
from quorate.stores import open_store, sqlite_look
from quorate.stores.head import Head

FILES = ("bar.db", "bar.db-wal", "bar.db-engine")


def reading(place: Path) -> list[object]:
    """All that anybody may ever decide by."""
    with open_store(f"sqlite:///{place}/bar.db") as store:
        ledger = store.open("bar")
        flying, hashes, log = ledger.in_flight(), ledger.item_columns(), ledger.changes()
        columns = [flying.asks.seq, flying.posted, flying.asks.price, *hashes, log.answers.seq, log.answers.item,
                   log.answers.label, log.answers.charged, log.answers.worker_class, log.answers.failure]  # fmt: skip
        row = ledger.campaign()
        rest = [
            ledger.items(np.arange(row.items)),
            ledger.receipts(flying.asks.seq),
            log.events,
            log.conflicts,
            ledger.strays(),
        ]
        return [row, *(one.tolist() for one in columns), *rest]


def sound(place: Path, seed: int) -> None:
    """A campaign with something in every table, and a tail that lives in the -wal only."""
    with open_store(f"sqlite:///{place}/bar.db") as store:
        ledger = bar.begin(store)
        buyer = bar.Buyer(ledger, random.Random(seed))
        for _ in range(60):
            buyer.step()
        ledger.record_stray("nobody's", {"label": "x"})
        slot = next((fact.row["item"], fact.row["ordinal"]) for fact in ledger.facts() if fact.table == "answer")
        ledger.record(buyer.answers([slot]))
    store = open_store(f"sqlite:///{place}/bar.db")
    buyer.ledger = store.open("bar")
    for _ in range(10):
        buyer.step()
    for name in FILES:
        shutil.copy(place / name, place / f"live-{name}")
    store.close()
    (place / "bar.db-wal").unlink(missing_ok=True)


def without_checksums() -> None:
    """The mutant: believe what is read."""
    sqlite_look.refuse_wrong = lambda *_: None
    sqlite_look.SqliteLook._blame = lambda *_: None  # type: ignore[method-assign]
    head_of = sqlite_look.head_of

    def believed(row: Any) -> tuple[Head, int]:
        head, _ = head_of(row)
        return head, head.sum()

    sqlite_look.head_of = believed


def run(options: argparse.Namespace) -> dict[str, Any]:
    dice = random.Random(options.seed)
    flips, cuts = (120, 20) if options.quick else (3000, 200)
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    if options.mutant:
        without_checksums()
    with tempfile.TemporaryDirectory() as top:
        origin, other, trial = (Path(top, name) for name in ("origin", "other", "trial"))
        for place in (origin, other, trial):
            place.mkdir()
        sound(origin, options.seed)
        sound(other, options.seed + 1)
        right = reading(origin)
        data = (origin / "bar.db").read_bytes()

        def judge(what: str, prepare: Callable[[], None], *, may_be_identical: bool = True) -> None:
            for name in (*FILES, "bar.db-shm"):
                (trial / name).unlink(missing_ok=True)
            shutil.copy(origin / "bar.db-engine", trial / "bar.db-engine")
            prepare()
            try:
                same = reading(trial) == right
                outcome = "identical" if same else "silently changed"
            except QuorateError as error:
                named = "table" in error.message.lower() and "row" in error.message.lower()
                outcome = "refused, table and row named" if named else "refused, file named"
            except Exception as error:
                outcome = "crashed"
                failures.append(f"{what}: {type(error).__name__}: {error}"[:200])
            outcomes[outcome] += 1
            if outcome == "silently changed" or (outcome == "identical" and not may_be_identical):
                failures.append(f"{what}: {outcome}")

        for _ in range(flips):
            place, bit = dice.randrange(len(data)), dice.randrange(8)
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            judge(f"bit {bit} of byte {place}", lambda damaged=damaged: (trial / "bar.db").write_bytes(damaged))
        for _ in range(cuts):
            length = dice.randrange(len(data))
            cut = data[:length]
            judge(f"cut to {length}", lambda cut=cut: (trial / "bar.db").write_bytes(cut))

        def copy(source: Path, names: dict[str, str]) -> None:
            for old, new in names.items():
                shutil.copy(source / old, trial / new)

        def edited() -> None:
            shutil.copy(origin / "bar.db", trial / "bar.db")
            with sqlite3.connect(trial / "bar.db") as connection:
                connection.execute("update answer set charged = charged + 1 where id = (select max(id) from answer)")
            connection.close()

        def gone() -> None:
            shutil.copy(origin / "bar.db", trial / "bar.db")
            with sqlite3.connect(trial / "bar.db") as connection:
                connection.execute("delete from answer where id = (select max(id) from answer)")
            connection.close()

        live = {"live-bar.db": "bar.db", "live-bar.db-engine": "bar.db-engine"}
        judge("-wal deleted", lambda: copy(origin, live), may_be_identical=False)
        judge("another database", lambda: copy(other, {"bar.db": "bar.db"}), may_be_identical=False)
        judge("an older copy", lambda: copy(origin, {"live-bar.db": "bar.db"}), may_be_identical=False)
        judge(
            "the -wal of another",
            lambda: (copy(origin, live), copy(other, {"live-bar.db-wal": "bar.db-wal"}))[0],
            may_be_identical=False,
        )
        judge("a price edited", edited, may_be_identical=False)
        judge("a row deleted", gone, may_be_identical=False)
    return {"trials": sum(outcomes.values()), "outcomes": dict(outcomes), "failures": failures}


if __name__ == "__main__":
    bar.main("R10", run, ["no-checksums"])
