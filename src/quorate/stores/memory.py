"""The ledger in the memory of one process: for simulation and tests.  Same contract, nothing survives the process."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.errors import StoreError
from quorate.facts import LATE, CampaignRow, Clock, NewItems
from quorate.stores.book import Book, Open
from quorate.stores.columns import Growing
from quorate.stores.founding import bump_epoch, found, new_head, no_such
from quorate.stores.head import Desk, Head, Look
from quorate.stores.ledger import Ledger, campaign_row
from quorate.stores.tables import TABLES, Columns, Int, Rows, Table
from quorate.stores.transfer import read_lines

T = TypeVar("T")
_CHUNK: Final = 65536


class _Log:
    """One table: integer columns that grow, texts as lists, and indices that are made when first asked for."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.ints = Growing(("seq", *table.ints))
        self.texts: dict[str, list[str | None]] = {}
        self._index: dict[str, tuple[dict[Any, list[int]], int]] = {}

    def append(self, rows: Rows) -> None:
        before = len(self.ints)
        self.ints.append(rows.ints)
        for name, texts in rows.texts.items():
            if texts is not None or name in self.texts:
                held = self.texts.setdefault(name, [None] * before)
                held.extend(texts if texts is not None else [None] * len(rows))

    def truncate(self, length: int) -> None:
        self.ints.truncate(length)
        for texts in self.texts.values():
            del texts[length:]
        self._index.clear()

    def places(self, name: str, values: Sequence[Any]) -> list[int]:
        """Rows whose column has one of these values, in order."""
        index, done = self._index.get(name, ({}, 0))
        held: Sequence[Any] = (
            self.texts.get(name, []) if name in self.table.texts else self.ints[name][done:].tolist()
        )
        for place, value in enumerate(held[done:] if name in self.table.texts else held, start=done):
            index.setdefault(value, []).append(place)
        self._index[name] = (index, len(self.ints))
        return sorted(place for value in values for place in index.get(value, ()))

    def rows(self, places: slice | list[int]) -> Rows:
        ints = {name: self.ints[name][places].copy() for name in ("seq", *self.table.ints)}
        if isinstance(places, slice):
            return Rows(self.table, ints, {name: texts[places] for name, texts in self.texts.items()})
        return Rows(self.table, ints, {name: [texts[i] for i in places] for name, texts in self.texts.items()})


class MemoryShelf:
    """One campaign's logs; look, desk and shelf in one, guarded by one lock."""

    def __init__(self, head: Head, clock: Clock) -> None:
        self.head = head
        self.name = head.name
        self.book = Book()
        self._logs = {name: _Log(table) for name, table in TABLES.items()}
        self._lock = RLock()
        self._planning = Lock()
        self._clock = clock

    # -- shelf

    @contextmanager
    def read(self) -> Iterator[Look]:
        with self._lock:
            yield self

    def write(self, job: Callable[[Desk], T]) -> T:
        with self._lock:
            head = replace(self.head, digests=list(self.head.digests))
            lengths = {name: len(log.ints) for name, log in self._logs.items()}
            try:
                return job(self)
            except BaseException:
                self.head = head
                for name, log in self._logs.items():
                    log.truncate(lengths[name])
                self.reload()
                raise

    def reload(self) -> None:
        """Make the book again from the logs."""
        orphans = self.book.orphans
        self.book = Book()
        asks = self._logs["ask"].ints.columns()
        answered = np.zeros(self.head.seq + 1, np.bool_)
        answered[self._logs["answer"].ints["ask"]] = True
        self.book.load(asks, answered[asks["seq"]])
        posted = np.zeros(self.head.seq + 1, np.bool_)
        posted[self._logs["receipt"].ints["ask"]] = True
        flying = posted[asks["seq"]] & ~answered[asks["seq"]]
        for item, ordinal in zip(asks["item"][flying].tolist(), asks["ordinal"][flying].tolist(), strict=True):
            self.book.post(item, ordinal)
        self.book.orphans = orphans

    def check_room(self) -> None:
        pass

    def check(self) -> None:
        pass

    @contextmanager
    def planner(self) -> Iterator[bool]:
        mine = self._planning.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                self._planning.release()

    # -- look

    def columns(self, table: Table, after: int) -> Columns:
        log = self._logs[table.name].ints
        return log.columns(int(np.searchsorted(log[table.key], after, side="right")))

    def rows(self, table: Table, *, after: int = 0, where: tuple[str, Sequence[Any]] | None = None) -> Iterator[Rows]:
        log = self._logs[table.name]
        if where is not None:
            places = log.places(*where)
            if places:
                yield log.rows(places)
            return
        start = bisect_right(log.ints["seq"], after)
        for first in range(start, len(log.ints), _CHUNK):
            yield log.rows(slice(first, min(first + _CHUNK, len(log.ints))))

    # -- desk

    def now(self) -> int:
        return int(self._clock() * 1000)

    def insert(self, rows: Rows, text_hash: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
        self._logs[rows.table.name].append(rows)

    def taken(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        return self.book.claimed(item, ordinal)

    def claimed(self, asks: Columns, lease: float) -> None:
        self.book.add(asks)

    def take(self, item: Int, ordinal: Int, epoch: Int | None) -> Open:
        return self.book.take(item, ordinal, epoch)

    def answered_by(self, item: Int, worker: Sequence[str | None]) -> NDArray[np.bool_]:
        people: set[tuple[int, str | None]] = set()
        for name in ("answer", "conflict"):
            log = self._logs[name]
            for row in log.rows(log.places("item", np.unique(item).tolist())).dicts():
                if name == "answer" or row["outcome"] == LATE:
                    people.add((row["item"], row["worker"]))
        return np.array([pair in people for pair in zip(item.tolist(), worker, strict=True)], np.bool_)

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


class MemoryStore:
    """Campaigns in the memory of this process."""

    url = "memory:"
    read_only = False

    def __init__(self, *, clock: Clock = time.time) -> None:
        self._shelves: dict[str, MemoryShelf] = {}
        self._clock = clock

    def create(
        self, name: str, *, uid: str, spec: Mapping[str, Any], budget: int,
        items: NewItems | Iterable[NewItems] | None = None,
    ) -> Ledger:  # fmt: skip
        head = new_head(name, uid, budget, [shelf.head for shelf in self._shelves.values()])
        shelf = MemoryShelf(head, self._clock)
        shelf.write(lambda desk: found(desk, spec, items))
        self._shelves[name] = shelf
        return Ledger(shelf)

    def open(self, name: str) -> Ledger:
        if name not in self._shelves:
            raise no_such(name, list(self._shelves), self.url)
        self._shelves[name].book.orphan_all()
        return Ledger(self._shelves[name])

    def campaigns(self) -> list[CampaignRow]:
        return [campaign_row(shelf) for _, shelf in sorted(self._shelves.items())]

    def backup(self, path: str | Path) -> None:
        raise StoreError(
            "A store in memory cannot be copied to a file of its own.", hint="Export its campaigns instead."
        )

    def restored(self) -> None:
        for shelf in self._shelves.values():
            shelf.write(bump_epoch)

    def import_campaign(self, lines: Iterable[str], *, name: str | None = None) -> Ledger:
        header, chunks = read_lines(lines)
        head = header.head(name, [shelf.head for shelf in self._shelves.values()])
        shelf = MemoryShelf(head, self._clock)
        shelf.write(lambda desk: header.enter(desk, chunks))
        shelf.reload()
        self._shelves[head.name] = shelf
        return self.open(head.name)

    def close(self) -> None:
        pass

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
