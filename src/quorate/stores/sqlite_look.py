"""Looking at a campaign in a SQLite file: rows checked one by one, old columns from packs, all against the digest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from types import NoneType
from typing import Any, Final

import apsw
import numpy as np

from quorate.errors import InputError, StoreDamaged
from quorate.stores.columns import unpack
from quorate.stores.head import Head
from quorate.stores.sql import SPAN, from_database, head_of, heads_text, numbers, select_text
from quorate.stores.tables import (
    TABLES,
    Columns,
    Int,
    Rows,
    Table,
    Texts,
    checksums,
    digest_of,
    refuse_wrong,
    start_of,
)

CHUNK: Final = 65536
STEP: Final = 1024  # whole rows at a time: few enough to stay in the processor's cache
PACKED: Final = ("item", "ask", "answer")
HINT: Final = "Nothing was changed.  Restore a backup, or import the last export."


def heads(connection: apsw.Connection, number: int | None = None) -> list[Head]:
    """The rows of table campaign (or this one), each checked."""
    rows = connection.execute(heads_text()) if number is None else connection.execute(heads_text("id = ?"), (number,))
    found = []
    for row in rows:
        try:
            head, stored = head_of(row)
            right = head.sum() == stored and len(head.digests) == len(TABLES)
        except (ValueError, AttributeError, TypeError):
            right = False
        if not right:
            raise StoreDamaged(f"Table 'campaign', row {row[0]}: does not match its checksum.", hint=HINT)
        found.append(head)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a table as columns."""

    ints: Columns
    text_hash: Int
    packed: bool


