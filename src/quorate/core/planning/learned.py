"""What a campaign believes at a barrier, in the forms that planning needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from quorate.core.estimators.em import Fit, compress, fit_counts, row_log_odds
from quorate.core.estimators.posterior import estimate_of, posterior_draws
from quorate.core.planning.forward import Start, Worlds
from quorate.core.planning.pool import UNITS, Pool, evidence, log_odds_of
from quorate.model import OPEN, Estimate, FloatArray, IntArray, Task, View

MOST_PLACES: Final = 400  # starting log-odds that a plan follows one by one


class Predicted(NamedTuple):
    """The share of wrong labels among so many items (about), in each draw from the posterior."""

    error: FloatArray  # (D,)
    size: float


@dataclass(frozen=True)
class Learned:
    """The fit to all answers, and draws from its posterior."""

    fit: Fit
    accuracy: FloatArray  # (D, M, 2)
    prior: FloatArray  # (D,)

    @cached_property
    def estimate(self) -> Estimate:
        return estimate_of(self.fit, self.accuracy, self.prior)

    def posterior(self, unique: IntArray) -> FloatArray:
        """P(label 1 | counts) of different rows (u, D), in each draw."""
        return np.asarray(expit(row_log_odds(_columns(unique), self.accuracy, self.prior)), np.float64)

    def thinned(self, draws: int) -> Learned:
        """With so many of the draws."""
        return replace(self, accuracy=self.accuracy[:draws], prior=self.prior[:draws])

    def worlds(self, view: View, items: IntArray) -> Worlds:
        """The draws as possible truths about these items: the share of label 1 among them is theirs."""
        rows = compress(view.counts[items])
        one = rows.weight @ self.posterior(rows.unique) / max(len(items), 1)
        return Worlds(self.accuracy, one)

    def errors(self, view: View, items: IntArray, *, average: bool = False) -> list[Predicted]:
        """What is predicted of the labels given so far: for each true label, or of all labels together."""
        items = items[view.verdict[items] >= 0]
        rows = compress(view.counts[items])
        said_1 = np.bincount(rows.inverse, view.verdict[items], minlength=len(rows.unique))
        one = self.posterior(rows.unique)
        wrong = np.stack([said_1 @ (1 - one), (rows.weight - said_1) @ one])
        of_label = np.stack([rows.weight @ (1 - one), rows.weight @ one])
        if average:
            wrong, of_label = wrong.sum(axis=0, keepdims=True), of_label.sum(axis=0, keepdims=True)
        share = np.divide(wrong, of_label, out=np.zeros_like(wrong), where=of_label > 0)
        return [Predicted(error, float(size.mean())) for error, size in zip(share, of_label, strict=True)]

    def start(self, view: View, items: IntArray, cap: IntArray, price: ArrayLike, *, worlds: bool) -> Start:
        """Where these items stand: log-odds at the fit, caps left, shares by label (in each draw, if ``worlds``)."""
        pool = Pool.of(self.fit.accuracy_hat, price, cap)
        key = view.counts[items]
        if pool.states > 1:  # asks without an answer use up caps too
            key = np.concatenate([key, view.used[items][:, :, None]], axis=2)
        rows = compress(key)
        counts, used = rows.unique[:, :, :2], rows.unique[:, :, -1]
        weights = np.round(evidence(self.fit.accuracy_hat) * UNITS).astype(np.int64)
        units = np.tensordot(counts, weights, 2) + round(float(log_odds_of(self.fit.prior_hat)) * UNITS)
        state = pool.state(used, used < cap)
        believed = expit(units / UNITS)[:, None]
        one = self.posterior(counts) if worlds else believed
        mass = np.concatenate([1 - one, one], axis=1) * rows.weight[:, None]
        total = mass.sum(axis=0)
        mass = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
        return _thinned(units, state, mass, pool.states)


def _thinned(units: NDArray[np.int64], state: NDArray[np.int64], mass: FloatArray, states: int) -> Start:
    """Places closer together than needed made one."""
    shift = 0
    while True:
        place = (units >> shift) * states + state
        unique, first, inverse = np.unique(place, return_index=True, return_inverse=True)
        if len(unique) <= MOST_PLACES or shift >= 18:
            break
        shift = max(shift + 1, 15)
    total = np.zeros((len(unique), mass.shape[1]))
    np.add.at(total, inverse, mass)
    return Start(units[first], state[first], total)


def _columns(counts: IntArray) -> FloatArray:
    return np.asarray(counts, np.float64).reshape(len(counts), counts.shape[1] * 2)


def learn(task: Task, view: View, belief: FloatArray, draws: int, rng: np.random.Generator) -> Learned:
    """Fit all answers that there are, gold included, and draw from the posterior."""
    gold = np.full(task.items, OPEN) if task.gold is None else np.asarray(task.gold)
    touched = np.flatnonzero(view.counts.reshape(task.items, -1).any(axis=1))
    known = touched[gold[touched] != OPEN]
    rows = compress(view.counts[touched[gold[touched] == OPEN]])
    fit = fit_counts(
        np.concatenate([rows.unique, view.counts[known]]),
        belief=belief,
        prior_belief=task.prior_belief,
        gold=np.concatenate([np.full(len(rows.unique), OPEN), gold[known]]),
        weight=np.concatenate([rows.weight, np.ones(len(known), np.int64)]),
    )
    accuracy, prior = posterior_draws(rows.unique, rows.weight, fit, draws=draws, rng=rng)
    return Learned(fit, accuracy, prior)
