"""Opening a SQLite file: the right library, the right settings, our file, our version; and errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import apsw

from quorate.errors import StoreDamaged, StoreError, StoreFull, StoreLocked, StoreVersion
from quorate.stores.files import room
from quorate.stores.sql import VERSION, migrations

OURS: Final = 0x51554F52  # "QUOR", in the file's header
_LAST_PAGES: Final = 2**20  # bytes: a write that fails with less room than this failed for want of room
_BACKUP_HINT: Final = "Nothing was changed.  Restore a backup, or import the last export."


def refuse_old_library(version: str) -> None:
    """SQLite before 3.51.3 can corrupt a WAL file when two connections write and checkpoint at once.

    >>> refuse_old_library("3.54.1"), refuse_old_library("3.50.7")
    (None, None)
    >>> refuse_old_library("3.40.1")
    Traceback (most recent call last):
    quorate.errors.StoreVersion: SQLite 3.40.1 can corrupt the files that Quorate writes ...
    """
    number = tuple(map(int, version.split(".")))
    fixed = number >= (3, 51, 3) or (3, 50, 7) <= number < (3, 51) or (3, 44, 6) <= number < (3, 45)
    if not fixed:
        raise StoreVersion(
            f"SQLite {version} can corrupt the files that Quorate writes (the WAL-reset bug).",
            hint="Install the newest apsw, which carries its own SQLite: pip install -U apsw",
        )


def connect(path: Path, use: Literal["read", "write"]) -> apsw.Connection:
    """A connection with our settings; for reading, or the one that writes."""
    refuse_old_library(apsw.sqlite_lib_version())
    if path.is_dir():
        raise StoreError(f"{path} is a folder.", hint=f"Name a file, for instance {path / 'campaign.db'}.")
    if use == "read":
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    else:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    connection.set_busy_timeout(30_000)
    try:
        _refuse_foreign(connection, path, use)
        if use == "write":
            if connection.readonly("main"):
                raise StoreError(f"{path} cannot be written.", hint="Change its permissions, or open it read-only.")
            if connection.pragma("journal_mode", "wal") != "wal":
                raise StoreError(f"{path} cannot be put into WAL mode.", hint="Put it on a local disk.")
            connection.pragma("synchronous", "full")
            connection.pragma("foreign_keys", True)
            connection.pragma("journal_size_limit", 64 * 2**20)
            connection.pragma("cache_size", -65_536)
        else:
            connection.pragma("query_only", True)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(connection: apsw.Connection, path: Path, use: str) -> None:
    mine = connection.pragma("application_id")
    version = connection.pragma("user_version")
    tables = next(connection.execute("select count(*) from sqlite_schema"))[0]
    if mine != OURS and (mine or tables):
        raise StoreError(f"{path} is a database of another program.", hint="Choose another file.")
    if use == "read" and not mine:
        raise StoreError(
            f"{path} is empty: it holds no campaign.", hint="Put a backup in its place, or take it away."
        )
    if version > VERSION:
        raise StoreVersion(
            f"{path} was written by a newer Quorate (schema {version}; this one knows {VERSION}).",
            hint="Upgrade: pip install -U quorate",
        )
    if version == VERSION and shape(connection) != fresh_shape():
        raise StoreDamaged(f"{path}: table 'sqlite_schema' is not what Quorate wrote.", hint=_BACKUP_HINT)


def migrate(connection: apsw.Connection) -> None:
    """Bring the file to this version's schema, in one transaction."""
    version = connection.pragma("user_version")
    if version == VERSION:
        return
    connection.execute("begin immediate")
    try:
        for number, text in migrations("sqlite"):
            if number > version:
                connection.execute(text)
        connection.pragma("application_id", OURS)
        connection.pragma("user_version", VERSION)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def shape(connection: apsw.Connection) -> list[str]:
    """The schema in normal form."""
    rows = connection.execute("select sql from sqlite_schema where sql is not null order by type, name")
    return [re.sub(r"\s+", " ", sql) for (sql,) in rows]


def fresh_shape() -> list[str]:
    """The schema of a new file."""
    if not _FRESH:
        with apsw.Connection(":memory:") as connection:
            for _, text in migrations("sqlite"):
                connection.execute(text)
        _FRESH.extend(shape(connection))
    return _FRESH


_FRESH: Final[list[str]] = []


@contextmanager
def speaking_plainly(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: what happened to which file, and the way out."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{path} is damaged: {error}.", hint=_BACKUP_HINT) from error
    except apsw.FullError as error:
        raise _full(path) from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
            raise StoreDamaged(f"{path} is shorter than it was.", hint=_BACKUP_HINT) from error
        if path.exists() and room(path) < _LAST_PAGES:
            raise _full(path) from error
        raise StoreError(
            f"{path} could not be read or written: {error}.",
            hint="What had been acknowledged is safe.  Check the disk and its room, then open the store again.",
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLocked(
            f"{path} has been locked by another program for 30 seconds.", hint="Close that program, then try again."
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreError(
            f"{path} cannot be written: {error}.", hint="Change its permissions, or open it read-only."
        ) from error
    except apsw.CantOpenError as error:
        raise StoreError(
            f"{path} cannot be opened: {error}.", hint="Check that its directory exists and may be read and written."
        ) from error
    except (apsw.ConstraintError, apsw.SQLError, apsw.MismatchError) as error:
        raise StoreDamaged(
            f"{path} does not hold what its ledger says: {error}.", hint=f"Run quorate doctor.  {_BACKUP_HINT}"
        ) from error


def _full(path: Path) -> StoreFull:
    return StoreFull(
        f"There is no room left to write {path}.",
        hint="What had been acknowledged is safe.  Make room, then run again: it goes on where it stopped.",
    )
