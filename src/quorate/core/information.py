"""What an answer is worth: divergences, thresholds, and the paper's lower bounds on the number of answers.

Accuracies come as ``accuracy[..., i]`` = c(i) = P(answer i | true label i), one row a class.  All in nats.
``inf`` is an answer: a class with c = 1/2 needs infinitely many.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from quorate.model import FloatArray

_BLANK: Final = 1e-12  # c(0) + c(1) this close to 1: the answers are the same on both labels, all else is rounding


def kl_bernoulli(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """d(p, q) = p log(p/q) + (1−p) log((1−p)/(1−q)).  Paper: Section II, where the second term lacks its log.

    The terms have opposite signs; where they cancel to within rounding the result may be 0, but never below it.

    >>> kl_bernoulli([0.5, 0.75, 1.0], 0.5).round(4)
    array([0.    , 0.1308, 0.6931])
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    return np.asarray(np.maximum(rel_entr(p, q) + rel_entr(1 - p, 1 - q), 0.0))


def log_threshold(t: ArrayLike, alpha: float) -> FloatArray:
    """β(t, α) = log(2t/α): how far the evidence must lead after t answers.  Paper: Algorithms 2 and 3.

    >>> log_threshold([1, 9], 0.05).round(3)
    array([3.689, 5.886])
    """
    return np.asarray(np.log(2 * np.asarray(t, np.float64) / alpha))


def log_confidence(alpha: float) -> float:
    """log(1/(2.4 α)), the numerator of both lemmas; 0 from α = 1/2.4 on, where they say nothing.

    >>> round(log_confidence(0.05), 4), log_confidence(0.45)
    (2.1203, 0.0)
    """
    return max(0.0, float(-np.log(2.4 * alpha)))


def divergence_unknown(accuracy: ArrayLike) -> FloatArray:
    """d(c(i), 1/2), by true label i: evidence per answer when only c > 1/2 is known; none where that is not so.

    >>> divergence_unknown([0.88, 0.82]).round(4), divergence_unknown([0.2, 0.5])
    (array([0.3262, 0.2218]), array([0., 0.]))
    """
    return kl_bernoulli(np.maximum(accuracy, 0.5), 0.5)


def divergence_known(accuracy: ArrayLike) -> FloatArray:
    """d(c(i), 1−c(1−i)), by true label i: evidence per answer when the matrix is known.

    >>> divergence_known([0.88, 0.82]).round(4)
    array([1.1659, 1.2902])
    """
    c = np.asarray(accuracy, np.float64)
    return kl_bernoulli(c, 1 - c[..., ::-1])


def lower_bound(accuracy: ArrayLike, alpha: float) -> FloatArray:
    """E τ(i) ≥ log(1/(2.4 α)) / d(c(i), 1/2), by true label i, matrix unknown.  Paper: Lemma "infoT".

    >>> lower_bound([0.88, 0.82], 0.05).round(2)
    array([6.5 , 9.56])
    """
    return _per(log_confidence(alpha), divergence_unknown(accuracy))


def lower_bound_known(accuracy: ArrayLike, alpha: float) -> FloatArray:
    """E τ(i) ≥ log(1/(2.4 α)) / d(c(i), 1−c(1−i)), matrix known.  Paper: Lemma "full information".

    >>> lower_bound_known([0.88, 0.82], 0.05).round(2)
    array([1.82, 1.64])
    """
    return _per(log_confidence(alpha), divergence_known(accuracy))


def expected(by_label: ArrayLike, prior: float) -> FloatArray:
    """w₀ x(0) + w₁ x(1) for a value by true label, with 0 · inf = 0.  Paper: eq. (1).

    >>> expected([2.0, np.inf], prior=0.0), expected([[2.0, 4.0]], prior=0.25)
    (array(2.), array([2.5]))
    """
    x = np.asarray(by_label, np.float64)
    parts = [w * x[..., i] for i, w in enumerate((1 - prior, prior)) if w > 0]
    return np.asarray(sum(parts))


