"""The data of an estimator as a histogram: how many items have which counts.

Items with the same counts tell the same, so an estimator that knows the histogram need not see the items again.  A
campaign of a million items has a few hundred to a few thousand different rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.model import IntArray

_KEYS: Final = 2**62  # more different keys than this do not fit into an integer
_TABLE: Final = 4  # count by table, not by sorting, when there are at most this many keys per row


class Rows(NamedTuple):
    """Different rows in lexicographic order, how often each occurs, and which of them every row is."""

    unique: NDArray[np.int64]  # (u, M, K)
    weight: NDArray[np.int64]  # (u,)
    inverse: NDArray[np.int64]  # (n,)


def compress(counts: IntArray, weight: IntArray | None = None) -> Rows:
    """The different rows of ``counts[j, k, label]``; row j stands for ``weight[j]`` items (one unless told).

    ``unique[inverse]`` is ``counts`` again; a row whose weights add up to nothing stays, with weight 0.

    >>> rows = compress(np.array([[[2, 1]], [[0, 3]], [[2, 1]]]))
    >>> rows.unique[:, 0], rows.weight, rows.inverse
    (array([[0, 3],
           [2, 1]]), array([1, 2]), array([1, 0, 1]))
    """
    counts = np.asarray(counts)
    n = len(counts)
    inverse, size = rank(counts.reshape(n, -1) if n else np.zeros((0, 1), np.int64))
    first = np.zeros(size, np.int64)
    first[inverse] = np.arange(n)
    many = np.bincount(inverse, minlength=size) if weight is None else _sum_by(inverse, np.asarray(weight), size)
    return Rows(counts[first].astype(np.int64), many.astype(np.int64), inverse)


def rank(columns: IntArray) -> tuple[NDArray[np.int64], int]:
    """The lexicographic rank of each row among the different rows, and how many of these there are.

    Rows are read as numbers in mixed radix, one digit a column; whenever the next digit would not fit, the numbers
    met so far are replaced by their ranks.
    """
    n = len(columns)
    key, size = np.zeros(n, np.int64), 1
    for column in columns.T if n else ():
        radix = int(column.max()) + 1
        if size * radix > _KEYS:
            key, size = _dense(key, size)
        key = key * radix + column
        size *= radix
    return _dense(key, size)


def _dense(key: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Keys in [0, size) to ranks without gaps, in the same order."""
    if size <= _TABLE * len(key):
        present = np.zeros(size, np.bool_)
        present[key] = True
        rank = np.cumsum(present) - 1
        return rank[key], int(present.sum())
    unique, inverse = np.unique(key, return_inverse=True)
    return inverse, len(unique)


def _sum_by(group: NDArray[np.int64], value: IntArray, size: int) -> NDArray[np.int64]:
    total = np.zeros(size, np.int64)
    np.add.at(total, group, value)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A histogram of rows that grows batch by batch, each at the price of the batch and not of the campaign.

    >>> one = Histogram.of(np.array([[[1, 0]], [[1, 0]]]))
    >>> two = one.minus(np.array([[[1, 0]]])).plus(np.array([[[1, 1]]]))     # an item was asked about once more
    >>> two.unique[:, 0].tolist(), two.weight.tolist()
    ([[1, 0], [1, 1]], [1, 1])
    """

    unique: NDArray[np.int64]
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, counts: IntArray) -> Histogram:
        """The histogram of these rows."""
        rows = compress(counts)
        return cls(rows.unique, rows.weight)

    def plus(self, counts: IntArray) -> Histogram:
        """With these rows added."""
        return self._merged(compress(counts), 1)

    def minus(self, counts: IntArray) -> Histogram:
        """Without these rows, which must be in it: what an item's row was before it was asked about again."""
        return self._merged(compress(counts), -1)

    def _merged(self, more: Rows, sign: int) -> Histogram:
        rows = np.concatenate([self.unique, more.unique])
        merged = compress(rows, np.concatenate([self.weight, sign * more.weight]))
        if (merged.weight < 0).any():
            raise ValueError("rows were taken out of a histogram that does not hold them")
        held = merged.weight > 0
        return Histogram(merged.unique[held], merged.weight[held])
