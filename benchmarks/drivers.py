"""Why the stores speak to their drivers directly: the same rows through SQLAlchemy 2 Core, in the same run.

Rows as wide as the ledger's answers go into a table with its unique index, one and 1,000 a transaction, through
apsw and psycopg as the stores use them, and through SQLAlchemy Core over sqlite3 and psycopg.  Rounds alternate.
What is compared is the processor's time in this process: the disk and the server are the same.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg
import sqlalchemy as sa

sys.path.append(str(Path(__file__).parent / "faults"))
from _harness import has_postgres, postgres

RESULTS = Path(__file__).parent / "results" / "drivers.json"
NAMES = ("id", "ask", "item", "ordinal", "worker_class", "label", "charged", "failure", "at", "text_hash", "sum")
ANSWER = sa.Table("answer", sa.MetaData(), *(sa.Column(one, sa.BigInteger) for one in NAMES))
BATCHES = (1, 1000)
_fresh = count(1)
Columns = dict[str, np.ndarray[Any, np.dtype[np.int64]]]
Insert = Callable[[Columns], None]


def rows(n: int) -> Columns:
    """Columns, as the ledger has them when it calls its store."""
    start = np.arange(n) + next(_fresh) * 1_000_000 + 2**40
    return {name: start if name in ("id", "ask", "sum") else start % 7 for name in NAMES}


def with_apsw(path: Path) -> Insert:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    width = ", ".join("?" * len(NAMES))
    connection.execute(f"create table answer ({', '.join(f'{one} integer' for one in NAMES)}, primary key (id))")
    connection.execute("create unique index one_answer on answer (ask)")

    def insert(columns: Columns) -> None:
        connection.execute("begin immediate")
        listed = (values.tolist() for values in columns.values())
        connection.executemany(f"insert into answer values ({width})", zip(*listed, strict=True))
        connection.execute("commit")

    return insert


def with_psycopg(url: str) -> Insert:
    connection = psycopg.connect(url)
    connection.prepare_threshold = 2
    connection.execute(
        f"create table answer ({', '.join(f'{one} bigint' for one in NAMES)}, primary key (id))".encode()
    )
    connection.execute("create unique index one_answer on answer (ask)")
    connection.commit()
    arrays = ", ".join(["%s::bigint[]"] * len(NAMES))

    def insert(columns: Columns) -> None:
        listed = [values.tolist() for values in columns.values()]
        connection.execute(f"insert into answer select * from unnest({arrays})".encode(), listed)
        connection.commit()

    return insert


def with_sqlalchemy(engine: sa.Engine) -> Insert:
    """Core: `insert()` and a list of dicts, which is how it takes many rows."""
    connection = engine.connect()
    if engine.dialect.name == "sqlite":
        connection.exec_driver_sql("pragma journal_mode = wal")
        connection.exec_driver_sql("pragma synchronous = full")
        connection.exec_driver_sql(f"create table answer ({', '.join(NAMES)}, primary key (id))")
        connection.exec_driver_sql("create unique index one_answer on answer (ask)")
        connection.commit()

    def insert(columns: Columns) -> None:
        listed = (values.tolist() for values in columns.values())
        connection.execute(
            sa.insert(ANSWER), [dict(zip(NAMES, row, strict=True)) for row in zip(*listed, strict=True)]
        )
        connection.commit()

    return insert


def compare(raw: Insert, core: Insert, n: int, rounds: int) -> dict[str, Any]:
    """Microseconds of the processor for each row."""
    found: dict[str, Any] = {}
    for batch in BATCHES:
        times: dict[str, list[float]] = {"raw": [], "core": []}
        for _ in range(rounds):
            for name, insert in (("raw", raw), ("core", core)):
                parts = [rows(batch) for _ in range(max(1, (n if batch > 1 else n // 50) // batch))]
                began = time.process_time()
                for part in parts:
                    insert(part)
                times[name].append((time.process_time() - began) / len(parts) / batch * 1e6)
        pairs = zip(times["core"], times["raw"], strict=True)
        found[f"batches of {batch}"] = {
            "raw_us_per_row": round(statistics.median(times["raw"]), 2),
            "core_us_per_row": round(statistics.median(times["core"]), 2),
            "core_over_raw": round(statistics.median(a / b for a, b in pairs), 1),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, nothing written")
    options = parser.parse_args()
    n, rounds = (2_000, 3) if options.quick else (20_000, 7)
    found: dict[str, Any] = {"sqlalchemy": sa.__version__}
    with tempfile.TemporaryDirectory() as place:
        core = sa.create_engine(f"sqlite:///{place}/core.db")
        found["sqlite"] = {"apsw carries": apsw.sqlite_lib_version(), "sqlite3 carries": sqlite3.sqlite_version}
        found["sqlite"] |= compare(with_apsw(Path(place, "raw.db")), with_sqlalchemy(core), n, rounds)
    if has_postgres():
        with postgres() as url:
            raw = with_psycopg(url)
            core = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
            found["postgres"] = compare(raw, with_sqlalchemy(core), n, rounds)
            core.dispose()
    print(json.dumps(found, indent=1))
    if not options.quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
