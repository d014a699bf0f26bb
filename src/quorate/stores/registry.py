"""One function for all stores; drivers are imported when a URL asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from quorate.errors import MissingExtra, SpecError
from quorate.ports_store import Store

FLOOR: Final = 64 * 2**20  # bytes that must be free before money is spent


def open_store(url: str, *, read_only: bool = False, floor: int = FLOOR) -> Store:
    """The store at a URL; a file that does not exist yet is made when the first campaign is created.

    ``read_only`` never locks and never writes.  ``floor`` is the room on disk below which nothing is bought.

    >>> with open_store("memory:") as store:
    ...     store.campaigns()
    []
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory":
        from quorate.stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
        from quorate.stores.sqlite import SqliteStore

        return SqliteStore(Path(rest[3:]), read_only=read_only, floor=floor)
    if scheme in ("postgresql", "postgres"):
        try:
            from quorate.stores.postgres import PostgresStore
        except ImportError:
            raise MissingExtra("postgresql://", "postgres") from None
        return PostgresStore(url, read_only=read_only)
    raise SpecError(
        f"{url!r} is not the place of a store.",
        hint="Write memory:, sqlite:///campaign.db, sqlite:////absolute/campaign.db or postgresql://user@host/base.",
    )
