"""Stopping boundaries for every value of a bound at once: exact, randomised, and nested.

For one label (here 1) and a bound b on the other label's accuracy, c(0) >= b, the statistic after t
answers, `favour` of them for the label, is

    W_b = numerator(t, favour) / ((1−b)^favour b^(t−favour))    where favour >= (1−b) t; nothing is said elsewhere.

The numerator is a believed likelihood under the label: it shapes the boundary and proves nothing.  An item
says the label once W_b > B_b, and, if its uniform is below lambda_b, at W_b = B_b too; B_b and lambda_b are
such that, exactly,

    P(a coin with P(favour) = 1−b ever makes it say the label) = level.

*Nested*: at the bound b the label is said where it would be said for **all** bounds of the grid from b on.
So a smaller bound says it nowhere sooner, and with c the largest value of the grid that is at most c(0),

    P(said by any of the rules with bounds <= c(0), whichever and whenever) <= P(said by the rule of c) <= level,

as each row is monotone in `favour`, so that a coin with P(favour) = 1 − c(0) <= 1 − c says the label less often.  The
bound in use may therefore be chosen from any data, this item's own answers included, and may change at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.units import CELLS
from quorate.model import FloatArray

_ROUNDING: Final = 1e-12  # of the level is spared, so that sums of rounded terms meet it too
_HALVINGS: Final = 12  # what is left between two thresholds is made exact by the uniforms


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """``share[g, t, favour]`` of all items (those with a smaller uniform) say the label there, at ``bound[g]``."""

    bound: NDArray[np.int64]  # (G,) ascending, in 1 / CELLS
    share: FloatArray  # (G, T+1, T+1)

    @classmethod
    def calibrated(cls, numerator: FloatArray, bound: NDArray[np.int64], level: float) -> Boundary:
        """``numerator[t, favour]`` is the believed probability of one sequence of answers.

        >>> t, favour = np.indices((31, 31))
        >>> boundary = Boundary.calibrated(0.8**favour * 0.2**(t - favour), np.array([1000, 1600]), 0.05)
        >>> np.argmax(boundary.share[:, :9] > 0, axis=2)[:, 2:]   # favour that some items stop at, t = 2 … 8
        array([[0, 0, 0, 0, 6, 7, 8],
               [2, 3, 3, 4, 4, 5, 5]])
        """
        log_w = _statistic(numerator, bound)
        coin = 1 - bound / CELLS
        target = level * (1 - _ROUNDING)
        low, high = np.zeros(len(bound)), np.full(len(bound), -np.log(level))  # Ville: B = 1 / level is valid
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            valid = ever_said(log_w >= middle[:, None, None], coin) <= target
            low, high = np.where(valid, low, middle), np.where(valid, middle, high)
        sooner = ever_said(log_w >= low[:, None, None], coin)
        surely = ever_said(log_w >= high[:, None, None], coin)
        at_edge = np.divide(target - surely, sooner - surely, out=np.zeros_like(low), where=sooner > target)
        at_edge[sooner <= target] = 1.0
        share = np.where(
            log_w >= high[:, None, None], 1.0, np.where(log_w >= low[:, None, None], at_edge[:, None, None], 0.0)
        )
        return cls(bound, np.minimum.accumulate(share[::-1], axis=0)[::-1])

    @property
    def horizon(self) -> int:
        return int(self.share.shape[1]) - 1

    def at(self, bound: int) -> FloatArray:
        """The share at the largest value of the grid that is at most ``bound``."""
        at: FloatArray = self.share[max(int(np.searchsorted(self.bound, bound, side="right")) - 1, 0)]
        return at


def _statistic(numerator: FloatArray, bound: NDArray[np.int64]) -> FloatArray:
    """log W_b, [g, t, favour]."""
    t, favour = np.indices(numerator.shape)
    b = (bound / CELLS)[:, None, None]
    with np.errstate(divide="ignore"):
        log_w = np.log(numerator) - favour * np.log(1 - b) - (t - favour) * np.log(b)
    return np.where((favour <= t) & (t > 0) & (favour >= (1 - b) * t), log_w, -np.inf)


def ever_said(says: NDArray[np.bool_], coin: FloatArray) -> FloatArray:
    """P(a state of ``says[g, t, favour]`` is reached within the horizon) where P(favour) = coin[g].

    By pushing probability over the lattice.
    """
    p = coin[:, None]
    open_ = np.zeros(says.shape[::2])
    open_[:, 0] = 1.0
    said = np.zeros(len(says))
    for t in range(1, says.shape[1]):
        onward = open_[:, :t] * p
        open_[:, :t] *= 1 - p
        open_[:, 1 : t + 1] += onward
        stops = says[:, t, : t + 1]
        said += np.where(stops, open_[:, : t + 1], 0.0).sum(axis=1)
        open_[:, : t + 1][stops] = 0.0
    return said
