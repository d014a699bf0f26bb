"""Gibbs sweeps over the two-label model, many chains at once: labels given parameters, parameters given labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc, betainccinv, expit

from quorate.core.estimators.em import Fit, right_wrong, row_log_odds
from quorate.model import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Rows as columns (class 0 says 0, class 0 says 1, …), their weights, and the fit whose beliefs they update."""

    x: FloatArray
    weight: IntArray
    fit: Fit

    @property
    def total(self) -> FloatArray:
        return self.weight @ self.x

    @property
    def floor(self) -> FloatArray:
        """Where each belief is cut: at 1/2, or nowhere for a class that is known or allowed to be worse."""
        return np.where(self.fit.lower >= 0.5, 0.5, 0.0)


def sweep(
    data: Data, accuracy: FloatArray, prior: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """One Gibbs sweep of each chain: how many items of each row have label 1, then the parameters."""
    q = expit(row_log_odds(data.x, accuracy, prior))
    ones = np.empty(q.shape)
    single = data.weight == 1
    ones[single] = rng.random((single.sum(), q.shape[1])) < q[single]
    ones[~single] = rng.binomial(data.weight[~single, None], q[~single])
    expected = right_wrong(ones.T @ data.x, data.total, data.fit.belief)
    of_label_1 = ones.sum(axis=0)
    new_prior = rng.beta(
        data.fit.prior_belief[1] + of_label_1, data.fit.prior_belief[0] + data.weight.sum() - of_label_1
    )
    return cut_beta(expected[..., 0], expected[..., 1], data.floor, rng), new_prior


def cut_beta(right: FloatArray, wrong: FloatArray, floor: FloatArray | float, rng: np.random.Generator) -> FloatArray:
    """Draws from Beta(right, wrong) cut to (floor, 1): those that fall below are drawn again, from the tail.

    >>> cut_beta(np.array([2.0, 2.0]), np.array([2.0, 5000.0]), 0.5, np.random.default_rng(1)).round(3)
    array([0.503, 0.5  ])
    """
    drawn = rng.beta(right, wrong)
    below = drawn <= floor
    if below.any():
        a, b = right[below], wrong[below]
        low = np.broadcast_to(floor, drawn.shape)[below]
        tail = betaincc(a, b, low)
        again = betainccinv(a, b, rng.random(len(a)) * tail)
        steep = (
            tail < np.finfo(float).tiny
        )  # above the floor the density is exp(−rate c), too steep for a tail in floats
        rate = (b - 1) / (1 - low) - np.divide(a - 1, low, out=np.zeros_like(low), where=low > 0)
        again[steep] = low[steep] + rng.exponential(size=steep.sum()) / rate[steep]
        drawn[below] = again
    return np.minimum(drawn, np.nextafter(1.0, 0.0))