class SqliteLook:
    """A look through a connection on which a transaction is open."""

    def __init__(self, connection: apsw.Connection, head: Head) -> None:
        self.connection = connection
        self.head = head

    @property
    def base(self) -> int:
        return self.head.id * SPAN

    # ------------------------------------------------------------------------------------------- columns

    def columns(self, table: Table, after: int) -> Columns:
        names = ("seq", *table.ints)
        length = self._length(table, after)
        whole: Columns = {name: np.empty(length, np.int64) for name in names}
        done = 0
        for chunk in self.chunks(table, after):
            end = done + len(chunk.ints["seq"])
            for name in names:
                whole[name][done:end] = chunk.ints[name]
            done = end
        return {name: values[:done] for name, values in whole.items()}

    def chunks(self, table: Table, after: int) -> Iterator[Chunk]:
        """Checked columns in pieces: from packs while they are whole, then from rows.

        If nothing is left out, all of it is compared with the table's digest.
        """
        digest, key = 0, after
        for columns, stored in self._packs(table, after):
            digest += stored
            hashes = columns.pop("text_hash")
            newer = columns[table.key] > key
            key = int(columns[table.key][-1])
            if not newer.all():
                columns = {name: values[newer] for name, values in columns.items()}
            yield Chunk(columns, hashes[newer], packed=True)
        cursor = self.connection.execute(
            select_text(table, "id > ? and id < ?", texts=False), (self.base + key, self.base + SPAN)
        )
        while rows := list(islice(cursor, CHUNK)):
            columns, texts, sums = from_database(table, as_columns(table, rows), self.base)
            right = checksums(table, self.head.uid, columns, texts) == sums
            refuse_wrong(table, columns["seq"], right & (columns["seq"] <= self.head.seq))
            digest += digest_of(columns["seq"], sums)
            yield Chunk(columns, texts.view(np.int64), packed=False)
        whole = after == start_of(table)
        if whole and digest % 2**64 != self.head.digests[list(TABLES).index(table.name)]:
            self._blame(table)

    def _packs(self, table: Table, after: int) -> Iterator[tuple[Columns, int]]:
        """Packs without a gap from this key on, up to one that is damaged: the cache is not to be trusted there."""
        sql = "select after, data, digest from pack where campaign = ? and tbl = ? and last > ? order by after"
        key = after
        for behind, data, digest in self.connection.execute(sql, (self.head.id, table.name, after)):
            columns = self._unpacked(table, data, digest % 2**64) if behind <= key else None
            if columns is None:
                return
            key = int(columns[table.key][-1])
            yield columns, digest % 2**64

    def _unpacked(self, table: Table, data: bytes, stored: int) -> Columns | None:
        """A pack's columns, or None when the cache is damaged."""
        try:
            columns = unpack(data)
            hashes = columns["text_hash"].view(np.uint64)
            found = digest_of(columns["seq"], checksums(table, self.head.uid, columns, hashes))
        except (ValueError, KeyError, TypeError):
            return None
        return columns if found == stored else None

    def _length(self, table: Table, after: int) -> int:
        """At least the number of rows whose key is greater."""
        top = self.head.items if table.key == "idx" else self.head.seq
        return top - after

    def _blame(self, table: Table) -> None:
        """The digest differs: find the row to name."""
        seen = np.zeros(self.head.seq + 1, np.bool_)
        for one in TABLES.values():
            for rows in self.rows(one):
                seen[rows.ints["seq"][rows.ints["seq"] <= self.head.seq]] = True
        gone = np.flatnonzero(~seen[1:]) + 1
        row = f"row {int(gone[0])} is missing" if len(gone) else "its rows are not those that were written"
        raise StoreDamaged(f"Table {table.name!r}: {row}.", hint=HINT)

    # ---------------------------------------------------------------------------------------------- rows

    def rows(self, table: Table, *, after: int = 0, where: tuple[str, Sequence[Any]] | None = None) -> Iterator[Rows]:
        if where is None:
            key = "id" if table.key == "seq" else "seq"
            start = self.base + after if table.key == "seq" else after
            text, bound = f"{key} > ?", start
        else:
            name, values = where
            if not len(values):
                return
            text, bound = self._where(table, name, values)
        cursor = self.connection.execute(
            select_text(table, f"{text} and id >= ? and id < ?", texts=True), (bound, self.base, self.base + SPAN)
        )
        count = 1 + len(numbers(table))
        integers = itemgetter(slice(count))
        while fetched := list(islice(cursor, STEP)):
            numbers_only = list(map(integers, fetched)) if table.texts else fetched
            columns, hashes, sums = from_database(table, as_columns(table, numbers_only), self.base)
            texts = {
                name: as_texts(table, list(map(itemgetter(count + i), fetched))) for i, name in enumerate(table.texts)
            }
            rows = Rows(table, columns, texts)
            right = checksums(table, self.head.uid, columns, hashes) == sums
            try:
                right &= rows.text_hash == hashes
            except InputError:  # a text that could not have been written
                right[:] = False
            refuse_wrong(table, columns["seq"], right)
            yield rows

    def _where(self, table: Table, name: str, values: Sequence[Any]) -> tuple[str, Any]:
        if name in table.texts:
            return name + " in (select value from json_each(?))", json.dumps(list(values))  # noqa: S608
        wanted = np.ascontiguousarray(values, np.int64)
        if name == table.key or name in table.links:
            wanted = wanted + self.base
        column = "id" if name == table.key else name
        return column + " in (select value from carray(?))", apsw.carray(wanted)  # noqa: S608


def as_columns(table: Table, rows: Sequence[tuple[Any, ...]]) -> Int:
    """Selected integers, by column; a value that is no integer is damage."""
    width = len(rows[0])
    try:
        flat = np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * width)
    except (TypeError, ValueError, OverflowError):
        wrong = next(row for row in rows if any(type(value) is not int for value in row))
        raise StoreDamaged(
            f"Table {table.name!r}, row {str(wrong[0])[:30]}: holds something that is no number.", hint=HINT
        ) from None
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def as_texts(table: Table, values: Sequence[Any]) -> Texts | None:
    """One selected column of texts; None if there is none in any row."""
    kinds = set(map(type, values))
    if not kinds <= {str, NoneType}:
        raise StoreDamaged(f"Table {table.name!r}, a row: holds bytes where a text was written.", hint=HINT)
    return None if kinds == {NoneType} else values
