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

    @classmethod
    def one(cls, k: int, task: Task) -> ExplorePlan:
        """One answer of class k."""
        return cls((np.arange(task.classes) == k).astype(np.int64), np.array([k]))

    def act(self, items: Items) -> NDArray[np.int16]:
        action = np.full(len(items.uniform), HOLD, np.int16)
        for k in self.order[::-1]:
            action[(items.used[:, k] < self.times[k]) & items.open[:, k]] = k
        return action

    def evidence(self, items: Items) -> FloatArray:
        return np.asarray(items.counts.sum(axis=(1, 2)), np.float64)

    def confidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)
