"""The store for many processes and machines: the same ledger in a PostgreSQL database.

Every writing transaction holds its campaign's row: so seqs are dense, money is exact, and facts are committed in
the order of seq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors

from quorate.errors import (
    InputError,
    LifecycleError,
    QuorateError,
    SpecError,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreVersion,
)
from quorate.facts import CampaignRow, NewItems
from quorate.stores.founding import bump_epoch, found, new_head, no_such
from quorate.stores.group import GroupCommit, Task
from quorate.stores.head import Desk, Head, Look
from quorate.stores.ledger import Ledger, campaign_row
from quorate.stores.postgres_desk import Connection, PostgresDesk, PostgresLook, desk_of, heads
from quorate.stores.sql import HEAD, VERSION, head_row, insert_text, migrations
from quorate.stores.transfer import read_lines

T = TypeVar("T")
Work = tuple[int, Callable[[PostgresDesk], Any]]  # a campaign's number, and what to do at its desk
_MIGRATING: Final = 0x51554F52  # advisory locks: (this, 0) migrates, (this, campaign) plans
_SAFE: Final = {"fsync": "on", "full_page_writes": "on"}


class PostgresStore:
    """Campaigns in the schema ``quorate`` of a database: see `quorate.ports_store.Store`."""

    def __init__(self, url: str, *, read_only: bool) -> None:
        self.url = url
        self.read_only = read_only
        self._holder = token_hex(8)
        self._idle: list[Connection] = []
        self._group: GroupCommit[Work] = GroupCommit(self._commit)
        self._closed = False
        try:
            with self.connection() as connection:
                self._refuse_unsafe(connection)
                self._migrate(connection)
        except BaseException:
            self.close()
            raise

    # -------------------------------------------------------------------------------------- connections

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection of our own for a while; a broken one is not used again."""
        if self._closed:
            raise LifecycleError("The store is closed.", hint="Open it again.")
        with _speaking_plainly():
            try:
                one = self._idle.pop()
            except IndexError:
                one = psycopg.connect(self.url, autocommit=True, options="-c search_path=quorate")
                one.prepare_threshold = 2
            try:
                yield one
            finally:
                if one.closed or self._closed:
                    one.close()
                    self._drop_idle()  # what broke this one broke them
                else:
                    self._idle.append(one)

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _refuse_unsafe(self, connection: Connection) -> None:
        for name, safe in _SAFE.items():
            _refuse_setting(name, _show(connection, name), _show(connection, name) == safe)
        level = _show(connection, "synchronous_commit")
        _refuse_setting("synchronous_commit", level, level != "off")

    def _migrate(self, connection: Connection) -> None:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s, 0)", (_MIGRATING,))
            there = connection.execute("select to_regclass('quorate.schema_version')").fetchone() != (None,)
            version = 0
            if there:
                ((version,),) = connection.execute("select version from schema_version").fetchall()
            if version > VERSION:
                raise StoreVersion(
                    f"The database was written by a newer Quorate (schema {version}; this one knows {VERSION}).",
                    hint="Upgrade: pip install -U quorate",
                )
            if version == VERSION:
                return
            if self.read_only:
                raise SpecError("There is no store in this database yet.", hint="Create a campaign there first.")
            connection.execute("create schema if not exists quorate")
            connection.execute("create table if not exists schema_version (version integer not null)")
            for number, text in migrations("postgres"):
                if number > version:
                    connection.execute(text.encode())
            connection.execute("delete from schema_version")
            connection.execute("insert into schema_version values (%s)", (VERSION,))

    # ------------------------------------------------------------------------------------------ writing

    def write(self, number: int, job: Callable[[PostgresDesk], T]) -> T:
        """Run a job in a transaction that holds the campaign's row, together with those of other threads."""
        if self.read_only:
            raise StoreError("The store is open for reading only.", hint="Open it without read_only.")
        result: T = self._group.run((number, job))
        return result

    def _commit(self, tasks: Sequence[Task[Work]]) -> None:
        with self.connection() as connection, connection.transaction():
            desks = {}
            for number in sorted({task.job[0] for task in tasks}):  # in one order everywhere: nobody deadlocks
                desks[number] = desk_of(connection, number, self._holder)
            for task in tasks:
                number, job = task.job
                if len(tasks) == 1:  # its error rolls back everything there is, and no savepoint need be paid for
                    task.result = job(desks[number])
                    continue
                head = replace(desks[number].head, digests=list(desks[number].head.digests))
                try:
                    with connection.transaction():
                        task.result = job(desks[number])
                except QuorateError as error:
                    task.error, desks[number].head = error, head
            for desk in desks.values():
                desk.save()

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A connection with a consistent look at everything."""
        with self.connection() as connection, connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            yield connection

    # ---------------------------------------------------------------------------------------- campaigns

    def create(
        self, name: str, *, uid: str, spec: Mapping[str, Any], budget: int,
        items: NewItems | Iterable[NewItems] | None = None,
    ) -> Ledger:  # fmt: skip
        head = new_head(name, uid, budget, self._heads())
        return self._enter(head, lambda desk: found(desk, spec, items))

    def import_campaign(self, lines: Iterable[str], *, name: str | None = None) -> Ledger:
        header, chunks = read_lines(lines)

        def job(desk: PostgresDesk) -> None:
            header.enter(desk, chunks)
            desk.leases_for_all()

        return self._enter(header.head(name, self._heads()), job)

    def _enter(self, head: Head, job: Callable[[PostgresDesk], None]) -> Ledger:
        if self.read_only:
            raise StoreError("The store is open for reading only.", hint="Open it without read_only.")
        with self.connection() as connection, connection.transaction():
            connection.execute("lock table campaign in share row exclusive mode")
            ((head.id,),) = connection.execute("select coalesce(max(id), 0) + 1 from campaign").fetchall()
            row = head_row(head)
            text = insert_text("campaign", HEAD, "%s") + " on conflict do nothing"
            if not connection.execute(text.encode(), [row[one] for one in HEAD]).rowcount:
                new_head(head.name, head.uid, head.budget, heads(connection))
            desk = desk_of(connection, head.id, self._holder)
            job(desk)
            desk.save()
        return Ledger(PostgresShelf(self, head.name, head.id))

    def open(self, name: str) -> Ledger:
        there = {head.name: head for head in self._heads()}
        if name not in there:
            raise no_such(name, list(there), "this database")
        return Ledger(PostgresShelf(self, name, there[name].id))

    def _heads(self) -> list[Head]:
        with self.look() as connection:
            return heads(connection)

    def campaigns(self) -> list[CampaignRow]:
        with self.look() as connection:
            rows = [campaign_row(PostgresLook(connection, head)) for head in heads(connection)]
        return sorted(rows, key=lambda row: row.name)

    def backup(self, path: str | Path) -> None:
        raise StoreError("PostgreSQL copies itself.", hint=f"pg_dump --format=custom --schema=quorate --file={path}")

    def restored(self) -> None:
        for head in self._heads():
            self.write(head.id, bump_epoch)

    def close(self) -> None:
        self._closed = True
        self._drop_idle()

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PostgresShelf:
    """One campaign of a PostgreSQL store."""

    def __init__(self, store: PostgresStore, name: str, number: int) -> None:
        self.name = name
        self._store = store
        self._number = number

    @contextmanager
    def read(self) -> Iterator[Look]:
        with self._store.look() as connection:
            (head,) = heads(connection, self._number)
            yield PostgresLook(connection, head)

    def write(self, job: Callable[[Desk], T]) -> T:
        return self._store.write(self._number, job)

    def check_room(self) -> None:
        """The server refuses to commit when its disk is full: nothing is claimed then, so nothing is bought."""

    def check(self) -> None:
        """The server checks its own structure (pg_amcheck)."""

    @contextmanager
    def planner(self) -> Iterator[bool]:
        with self._store.connection() as connection:
            bound = (_MIGRATING, self._number)
            ((mine,),) = connection.execute("select pg_try_advisory_lock(%s, %s)", bound).fetchall()
            try:
                yield mine
            finally:
                if mine:
                    with suppress(psycopg.OperationalError):  # a lost connection has lost its lock
                        connection.execute("select pg_advisory_unlock(%s, %s)", bound)


def _show(connection: Connection, name: str) -> str:
    ((value,),) = connection.execute("select current_setting(%s)", (name,)).fetchall()
    return str(value)


def _refuse_setting(name: str, value: str, safe: bool) -> None:
    if not safe:
        raise StoreError(
            f"This PostgreSQL server runs with {name} = {value}: it can lose answers that were paid for.",
            hint=f"Set {name} = on, then open the store again.",
        )


@contextmanager
def _speaking_plainly() -> Iterator[None]:
    """psycopg's errors as ours."""
    try:
        yield
    except errors.DiskFull as error:
        raise StoreFull("The PostgreSQL server's disk is full.", hint="Make room there, then run again.") from error
    except (errors.LockNotAvailable, errors.DeadlockDetected, errors.QueryCanceled) as error:
        raise StoreLocked(f"PostgreSQL gave up: {error}.", hint="Try again.") from error
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise InputError(
            f"PostgreSQL cannot store a value: {error}.", hint="Remove it; nothing was written."
        ) from error
    except psycopg.Error as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StoreError(
            f"PostgreSQL: {first}.", hint="What had been acknowledged is safe.  Check the server, then run again."
        ) from error
