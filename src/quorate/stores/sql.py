"""SQL made from the tables' definitions, in the text that SQLite and PostgreSQL share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quorate.stores.head import Head
from quorate.stores.tables import Columns, Int, Rows, Table

SHIFT: Final = 40  # id = campaign · 2^40 + key
SPAN: Final = 2**SHIFT
VERSION: Final = 1  # of the schema

HEAD: Final = (
    "id",
    "name",
    "uid",
    "spec_version",
    "epoch",
    "state",
    "budget",
    "spent",
    "reserved",
    "items",
    "seq",
    "digests",
    "sum",
)


@cache
def numbers(table: Table) -> tuple[str, ...]:
    """The integer columns of a row besides its id, in the order in which they are stored and selected."""
    own = [name for name in ("seq", *table.ints) if name != table.key]
    return (*own, "text_hash", "sum") if table.texts else (*own, "sum")


def insert_columns(rows: Rows, hashes: NDArray[np.uint64], sums: NDArray[np.uint64], base: int) -> dict[str, Any]:
    """What to insert, by column: integer columns as arrays, texts as lists; texts that are all None are left out."""
    table = rows.table
    columns: dict[str, Any] = {"id": rows.ints[table.key] + base}
    for name in numbers(table):
        if name == "text_hash":
            columns[name] = hashes.view(np.int64)
        elif name == "sum":
            columns[name] = sums.view(np.int64)
        else:
            columns[name] = rows.ints[name] + base if name in table.links else rows.ints[name]
    columns.update((name, texts) for name, texts in rows.texts.items() if texts is not None)
    return columns


def tuples(columns: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of these columns, as a driver wants them."""
    lists = (values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values())
    return zip(*lists, strict=True)


def from_database(table: Table, stored: Int, base: int) -> tuple[Columns, NDArray[np.uint64], NDArray[np.uint64]]:
    """Selected integers (id and `numbers`, by column) as the ledger knows them, with text hashes and checksums."""
    columns: Columns = {table.key: stored[0] - base}
    for name, values in zip(numbers(table), stored[1:], strict=True):
        columns[name] = values - base if name in table.links else values
    sums = columns.pop("sum").view(np.uint64)
    hashes = columns.pop("text_hash").view(np.uint64) if table.texts else np.zeros(len(sums), np.uint64)
    return columns, hashes, sums


def head_row(head: Head) -> dict[str, Any]:
    """A campaign's row as it is stored."""
    row: dict[str, Any] = {name: getattr(head, name) for name in HEAD[:-2]}
    return {**row, "digests": " ".join(map(str, head.digests)), "sum": head.sum()}


def head_of(row: Sequence[Any]) -> tuple[Head, int]:
    """The inverse of `head_row`: the head and the checksum that was stored with it."""
    values = dict(zip(HEAD, row, strict=True))
    stored = values.pop("sum")
    values["digests"] = [int(one) for one in values["digests"].split()]
    return Head(**values), stored


# Names in these texts come from the tables' own definitions, values are bound.


def insert_text(table: str, columns: Iterable[str], mark: str = "?", *, rows: int = 1) -> str:
    """``insert into …`` of these columns, one row or several at once."""
    return _insert_text(table, tuple(columns), mark, rows)


@cache
def _insert_text(table: str, names: tuple[str, ...], mark: str, rows: int) -> str:
    row = f"({', '.join([mark] * len(names))})"
    return f"insert into {table} ({', '.join(names)}) values {', '.join([row] * rows)}"  # noqa: S608


def select_text(table: Table, where: str, *, texts: bool) -> str:
    """``select …`` of a row's integers, and its texts."""
    names = ["id", *numbers(table), *(table.texts if texts else ())]
    return f"select {', '.join(names)} from {table.name} where {where} order by id"  # noqa: S608


def heads_text(where: str = "true", *more: str) -> str:
    """``select …`` of campaigns' rows, and what more is asked of each."""
    return f"select {', '.join((*HEAD, *more))} from campaign where {where} order by id"  # noqa: S608


@cache
def save_text(mark: str = "?") -> str:
    """``update campaign …``: all that changes, if the row is still the one with this checksum."""
    changes = ", ".join(f"{name} = {mark}" for name in HEAD[3:])
    return f"update campaign set {changes} where id = {mark} and sum = {mark}"  # noqa: S608


def migrations(dialect: str) -> list[tuple[int, str]]:
    """(version, SQL) of every migration for ``"sqlite"`` or ``"postgres"``, in order."""
    big = {"sqlite": ("integer primary key", "integer"), "postgres": ("bigint primary key", "bigint")}[dialect]
    steps = []
    for file in sorted(resources.files("quorate.stores").joinpath("migrations").iterdir(), key=lambda one: one.name):
        match = re.fullmatch(r"(\d{4})_\w+(?:\.(\w+))?\.sql", file.name)
        if match and match[2] in (None, dialect):
            text = file.read_text(encoding="utf-8")
            steps.append((int(match[1]), re.sub(r"\bKEY\b", big[0], re.sub(r"\bBIG\b", big[1], text))))
    return steps
