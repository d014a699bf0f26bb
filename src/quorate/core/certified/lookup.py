"""Plans for one class as tables: what to do after t answers, `ones` of them 1, for each part of the
uniforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.belief import Belief
from quorate.core.certified.boundary import Boundary
from quorate.model import HOLD, UNDECIDED, FloatArray, Items, say

ASK: Final = 0  # in a `Table`: ask the class that the table is for


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """``action[q, t, ones]`` for uniforms from ``start[q]`` to the next: ASK, HOLD, UNDECIDED, or say(label)."""

    start: FloatArray  # (Q,) ascending from 0
    action: NDArray[np.int16]  # (Q, T+1, T+1)

    @property
    def weight(self) -> FloatArray:
        return np.diff(self.start, append=1.0)

    @property
    def horizon(self) -> int:
        return int(self.action.shape[1]) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The boundaries of both labels: ``say_1`` leans on a bound on c(0), ``say_0`` on one on c(1)."""

    say_1: Boundary
    say_0: Boundary

    def table(self, bounds: tuple[int, int], expected: tuple[int, int] | None = None) -> Table:
        """Say what the bounds (in 1 / CELLS) allow; hold what bounds that are expected later will allow.

        Without ``expected`` the horizon is the end, and what is open there is undecided.
        """
        one, zero = self._shares(bounds)
        soon = (0.0, 0.0) if expected is None else self._shares(expected)
        levels = [np.unique(share) for share in (one, zero, *soon)]
        start = np.unique(np.concatenate([[0.0], *levels]))
        start = start[start < 1]
        u = start[:, None, None]
        t, ones = np.indices(one.shape)
        says = np.where((u < one) & ~((u < zero) & (2 * ones < t)), say(1), np.where(u < zero, say(0), ASK))
        last = UNDECIDED if expected is None else HOLD
        waits = (u < soon[0]) | (u < soon[1]) | (t == self.say_1.horizon)
        return Table(start, np.where((says == ASK) & waits, last, says).astype(np.int16))

    def _shares(self, bounds: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        zero = self.say_0.at(bounds[1])  # [t, zeros]
        t, ones = np.indices(zero.shape)
        return self.say_1.at(bounds[0]), np.where(ones <= t, zero[t, np.maximum(t - ones, 0)], 0.0)


def ways(asks: NDArray[np.bool_]) -> FloatArray:
    """The number of paths to each (t, ones) that pass through ``asks`` only.

    >>> ways(np.array([[True, False, False], [True, True, False], [False, False, False]]))[2]
    array([1., 2., 1.])
    """
    reached = np.zeros(asks.shape)
    reached[0, 0] = 1.0
    for t in range(len(asks) - 1):
        onward = np.where(asks[t], reached[t], 0.0)
        reached[t + 1] = onward
        reached[t + 1, 1:] += onward[:-1]
    return reached


@dataclass(frozen=True, slots=True, eq=False)
class LookUpPlan:
    """Ask one class; look the item's counts up in the table's part that its own uniform falls into."""

    worker_class: int
    table: Table
    belief: Belief
    evidence_name: str = "share of ones"

    def act(self, items: Items) -> NDArray[np.int16]:
        counts = items.counts[:, self.worker_class]
        horizon = self.table.horizon
        ones = counts[:, 1].astype(np.intp)
        t = ones + counts[:, 0]
        part = np.searchsorted(self.table.start, items.uniform, side="right") - 1
        action = self.table.action[part, np.minimum(t, horizon), np.minimum(ones, horizon)]
        action = np.where(t > horizon, np.int16(UNDECIDED), action)
        return np.where(action == ASK, np.int16(self.worker_class), action)

    def evidence(self, items: Items) -> FloatArray:
        counts = items.counts[:, self.worker_class].astype(np.float64)
        share: FloatArray = counts[:, 1] / np.maximum(counts.sum(axis=1), 1)
        return share

    def confidence(self, items: Items) -> FloatArray:
        counts = items.counts[:, self.worker_class]
        return self.belief.posterior(counts[:, 0], counts[:, 1])
