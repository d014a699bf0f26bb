"""Which asks exist and which are in flight: what a process that buys alone keeps in memory.

The database would refuse a second ask under the same (item, ordinal); the book knows without asking it.  It is a
fold over asks and answers: `Book.load` makes it again after a start or a failed transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.stores.columns import Growing
from quorate.stores.tables import Columns, Int

ORDINALS: Final = 2**15  # of one item; a slot is item · ORDINALS + ordinal
_COLUMNS = ("seq", "item", "ordinal", "worker_class", "price", "stage", "epoch", "at")


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """The asks that answers belong to; ``seq`` is 0 where no such ask is in flight."""

    seq: Int
    worker_class: Int
    price: Int


def slots(item: Int, ordinal: Int) -> Int:
    return item * ORDINALS + ordinal


class Book:
    """Asks in flight by slot, and what has been claimed at all.

    An item's ordinals below ``asked[item]`` are all claimed; ``_ahead`` holds those claimed out of turn.
    """

    def __init__(self) -> None:
        self._asked = np.zeros(0, np.int32)
        self._ahead: set[int] = set()
        self._place: dict[int, int] = {}  # slot -> row of the table
        self._table = Growing(_COLUMNS)
        self._posted = np.zeros(0, np.bool_)  # by row of the table
        self.orphans: set[int] = set()  # slots in flight whose holder is gone

    # ------------------------------------------------------------------------------------------ claiming

    def claimed(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        """Which of these asks exist already, or earlier in the same columns."""
        self._reach(item)
        if self._in_turn(item, ordinal):
            return np.zeros(len(item), np.bool_)
        seen: set[int] = set()
        taken = []
        low = self._asked[item]
        for slot, below in zip(slots(item, ordinal).tolist(), (ordinal < low).tolist(), strict=True):
            taken.append(below or slot in self._ahead or slot in seen)
            seen.add(slot)
        return np.array(taken, np.bool_)

    def add(self, rows: Columns) -> None:
        """Asks that were just claimed: they are in flight."""
        item, ordinal = rows["item"], rows["ordinal"]
        if not len(item):
            return
        self._reach(item)
        start = len(self._table)
        self._table.append(rows)
        self._place.update(zip(slots(item, ordinal).tolist(), range(start, len(self._table)), strict=True))
        if self._in_turn(item, ordinal):
            self._asked[item] = ordinal + 1  # of equal items the last stands
            return
        self._ahead.update(slots(item, ordinal).tolist())
        self._catch_up(set(item.tolist()))

    def _in_turn(self, item: Int, ordinal: Int) -> bool:
        """Whether the items come in order and each ordinal is its item's next, with nothing claimed out of turn."""
        if self._ahead:
            return False
        step = np.diff(item, prepend=-1)
        if (step < 0).any():
            return False
        first = np.flatnonzero(step)
        rank = np.arange(len(item)) - np.repeat(first, np.diff(np.append(first, len(item))))
        return bool((ordinal == self._asked[item] + rank).all())

    def _catch_up(self, items: set[int]) -> None:
        for j in items:
            due = int(self._asked[j])
            while j * ORDINALS + due in self._ahead:
                self._ahead.discard(j * ORDINALS + due)
                due += 1
            self._asked[j] = due

    def _reach(self, item: Int) -> None:
        need = int(item.max()) + 1 if len(item) else 0
        if need > len(self._asked):
            larger = np.zeros(max(need, 2 * len(self._asked)), np.int32)
            larger[: len(self._asked)] = self._asked
            self._asked = larger

    # --------------------------------------------------------------------------------------- answering

    def take(self, item: Int, ordinal: Int, epoch: Int | None) -> Open:
        """Take these asks out of the air.  A second row for the same ask finds nothing."""
        wanted = slots(item, ordinal).tolist()
        row = np.fromiter(map(self._place.pop, wanted, repeat(-1)), np.int64, len(wanted))
        if epoch is not None:
            for i in np.flatnonzero(row >= 0).tolist():
                if self._table["epoch"][row[i]] != epoch[i]:
                    self._place[wanted[i]] = int(row[i])
                    row[i] = -1
        seq, worker_class, price = (
            self._table[name][row] if len(self._table) else np.zeros(len(row), np.int64)
            for name in ("seq", "worker_class", "price")
        )
        missing = row < 0
        if missing.any():
            seq[missing] = 0
        if self.orphans:
            self.orphans.difference_update(wanted)
        if len(self._table) > 2 * len(self._place) + 65536:
            self._compact()
        return Open(seq, worker_class, price)

    def _compact(self) -> None:
        kept = np.array(sorted(self._place.values()), np.int64)
        rows = {name: self._table[name][kept] for name in _COLUMNS}
        self._posted = self._flags()[kept]
        self._table.truncate()
        self._table.append(rows)
        self._place = dict(zip(slots(rows["item"], rows["ordinal"]).tolist(), range(len(kept)), strict=True))

    # --------------------------------------------------------------------------------------- in flight

    def find(self, item: int, ordinal: int) -> dict[str, int] | None:
        """The ask in flight under this slot."""
        row = self._place.get(item * ORDINALS + ordinal)
        return None if row is None else {name: int(self._table[name][row]) for name in _COLUMNS}

    def post(self, item: int, ordinal: int) -> None:
        """A receipt is kept for this ask."""
        self._posted = self._flags()
        self._posted[self._place[item * ORDINALS + ordinal]] = True

    def is_posted(self, item: int, ordinal: int) -> bool:
        return bool(self._flags()[self._place[item * ORDINALS + ordinal]])

    def _flags(self) -> NDArray[np.bool_]:
        if len(self._posted) < len(self._table):
            larger = np.zeros(max(len(self._table), 2 * len(self._posted)), np.bool_)
            larger[: len(self._posted)] = self._posted
            self._posted = larger
        return self._posted

    def in_flight(self, wanted: list[int] | None = None) -> tuple[Columns, NDArray[np.bool_]]:
        """Columns of the asks in flight (of these slots), oldest first, and which of them are posted."""
        rows = self._place.values() if wanted is None else [self._place[slot] for slot in wanted]
        order = np.array(sorted(rows), np.int64)
        return {name: self._table[name][order] for name in _COLUMNS}, self._flags()[order]

    @property
    def held(self) -> int:
        """How many asks in flight are this process's own."""
        return len(self._place) - len(self.orphans)

    def adopt(self, limit: int | None) -> tuple[Columns, NDArray[np.bool_]]:
        """The oldest asks in flight whose holder is gone; now they have one."""
        oldest = sorted(self.orphans & self._place.keys(), key=self._place.__getitem__)[:limit]
        self.orphans.difference_update(oldest)
        return self.in_flight(oldest)

    def orphan_all(self) -> None:
        self.orphans = set(self._place)

    def load(self, asks: Columns, answered: NDArray[np.bool_]) -> None:
        """More of the asks of a stored campaign, in the order of seq; ``answered`` says which are closed."""
        item, ordinal = asks["item"], asks["ordinal"]
        self._reach(item)
        open_ = ~answered
        start = len(self._table)
        self._table.append({name: asks[name][open_] for name in _COLUMNS})
        flying = slots(item[open_], ordinal[open_]).tolist()
        self._place.update(zip(flying, range(start, len(self._table)), strict=True))
        if not len(item):
            return
        order = np.lexsort((ordinal, item))
        item, ordinal = item[order], ordinal[order]
        if self._in_turn(item, ordinal):
            self._asked[item] = ordinal + 1
            return
        self._ahead.update(slots(item, ordinal).tolist())
        self._catch_up(set(item.tolist()))
