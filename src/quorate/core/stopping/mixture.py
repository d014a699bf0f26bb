"""The calibrated mixture rule: the cheapest rule here that needs nothing but c > 1/2.

Evidence for label 1 is the mixture likelihood ratio against a fair coin,

    M1(zeros, ones) = ∫ (2p)^ones (2(1−p))^zeros dπ(p),    π = Beta(12, 3) cut to (1/2, 1),

and evidence for label 0 is M0(zeros, ones) = M1(ones, zeros).  Say 1 once M1 >= B, 0 once M0 >= B.

Under label 0 an answer is 1 with probability at most 1/2, so M1 is a nonnegative supermartingale that starts
at 1, and B = 1/alpha is valid at any stopping time (Ville).  Fewer ones never help M1 across before M0 (couple the
coins answer by answer), so the fair coin is the worst one, and B may be lowered until *its* probability of crossing
M1 first is alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

from quorate.errors import SpecError
from quorate.model import OPEN, FloatArray

_RIGHT: Final = 12.0
_WRONG: Final = 3.0  # pi = Beta(12, 3): most classes worth buying are right about four times in five
_LOG_NORMAL: Final = float(betaln(_RIGHT, _WRONG) + np.log(betainc(_WRONG, _RIGHT, 0.5)))
_HORIZON: Final = 3000  # answers followed exactly; beyond it the martingale bounds what may still cross
_ALPHA_RANGE: Final = (1e-6, 0.5)


def log_mixture(zeros: ArrayLike, ones: ArrayLike) -> FloatArray:
    """log ∫ p^ones (1−p)^zeros dπ(p): the likelihood of the answers under a class better than a fair coin.

    >>> log_mixture(zeros=[0, 0, 3], ones=[0, 1, 5]).round(3)
    array([ 0.   , -0.22 , -6.018])
    """
    right, wrong = _RIGHT + np.asarray(ones, np.float64), _WRONG + np.asarray(zeros, np.float64)
    with np.errstate(divide="ignore"):
        kept = np.log(betainc(wrong, right, 0.5))  # the part of the posterior above 1/2; its log may be −inf
    return np.asarray(betaln(right, wrong) + kept - _LOG_NORMAL, np.float64)


def log_evidence(zeros: ArrayLike, ones: ArrayLike) -> FloatArray:
    """log M1: evidence that the coin favours 1, against a fair one.

    >>> log_evidence(zeros=[0, 0, 2], ones=[0, 1, 2]).round(3)
    array([ 0.   ,  0.473, -0.906])
    """
    answers = np.asarray(zeros, np.float64) + np.asarray(ones, np.float64)
    evidence: FloatArray = log_mixture(zeros, ones) + answers * np.log(2.0)
    return evidence


@dataclass(frozen=True, slots=True)
class MixtureRule:
    """Say 1 once M1 >= B(alpha), 0 once M0 >= B(alpha); P(wrong | label) <= alpha for every class with c > 1/2.

    >>> MixtureRule(alpha=0.05).verdict(zeros=[0, 0, 8, 3], ones=[7, 8, 0, 2])
    array([ 1,  1,  0, -1], dtype=int8)
    """

    alpha: float

    def __post_init__(self) -> None:
        low, high = _ALPHA_RANGE
        if not low <= self.alpha < high:
            raise SpecError(
                f"The mixture rule is calibrated for alpha in [{low:g}, {high:g}), got {self.alpha!r}.",
                hint="Ask for an error between one in a million and one half.",
            )

    @property
    def log_threshold(self) -> float:
        """log B."""
        return log_threshold(self.alpha)

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        threshold = self.log_threshold
        for_one, for_zero = log_evidence(zeros, ones), log_evidence(ones, zeros)
        return np.where(for_one >= threshold, 1, np.where(for_zero >= threshold, 0, OPEN)).astype(np.int8)


@lru_cache(maxsize=64)
def log_threshold(alpha: float) -> float:
    """The least log B, to 1e-4, with P(M1 crosses first | fair coin) <= alpha.

    >>> round(log_threshold(0.05), 3)
    2.765
    """
    low, high = 0.0, float(np.log(1 / alpha))  # B = 1/alpha is valid by Ville; B = 1 stops before the first answer
    while high - low > 1e-4:
        middle = (low + high) / 2
        if crossing_bound(middle) <= alpha:
            high = middle
        else:
            low = middle
    return high


def crossing_bound(log_b: float, horizon: int = _HORIZON) -> float:
    """An upper bound on P(M1 reaches B before M0 does | fair coin), by pushing probability over the lattice.

    What is still open at the horizon T crosses M1 later with probability at most E[M1_T; open] / B, by Ville for the
    martingale started there.
    """
    limit = _needed_lead(log_b, horizon)
    width = int(limit.max()) + 1
    open_ = np.zeros(2 * width + 1)  # indexed by (ones − zeros) + width
    open_[width] = 1.0
    crossed = 0.0
    for stop in limit[1:]:
        pushed = np.zeros_like(open_)
        pushed[1:] += open_[:-1] / 2
        pushed[:-1] += open_[1:] / 2
        crossed += float(pushed[width + stop :].sum())
        pushed[width + stop :] = 0.0
        pushed[: width - stop + 1] = 0.0
        open_ = pushed
    lead = np.arange(-width, width + 1)
    lead, mass = lead[open_ > 0], open_[open_ > 0]
    ones = (horizon + lead) // 2
    return crossed + float(mass @ np.exp(log_evidence(horizon - ones, ones) - log_b))


def _needed_lead(log_b: float, horizon: int) -> NDArray[np.int64]:
    """The least ones − zeros with M1 >= B after t answers, for t = 0 … horizon (t + 1 where none is enough)."""
    answers = np.arange(horizon + 1)
    low, high = (answers + 1) // 2 - 1, answers + 1  # ones: at `low` never enough, as M1 <= 1 < B on an even split
    while (high - low).max() > 1:
        middle = (low + high) // 2
        enough = (high - low > 1) & (log_evidence(answers - middle, middle) >= log_b)
        high = np.where(enough, middle, high)
        low = np.where((high - low > 1) & ~enough, middle, low)
    return 2 * high - answers
