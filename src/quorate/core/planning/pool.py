"""The classes as a planner sees them: what an answer says, what it costs, and how many are left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.model import NO_CAP, BoolArray, FloatArray, IntArray

UNITS: Final = 2**24  # log-odds are whole multiples of 1/UNITS: sums of them are exact, in any order
CERTAIN: Final = 64.0  # nats; beyond it nothing changes in double precision
PLENTY: Final = 24  # a cap this high is planned as if there were none
MOST_STATES: Final = 256


def quantised(log_odds: ArrayLike) -> FloatArray:
    """Log-odds rounded to multiples of 1/`UNITS` and cut at ±`CERTAIN`, so that adding them never rounds.

    >>> float(quantised(np.inf)), bool(quantised(0.1) * UNITS == round(0.1 * UNITS))
    (64.0, True)
    """
    cut = np.clip(np.asarray(log_odds, np.float64), -CERTAIN, CERTAIN)
    return np.asarray(np.round(cut * UNITS) / UNITS, np.float64)


def log_odds_of(prior: ArrayLike) -> FloatArray:
    """log(w1/w0) of a prior P(label = 1), quantised.

    >>> float(log_odds_of(0.5))
    0.0
    """
    w = np.asarray(prior, np.float64)
    with np.errstate(divide="ignore"):
        return quantised(np.log(w) - np.log1p(-w))


def evidence(accuracy: ArrayLike) -> FloatArray:
    """``out[k, a] = log P(a | 1) - log P(a | 0)``: what answer a of class k adds to the log-odds of label 1.

    >>> evidence([[0.9, 0.9]]).round(3)
    array([[-2.197,  2.197]])
    """
    c = np.asarray(accuracy, np.float64)
    with np.errstate(divide="ignore"):
        return quantised(np.stack([np.log(1 - c[:, 1]) - np.log(c[:, 0]), np.log(c[:, 1]) - np.log(1 - c[:, 0])], 1))


@dataclass(frozen=True)
class Pool:
    """Classes with believed matrices, prices and caps, and the states that the caps make.

    Classes with few answers per item are *tracked*: a state counts the answers that each of them may still give.  If
    that makes more than `MOST_STATES` states, the highest tracked caps are planned lower (a class at 0 is left out):
    the plan stays valid and may cost more.  Caps of `PLENTY` or more are planned as if there were none.

    >>> pool = Pool(np.array([[0.9, 0.9], [0.7, 0.7]]), np.array([3.0, 1.0]), np.array([1, 2**15 - 1]))
    >>> pool.states, pool.child.tolist()        # state 1: the capped class may be asked; state 0: no more
    (2, [[-1, 0], [0, 1]])
    """

    accuracy: FloatArray  # (M, 2)
    price: FloatArray  # (M,) positive
    cap: IntArray  # (M,)

    @classmethod
    def of(cls, accuracy: ArrayLike, price: ArrayLike, cap: ArrayLike | None = None) -> Pool:
        """With prices made positive: a free answer is planned at a 10,000th of the dearest, since it takes time."""
        prices = np.asarray(price, np.float64)
        dearest = prices.max() if prices.max() > 0 else 1.0
        caps = np.full(len(prices), NO_CAP) if cap is None else np.asarray(cap, np.int64)
        return cls(np.asarray(accuracy, np.float64), np.maximum(prices, 1e-4 * dearest), caps)

    @property
    def classes(self) -> int:
        return len(self.price)

    @cached_property
    def evidence(self) -> FloatArray:
        return evidence(self.accuracy)

    @cached_property
    def tracked(self) -> BoolArray:
        return self.cap < PLENTY

    @cached_property
    def information(self) -> FloatArray:
        """Nats an answer brings towards the truth, on the worse of the two labels."""
        c, step = self.accuracy, self.evidence
        toward_0 = -(c[:, 0] * step[:, 0] + (1 - c[:, 0]) * step[:, 1])
        toward_1 = c[:, 1] * step[:, 1] + (1 - c[:, 1]) * step[:, 0]
        return np.minimum(toward_0, toward_1)

    @cached_property
    def limit(self) -> NDArray[np.int64]:
        """Answers per item of each class that the plan counts on; 0 for classes that are not tracked."""
        limit = np.where(self.tracked, self.cap, 0).astype(np.int64)
        worth = self.information / self.price
        while np.prod(limit + 1.0) > MOST_STATES:
            limit[np.lexsort((worth, -limit))[0]] -= 1
        return limit

    @cached_property
    def stride(self) -> NDArray[np.int64]:
        """A state's number is ``remaining @ stride``."""
        size = self.limit + 1
        return np.where(self.tracked, np.cumprod(size) // size, 0)

    @cached_property
    def states(self) -> int:
        return int(np.prod(self.limit + 1))

    @cached_property
    def child(self) -> NDArray[np.int64]:
        """``child[r, k]``: the state after an ask of class k in state r, -1 where it may not be asked."""
        r = np.arange(self.states)[:, None]
        left = r // np.maximum(self.stride, 1) % (self.limit + 1)
        return np.where(self.tracked, np.where(left > 0, r - self.stride, -1), r)

    def state(self, used: IntArray, is_open: BoolArray) -> NDArray[np.int64]:
        """The states of items, from the asks spent on them and the classes still open for them."""
        state = np.zeros(len(used), np.int64)
        for k in np.flatnonzero(self.tracked):
            spent = used[:, k].astype(np.int64)
            left = np.minimum(np.maximum(self.cap[k] - spent, 0), self.limit[k])
            state += np.where(is_open[:, k], left, 0) * self.stride[k]
        return state
