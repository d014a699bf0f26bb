"""Posterior draws where no simple shape fits them: let the data grow from nothing, and the draws with them.

Chopin's (2002) sequential Monte Carlo.  Draws from the belief are draws given no items.  Whenever more items are let
in, the draws are resampled by how well they explain the newcomers, then moved by Gibbs sweeps; so many items are let
in that half of the draws stay effective.  What the data leave open keeps the spread that the belief gave it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from quorate.core.estimators.em import row_log0, row_log_odds
from quorate.core.estimators.sweeps import Data, cut_beta, sweep
from quorate.model import FloatArray, IntArray

_PARTICLES: Final = 400  # at least
_EFFECTIVE: Final = 0.5  # share of the draws that each step keeps
_MOVES: Final = 2  # Gibbs sweeps a step


def grown(data: Data, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """``draws`` accuracies (D, M, 2) and priors (D,) from the posterior."""
    many = max(draws, _PARTICLES)
    belief = np.broadcast_to(data.fit.belief, (many, *data.fit.belief.shape))
    accuracy = cut_beta(belief[..., 0], belief[..., 1], data.floor, rng)
    prior = rng.beta(data.fit.prior_belief[1], data.fit.prior_belief[0], many)
    queue = rng.permutation(np.repeat(np.arange(len(data.weight)), data.weight))  # items, as rows, in any order
    inside = np.zeros_like(data.weight)
    start = 0
    while start < len(queue):
        row_loglik = _row_loglik(data.x, accuracy, prior)
        stop = _next_stop(queue, start, row_loglik)
        newcomers = np.bincount(queue[start:stop], minlength=len(inside))
        chosen = resampled(newcomers @ row_loglik, many, rng)
        inside, start = inside + newcomers, stop
        seen = Data(data.x, inside, data.fit)
        accuracy, prior = accuracy[chosen], prior[chosen]
        for _ in range(_MOVES):
            accuracy, prior = sweep(seen, accuracy, prior, rng)
    chosen = rng.choice(many, draws, replace=False)
    return accuracy[chosen], prior[chosen]


def effective(log_weight: FloatArray) -> float:
    """How many equally weighted draws these are worth.

    >>> round(effective(np.log([1.0, 1.0, 1e-9])), 3)
    2.0
    """
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight**2).sum())


def resampled(log_weight: FloatArray, draws: int, rng: np.random.Generator) -> IntArray:
    """Which to keep, by systematic resampling.

    >>> resampled(np.log([0.25, 0.75]), 4, np.random.default_rng(1))
    array([0, 1, 1, 1])
    """
    share = np.cumsum(np.exp(log_weight - log_weight.max()))
    return np.searchsorted(share / share[-1], (np.arange(draws) + rng.random()) / draws)


def _row_loglik(x: FloatArray, accuracy: FloatArray, prior: FloatArray) -> FloatArray:
    """log P(row) for each draw (u, D)."""
    log_odds = row_log_odds(x, accuracy, prior)
    loglik: FloatArray = row_log0(x, accuracy) + np.log1p(-prior) + np.logaddexp(0, log_odds)
    return loglik


def _next_stop(queue: IntArray, start: int, row_loglik: FloatArray) -> int:
    """The end of the longest stretch of the queue, found by halving, that keeps enough draws effective."""
    enough = _EFFECTIVE * row_loglik.shape[1]

    def holds(stop: int) -> bool:
        newcomers = np.bincount(queue[start:stop], minlength=len(row_loglik))
        return bool(effective(newcomers @ row_loglik) >= enough)

    if holds(len(queue)):
        return len(queue)
    low, high = start + 1, len(queue)  # one item is always let in
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
