"""MAP-EM as an estimator value: one answer per class and item in, accuracies with intervals out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.em import BELIEF, fit_counts
from quorate.core.estimators.patterns import patterns
from quorate.core.estimators.posterior import estimate_of, posterior_draws
from quorate.model import Estimate


@dataclass(frozen=True, slots=True)
class EM:
    """EM with Beta beliefs on the pattern histogram, for two labels; intervals from ``draws`` posterior draws.

    >>> rng = np.random.default_rng(1)
    >>> truth = rng.random(40_000) < 0.5
    >>> answers = np.where(rng.random((3, 40_000)) < [[0.9], [0.8], [0.7]], truth, ~truth).astype(np.int8)
    >>> estimate = EM().estimate(answers, rng=rng)
    >>> estimate.accuracy_hat.round(1), estimate.interval.shape
    (array([[0.9, 0.9],
           [0.8, 0.8],
           [0.7, 0.7]]), (3, 2, 2))
    """

    belief: tuple[float, float] = BELIEF  # right, wrong, of every class
    prior_belief: tuple[float, float] = (2.0, 2.0)  # label 0, label 1
    draws: int = 400
    level: float = 0.95

    def estimate(self, answers: NDArray[np.int8], *, rng: np.random.Generator) -> Estimate:
        """The most probable parameters, each with its central interval."""
        found = patterns(answers)
        rows = (found.answers.T[:, :, None] == np.arange(2)).astype(np.int64)
        belief = np.tile(self.belief, (len(found.answers), 2, 1))
        fit = fit_counts(rows, weight=found.weight, belief=belief, prior_belief=self.prior_belief)
        accuracy, prior = posterior_draws(rows, found.weight, fit, draws=self.draws, rng=rng)
        return estimate_of(fit, accuracy, prior, level=self.level)
