"""Answers as three columns — who said what of which item — turned into rows of counts that EM can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.histogram import compress
from quorate.model import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_NARROW: Final = 64  # columns of counts up to which items are likely to share their rows
_DENSE: Final = 2**26  # cells of a dense table of counts


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answer a: class ``who[a]`` said ``label[a]`` of item ``item[a]``; all are numbers from 0."""

    item: NDArray[np.int64]
    who: NDArray[np.int64]
    label: NDArray[np.int64]
    items: int
    classes: int
    labels: int

    def rows(self) -> CountRows:
        """Counts item by item in columns class·K + label: different rows if there are few columns, else sparse."""
        width = self.classes * self.labels
        column = self.who * self.labels + self.label
        if width <= _NARROW and self.items * width <= _DENSE:
            cells = np.bincount(self.item * width + column, minlength=self.items * width)
            rows = compress(cells.reshape(self.items, self.classes, self.labels))
            x = rows.unique.reshape(-1, width).astype(np.float64)
            return CountRows(x, rows.weight.astype(np.float64), rows.inverse)
        from scipy.sparse import csr_array

        sparse = csr_array((np.ones(len(column)), (self.item, column)), shape=(self.items, width))
        return CountRows(sparse, np.ones(self.items), np.arange(self.items))

    def votes(self) -> NDArray[np.int64]:
        """How many answers each item got for each label (items, K)."""
        cells = np.bincount(self.item * self.labels + self.label, minlength=self.items * self.labels)
        return cells.reshape(self.items, self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class CountRows:
    """Rows of counts, dense or sparse, how many items each stands for, and which row each item is."""

    x: FloatArray | csr_array
    weight: FloatArray
    inverse: NDArray[np.int64]
