"""What is believed of the class in use: a few equally likely worlds (w, c(0), c(1)).

A belief guides what is bought.  No proof depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorate.model import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """``accuracy[d, i]`` is c(i) and ``prior[d]`` P(label 1) in the d-th world.

    >>> one = Belief(np.array([[0.9, 0.8]]), np.array([0.5]))
    >>> one.paths(2).round(3)[0]                    # P(one given order of answers): [zeros, ones]
    array([1.   , 0.45 , 0.325])
    >>> one.posterior([0, 2], [2, 0]).round(3)
    array([0.985, 0.047])
    """

    accuracy: FloatArray  # (D, 2)
    prior: FloatArray  # (D,)

    def paths(self, horizon: int) -> FloatArray:
        """P(one given sequence with these zeros and ones), for up to ``horizon`` of each."""
        return self._weighted(1, horizon) + self._weighted(0, horizon)

    def _weighted(self, label: int, horizon: int) -> FloatArray:
        p_one = self.accuracy[:, 1] if label else 1 - self.accuracy[:, 0]
        weight = (self.prior if label else 1 - self.prior) / len(self.prior)
        power = np.arange(horizon + 1)
        zeros, ones = (1 - p_one[:, None]) ** power, p_one[:, None] ** power
        paths: FloatArray = (zeros * weight[:, None]).T @ ones
        return paths

    def sequences(self, label: int, horizon: int) -> FloatArray:
        """P(one given sequence | label), [t, favour]: t answers, ``favour`` of which are the label; 0 beyond t."""
        right = self.accuracy[:, label]
        power = np.arange(horizon + 1)
        paths = ((1 - right[:, None]) ** power).T @ right[:, None] ** power / len(right)  # [against, favour]
        t, favour = np.indices(paths.shape)
        return np.where(favour <= t, paths[np.maximum(t - favour, 0), favour], 0.0)

    def posterior(self, zeros: ArrayLike, ones: ArrayLike) -> FloatArray:
        """P(label 1 | these answers)."""
        zeros, ones = np.asarray(zeros, np.intp), np.asarray(ones, np.intp)
        horizon = int(max(zeros.max(initial=0), ones.max(initial=0)))
        table = self._weighted(1, horizon) / self.paths(horizon)
        return np.asarray(table[zeros, ones], np.float64)

    @property
    def mean(self) -> tuple[float, float, float]:
        """(w, c(0), c(1)) on average."""
        c0, c1 = self.accuracy.mean(axis=0)
        return float(self.prior.mean()), float(c0), float(c1)
