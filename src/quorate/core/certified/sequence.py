"""Lower bounds on c(0) and c(1) of one class that hold at all times at once: a confidence sequence by
betting.

For each c the evidence against "c(0) <= c" is the product of certified e-values (`projection`), one per
item.  If the null is true it is a nonnegative supermartingale that starts at 1, whatever the true labels
are, and however the next block's plan, prediction and grid were chosen from earlier items.  The bound is
the end of the run of nulls, from below, whose evidence has reached 1/delta.  By Ville

    P(the bound ever reaches c(0)) <= P(the evidence against "c(0) <= c(0)" ever reaches 1/delta) <= delta,

and the same for c(1) with the labels' names exchanged.  An e-value against a larger null is valid against a smaller
one too, so each block brings a grid of its own: a null uses the block's next larger value, or e = 1 beyond the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.projection import project
from quorate.core.certified.units import CELLS, FLOOR
from quorate.model import FloatArray, IntArray

_SHRINK: Final = 0.87  # nulls approach the believed accuracy in such steps
_NULLS: Final = 18


@dataclass(slots=True, eq=False)
class Side:
    """The evidence about one accuracy: c(0), or c(1) with the labels' names exchanged."""

    nulls: list[NDArray[np.int64]] = field(default_factory=list)  # a grid per block
    log_e: list[FloatArray] = field(default_factory=list)  # (G,) the block's evidence so far
    growth: list[FloatArray] = field(default_factory=list)  # (G,) what an item of the block was expected to add
    bound: int = FLOOR  # c > bound / CELLS

    def add(self, block: Block, seen: IntArray, predicted: FloatArray, believed: tuple[float, float]) -> None:
        """A finished block: ``seen[d]`` items ended as outcome d, ``seen[-1]`` were left unfinished.

        ``predicted`` and ``believed`` (this accuracy, the other) must come from earlier items only.
        """
        null = self._grid(believed[0])
        if not len(null):
            return
        test = project(block, predicted, believed[1], null)
        least = np.minimum(test.log_e.min(axis=1), 0.0)  # what an unfinished item cannot fall below
        self.nulls.append(null)
        self.log_e.append(test.log_e @ seen[:-1] + least * seen[-1])
        self.growth.append(test.log_e @ predicted)

    def _grid(self, believed: float) -> NDArray[np.int64]:
        steps = believed - (believed - self.bound / CELLS) * _SHRINK ** np.arange(_NULLS)
        grid = np.unique(np.floor(steps * CELLS).astype(np.int64))
        return grid[(grid > self.bound) & (grid < believed * CELLS)]

    def advance(self, log_threshold: float) -> None:
        """Raise the bound as far as the evidence goes."""
        self.bound = self.forecast(log_threshold, 0)

    def forecast(self, log_threshold: float, more: int) -> int:
        """Where the bound will be when ``more`` items like those of the last block have gone as expected."""
        if not self.nulls:
            return self.bound
        null = np.unique(np.concatenate(self.nulls))
        evidence = sum(map(self._on(null), self.nulls, self.log_e), start=np.zeros(len(null)))
        evidence = evidence + more * self._on(null)(self.nulls[-1], self.growth[-1])
        above = null > self.bound
        run = int(np.append(evidence[above] >= log_threshold, False).argmin())
        return int(null[above][run - 1]) if run else self.bound

    @staticmethod
    def _on(null: NDArray[np.int64]) -> Callable[[NDArray[np.int64], FloatArray], FloatArray]:
        """From a block's grid to ``null``: the value at the next larger null of the block."""
        return lambda grid, value: np.append(value, 0.0)[np.searchsorted(grid, null)]


@dataclass(slots=True, eq=False)
class ConfidenceSequence:
    """Both accuracies of a class.  Each label's promise leans on its own bound, so each may use all of delta."""

    delta: float
    side_0: Side = field(default_factory=Side)
    side_1: Side = field(default_factory=Side)

    def add(self, block: Block, zeros: IntArray, ones: IntArray, belief: Belief) -> None:
        """A finished block's counts, and what was believed before it."""
        outcome = block.index(zeros, ones)
        size = len(block.ways)
        seen = np.bincount(np.where(outcome < 0, size, outcome), minlength=size + 1)
        horizon = int(max(block.zeros.max(), block.ones.max()))
        predicted = block.ways * belief.paths(horizon)[block.zeros, block.ones]
        _, c0, c1 = belief.mean
        self.side_0.add(block, seen, predicted, (c0, c1))
        self.side_1.add(block.swapped(), seen, predicted, (c1, c0))
        self.side_0.advance(-np.log(self.delta))
        self.side_1.advance(-np.log(self.delta))

    @property
    def bounds(self) -> tuple[int, int]:
        """b, in 1 / CELLS, with c(0) > b0 and c(1) > b1."""
        return self.side_0.bound, self.side_1.bound

    def forecast(self, more: int) -> tuple[int, int]:
        """What the bounds may be after ``more`` items."""
        threshold = -np.log(self.delta)
        return self.side_0.forecast(threshold, more), self.side_1.forecast(threshold, more)
