"""The seven tables of facts, said once: columns for SQL, checksums, packs, export and import.

A row's checksum is a hash of (campaign uid, table, its integers, its texts); each step of it is a bijection of the
number so far, so one changed integer always shows.  A table's digest is the sum, modulo 2^64, of a hash of
(seq, checksum) over its rows: a row that is lost, added, moved or changed shows, whatever the order of adding up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from quorate.errors import InputError, StoreDamaged

Int = NDArray[np.int64]
Texts = Sequence[str | None]
MASK: Final = 2**64 - 1

_ODD: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = 0xBF58476D1CE4E5B9
_MIX_2: Final = 0x94D049BB133111EB
_TEXT = np.uint64(0xD6E8FEB86659FD93)
_PRESENT = 1 << 32  # tells an empty text from none


@dataclass(frozen=True, slots=True)
class Table:
    """Names of a table's columns, besides ``seq``, ``text_hash`` and ``sum``, which every table has.

    In SQL a row's ``id`` is the campaign's number · 2^40 + its ``key`` column; ``links`` hold ids of other tables.
    """

    name: str
    ints: tuple[str, ...]
    texts: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    key: str = "seq"

    @property
    def tag(self) -> int:
        return crc32(self.name.encode())


TABLES: Final[Mapping[str, Table]] = {
    table.name: table
    for table in (
        Table("item", ("idx", "hash", "gold"), ("name", "payload"), key="idx"),
        Table("ask", ("item", "ordinal", "worker_class", "price", "stage", "epoch", "at"), links=("item",)),
        Table("receipt", ("ask", "at"), ("platform", "data"), links=("ask",)),
        Table(
            "answer",
            ("ask", "item", "ordinal", "worker_class", "label", "charged", "failure", "at"),
            ("worker", "raw"),
            links=("ask", "item"),
        ),
        Table(
            "conflict",
            ("outcome", "ask", "item", "ordinal", "worker_class", "label", "failure", "charged", "at"),
            ("worker", "raw"),
            links=("ask", "item"),
        ),
        Table("stray", ("at",), ("key", "payload")),
        Table("event", ("number", "at"), ("kind", "payload")),
    )
}


Columns = dict[str, Int]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one table as columns: ``ints`` holds ``seq`` and the table's integers.

    A text column that is None in every row is None.
    """

    table: Table
    ints: Columns
    texts: Mapping[str, Texts | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ints["seq"])

    @cached_property
    def text_hash(self) -> NDArray[np.uint64]:
        """One number for all the texts of each row; 0 where there are none."""
        total = np.zeros(len(self), np.uint64)
        for name in self.table.texts:
            texts = self.texts.get(name)
            total *= _TEXT
            if texts is not None:
                total += np.array([0 if one is None else _code(one) for one in texts], np.uint64)
        return total

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict."""
        names = ("seq", *self.table.ints, *self.table.texts)
        columns: list[Sequence[Any]] = [self.ints[name].tolist() for name in ("seq", *self.table.ints)]
        columns += [self.texts.get(name) or [None] * len(self) for name in self.table.texts]
        return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def start_of(table: Table) -> int:
    """The key before a table's first."""
    return -1 if table.key == "idx" else 0


def rows_of(table: Table, dicts: Sequence[Mapping[str, Any]]) -> Rows:
    """The inverse of `Rows.dicts`."""
    ints = {name: np.array([row[name] for row in dicts], np.int64) for name in ("seq", *table.ints)}
    return Rows(table, ints, {name: [row[name] for row in dicts] for name in table.texts})


def checksums(table: Table, uid: str, ints: Columns, text_hash: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The checksum of each row.

    >>> stray, texts = TABLES["stray"], np.zeros(1, np.uint64)
    >>> one, two = ({"seq": np.array([1]), "at": np.array([at])} for at in (1, 2))
    >>> bool((checksums(stray, "u", one, texts) == checksums(stray, "u", two, texts)).any())
    False
    """
    start = crc32(uid.encode()) << 32 | table.tag
    if len(text_hash) == 1:
        return np.array([_checksum(start, table, ints, text_hash.item())], np.uint64)
    total = np.full(len(text_hash), start, np.uint64)
    for name in ("seq", *table.ints):
        total ^= ints[name].view(np.uint64)
        total *= np.uint64(_ODD)
    total ^= text_hash
    return _mix(total)


def _checksum(total: int, table: Table, ints: Columns, text_hash: int) -> int:
    """The same for a single row: people tell one answer at a time, and numpy is slow with one number."""
    for name in ("seq", *table.ints):
        total = (total ^ ints[name].item() & MASK) * _ODD & MASK
    return _mix_one(total ^ text_hash)


def digest_of(seq: Int, sums: NDArray[np.uint64]) -> int:
    """What these rows add to their table's digest, modulo 2^64."""
    if len(sums) == 1:
        return _mix_one(sums.item() ^ seq.item() * _ODD & MASK)
    return int(_mix(sums ^ (seq.view(np.uint64) * np.uint64(_ODD))).sum(dtype=np.uint64))


def _code(text: str) -> int:
    """A text as a number, if every database can keep it."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{text[:40]!r} holds half a character (at {error.start}), which cannot be stored.",
            hint="Read the file in its own encoding.",
        ) from None
    if b"\0" in data:
        raise InputError(f"{text[:40]!r} holds a NUL, which cannot be stored.", hint="Remove it.")
    return _PRESENT | crc32(data)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(_MIX_1)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(_MIX_2)
    return np.asarray(state ^ (state >> np.uint64(31)), np.uint64)


def _mix_one(state: int) -> int:
    state = (state ^ state >> 30) * _MIX_1 & MASK
    state = (state ^ state >> 27) * _MIX_2 & MASK
    return state ^ state >> 31


def refuse_wrong(table: Table, seq: Int, right: NDArray[np.bool_]) -> None:
    """Refuse rows that are not ``right``, naming the first."""
    if not right.all():
        wrong = np.flatnonzero(~right)
        raise StoreDamaged(
            f"Table {table.name!r}, row {int(seq[wrong[0]])}: does not match its checksum"
            f" ({len(wrong)} of {len(right)} rows read here do not).",
            hint="Nothing was changed.  Restore a backup, or import the last export.",
        )
