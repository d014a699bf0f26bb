"""BiasIdentification, the paper's rule for a class whose matrix is taken as known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.information import log_threshold
from quorate.core.stopping.checks import check_accuracy, check_alpha
from quorate.model import OPEN, FloatArray


@dataclass(frozen=True, slots=True)
class BiasIdentification:
    """Stop once |Z| > log(2t/α) and t ≥ 2, with Z = log P(answers | 1) − log P(answers | 0).  Paper: Algorithm 3.

    The paper's loop runs while Z₀ ≤ β *or* Z₁ ≤ β; as Z₀ = −Z₁ it never ends.  Read *and*.

    >>> BiasIdentification(alpha=0.05, c0=0.88, c1=0.82).verdict(zeros=[0, 0, 4], ones=[2, 3, 0])
    array([-1,  1,  0], dtype=int8)
    """

    alpha: float
    c0: float
    c1: float

    def __post_init__(self) -> None:
        check_alpha(self)
        check_accuracy(self, self.c0, self.c1)

    def log_odds(self, zeros: ArrayLike, ones: ArrayLike) -> FloatArray:
        """Z₁ = t₁ log(c(1)/(1−c(0))) + (t−t₁) log((1−c(1))/c(0))."""
        up = np.log(self.c1) - np.log1p(-self.c0)
        down = np.log(self.c0) - np.log1p(-self.c1)
        return np.asarray(np.asarray(ones) * up - np.asarray(zeros) * down, np.float64)

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        zeros, ones = np.asarray(zeros, np.int64), np.asarray(ones, np.int64)
        t = zeros + ones
        z = self.log_odds(zeros, ones)
        stop = (t > 1) & (np.abs(z) > log_threshold(np.maximum(t, 1), self.alpha))
        return np.where(stop, z > 0, OPEN).astype(np.int8)
