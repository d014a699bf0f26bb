"""A mixture of tables compiled to one look-up: counts in, action out, a million items in well under a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate.core.hashing import uniform as hash_uniform
from quorate.core.planning.oracle import OraclePlan
from quorate.core.planning.pool import Pool, quantised
from quorate.model import UNDECIDED, BoolArray, FloatArray, IntArray, Items

CHUNK: Final = 16_384  # rows at a time, so that the work stays in the cache


@dataclass(frozen=True, slots=True, eq=False)
class LookupPlan:
    """Log-odds from counts, cell from log-odds, action from (component, state of the caps, cell).

    Item j follows the component whose cumulative weight covers its own uniform.  A class that is not open for an item
    is replaced by the open class of the next best value; with none open the item is undecided.

    >>> from quorate.core.planning.oracle import oracle
    >>> plan = compiled(oracle([(0.9, 0.9)], [1.0], alpha=0.05))
    >>> counts = np.array([[[0, 0]], [[0, 2]], [[3, 0]]])
    >>> plan.act(Items(counts, counts.sum(axis=2), np.ones((3, 1), bool), np.full(3, 0.5)))
    array([ 0, -4, -3], dtype=int16)
    """

    log_odds: float  # without answers
    weight: FloatArray  # (M, 2) what each answer adds
    cumulative: FloatArray  # (P,)
    action: NDArray[np.int16]  # (P, R, G)
    value: FloatArray  # (R, G) of the most careful component, for next best classes
    first: int
    step: float
    pool: Pool
    salt: int = 0  # plans of one campaign choose components independently of each other
    evidence_name: str = "log-odds"

    def act(self, items: Items) -> NDArray[np.int16]:
        out = np.empty(len(items.uniform), np.int16)
        for begin in range(0, len(out), CHUNK):
            rows = slice(begin, begin + CHUNK)
            out[rows] = self._act(items.counts[rows], items.used[rows], items.open[rows], items.uniform[rows])
        return out

    def _act(self, counts: IntArray, used: IntArray, is_open: BoolArray, uniform: FloatArray) -> NDArray[np.int16]:
        cell = self._cell(self._log_odds(counts))
        state: NDArray[np.int64] | int = self.pool.state(used, is_open) if self.pool.states > 1 else 0
        if len(self.cumulative) > 1:
            own = hash_uniform(np.ascontiguousarray(uniform).view(np.uint64), self.salt) if self.salt else uniform
            component = np.searchsorted(self.cumulative[:-1], own, side="right")
        else:
            component = np.zeros(len(cell), np.int64)
        states, size = self.action.shape[1:]
        action: NDArray[np.int16] = self.action.ravel()[(component * states + state) * size + cell]
        if not is_open.all():
            shut = np.flatnonzero(action >= 0)
            shut = shut[~is_open[shut, action[shut]]]
            if len(shut):
                at = state[shut] if isinstance(state, np.ndarray) else np.zeros(len(shut), np.int64)
                action[shut] = self._next_best(cell[shut], at, is_open[shut])
        return action

    def _next_best(self, cell: NDArray[np.int64], state: NDArray[np.int64], is_open: BoolArray) -> NDArray[np.int16]:
        """The open class of least value of asking; ties go to the smallest index."""
        odds = np.exp((cell + self.first) * self.step)
        best, action = np.full(len(cell), np.inf), np.full(len(cell), UNDECIDED, np.int16)
        last = self.value.shape[1] - 1
        for k in range(self.pool.classes):
            child = self.pool.child[state, k]
            after = [
                self.value[
                    np.maximum(child, 0),
                    np.clip(np.rint(cell + self.weight[k, a] / self.step), 0, last).astype(np.int64),
                ]
                for a in (0, 1)
            ]
            right = self.pool.accuracy[k, 0]
            total = self.pool.price[k] * (1 + odds) + right * after[0] + (1 - right) * after[1]
            better = is_open[:, k] & (child >= 0) & (total < best)
            best, action = np.where(better, total, best), np.where(better, np.int16(k), action)
        return action

    def _log_odds(self, counts: IntArray) -> FloatArray:
        flat = counts.reshape(len(counts), -1).astype(np.float64)
        return flat @ self.weight.ravel() + self.log_odds  # whole units of log-odds: exact in any order

    def _cell(self, log_odds: FloatArray) -> NDArray[np.int64]:
        cell = np.floor(log_odds / self.step + 0.5).astype(np.int64) - self.first
        return np.clip(cell, 0, self.action.shape[2] - 1)

    def evidence(self, items: Items) -> FloatArray:
        """log P(label 1 | answers) - log P(label 0 | answers), as believed when the plan was made."""
        return self._log_odds(items.counts)

    def confidence(self, items: Items) -> FloatArray:
        return np.asarray(expit(self._log_odds(items.counts)), np.float64)


def compiled(plan: OraclePlan, salt: int = 0) -> LookupPlan:
    """The plan as one look-up; ``salt`` tells the plans of one campaign apart (0: item j's uniform as it is)."""
    tables = [table for table in plan.table if table is not None]
    if not tables:
        states = plan.pool.states
        never = np.full((1, states, 1), UNDECIDED, np.int16)
        return _lookup(plan, np.ones(1), never, np.zeros((states, 1)), 0, 1.0, salt)
    shift = min(table.shift for table in tables)
    first = min(table.span[0] for table in tables) >> shift
    last = max(table.span[1] for table in tables) >> shift
    never = np.full((plan.pool.states, last - first + 1), UNDECIDED, np.int16)
    actions = [never if table is None else table.on(first, last, shift)[0] for table in plan.table]
    most_careful = max(tables, key=lambda table: table.action.shape[1] * table.step)
    value = most_careful.on(first, last, shift)[1]
    return _lookup(plan, plan.weight, np.stack(actions), value, first, min(table.step for table in tables), salt)


def _lookup(
    plan: OraclePlan,
    weight: FloatArray,
    action: NDArray[np.int16],
    value: FloatArray,
    first: int,
    step: float,
    salt: int,
) -> LookupPlan:
    return LookupPlan(
        float(quantised(plan.log_odds)), plan.pool.evidence, np.cumsum(weight), action, value, first, step,
        plan.pool, salt,
    )  # fmt: skip
