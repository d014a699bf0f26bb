"""The paper's MLE heuristic: a number of answers fixed beforehand, then the likelier label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.information import chernoff_information, theta
from quorate.core.stopping.checks import check_accuracy, check_alpha
from quorate.model import OPEN


@dataclass(frozen=True, slots=True)
class FixedMLE:
    """Stop at t = ⌈log(1/α)/d(θ, c(0))⌉; say 0 if the fraction of zeros exceeds θ, else 1.  Paper: Lemma "mle".

    For a class with c(0) + c(1) < 1, which answers the wrong way round, the likelier label is the other one; where
    the sum is 1 answers tell nothing, no number is enough (``answers`` is inf), and the rule never stops.

    >>> rule = FixedMLE(alpha=0.05, c0=0.88, c1=0.82)
    >>> rule.answers
    9.0
    >>> rule.verdict(zeros=[5, 4, 3], ones=[4, 5, 5])
    array([ 0,  1, -1], dtype=int8)
    """

    alpha: float
    c0: float
    c1: float

    def __post_init__(self) -> None:
        check_alpha(self)
        check_accuracy(self, self.c0, self.c1)

    @property
    def answers(self) -> float:
        """t^M, at least 1; inf where answers say nothing."""
        rate = float(chernoff_information((self.c0, self.c1)))
        return max(1.0, float(np.ceil(-np.log(self.alpha) / rate))) if rate > 0 else np.inf

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        zeros, ones = np.asarray(zeros, np.int64), np.asarray(ones, np.int64)
        t = np.maximum(zeros + ones, 1)
        cut = float(theta((self.c0, self.c1)))
        says_1 = zeros / t <= cut if self.c0 + self.c1 > 1 else zeros / t >= cut
        return np.where(zeros + ones >= self.answers, says_1, OPEN).astype(np.int8)
