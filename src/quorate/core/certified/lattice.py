"""Randomised plans for one class on the (zeros, ones) lattice, with errors that are exact at given bounds.

A plan says, for each pair (zeros, ones) with at most T answers: ask again, say 0, say 1, or, at T only, give up.
Among all of them, randomised ones included, `lattice_plan` finds the one with the fewest expected answers such that

    P(say 1 | coin 1 − b0) <= level    and    P(say 0 | coin b1) <= level.

After t answers, "say 0" is an initial and "say 1" a final run of the ones.  Hence, coin by coin, fewer ones never
turn another verdict into "say 1": P(say 1 | coin 1 − c0) grows with 1 − c0, and the two errors hold for *every*
class with c0 >= b0 and c1 >= b1.  A mixture of such plans, drawn by the item's own hash, keeps this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.belief import Belief
from quorate.model import UNDECIDED, BoolArray, FloatArray, Items, say

ASK: Final = -1
_ROUNDING: Final = 1e-12  # spared from each level, so that sums of rounded terms meet it too
_TOLERANCE: Final = 2e-3  # of an answer: how near to the optimum is near enough
_PIVOTS: Final = 80


@dataclass(frozen=True, slots=True, eq=False)
class Randomised:
    """A mixture of deterministic plans: ``action[q, t, ones]`` is followed with probability ``weight[q]``."""

    action: NDArray[np.int8]  # (Q, T+1, T+1) ASK, 0, 1, or UNDECIDED
    weight: FloatArray  # (Q,)
    answers: float  # expected, under the belief
    undecided: float  # P(give up), under the belief
    error: tuple[float, float]  # P(say 1 | coin 1 − b0), P(say 0 | coin b1)

    @property
    def horizon(self) -> int:
        return self.action.shape[1] - 1


@dataclass(frozen=True, slots=True, eq=False)
class LatticePlan:
    """The compiled form: ask one class, and look the item's counts up in the plan that its own uniform draws."""

    worker_class: int
    cumulative: FloatArray  # (Q − 1,)
    table: NDArray[np.int16]  # (Q, T+1, T+1) actions as the decider reads them
    belief: Belief
    evidence_name: str = "share of ones"

    @classmethod
    def compiled(cls, worker_class: int, plan: Randomised, belief: Belief) -> LatticePlan:
        verdict = plan.action.astype(np.int16)
        table = np.where(verdict >= 0, say(0) - verdict, np.where(verdict == ASK, worker_class, UNDECIDED))
        return cls(worker_class, np.cumsum(plan.weight)[:-1], table.astype(np.int16), belief)

    def act(self, items: Items) -> NDArray[np.int16]:
        counts = items.counts[:, self.worker_class]
        horizon = self.table.shape[1] - 1
        ones = counts[:, 1].astype(np.intp)
        t = ones + counts[:, 0]
        column = np.searchsorted(self.cumulative, items.uniform, side="right")
        action = self.table[column, np.minimum(t, horizon), np.minimum(ones, horizon)]
        return np.where(t > horizon, np.int16(UNDECIDED), action)

    def evidence(self, items: Items) -> FloatArray:
        counts = items.counts[:, self.worker_class].astype(np.float64)
        share: FloatArray = counts[:, 1] / np.maximum(counts.sum(axis=1), 1)
        return share

    def confidence(self, items: Items) -> FloatArray:
        counts = items.counts[:, self.worker_class]
        return self.belief.posterior(counts[:, 0], counts[:, 1])


# ------------------------------------------------------------------------------------------ the optimum


@dataclass(frozen=True, slots=True, eq=False)
class _Measures:
    """Probabilities of single paths, [t, ones]: under the belief, and under the two coins at the bounds."""

    belief: FloatArray
    coin_0: FloatArray
    coin_1: FloatArray
    may_say_1: BoolArray  # a share of ones of at least 1 − b0: two fair coins could not tell a 1 from a 0 otherwise
    may_say_0: BoolArray

    @classmethod
    def of(cls, belief: Belief, bounds: tuple[float, float], horizon: int) -> _Measures:
        b0, b1 = bounds
        at_0 = Belief(np.array([[b0, b1]]), np.array([0.0])).paths(horizon)
        at_1 = Belief(np.array([[b0, b1]]), np.array([1.0])).paths(horizon)
        t, ones = np.indices(at_0.shape)
        paths = (_by_answers(belief.paths(horizon)), _by_answers(at_0), _by_answers(at_1))
        return cls(*paths, may_say_1=ones >= (1 - b0) * t, may_say_0=ones <= b1 * t)

    @property
    def horizon(self) -> int:
        return len(self.belief) - 1


