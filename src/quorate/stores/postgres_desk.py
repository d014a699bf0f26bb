"""Looking at a campaign in PostgreSQL, and buying with it while others do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from quorate.errors import StoreDamaged
from quorate.facts import LATE
from quorate.stores.book import Open
from quorate.stores.head import Head
from quorate.stores.sql import (
    HEAD,
    SPAN,
    from_database,
    head_of,
    head_row,
    heads_text,
    insert_columns,
    numbers,
    save_text,
    select_text,
)
from quorate.stores.tables import TABLES, Columns, Int, Rows, Table, checksums, digest_of, refuse_wrong, start_of

Connection = psycopg.Connection[tuple[Any, ...]]
_HINT = "Nothing was changed.  Restore a backup, or import the last export."
_ASK = ("seq", *TABLES["ask"].ints)


def heads(connection: Connection, number: int | None = None) -> list[Head]:
    """The rows of table campaign (or this one), each checked."""
    where = "true" if number is None else f"id = {number:d}"
    return [_checked_head(row) for row in connection.execute(heads_text(where).encode())]


def desk_of(connection: Connection, number: int, holder: str) -> PostgresDesk:
    """The desk of a campaign, whose row is locked until the transaction ends."""
    text = heads_text(f"id = {number:d}", "(extract(epoch from now()) * 1000)::bigint") + " for update"
    ((*row, now),) = connection.execute(text.encode())
    return PostgresDesk(connection, _checked_head(row), holder, now)


def _checked_head(row: Sequence[Any]) -> Head:
    head, stored = head_of(row)
    if head.sum() != stored:
        raise StoreDamaged(f"Table 'campaign', row {row[0]}: does not match its checksum.", hint=_HINT)
    return head


class PostgresLook:
    """A look through a connection on which a transaction is open."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self.connection = connection
        self.head = head

    @property
    def base(self) -> int:
        return self.head.id * SPAN

    def columns(self, table: Table, after: int) -> Columns:
        """Whole numbers travel as a binary copy: rows of one width, which numpy reads as they are."""
        width = 1 + len(numbers(table))
        record = np.dtype(
            [("n", ">i2"), *((f"{kind}{i}", f">i{8 if kind == 'v' else 4}") for i in range(width) for kind in "lv")]
        )
        where = f"id > {self.base + after:d} and id < {self.base + SPAN:d}"
        text = f"copy ({select_text(table, where, texts=False)}) to stdout (format binary)"
        with self.connection.cursor() as cursor, cursor.copy(text.encode()) as copy:
            data = b"".join(bytes(piece) for piece in copy)
        flat = np.frombuffer(data, record, (len(data) - 21) // record.itemsize, 19)
        stored = np.stack([flat[f"v{i}"].astype(np.int64) for i in range(width)])
        ints, hashes, sums = from_database(table, stored, self.base)
        refuse_wrong(table, ints["seq"], checksums(table, self.head.uid, ints, hashes) == sums)
        digest = self.head.digests[list(TABLES).index(table.name)]
        if after == start_of(table) and digest_of(ints["seq"], sums) != digest:
            raise StoreDamaged(
                f"Table {table.name!r}: its rows are not those that were written, or one is missing.", hint=_HINT
            )
        return ints

    def rows(self, table: Table, *, after: int = 0, where: tuple[str, Sequence[Any]] | None = None) -> Iterator[Rows]:
        inside = f" and id >= {self.base:d} and id < {self.base + SPAN:d}"
        if where is None:
            key = f"id > {self.base + after:d}" if table.key == "seq" else f"seq > {after:d}"
            with closing(self.connection.cursor(name=f"all_{table.name}")) as stream:
                stream.execute(select_text(table, key + inside, texts=True).encode())
                while fetched := stream.fetchmany(4096):
                    yield self._checked(table, fetched)
            return
        name, values = where
        if not len(values):
            return
        bound: list[Any] = list(values)
        if name not in table.texts:
            shift = self.base if name == table.key or name in table.links else 0
            bound = [int(value) + shift for value in values]
        column = "id" if name == table.key else name
        kind = "text" if name in table.texts else "bigint"
        text = select_text(table, f"{column} = any(%s::{kind}[])" + inside, texts=True)
        if fetched := self.connection.execute(text.encode(), (bound,)).fetchall():
            yield self._checked(table, fetched)

    def _checked(self, table: Table, fetched: Sequence[tuple[Any, ...]]) -> Rows:
        count = 1 + len(numbers(table))
        stored = np.array([row[:count] for row in fetched], np.int64).T.copy()
        ints, hashes, sums = from_database(table, stored, self.base)
        rows = Rows(table, ints, {name: [row[count + i] for row in fetched] for i, name in enumerate(table.texts)})
        right = checksums(table, self.head.uid, ints, hashes) == sums
        refuse_wrong(table, ints["seq"], right & (rows.text_hash == hashes))
        return rows


class PostgresDesk(PostgresLook):
    """A transaction that holds the campaign's row: others wait, so what is read here stays true."""

    def __init__(self, connection: Connection, head: Head, holder: str, now: int) -> None:
        super().__init__(connection, head)
        self._holder = holder
        self._saved = head.sum()
        self._now = now

    def save(self) -> None:
        """Write the campaign's row."""
        row = head_row(self.head)
        if row["sum"] != self._saved:
            values = [*(row[name] for name in HEAD[3:]), self.head.id, self._saved]
            self.connection.execute(save_text("%s").encode(), values)

    def now(self) -> int:
        return int(self._now)

    def insert(self, rows: Rows, text_hash: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
        columns = insert_columns(rows, text_hash, sums, self.base)
        kinds = ["bigint" if isinstance(values, np.ndarray) else "text" for values in columns.values()]
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        text = f"insert into {rows.table.name} ({', '.join(columns)}) select * from unnest({arrays})"  # noqa: S608
        lists = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
        self.connection.execute(text.encode(), lists)

    # -------------------------------------------------------------------------------------------- buying

    def taken(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        wanted = self._slots(item, ordinal)
        taken = np.ones(len(item), np.bool_)
        _, first = np.unique(np.stack([item, ordinal]), axis=1, return_index=True)
        taken[first] = False
        rows = self.connection.execute(
            "select told.n from unnest(%s::bigint[], %s::bigint[]) with ordinality as told (item, ordinal, n)"
            " join ask using (item, ordinal)",
            wanted,
        )
        taken[[n - 1 for (n,) in rows]] = True
        return taken

    def _slots(self, item: Int, ordinal: Int) -> tuple[list[int], list[int]]:
        return (item + self.base).tolist(), ordinal.tolist()

    def claimed(self, asks: Columns, lease: float) -> None:
        self.connection.execute(
            "insert into lease (ask, holder, until)"
            " select ask, %s, now() + make_interval(secs => %s) from unnest(%s::bigint[]) as ask",
            (self._holder, lease, (asks["seq"] + self.base).tolist()),
        )

    def take(self, item: Int, ordinal: Int, epoch: Int | None) -> Open:
        rows = self.connection.execute(
            "select told.n, ask.id, ask.worker_class, ask.price, ask.epoch"
            " from unnest(%s::bigint[], %s::bigint[]) with ordinality as told (item, ordinal, n)"
            " join ask using (item, ordinal) where not exists (select 1 from answer where answer.ask = ask.id)"
            " order by told.n",
            self._slots(item, ordinal),
        ).fetchall()
        seq, worker_class, price = (np.zeros(len(item), np.int64) for _ in range(3))
        seen: set[int] = set()
        for n, ask, k, cost, born in rows:
            if ask not in seen and (epoch is None or epoch[n - 1] == born):
                seen.add(ask)
                seq[n - 1], worker_class[n - 1], price[n - 1] = ask - self.base, k, cost
        self.connection.execute("delete from lease where ask = any(%s::bigint[])", (list(seen),))
        return Open(seq, worker_class, price)

    def answered_by(self, item: Int, worker: Sequence[str | None]) -> NDArray[np.bool_]:
        rows = self.connection.execute(
            "select told.n from unnest(%s::bigint[], %s::text[]) with ordinality as told (item, worker, n)"
            " where exists (select 1 from answer where (item, worker) = (told.item, told.worker))"
            " or exists (select 1 from conflict where (item, worker, outcome) = (told.item, told.worker, %s))",
            ((item + self.base).tolist(), list(worker), LATE),
        )
        before = np.zeros(len(item), np.bool_)
        before[[n - 1 for (n,) in rows]] = True
        return before

    def posted(self, asks: Sequence[tuple[int, int]]) -> None:
        item, ordinal = (np.array([slot[i] for slot in asks], np.int64) for i in (0, 1))
        self.connection.execute(
            "update lease set posted = true from ask, unnest(%s::bigint[], %s::bigint[]) as told (item, ordinal)"
            " where lease.ask = ask.id and ask.item = told.item and ask.ordinal = told.ordinal",
            self._slots(item, ordinal),
        )

    def in_flight(self) -> tuple[Columns, NDArray[np.bool_]]:
        rows = self.connection.execute(
            "select ask, posted from lease where ask > %s and ask < %s order by ask", (self.base, self.base + SPAN)
        ).fetchall()
        return self._flying(rows)

    def _flying(self, rows: Sequence[tuple[Any, ...]]) -> tuple[Columns, NDArray[np.bool_]]:
        posted = dict(rows)
        parts = [one.ints for one in self.rows(TABLES["ask"], where=("seq", [ask - self.base for ask in posted]))]
        columns = {name: np.concatenate([part[name] for part in parts] or [np.zeros(0, np.int64)]) for name in _ASK}
        return columns, np.array([posted[seq + self.base] for seq in columns["seq"].tolist()], np.bool_)

    def adopt(self, limit: int | None, lease: float) -> tuple[Columns, NDArray[np.bool_]]:
        rows = self.connection.execute(
            "update lease set holder = %s, until = now() + make_interval(secs => %s) where ask in ("
            " select ask from lease where until <= now() and ask > %s and ask < %s"
            " order by ask limit %s for update skip locked) returning ask, posted",
            (self._holder, lease, self.base, self.base + SPAN, limit),
        ).fetchall()
        return self._flying(rows)

    def renew(self, lease: float) -> int:
        return self.connection.execute(
            "update lease set until = now() + make_interval(secs => %s) where holder = %s and ask > %s and ask < %s",
            (lease, self._holder, self.base, self.base + SPAN),
        ).rowcount

    def leases_for_all(self) -> None:
        """After an import: everything in flight waits to be adopted."""
        self.connection.execute(
            "insert into lease (ask, holder, until, posted) select ask.id, '', now(),"
            " exists (select 1 from receipt where receipt.ask = ask.id) from ask"
            " where ask.id > %s and ask.id < %s and not exists (select 1 from answer where answer.ask = ask.id)",
            (self.base, self.base + SPAN),
        )
