"""The databases alone, as `store_speed.py` compares the stores with them: same settings, rows as wide."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import apsw

ANSWER = (
    "(id integer primary key, ask integer, item integer, ordinal integer, worker_class integer, label integer,"
    " charged integer, failure integer, at integer, text_hash integer, sum integer)"
)


class Raw(Protocol):
    """The database alone, and where the store is to be."""

    url: str

    def prepare(self) -> None:
        """Tables of its own.  (The store would refuse the file later: it is thrown away.)"""
        ...

    def add_asks(self, asks: list[tuple[int]]) -> None: ...
    def insert(self, table: str, rows: list[tuple[int, ...]], batch: int) -> None: ...
    def settle(self) -> None:
        """Bring what was committed to its place in the database: nobody else is to pay for it."""
        ...

    def close(self) -> None: ...


class RawSqlite:
    """The same file."""

    def __init__(self, path: Path) -> None:
        self.path, self.url = path, f"sqlite:///{path}"

    def prepare(self) -> None:
        self.connection = apsw.Connection(str(self.path))
        self.connection.set_busy_timeout(30_000)
        for name, value in (("synchronous", "full"), ("foreign_keys", True), ("cache_size", -65_536)):
            self.connection.pragma(name, value)
        self.connection.execute(f"create table raw_plain {ANSWER}")
        self.connection.execute("create table raw_ask (id integer primary key)")
        bound = ANSWER.replace("ask integer", "ask integer not null references raw_ask")
        self.connection.execute(f"create table raw_bound {bound}; create unique index raw_one on raw_bound (ask)")

    def add_asks(self, asks: list[tuple[int]]) -> None:
        self.connection.execute("begin")
        self.connection.executemany("insert into raw_ask values (?)", asks)
        self.connection.execute("commit")

    def insert(self, table: str, rows: list[tuple[int, ...]], batch: int) -> None:
        sql = f"insert into {table} values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        for start in range(0, len(rows), batch):
            self.connection.execute("begin immediate")
            self.connection.executemany(sql, rows[start : start + batch])
            self.connection.execute("commit")

    def settle(self) -> None:
        self.connection.pragma("wal_checkpoint")

    def close(self) -> None:
        self.connection.close()


class RawPostgres:
    """The same server, through the same driver."""

    def __init__(self, url: str) -> None:
        self.url = url

    def prepare(self) -> None:
        import psycopg

        self.connection = psycopg.connect(self.url)
        self.connection.prepare_threshold = 2
        columns = ANSWER.replace("integer primary key", "bigint primary key").replace(" integer", " bigint")
        bound = columns.replace("ask bigint", "ask bigint not null references raw_ask")
        for text in (
            "create schema raw",
            "set search_path = raw",
            f"create table raw_plain {columns}",
            "create table raw_ask (id bigint primary key)",
            f"create table raw_bound {bound}",
            "create unique index raw_one on raw_bound (ask)",
        ):
            self.connection.execute(text.encode())
        self.connection.commit()

    def add_asks(self, asks: list[tuple[int]]) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany("insert into raw_ask values (%s)", asks)
        self.connection.commit()

    def insert(self, table: str, rows: list[tuple[int, ...]], batch: int) -> None:
        sql = f"insert into {table} values ({', '.join(['%s'] * 11)})".encode()
        with self.connection.cursor() as cursor:
            for start in range(0, len(rows), batch):
                cursor.executemany(sql, rows[start : start + batch])
                self.connection.commit()

    def settle(self) -> None:
        self.connection.execute("checkpoint")
        self.connection.commit()

    def close(self) -> None:
        self.connection.close()
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("drop schema raw cascade")
            connection.execute("drop schema quorate cascade")


@contextmanager
def raw_sqlite() -> Iterator[Raw]:
    """A file of its own."""
    with tempfile.TemporaryDirectory() as place:
        yield RawSqlite(Path(place, "speed.db"))


def skip_locked(url: str, ends: int, first: int) -> None:
    """The plainest queue there is: take a free job, commit; mark it done, commit."""
    import psycopg

    take = (
        "update job set state = 1 where id = (select id from job where state = 0 order by id limit 1"
        " for update skip locked) returning id"
    )
    with psycopg.connect(url, options="-c search_path=raw") as connection:
        for _ in range(ends - first):
            (found,) = connection.execute(take.encode()).fetchall()
            connection.commit()
            connection.execute(b"update job set state = 2 where id = %s", found)
            connection.commit()
