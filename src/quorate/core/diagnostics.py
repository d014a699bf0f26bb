"""Do the answers look as the model says they do?  A test where its data exist: items asked the same number of times.

If a class's answers about an item are independent given its true label, the number of ones among m answers is
Binomial(m, c(1)) on the items of label 1 and Binomial(m, 1 - c(0)) on the others: a mixture of two binomials, with
three parameters.  Items that are hard for everybody, or answers copied from one source, spread the counts wider.
Pearson's statistic of the fitted mixture on the m + 1 possible counts has m - 3 degrees of freedom.

Only items whose number of answers was fixed in advance may be used: adaptive stopping selects by the very counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, gammaln, xlog1py, xlogy

from quorate.model import FloatArray

LEAST_ANSWERS: Final = 4  # per item: below, the mixture fits every histogram
LEAST_ITEMS: Final = 50
_LEAST_EXPECTED: Final = 5.0  # items in a cell of the histogram; smaller cells are taken together
_ROUNDS: Final = 2000
_STARTS: Final = ((0.5, 0.8, 0.2), (0.5, 0.65, 0.35), (0.8, 0.9, 0.1), (0.2, 0.9, 0.1), (0.5, 0.95, 0.5))


@dataclass(frozen=True, slots=True)
class Fitness:
    """How well two binomials fit; ``share``, ``high`` and ``low`` are the mixture's weight and its two chances."""

    items: int
    answers: int  # per item
    statistic: float
    freedom: int
    p_value: float
    share: float
    high: float
    low: float


def binomial_mixture(ones: ArrayLike, answers: int) -> Fitness | None:
    """Test the two-binomial model on items with exactly ``answers`` answers of a class; None where data are too few.

    >>> rng = np.random.default_rng(1)
    >>> label = rng.random(2000) < 0.4
    >>> fits = binomial_mixture(rng.binomial(5, np.where(label, 0.85, 0.2)), 5)
    >>> fits.p_value > 0.05, fits.freedom, round(fits.high, 1)
    (True, 2, 0.9)
    >>> hard = binomial_mixture(rng.binomial(5, np.where(label, rng.beta(4, 1, 2000), rng.beta(1, 4, 2000))), 5)
    >>> hard.p_value < 0.001
    True
    """
    seen = np.bincount(np.asarray(ones, np.int64), minlength=answers + 1).astype(np.float64)
    items = int(seen.sum())
    if answers < LEAST_ANSWERS or items < LEAST_ITEMS:
        return None
    fits = [_em(seen, answers, *start) for start in _STARTS]
    _, share, high, low = max(fits, key=lambda fit: fit[0])
    expected = items * _mixture(answers, share, high, low)
    observed, expected = _cells(seen, expected)
    freedom = len(observed) - 4
    if freedom < 1:
        return None
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return Fitness(items, answers, statistic, freedom, float(chdtrc(freedom, statistic)), share, high, low)


def _log_pmf(answers: int, chance: float) -> FloatArray:
    s = np.arange(answers + 1)
    choose = gammaln(answers + 1) - gammaln(s + 1) - gammaln(answers - s + 1)
    log: FloatArray = choose + xlogy(s, chance) + xlog1py(answers - s, -chance)
    return log


def _mixture(answers: int, share: float, high: float, low: float) -> FloatArray:
    both: FloatArray = share * np.exp(_log_pmf(answers, high)) + (1 - share) * np.exp(_log_pmf(answers, low))
    return both


def _em(seen: FloatArray, answers: int, share: float, high: float, low: float) -> tuple[float, float, float, float]:
    """Maximum likelihood from one start: (log-likelihood, share, high, low)."""
    s, total = np.arange(answers + 1), seen.sum()
    before = -np.inf
    for _ in range(_ROUNDS):
        ones, zeros = share * np.exp(_log_pmf(answers, high)), (1 - share) * np.exp(_log_pmf(answers, low))
        both = ones + zeros
        likelihood = float(xlogy(seen, both).sum())
        if likelihood - before < 1e-9 * total:
            break
        before = likelihood
        posterior = np.divide(ones, both, out=np.zeros_like(both), where=both > 0)
        of_one, of_zero = seen * posterior, seen * (1 - posterior)
        share = float(of_one.sum() / total)
        high = float(of_one @ s / (answers * of_one.sum())) if of_one.sum() > 0 else high
        low = float(of_zero @ s / (answers * of_zero.sum())) if of_zero.sum() > 0 else low
    return likelihood, share, high, low


def _cells(seen: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Neighbouring cells taken together until each expects enough items."""
    observed: list[float] = []
    due: list[float] = []
    for one, other in zip(seen.tolist(), expected.tolist(), strict=True):
        if due and due[-1] < _LEAST_EXPECTED:
            observed[-1] += one
            due[-1] += other
        else:
            observed.append(one)
            due.append(other)
    if len(due) > 1 and due[-1] < _LEAST_EXPECTED:
        last, little = observed.pop(), due.pop()
        observed[-1] += last
        due[-1] += little
    return np.array(observed), np.array(due)


def fixed_counts(
    item: NDArray[np.int64], worker_class: NDArray[np.int64], label: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], int]:
    """The ones of class k per item, among the items with the number of answers that holds most answers; that number.

    >>> fixed_counts(np.array([0, 0, 1, 1, 2]), np.zeros(5, int), np.array([1, 0, 1, 1, 0]), 0)
    (array([1, 2]), 2)
    """
    usable = (worker_class == k) & (label >= 0)
    if not usable.any():
        return np.zeros(0, np.int64), 0
    _, where = np.unique(item[usable], return_inverse=True)
    asked = np.bincount(where)
    ones = np.bincount(where, weights=label[usable] == 1).astype(np.int64)
    most = int((np.bincount(asked) * np.arange(asked.max() + 1)).argmax())
    return ones[asked == most], most