def unit_cost(accuracy: ArrayLike, price: ArrayLike) -> FloatArray:
    """s_k = p_k max_i 1/d(c_k(i), 1/2): price per nat of evidence, matrix unknown.  Paper: eq. (2).

    >>> unit_cost([[0.88, 0.82], [0.5, 0.9]], [3.03, 1.0]).round(2)
    array([13.66,   inf])
    """
    return _per(price, divergence_unknown(accuracy).min(axis=-1))


def unit_cost_known(accuracy: ArrayLike, price: ArrayLike) -> FloatArray:
    """p_k max_i 1/d(c_k(i), 1−c_k(1−i)): the same with the matrix known.  Paper: Section IV, ABI.

    >>> unit_cost_known([[0.88, 0.82]], [3.03]).round(2)
    array([2.6])
    """
    return _per(price, divergence_known(accuracy).min(axis=-1))


def k_star(cost: ArrayLike) -> int:
    """argmin of s_k; of equals the first.

    >>> k_star([3.0, 2.0, 2.0])
    1
    """
    return int(np.argmin(np.asarray(cost)))


def gap(cost: ArrayLike) -> FloatArray:
    """Δ_k = s_k − s_{k*}, and Δ_{k*} = min over the others.  Paper: Section II.

    >>> gap([3.0, 2.0, 2.5])
    array([1. , 0.5, 0.5])
    """
    s = np.asarray(cost, np.float64)
    best = k_star(s)
    delta = s - s[best] if np.isfinite(s[best]) else np.zeros_like(s)
    delta[best] = np.delete(delta, best).min(initial=np.inf)
    return np.asarray(delta)


def theta(accuracy: ArrayLike) -> FloatArray:
    """θ = x/(x+y) with x = log(c(1)/(1−c(0))), y = log(c(0)/(1−c(1))): the cut on the fraction of zeros.

    The KL-midpoint of c(0) and 1−c(1), so c(0) itself where the two are one.  Paper: Lemma "mle".  Where x = y (also
    both infinite) it is 1/2.

    >>> theta([[0.88, 0.82], [0.8, 0.8], [1.0, 1.0], [1.0, 0.7], [0.4, 0.6]]).round(4)
    array([0.5477, 0.5   , 0.5   , 1.    , 0.4   ])
    """
    c = np.asarray(accuracy, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.log(c[..., 1]) - np.log1p(-c[..., 0])
        y = np.log(c[..., 0]) - np.log1p(-c[..., 1])
        cut = np.where(np.isinf(x), 1.0, x / (x + y))
    blank = np.abs(c.sum(axis=-1) - 1) < _BLANK
    return np.asarray(np.where(blank, c[..., 0], np.where(x == y, 0.5, cut)))


def chernoff_information(accuracy: ArrayLike) -> FloatArray:
    """d(θ, c(0)) = d(θ, 1−c(1)): the rate of the error of the best test on a fixed number of answers.

    At c(0) = 1 or c(1) = 1 one of the two is a 0 that is no limit; the larger is right throughout.

    >>> chernoff_information([[0.88, 0.82], [0.5, 0.5], [1.0, 0.7]]).round(4)
    array([0.3404, 0.    , 1.204 ])
    """
    c = np.asarray(accuracy, np.float64)
    cut = theta(c)
    return np.asarray(np.maximum(kl_bernoulli(cut, c[..., 0]), kl_bernoulli(cut, 1 - c[..., 1])))


def _per(numerator: ArrayLike, divergence: FloatArray) -> FloatArray:
    """numerator / divergence with x/0 = inf, also for x = 0: nothing can be had from nothing."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), divergence)
    quotient = np.full(bottom.shape, np.inf)
    np.divide(top, bottom, out=quotient, where=bottom > 0)
    return quotient
