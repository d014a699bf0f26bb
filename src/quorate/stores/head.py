"""The one row of a campaign that changes, and the desk at which one transaction works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.facts import Money, State
from quorate.stores.book import Open
from quorate.stores.tables import TABLES, Columns, Int, Rows, Table

T = TypeVar("T")


@dataclass(slots=True)
class Head:
    """Money, state, and how far the ledger goes.  Mutable inside a transaction, and there only."""

    id: int
    name: str
    uid: str
    spec_version: int
    epoch: int
    state: State
    budget: int
    spent: int = 0
    reserved: int = 0
    items: int = 0
    seq: int = 0
    digests: list[int] = field(default_factory=lambda: [0] * len(TABLES))  # in the order of TABLES

    @property
    def money(self) -> Money:
        return Money(self.budget, self.spent, self.reserved)

    @property
    def left(self) -> int:
        return self.budget - self.spent - self.reserved

    @property
    def digest(self) -> int:
        """One number for all tables."""
        return int.from_bytes(blake2b(repr(self.digests).encode(), digest_size=8).digest(), "little")

    def sum(self) -> int:
        """The checksum of this row itself, as a signed 64-bit integer.  ``id`` is the database's own business."""
        values = f"{self.name!r} {self.uid} {self.spec_version} {self.epoch} {self.state} {self.budget} {self.spent}"
        values += f" {self.reserved} {self.items} {self.seq} {self.digests}"
        return int.from_bytes(blake2b(values.encode(), digest_size=8).digest(), "little", signed=True)


class Look(Protocol):
    """A consistent look at one campaign."""

    @property
    def head(self) -> Head: ...

    def columns(self, table: Table, after: int) -> Columns:
        """Integers, checked, of the rows whose key is greater, in order."""
        ...

    def rows(self, table: Table, *, after: int = 0, where: tuple[str, Sequence[Any]] | None = None) -> Iterator[Rows]:
        """Whole rows with seq > after, checked, in order; or those whose column has one of these values."""
        ...


class Desk(Look, Protocol):
    """A transaction on one campaign: what it reads cannot change under it."""

    def now(self) -> int: ...
    def insert(self, rows: Rows, text_hash: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None: ...

    def taken(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        """Which asks exist, or come earlier in the same columns."""
        ...

    def claimed(self, asks: Columns, lease: float) -> None:
        """These asks were inserted: they are in flight, and this process's."""
        ...

    def take(self, item: Int, ordinal: Int, epoch: Int | None) -> Open:
        """The asks in flight of these slots, which are being answered.  A second row for the same slot finds none."""
        ...

    def answered_by(self, item: Int, worker: Sequence[str | None]) -> NDArray[np.bool_]:
        """Where this worker has answered this item before."""
        ...

    def posted(self, asks: Sequence[tuple[int, int]]) -> None:
        """Receipts were kept for these slots."""
        ...

    def in_flight(self) -> tuple[Columns, NDArray[np.bool_]]: ...
    def adopt(self, limit: int | None, lease: float) -> tuple[Columns, NDArray[np.bool_]]: ...
    def renew(self, lease: float) -> int: ...


class Shelf(Protocol):
    """Where one campaign is kept: hands out looks and transactions."""

    name: str

    def read(self) -> AbstractContextManager[Look]: ...
    def write(self, job: Callable[[Desk], T]) -> T:
        """Run the job in a transaction; return when it is durable.  Jobs of several threads may share one."""
        ...

    def check_room(self) -> None:
        """`StoreFull` unless there is room to record what is about to be bought."""
        ...

    def check(self) -> None:
        """The database's own check of its structure."""
        ...

    def planner(self) -> AbstractContextManager[bool]: ...
