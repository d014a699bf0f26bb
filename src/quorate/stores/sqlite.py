"""The default store: one file, nothing to install.  WAL with synchronous=FULL, one writer, readers never blocked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import apsw

from quorate.errors import LifecycleError, QuorateError, SpecError, StoreDamaged, StoreError, StoreFull
from quorate.facts import CampaignRow, Clock, NewItems
from quorate.stores.files import Companion, refuse_network, refuse_rollback, room, stands
from quorate.stores.founding import bump_epoch, found, new_head, no_such
from quorate.stores.group import GroupCommit, Task
from quorate.stores.head import Desk, Head, Look
from quorate.stores.ledger import Ledger, campaign_row
from quorate.stores.sqlite_desk import SqliteDesk, insert_head
from quorate.stores.sqlite_file import connect, migrate, speaking_plainly
from quorate.stores.sqlite_look import SqliteLook, heads
from quorate.stores.transfer import read_lines

T = TypeVar("T")
Work = tuple[str, Callable[[Desk], Any]]  # a campaign's name, and what to do at its desk


class SqliteStore:
    """Campaigns in a file: see `quorate.ports_store.Store`."""

    def __init__(self, path: Path, *, read_only: bool, floor: int, clock: Clock = time.time) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self.read_only = read_only
        self._floor = floor
        self._clock = clock
        self._pid = os.getpid()
        self._closed = False
        self._writer: apsw.Connection | None = None
        self._companion: Companion | None = None
        self._readers: list[apsw.Connection] = []
        self._desks: dict[str, SqliteDesk] = {}
        self._planning: dict[str, Lock] = {}
        self._writing = Lock()
        self._group: GroupCommit[Work] = GroupCommit(self._commit)
        if path.exists():
            self._start()

    # ------------------------------------------------------------------------------------ the file

    def _start(self) -> None:
        refuse_network(self.path)
        if self.read_only:
            with self.look() as connection:
                refuse_rollback(self.path, stands(self.path), heads(connection))
            return
        companion = Path(f"{self.path}-engine")
        new = not companion.exists()
        self._companion = Companion(self.path)
        try:
            with speaking_plainly(self.path):
                self._writer = connect(self.path, "write")
                migrate(self._writer)
                copied = list(self._writer.execute("select 1 from mark where name = 'backup'"))
            if copied:
                self.restored()
        except BaseException:
            if new:  # leave nothing beside a file that is not ours
                companion.unlink(missing_ok=True)
            self._release()
            raise

    def _close_connections(self) -> None:
        for connection in (*self._readers, self._writer):
            if connection is not None:
                connection.close()
        self._readers.clear()
        self._writer = None

    def _release(self) -> None:
        self._close_connections()
        if self._companion is not None:
            self._companion.close()
            self._companion = None

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LifecycleError(f"The store {self.url} is closed.", hint="Open it again.")
        if os.getpid() != self._pid:
            raise StoreError(
                f"The store {self.url} was opened by another process (pid {self._pid}) and inherited by a fork.",
                hint="Open the store in the process that uses it.",
            )

    def _buying(self) -> tuple[apsw.Connection, Companion]:
        self._refuse_closed()
        if self._writer is None or self._companion is None:
            if self.read_only:
                raise StoreError(f"{self.url} is open for reading only.", hint="Open it without read_only.")
            raise self._nothing_here()
        return self._writer, self._companion

    def _nothing_here(self) -> SpecError:
        return SpecError(f"There is no store at {self.path}.", hint="Check the path, or create a campaign there.")

    @contextmanager
    def look(self) -> Iterator[apsw.Connection]:
        """A reading connection with a transaction open on it."""
        self._refuse_closed()
        if not self.path.exists():
            raise self._nothing_here()
        with speaking_plainly(self.path):
            try:
                connection = self._readers.pop()
            except IndexError:
                connection = connect(self.path, "read")
            try:
                connection.execute("begin")
                yield connection
            finally:
                with suppress(apsw.Error):
                    connection.execute("rollback")
                self._readers.append(connection)

    # ------------------------------------------------------------------------------------ writing

    def write(self, name: str, job: Callable[[Desk], T]) -> T:
        """Run a job at a campaign's desk, committed together with those of other threads."""
        self._buying()
        result: T = self._group.run((name, job))
        return result

    def _commit(self, tasks: Sequence[Task[Work]]) -> None:
        with self._writing:
            left = list(tasks)
            while left:
                left = self._commit_once(left)

    def _commit_once(self, tasks: Sequence[Task[Work]]) -> list[Task[Work]]:
        """Run jobs in one transaction.  If one fails halfway, none counts: those to run again."""
        writer, companion = self._buying()
        used = {name: self._desks[name] for name, _ in (task.job for task in tasks)}
        try:
            with speaking_plainly(self.path):
                writer.execute("begin immediate")
                for desk in used.values():
                    if desk.stale:
                        desk.forget()
                for task in tasks:
                    name, job = task.job
                    used[name].touched = False
                    try:
                        task.result = job(used[name])
                    except QuorateError as error:
                        task.error = error
                        if used[name].touched:
                            raise
                for desk in used.values():
                    desk.save()
                writer.execute("commit")
        except BaseException as error:
            if writer.in_transaction:
                with suppress(apsw.Error):
                    writer.execute("rollback")
            for desk in used.values():
                desk.stale = True
            if not any(task.error is error for task in tasks):
                raise
            return [task for task in tasks if task.error is None]
        for desk in used.values():
            desk.saved()
            companion.write(desk.head)
        return []

    def check_room(self) -> None:
        """`StoreFull` below the floor: stop before money is spent."""
        self._buying()
        free = room(self.path)
        if free < self._floor:
            raise StoreFull(
                f"Only {free / 2**20:.1f} MiB are left for {self.path}; nothing is bought below"
                f" {self._floor / 2**20:.0f} MiB.",
                hint="Make room, then run again: it goes on where it stopped.",
            )

    # ------------------------------------------------------------------------------------ campaigns

    def create(
        self, name: str, *, uid: str, spec: Mapping[str, Any], budget: int,
        items: NewItems | Iterable[NewItems] | None = None,
    ) -> Ledger:  # fmt: skip
        with self._founding():
            head = new_head(name, uid, budget, self._heads())
            return self._enter(head, lambda desk: found(desk, spec, items))

    def import_campaign(self, lines: Iterable[str], *, name: str | None = None) -> Ledger:
        header, chunks = read_lines(lines)
        with self._founding():
            ledger = self._enter(header.head(name, self._heads()), lambda desk: header.enter(desk, chunks))
        self._desks.pop(ledger.name)
        return self.open(ledger.name)

    @contextmanager
    def _founding(self) -> Iterator[None]:
        """The file, made if need be, and gone again if its first campaign cannot be."""
        self._refuse_closed()
        new = not self.path.exists()
        if self._writer is None and not self.read_only:
            self._start()
        try:
            yield
        except BaseException:
            if new and self._companion is not None:
                self._close_connections()
                for end in ("", "-wal", "-shm", "-engine"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
                self._release()
            raise

    def _enter(self, head: Head, job: Callable[[Desk], None]) -> Ledger:
        """A new campaign's row and first facts, in one transaction."""
        writer, companion = self._buying()
        with self._writing, speaking_plainly(self.path):
            writer.execute("begin immediate")
            try:
                insert_head(writer, head)
                desk = SqliteDesk(writer, head, self._clock)
                job(desk)
                desk.save()
                writer.execute("commit")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
            desk.saved()
            companion.write(head)
        self._desks[head.name] = desk
        return Ledger(SqliteShelf(self, head.name, head.id))

    def open(self, name: str) -> Ledger:
        if not self.path.exists():
            raise self._nothing_here()
        found_ = {head.name: head for head in self._heads()}
        if name not in found_:
            raise no_such(name, list(found_), self.url)
        head = found_[name]
        if not self.read_only:
            writer, _ = self._buying()
            refuse_rollback(self.path, stands(self.path), list(found_.values()))
            with self._writing, speaking_plainly(self.path):
                if name in self._desks:
                    self._desks[name].book.orphan_all()
                else:
                    writer.execute("begin")
                    try:
                        self._desks[name] = SqliteDesk(writer, head, self._clock)
                    finally:
                        writer.execute("rollback")
            self.write(name, lambda desk: desk.pack_old())  # type: ignore[attr-defined]
        return Ledger(SqliteShelf(self, name, head.id))

    def _heads(self) -> list[Head]:
        with self.look() as connection:
            return heads(connection)

    def campaigns(self) -> list[CampaignRow]:
        with self.look() as connection:
            rows = [campaign_row(SqliteLook(connection, head)) for head in heads(connection)]
        return sorted(rows, key=lambda row: row.name)

    def backup(self, path: str | Path) -> None:
        target = Path(path)
        if target.exists():
            raise StoreError(f"{target} exists already.", hint="Choose a new file: a backup overwrites nothing.")
        unfinished = target.with_name(f"{target.name}.part")
        unfinished.unlink(missing_ok=True)
        with self.look() as source, speaking_plainly(unfinished):
            copy = apsw.Connection(str(unfinished))
            try:
                with copy.backup("main", source, "main") as work:
                    work.step()
                copy.execute("insert or ignore into mark values ('backup')")
            finally:
                copy.close()
        unfinished.rename(target)
        directory = os.open(target.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def restored(self) -> None:
        writer, companion = self._buying()
        with self._writing, speaking_plainly(self.path):
            writer.execute("begin immediate")
            try:
                desks = [SqliteDesk(writer, head, self._clock) for head in heads(writer)]
                for desk in desks:
                    bump_epoch(desk)
                    desk.save()
                writer.execute("delete from mark where name = 'backup'")
                writer.execute("commit")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
            companion.forget()
            for desk in desks:
                desk.saved()
                companion.write(desk.head)
                self._desks[desk.head.name] = desk

    def planner(self, name: str) -> Lock:
        return self._planning.setdefault(name, Lock())

    def close(self) -> None:
        if self._closed or os.getpid() != self._pid:
            return
        with self._writing:
            self._closed = True
            if self._writer is not None:
                with suppress(apsw.Error):
                    self._writer.execute("pragma wal_checkpoint(truncate)")
            self._release()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SqliteShelf:
    """One campaign of a SQLite store."""

    def __init__(self, store: SqliteStore, name: str, number: int) -> None:
        self.name = name
        self._store = store
        self._number = number

    @contextmanager
    def read(self) -> Iterator[Look]:
        with self._store.look() as connection:
            (head,) = heads(connection, self._number)
            yield SqliteLook(connection, head)

    def write(self, job: Callable[[Desk], T]) -> T:
        return self._store.write(self.name, job)

    def check_room(self) -> None:
        self._store.check_room()

    def check(self) -> None:
        with self._store.look() as connection:
            for (message,) in connection.execute("pragma integrity_check(1)"):
                if message != "ok":
                    raise StoreDamaged(
                        f"{self._store.path}: {message}", hint="Restore a backup, or import an export."
                    )

    @contextmanager
    def planner(self) -> Iterator[bool]:
        lock = self._store.planner(self.name)
        mine = lock.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                lock.release()
