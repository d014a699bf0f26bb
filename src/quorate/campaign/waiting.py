"""Items that wait for their turn, first items first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

_NONE: Rows = np.zeros(0, np.int64)


class Waiting:
    """A queue of distinct rows that is left in the order of the rows, however they came in.

    A few rows that join a long queue wait beside it, so that taking a handful costs a handful.

    >>> queue = Waiting()
    >>> queue.join(np.array([5, 7, 9]))
    >>> queue.join(np.array([6]))
    >>> queue.take(2), queue.take(), len(queue)
    (array([5, 6]), array([7, 9]), 0)
    """

    def __init__(self) -> None:
        self._queue = _NONE  # sorted
        self._beside: list[Rows] = []
        self._besides = 0

    def __len__(self) -> int:
        return len(self._queue) + self._besides

    def join(self, rows: Rows) -> None:
        """Put these rows in."""
        if not len(rows):
            return
        if not len(self):
            self._queue = np.sort(rows)
            return
        self._beside.append(rows)
        self._besides += len(rows)
        if 8 * self._besides > len(self._queue):
            self._queue = np.sort(np.concatenate([self._queue, *self._beside]))
            self._beside, self._besides = [], 0

    def take(self, limit: int | None = None) -> Rows:
        """The first rows, at most ``limit`` of them, which leave the queue."""
        if limit is None or limit >= len(self):
            taken = np.sort(np.concatenate([self._queue, *self._beside])) if self._beside else self._queue
            self.clear()
            return taken
        if not self._beside:
            taken, self._queue = self._queue[:limit], self._queue[limit:]
            return taken
        beside = np.sort(np.concatenate(self._beside))
        taken = np.sort(np.concatenate([self._queue[:limit], beside]))[:limit]
        left = len(taken) - np.isin(taken, beside).sum()
        self._queue = self._queue[left:]
        rest = beside[np.isin(beside, taken, invert=True)]
        self._beside, self._besides = ([rest] if len(rest) else []), len(rest)
        return taken

    def drop(self, rows: Rows) -> None:
        """Take these rows out, where they are in."""
        kept = self.take()
        self._queue = kept[np.isin(kept, rows, invert=True)]

    def clear(self) -> None:
        """Empty the queue."""
        self._queue, self._beside, self._besides = _NONE, [], 0
