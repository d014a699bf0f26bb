"""Exploring: which classes are still worth an answer for the sake of knowing them, and the plan that asks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from quorate.core.planning.learned import Learned
from quorate.model import HOLD, BoolArray, FloatArray, IntArray, Items, Task

WORTH: Final = 1.5  # times its price, an answer for the sake of knowing must promise to save


def index(accuracy: FloatArray, prior: FloatArray, price: FloatArray, alpha: float) -> FloatArray:
    """Wald's cost per item of deciding with one class: I_k (D, M).

    ``I_k = d(a, 1-a) p_k [w0 / d(c_k(0), 1-c_k(1)) + w1 / d(c_k(1), 1-c_k(0))]``

    >>> index(np.array([[[0.9, 0.9], [0.7, 0.7]]]), np.array([0.5]), np.array([3.0, 1.0]), 0.05).round(2)
    array([[4.52, 7.82]])
    """
    c0, c1 = accuracy[..., 0], accuracy[..., 1]
    w = prior[:, None]
    with np.errstate(divide="ignore"):
        answers = (1 - w) / _kl(c0, 1 - c1) + w / _kl(c1, 1 - c0)
    return np.asarray(_kl(np.array(alpha), np.array(1 - alpha)) * price * answers, np.float64)


def _kl(p: FloatArray, q: FloatArray) -> FloatArray:
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q), np.float64)


def still_worth_exploring(
    learned: Learned, task: Task, size: IntArray | int, left: int, alive: BoolArray
) -> BoolArray:
    """Classes that may save more, on the items that are left, than ``WORTH`` times what the next round costs."""
    cost = index(learned.accuracy, learned.prior, task.price, task.alpha)
    cost = np.minimum(cost, 1e6 * task.price.max())
    usable = alive & (task.answers_per_item > 0)
    if not usable.any():
        return usable
    mean = np.where(usable, (cost.mean(axis=0) + cost.std(axis=0)), np.inf)
    favourite = int(mean.argmin())
    saving = left * np.maximum(cost[:, [favourite]] - cost, 0.0).mean(axis=0)
    others = np.where(usable, cost, np.inf)
    others[:, favourite] = np.inf
    own = left * np.maximum(cost[:, favourite] - others.min(axis=1), 0.0).mean() if usable.sum() > 1 else 0.0
    saving[favourite] = own
    worth: BoolArray = usable & (saving > WORTH * size * task.price)
    return worth


@dataclass(frozen=True, slots=True, eq=False)
class ExplorePlan:
    """Ask each class so many times, cheapest first, then hold.

    >>> plan = ExplorePlan(np.array([1, 2]), np.array([0, 1]))
    >>> used = np.array([[0, 0], [1, 1], [1, 2]])
    >>> plan.act(Items(np.zeros((3, 2, 2), int), used, np.ones((3, 2), bool), np.zeros(3)))
    array([ 0,  1, -1], dtype=int16)
    """

    times: NDArray[np.int64]  # (M,)
    order: NDArray[np.int64]
    evidence_name: str = "answers"

    @classmethod
    def of(cls, alive: BoolArray, task: Task) -> ExplorePlan:
        """Three answers an item tell a class's matrix, from one class or from several."""
        times = -(-3 // max(int(alive.sum()), 1))
        return cls(np.where(alive, times, 0), np.argsort(task.price, kind="stable"))

    def act(self, items: Items) -> NDArray[np.int16]:
        action = np.full(len(items.uniform), HOLD, np.int16)
        for k in self.order[::-1]:
            action[(items.used[:, k] < self.times[k]) & items.open[:, k]] = k
        return action

    def evidence(self, items: Items) -> FloatArray:
        return np.asarray(items.counts.sum(axis=(1, 2)), np.float64)

    def confidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class ScoutPlan:
    """One answer of one class about some of the items, each class about its own share of them, then hold.

    >>> plan = ScoutPlan.of(np.array([0.0, 0.2, 0.3]))
    >>> used = np.zeros((3, 3), int)
    >>> plan.act(Items(np.zeros((3, 3, 2), int), used, used == 0, np.array([0.1, 0.4, 0.6])))
    array([ 1,  2, -1], dtype=int16)
    """

    edges: FloatArray  # (M,) item j is class k's where its uniform lies below edge k and above the one before
    evidence_name: str = "answers"

    @classmethod
    def of(cls, share: FloatArray) -> ScoutPlan:
        """Each class's share of the items; what is left over of 1 is not asked about."""
        return cls(np.cumsum(share))

    def act(self, items: Items) -> NDArray[np.int16]:
        k = np.searchsorted(self.edges, items.uniform, side="right")
        mine = np.flatnonzero(k < len(self.edges))
        mine = mine[items.open[mine, k[mine]] & (items.used[mine, k[mine]] == 0)]
        action = np.full(len(k), HOLD, np.int16)
        action[mine] = k[mine]
        return action

    def evidence(self, items: Items) -> FloatArray:
        return np.asarray(items.counts.sum(axis=(1, 2)), np.float64)

    def confidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)