def _by_answers(paths: FloatArray) -> FloatArray:
    """[zeros, ones] to [t, ones], 0 where ones > t."""
    t, ones = np.indices(paths.shape)
    by_answers: FloatArray = np.where(ones <= t, paths[np.maximum(t - ones, 0), ones], 0.0)
    return by_answers


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One deterministic plan and what it does."""

    action: NDArray[np.int8] | None  # None: give up at once
    cost: float
    error_0: float
    error_1: float
    answers: float
    undecided: float


def lattice_plan(
    belief: Belief, bounds: tuple[float, float], level: float, *, horizon: int, give_up: float
) -> Randomised:
    """The randomised plan with the least expected answers + ``give_up`` × P(give up) under the belief.

    The linear programme min Σ q cost, Σ q error_i <= level, Σ q = 1 is solved by the simplex method on a basis of
    three columns; the column that enters is the best of *all* deterministic plans at the current prices, found by
    backward induction.

    >>> world = Belief(np.array([[0.9, 0.8]]), np.array([0.5]))
    >>> plan = lattice_plan(world, (0.85, 0.75), 0.05, horizon=40, give_up=200.0)
    >>> round(plan.answers, 2), [round(e, 4) for e in plan.error]
    (2.98, [0.05, 0.05])
    """
    measures = _Measures.of(belief, bounds, horizon)
    target = level * (1 - _ROUNDING)
    nothing = _Column(None, give_up, 0.0, 0.0, 0.0, 1.0)
    slack_0, slack_1 = _Column(None, 0.0, 1.0, 0.0, 0.0, 0.0), _Column(None, 0.0, 0.0, 1.0, 0.0, 0.0)
    basis = [nothing, slack_0, slack_1]
    real = np.array([1.0, 0.0, 0.0])  # slack columns take no share of the items
    right = np.array([target, target, 1.0])
    for _ in range(_PIVOTS):
        matrix = np.array([[c.error_0 for c in basis], [c.error_1 for c in basis], real])
        price = np.linalg.solve(matrix.T, np.array([c.cost for c in basis]))
        action = _best_response(measures, max(-price[0], 0.0), max(-price[1], 0.0), give_up)
        enters = _column(action, measures, give_up)
        entry = np.array([enters.error_0, enters.error_1, 1.0])
        if enters.cost - price @ entry > -_TOLERANCE:
            break
        share, direction = np.linalg.solve(matrix, np.stack([right, entry], axis=1)).T
        ratio = np.full(3, np.inf)
        np.divide(np.maximum(share, 0.0), direction, out=ratio, where=direction > 0)
        leaves = int(ratio.argmin())
        basis[leaves], real[leaves] = enters, 1.0
    matrix = np.array([[c.error_0 for c in basis], [c.error_1 for c in basis], real])
    share = np.maximum(np.linalg.solve(matrix, right), 0.0) * real
    return _mixture(basis, share / share.sum(), horizon)


def _mixture(basis: list[_Column], weight: FloatArray, horizon: int) -> Randomised:
    used = [(c, float(q)) for c, q in zip(basis, weight, strict=True) if q > 0]
    give_up_at_once = np.full((horizon + 1, horizon + 1), UNDECIDED, np.int8)
    return Randomised(
        action=np.stack([give_up_at_once if c.action is None else c.action for c, _ in used]),
        weight=np.array([q for _, q in used]),
        answers=sum(q * c.answers for c, q in used),
        undecided=sum(q * c.undecided for c, q in used),
        error=(sum(q * c.error_0 for c, q in used), sum(q * c.error_1 for c, q in used)),
    )


def _best_response(measures: _Measures, loss_0: float, loss_1: float, give_up: float) -> NDArray[np.int8]:
    """Backward induction for min E[answers] + loss_0 P(say 1 | coin_0) + loss_1 P(say 0 | coin_1) + give_up.

    Everything is weighted by path probabilities, so that three measures may differ without harm:
    V(t, s) = min(loss_0 coin_0, loss_1 coin_1, belief + V(t + 1, s + 1) + V(t + 1, s)).
    """
    horizon = measures.horizon
    say_1 = np.where(measures.may_say_1, loss_0 * measures.coin_0, np.inf)
    say_0 = np.where(measures.may_say_0, loss_1 * measures.coin_1, np.inf)
    stop, verdict = np.minimum(say_1, say_0), (say_1 <= say_0).astype(np.int8)
    action = np.full((horizon + 1, horizon + 1), UNDECIDED, np.int8)
    last = give_up * measures.belief[horizon]
    action[horizon] = np.where(stop[horizon] <= last, verdict[horizon], UNDECIDED)
    value = np.minimum(stop[horizon], last)
    for t in range(horizon - 1, -1, -1):
        ones = slice(0, t + 1)
        go_on = measures.belief[t, ones] + value[1 : t + 2] + value[: t + 1]
        action[t, ones] = np.where(stop[t, ones] <= go_on, verdict[t, ones], ASK)
        value = np.minimum(stop[t, ones], go_on)
    return monotone(action)


def monotone(action: NDArray[np.int8]) -> NDArray[np.int8]:
    """Extend "say 1" to all larger and "say 0" to all smaller numbers of ones after as many answers.

    An optimal plan has this shape already, but for states that it hardly ever reaches.
    """
    says_1 = np.maximum.accumulate(action == 1, axis=-1)
    says_0 = np.maximum.accumulate(action[..., ::-1] == 0, axis=-1)[..., ::-1] & ~says_1
    shaped: NDArray[np.int8] = np.where(says_1, 1, np.where(says_0, 0, action)).astype(np.int8)
    return shaped


def ways(action: NDArray[np.int8]) -> FloatArray:
    """The number of paths that lead to each (t, ones) without stopping before; [t, ones].

    >>> quorum = np.array([[-1, 0, 0], [-1, -1, 0], [0, -2, 1]], np.int8)
    >>> ways(quorum)[2]
    array([1., 2., 1.])
    """
    reached = np.zeros(action.shape)
    reached[0, 0] = 1.0
    for t in range(len(action) - 1):
        onward = np.where(action[t] == ASK, reached[t], 0.0)
        reached[t + 1] += onward
        reached[t + 1, 1:] += onward[:-1]
    return reached


def _column(action: NDArray[np.int8], measures: _Measures, give_up: float) -> _Column:
    reached = ways(action)
    answers = float((reached * measures.belief)[action == ASK].sum())
    undecided = float((reached * measures.belief)[action == UNDECIDED].sum())
    error_0 = float((reached * measures.coin_0)[action == 1].sum())
    error_1 = float((reached * measures.coin_1)[action == 0].sum())
    return _Column(action, answers + give_up * undecided, error_0, error_1, answers, undecided)
