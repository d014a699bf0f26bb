"""Buying with a SQLite file: one process, one writing connection, what is in flight kept in a book."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import apsw
import numpy as np
from numpy.typing import NDArray

from quorate.errors import StoreDamaged, StoreLocked
from quorate.facts import LATE
from quorate.stores.book import Book, Open
from quorate.stores.columns import Growing, pack
from quorate.stores.head import Head
from quorate.stores.sql import HEAD, SPAN, head_row, insert_columns, insert_text, save_text, tuples
from quorate.stores.sqlite_look import CHUNK, HINT, PACKED, SqliteLook, heads
from quorate.stores.tables import TABLES, Columns, Int, Rows, checksums, digest_of, start_of

TOGETHER: Final = (100, 10)  # rows of one insert statement


class SqliteDesk(SqliteLook):
    """One campaign's desk; it lives as long as the store, and is loaded again after a failed transaction."""

    def __init__(self, connection: apsw.Connection, head: Head, clock: Callable[[], float]) -> None:
        super().__init__(connection, head)
        self._clock = clock
        self._saved = head.sum()
        self.touched = False  # by the job under way
        self.stale = False  # a transaction failed: forget before the next
        self.load()

    # --------------------------------------------------------------------------------------- transaction

    def load(self) -> None:
        """Fold the stored asks and answers: what is in flight, and whether the money adds up."""
        head = self.head
        self.book = Book()
        self._tails = {name: Growing(("seq", *TABLES[name].ints, "text_hash")) for name in PACKED}
        self.touched = False
        self._packed = {name: start_of(TABLES[name]) for name in PACKED}
        answered = np.zeros(head.seq + 1, np.bool_)
        spent = 0
        for _ in self._fold("item"):
            pass
        for answers in self._fold("answer"):
            answered[answers["ask"]] = True
            spent += int(answers["charged"].sum())
        for asks in self._fold("ask"):
            self.book.load(asks, answered[asks["seq"]])
        for name in ("conflict", "stray", "event"):
            for chunk in self.chunks(TABLES[name], 0):
                spent += int(chunk.ints["charged"].sum()) if name == "conflict" else 0
        flying, _ = self.book.in_flight()
        reserved = int(flying["price"].sum())
        if (spent, reserved) != (head.spent, head.reserved):
            raise StoreDamaged(
                f"Table 'campaign', row {head.id}: says {head.spent} micros spent and {head.reserved} reserved;"
                f" the other tables say {spent} and {reserved}.",
                hint=HINT,
            )
        if len(flying["seq"]):
            posted = self.connection.execute(
                "select ask from receipt where ask in (select value from carray(?))",
                (apsw.carray(flying["seq"] + self.base),),
            )
            here = np.isin(flying["seq"], [ask - self.base for (ask,) in posted])
            self.posted(list(zip(flying["item"][here].tolist(), flying["ordinal"][here].tolist(), strict=True)))
        self.book.orphan_all()

    def _fold(self, name: str) -> Iterator[Columns]:
        """The table's columns in pieces; those that are in no good pack are remembered for the next one."""
        table = TABLES[name]
        for chunk in self.chunks(table, start_of(table)):
            if chunk.packed:
                self._packed[name] = int(chunk.ints[table.key][-1])
            else:
                self._tails[name].append({**chunk.ints, "text_hash": chunk.text_hash})
            yield chunk.ints

    def save(self) -> None:
        """Write the campaign's row, if it is still the one that was read."""
        row = head_row(self.head)
        self._saving: int = row["sum"]
        if self._saving == self._saved:
            return
        self.connection.execute(save_text(), (*(row[name] for name in HEAD[3:]), self.head.id, self._saved))
        if self.connection.changes() != 1:
            raise StoreLocked(
                f"Table 'campaign', row {self.head.id} was changed by somebody else while this process was buying.",
                hint="Nothing of this call was written.  Stop the other program, then open the store again.",
            )

    def saved(self) -> None:
        """The transaction is durable."""
        self._saved = self._saving
        self.touched = False

    def forget(self) -> None:
        """The transaction was rolled back: begin again from the file."""
        (self.head,) = heads(self.connection, self.head.id)
        self._saved = self.head.sum()
        orphans = self.book.orphans
        self.load()
        self.book.orphans &= orphans
        self.stale = False

    # --------------------------------------------------------------------------------------------- facts

    def now(self) -> int:
        return int(self._clock() * 1000)

    def insert(self, rows: Rows, text_hash: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
        self.touched = True
        columns = insert_columns(rows, text_hash, sums, self.base)
        self._insert(rows.table.name, columns)
        if rows.table.name in PACKED:
            tail = self._tails[rows.table.name]
            tail.append({**rows.ints, "text_hash": text_hash.view(np.int64)})
            if len(tail) >= CHUNK:
                self._pack(rows.table.name)

    def _insert(self, table: str, columns: dict[str, Any]) -> None:
        """Rows of integers go in by hundreds: one statement with many values costs less than many with few."""
        for together in TOGETHER if all(isinstance(values, np.ndarray) for values in columns.values()) else ():
            many = len(columns["id"]) // together * together
            if many:
                width = together * len(columns)
                flat = np.stack([values[:many] for values in columns.values()], axis=1).ravel().tolist()
                pieces = (flat[start : start + width] for start in range(0, len(flat), width))
                self.connection.executemany(insert_text(table, columns, rows=together), pieces)
                columns = {name: values[many:] for name, values in columns.items()}
        self.connection.executemany(insert_text(table, columns), tuples(columns))

    def _pack(self, name: str) -> None:
        table, tail = TABLES[name], self._tails[name]
        whole = tail.columns()
        digest = digest_of(whole["seq"], checksums(table, self.head.uid, whole, whole["text_hash"].view(np.uint64)))
        signed = digest - 2**64 if digest >= 2**63 else digest
        last = int(whole[table.key][-1])
        row = {
            "campaign": self.head.id,
            "tbl": name,
            "after": self._packed[name],
            "last": last,
            "digest": signed,
            "data": pack(whole),
        }
        self.connection.execute(insert_text("pack", row), list(row.values()))
        self._packed[name] = last
        tail.truncate()

    def pack_old(self) -> None:
        """Pack what a predecessor left unpacked, and drop packs that are damaged."""
        for name in PACKED:
            self.connection.execute(
                "delete from pack where campaign = ? and tbl = ? and last > ?",
                (self.head.id, name, self._packed[name]),
            )
            if len(self._tails[name]) >= CHUNK:
                self._pack(name)

    # -------------------------------------------------------------------------------------------- buying

    def taken(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        return self.book.claimed(item, ordinal)

    def claimed(self, asks: Columns, lease: float) -> None:
        self.book.add(asks)

    def take(self, item: Int, ordinal: Int, epoch: Int | None) -> Open:
        self.touched = True
        return self.book.take(item, ordinal, epoch)

    def answered_by(self, item: Int, worker: Sequence[str | None]) -> NDArray[np.bool_]:
        pairs = json.dumps([[one + self.base, who] for one, who in zip(item.tolist(), worker, strict=True)])
        sql = """
            select told.key from json_each(?) as told where exists (
                select 1 from answer where item = told.value ->> 0 and worker = told.value ->> 1
            ) or exists (
                select 1 from conflict where item = told.value ->> 0 and worker = told.value ->> 1 and outcome = ?
            )"""
        before = np.zeros(len(item), np.bool_)
        before[[row for (row,) in self.connection.execute(sql, (pairs, LATE))]] = True
        return before

    def posted(self, asks: Sequence[tuple[int, int]]) -> None:
        for item, ordinal in asks:
            if self.book.find(item, ordinal):
                self.book.post(item, ordinal)

    def in_flight(self) -> tuple[Columns, NDArray[np.bool_]]:
        return self.book.in_flight()

    def adopt(self, limit: int | None, lease: float) -> tuple[Columns, NDArray[np.bool_]]:
        return self.book.adopt(limit)

    def renew(self, lease: float) -> int:
        return self.book.held


def insert_head(connection: apsw.Connection, head: Head) -> None:
    """A new campaign's row; its number is the next."""
    (head.id,) = next(connection.execute("select coalesce(max(id), 0) + 1 from campaign"))
    if head.id * SPAN >= 2**62:
        raise StoreDamaged("Table 'campaign' has no room for another row.", hint="Use another file.")
    row = head_row(head)
    connection.execute(insert_text("campaign", HEAD), [row[name] for name in HEAD])
