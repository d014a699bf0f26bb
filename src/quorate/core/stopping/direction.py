"""DirectionTest, the paper's rule for a class of which nothing is known but c > 1/2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.information import kl_bernoulli, log_threshold
from quorate.core.stopping.checks import check_alpha
from quorate.model import OPEN


@dataclass(frozen=True, slots=True)
class DirectionTest:
    """Stop once t·d(ĉ, ½) > log(2t/α); answer with the majority.  Paper: Algorithm 2, Lemma III.1.

    Valid for every c > 1/2, and careful: at α = .05 its true error is never above .003.

    >>> DirectionTest(alpha=0.05).verdict(zeros=[0, 0, 4], ones=[8, 9, 6])   # nine in a row will do
    array([-1,  1, -1], dtype=int8)
    """

    alpha: float

    def __post_init__(self) -> None:
        check_alpha(self)

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        zeros, ones = np.asarray(zeros, np.int64), np.asarray(ones, np.int64)
        t = np.maximum(zeros + ones, 1)
        stop = (t > 1) & (t * kl_bernoulli(ones / t, 0.5) > log_threshold(t, self.alpha))
        return np.where(stop, ones > zeros, OPEN).astype(np.int8)
