"""What the answers so far make believable, and which class it makes worth buying from.

All of this is guidance.  The proof uses none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from quorate.core.certified.belief import Belief
from quorate.core.estimators.em import compress, fit_counts
from quorate.core.estimators.posterior import estimate_of, posterior_draws
from quorate.model import OPEN, BoolArray, Estimate, FloatArray, Task, View

_DRAWS: Final = (32, 256)  # at least, at most: more where a small chance that another class is better matters more,
_PER_DRAW: Final = 50  # one for so many items
_ALIVE: Final = 0.04  # a class that is best in fewer of the draws is not explored on
_AT_LEAST: Final = 3  # classes that are explored, so that one answer of each can tell them apart


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """Draws from the posterior: ``accuracy`` (D, M, 2), ``prior`` (D,); and the fit that people are shown."""

    accuracy: FloatArray
    prior: FloatArray
    estimate: Estimate

    @classmethod
    def of(cls, task: Task, view: View, rng: np.random.Generator) -> Knowledge:
        """From every answer that there is, on gold items too."""
        touched = np.flatnonzero(view.counts.any(axis=(1, 2)))
        gold = np.full(task.items, OPEN) if task.gold is None else np.asarray(task.gold)
        open_, known = touched[gold[touched] == OPEN], touched[gold[touched] != OPEN]
        rows = compress(view.counts[open_])
        fit = fit_counts(
            np.concatenate([rows.unique, view.counts[known]]),
            weight=np.concatenate([rows.weight, np.ones(len(known), np.int64)]),
            gold=np.concatenate([np.full(len(rows.unique), OPEN), gold[known]]),
            belief=task.belief,
            prior_belief=task.prior_belief,
        )
        draws = int(np.clip(task.items // _PER_DRAW, *_DRAWS))
        accuracy, prior = posterior_draws(rows.unique, rows.weight, fit, draws=draws, rng=rng)
        return cls(accuracy, prior, estimate_of(fit, accuracy, prior))

    def belief(self, worker_class: int) -> Belief:
        return Belief(self.accuracy[:, worker_class], self.prior)

    def cost(self, task: Task) -> FloatArray:
        """Wald's cost of an item with each class, in each draw (D, M)."""
        a = task.alpha
        c0, c1 = self.accuracy[..., 0], self.accuracy[..., 1]
        w = self.prior[:, None]
        answers = (1 - w) / _kl(c0, 1 - c1) + w / _kl(c1, 1 - c0)
        return np.asarray(_kl(a, 1 - a) * task.price * answers)


def _kl(p: FloatArray | float, q: FloatArray | float) -> FloatArray:
    return np.asarray(rel_entr(p, q) + rel_entr(np.subtract(1, p), np.subtract(1, q)), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Classes by what an item would cost with them; those that cannot do it alone cost infinitely much."""

    best: int
    regret: float  # expected cost per item of using ``best`` where another class is better
    alive: NDArray[np.int64]  # classes that may be best

    @classmethod
    def of(cls, cost: FloatArray, candidate: BoolArray) -> Ranking:
        cost = np.where(candidate, cost, np.inf)
        with np.errstate(invalid="ignore"):
            doubtful = np.where(candidate, cost.mean(axis=0) + np.where(candidate, cost.std(axis=0), 0.0), np.inf)
        best = int(doubtful.argmin())
        share = np.bincount(cost.argmin(axis=1), minlength=cost.shape[1]) / len(cost)
        leaders = np.argsort(doubtful, kind="stable")[:_AT_LEAST]
        alive = np.union1d(np.flatnonzero(share >= _ALIVE), leaders)
        return cls(best, float((cost[:, best] - cost.min(axis=1)).mean()), alive)
