"""Lower bounds on c(0) and c(1) of one class that hold at all times at once: a confidence sequence by betting.

For each c the evidence against "c(0) <= c" is the product of certified e-values (`projection`), one per item.  If the
null is true it is a nonnegative supermartingale that starts at 1, whatever the true labels are, and however the next
block's plan, prediction and grid were chosen from earlier items.  The bound is the end of the run of nulls, from below,
whose evidence has reached 1/delta.  By Ville

    P(the bound ever reaches c(0)) <= P(the evidence against "c(0) <= c(0)" ever reaches 1/delta) <= delta,

and the same for c(1) with the labels' names exchanged.  An e-value against a larger null is valid against a smaller one
too, so each block brings a grid of its own: a null uses the block's next larger value, or e = 1 beyond the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.projection import CELLS, project
from quorate.model import FloatArray, IntArray

_SHRINK: Final = 0.87  # nulls approach the believed accuracy in such steps
_NULLS: Final = 18
FLOOR: Final = CELLS // 2  # c > 1/2 is the model's assumption, and needs no evidence


@dataclass(slots=True, eq=False)
class Side:
    """The evidence about one accuracy: c(0), or c(1) with the labels' names exchanged."""

    nulls: list[NDArray[np.int64]] = field(default_factory=list)  # a grid per block
    log_e: list[FloatArray] = field(default_factory=list)  # (G,) the block's evidence so far
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

    def _grid(self, believed: float) -> NDArray[np.int64]:
        steps = believed - (believed - self.bound / CELLS) * _SHRINK ** np.arange(_NULLS)
        grid = np.unique(np.floor(steps * CELLS).astype(np.int64))
        return grid[(grid > self.bound) & (grid < believed * CELLS)]

    def advance(self, log_threshold: float) -> None:
        """Raise the bound as far as the evidence goes."""
        if not self.nulls:
            return
        null = np.unique(np.concatenate(self.nulls))
        evidence = np.zeros(len(null))
        for grid, log_e in zip(self.nulls, self.log_e, strict=True):
            evidence += np.append(log_e, 0.0)[np.searchsorted(grid, null)]
        above = null > self.bound
        run = int(np.append(evidence[above] >= log_threshold, False).argmin())
        if run:
            self.bound = int(null[above][run - 1])


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
    def bounds(self) -> tuple[float, float]:
        """b with c(0) > b0 and c(1) > b1."""
        return self.side_0.bound / CELLS, self.side_1.bound / CELLS
