"""CBS, the paper's confidence-bound rule; shipped as printed, which is not valid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.stopping.checks import check_alpha
from quorate.model import OPEN


@dataclass(frozen=True, slots=True)
class HoeffdingTest:
    """Stop once |ĉ − ½| > √(log(1/α)/(2t)); answer with the majority.  Paper: Appendix F, "CBS".

    **Not valid as printed**: the interval holds at one fixed t, and the rule uses it at every t.  At α = .05 the
    exact error is .020 at c = .55, .068 at c = .51 and .092 at c = .505.  Here because the paper compares with it.

    >>> HoeffdingTest(alpha=0.05).verdict(zeros=[0, 0, 2], ones=[5, 6, 9])
    array([-1,  1, -1], dtype=int8)
    """

    alpha: float

    def __post_init__(self) -> None:
        check_alpha(self)

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        zeros, ones = np.asarray(zeros, np.int64), np.asarray(ones, np.int64)
        t = np.maximum(zeros + ones, 1)
        stop = np.abs(ones / t - 0.5) > np.sqrt(-np.log(self.alpha) / (2 * t))
        return np.where(stop & (zeros + ones > 0), ones > zeros, OPEN).astype(np.int8)
