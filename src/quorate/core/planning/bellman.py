"""The Bayes problem behind an optimal plan, solved on a grid of log-odds.

With losses ``l0`` (saying 1 when the label is 0), ``l1`` (saying 0 when it is 1), ``u0`` and ``u1`` (giving up) the
least expected loss at log-odds x, divided by P(label 0), is::

    W(x) = min( l1 e^x,  l0,  u0 + u1 e^x,  min_k p_k (1 + e^x) + c_k(0) W(x + z_k0) + (1 - c_k(0)) W(x + z_k1) )

W is concave in e^x, so interpolating it linearly in e^x between grid points never exceeds it: the solution on the
grid is a lower bound for every policy.  Outside the grid stopping is best, and W is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.planning.pool import CERTAIN, UNITS, Pool
from quorate.model import UNDECIDED, FloatArray, say

WIDEST: Final = 24.0  # nats to either side that a grid covers
SWEEPS: Final = 40  # of value iteration, before policies are iterated instead …
ITERATIONS: Final = 200  # … at most so often
TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Losses:
    say_1: float  # l0: when the label is 0
    say_0: float  # l1: when the label is 1
    give_up_0: float  # u0
    give_up_1: float  # u1

    def region(self, cheapest: float) -> tuple[float, float]:
        """The log-odds between which asking may pay: the risk of stopping exceeds the cheapest answer's price."""

        def edge(loss: float) -> float:
            return float(np.clip(np.log(loss / cheapest - 1), -WIDEST, WIDEST)) if loss > cheapest else -WIDEST

        with np.errstate(divide="ignore", invalid="ignore"):
            even = float(np.clip(np.nan_to_num(np.log(self.say_1) - np.log(self.say_0)), -WIDEST, WIDEST))
        low, high = -edge(self.say_0), edge(self.say_1)
        return (min(low, even), max(high, even)) if low < high else (even, even)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The best action and its value by state of the caps and cell of the log-odds."""

    first: int  # cell number of column 0; cell i is the log-odds within step/2 of i * step
    shift: int  # a cell is 2**shift units of log-odds wide
    action: NDArray[np.int16]  # (R, G)
    value: FloatArray  # (R, G): W
    losses: Losses

    @property
    def step(self) -> float:
        return float(2**self.shift / UNITS)

    def at(self, state: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.int16]:
        """The action at log-odds given in whole units; beyond the ends the end's."""
        return self.action[state, self.column(units)]

    def column(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """The column of log-odds given in whole units."""
        cell = (units + (1 << (self.shift - 1))) >> self.shift
        column: NDArray[np.int64] = np.clip(cell - self.first, 0, self.action.shape[1] - 1)
        return column

    def on(self, first: int, last: int, shift: int) -> tuple[NDArray[np.int16], FloatArray]:
        """Actions and values on other, not wider, cells, the ends extended."""
        column = self.column(np.arange(first, last + 1) << shift)
        return self.action[:, column], self.value[:, column]

    @property
    def span(self) -> tuple[int, int]:
        """The first and last cell's centres, in units."""
        return self.first << self.shift, (self.first + self.action.shape[1] - 1) << self.shift


class Bayes:
    """One Bayes problem: its grid, its fixed part, and how an answer moves along the grid.

    ``surcharge`` is added to the price of each answer.
    """

    def __init__(self, pool: Pool, losses: Losses, shift: int, surcharge: float = 0.0) -> None:
        self.pool, self.losses, self.shift = pool, losses, shift
        self.price = pool.price + surcharge
        self.step = 2.0**shift / UNITS
        low, high = losses.region(float(self.price.min()))
        self.first = int(np.floor(low / self.step)) - 1
        self.size = int(np.ceil(high / self.step)) + 2 - self.first
        moves = pool.evidence / self.step
        self.whole = np.floor(moves).astype(np.int64)  # (M, 2)
        part = np.expm1((moves - self.whole) * self.step) / np.expm1(self.step)
        answer = np.stack([pool.accuracy[:, 0], 1 - pool.accuracy[:, 0]], 1)
        self.near, self.far = answer * (1 - part), answer * part
        self.pad = int(min(np.abs(self.whole).max() + 2, CERTAIN / self.step + 2))
        x = (self.first - self.pad + np.arange(self.size + 2 * self.pad)) * self.step
        self.odds = np.exp(x)
        ways = np.stack(
            [losses.say_0 * self.odds, np.full(len(x), losses.say_1), losses.give_up_0 + losses.give_up_1 * self.odds]
        )
        self.stop = ways.min(axis=0)
        self.stop_action = np.array([say(0), say(1), UNDECIDED], np.int16)[ways.argmin(axis=0)]
        self.inner = slice(self.pad, self.pad + self.size)

    def asking(self, value: FloatArray, k: int) -> tuple[NDArray[np.int64], FloatArray]:
        """The states in which class k may be asked, and the value of asking it there, on the inner cells."""
        can = np.flatnonzero(self.pool.child[:, k] >= 0)
        after = (
            value
            if len(can) == len(value) and can.size and self.pool.child[0, k] == 0
            else value[self.pool.child[can, k]]
        )
        total = self.price[k] * (1 + self.odds[self.inner])
        for a in (0, 1):
            at = self.pad + self.whole[k, a]
            total = total + self.near[k, a] * after[:, at : at + self.size]
            total += self.far[k, a] * after[:, at + 1 : at + 1 + self.size]
        return can, total

    def improve(self, value: FloatArray) -> tuple[FloatArray, NDArray[np.int16]]:
        """One sweep: the best value against ``value``, and the action that has it; ties go to stopping."""
        best = np.tile(self.stop[self.inner], (len(value), 1))
        action = np.tile(self.stop_action[self.inner], (len(value), 1))
        for k in range(self.pool.classes):
            can, total = self.asking(value, k)
            better = total < best[can]
            best[can] = np.where(better, total, best[can])
            action[can] = np.where(better, np.int16(k), action[can])
        return best, action

    def of_policy(self, action: NDArray[np.int16]) -> FloatArray:
        """The value of always acting so."""
        asking = [price * (1 + self.odds[:, None]) for price in self.price]
        return self.to_the_end(action, self.stop[:, None], asking)[:, :, 0]

    def to_the_end(self, action: NDArray[np.int16], ending: FloatArray, asking: Sequence[FloatArray]) -> FloatArray:
        """Expected totals of acting so without limit: ``ending`` where it stops, ``asking[k]`` where it asks class k.

        Both are given by cell, padding included, and total; one sparse linear system solves for all totals at once.
        """
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        states, size = action.shape
        known = np.tile(ending[None, self.inner], (states, 1, 1))
        rows: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []
        weights: list[FloatArray] = []
        for k in range(self.pool.classes):
            r, g = np.nonzero(action == k)
            known[r, g] = asking[k][self.pad + g]
            child = self.pool.child[r, k]
            for a in (0, 1):
                for ahead, weight in ((0, self.near[k, a]), (1, self.far[k, a])):
                    to = g + self.whole[k, a] + ahead
                    inside = (to >= 0) & (to < size)
                    known[r[~inside], g[~inside]] += weight * ending[self.pad + to[~inside]]
                    rows.append((r * size + g)[inside])
                    columns.append((child * size + to)[inside])
                    weights.append(np.full(int(inside.sum()), weight))
        place = (np.concatenate(rows), np.concatenate(columns))
        move = csc_array((np.concatenate(weights), place), shape=(states * size,) * 2)
        solved = splu((eye_array(states * size, format="csc") - move).tocsc()).solve(known.reshape(states * size, -1))
        return np.asarray(solved, np.float64).reshape(states, size, -1)

    def solve(self) -> Table:
        """Value iteration; where that is slow (answers that say little), policy iteration."""
        value = np.tile(self.stop, (self.pool.states, 1))
        best, action = self.improve(value)
        for _ in range(SWEEPS):
            done = self._settled(best, value)
            value[:, self.inner] = best
            if done:
                break
            best, action = self.improve(value)
        else:
            action = self._iterate_policies(value, action)
        return Table(self.first, self.shift, action, value[:, self.inner].copy(), self.losses)

    def _settled(self, best: FloatArray, value: FloatArray) -> bool:
        return bool((np.abs(best - value[:, self.inner]) <= TOLERANCE * best).all())

    def _iterate_policies(self, value: FloatArray, action: NDArray[np.int16]) -> NDArray[np.int16]:
        """Howard's iteration, ``value`` improved in place.

        One step widens the region of asking by one answer's move only, so it is widened further, by twice as much
        each time as long as that is no worse anywhere.
        """
        value[:, self.inner] = self.of_policy(action)
        wider = 1
        for _ in range(ITERATIONS):
            best, action = self.improve(value)
            if self._settled(best, value):
                break
            bold = self.of_policy(_widened(action, wider))
            gain = bool((bold <= best).all())
            value[:, self.inner] = bold if gain else self.of_policy(action)
            wider = 2 * wider if gain else max(wider // 4, 1)
        return action


def _widened(action: NDArray[np.int16], cells: int) -> NDArray[np.int16]:
    """With the first and last class asked in each state asked on ``cells`` more cells."""
    wider = action.copy()
    for row in wider:
        asking = np.flatnonzero(row >= 0)
        if len(asking):
            low, high = asking[0], asking[-1]
            row[max(low - cells, 0) : low] = row[low]
            row[high + 1 : high + 1 + cells] = row[high]
    return wider
