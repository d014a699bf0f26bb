"""The e-rule: evidence that multiplies over classes, whoever is asked next and for whatever reason.

Evidence for label 1 of an item is the product over the classes of M1 (`stopping.mixture`), which needs only c > 1/2; but for
a class with a proven bound b0 <= c(0), of

    ∫ p^ones (1−p)^zeros dπ(p) / max over p <= 1 − b0 of p^ones (1−p)^zeros.

If label 0 is true and the bound right, the maximum is at least (1−c(0))^ones c(0)^zeros, so the product is at most a
nonnegative supermartingale that starts at 1: P(it ever reaches 1/level) <= level, for bounds from whatever data, the
item's own included.  Only which class has bounds must not depend on those of its answers that use them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from quorate.core.stopping.mixture import log_evidence, log_mixture
from quorate.model import HOLD, FloatArray, Items, say


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """Ask the first class of ``order`` that is open until the evidence for a label reaches 1 / level.

    ``bounds`` are those of class ``order[0]``; ``before`` (zeros, ones) of its answers do not lean on them.

    >>> items = Items(np.array([[[0, 2]], [[0, 3]]]), np.array([[2], [3]]), np.ones((2, 1), bool), np.zeros(2))
    >>> EvidencePlan((0,), 0.05, (0.8, 0.8)).act(items)
    array([ 0, -4], dtype=int16)
    """

    order: tuple[int, ...]
    level: float
    bounds: tuple[float, float] = (0.5, 0.5)
    before: tuple[int, int] = (0, 0)
    evidence_name: str = "log e-value"

    def act(self, items: Items) -> NDArray[np.int16]:
        for_0, for_1 = self._for_0(items), self._for_1(items)
        enough = np.maximum(for_0, for_1) >= -np.log(self.level)
        order = np.array(self.order)
        ask = order[items.open[:, order].argmax(axis=1)]  # if none is open the decider says why it gave up
        return np.where(enough, np.where(for_1 > for_0, say(1), say(0)), ask).astype(np.int16)

    def _for_1(self, items: Items) -> FloatArray:
        return self._for(items.counts[..., 0], items.counts[..., 1], self.bounds[0], *self.before)

    def _for_0(self, items: Items) -> FloatArray:
        return self._for(items.counts[..., 1], items.counts[..., 0], self.bounds[1], *self.before[::-1])

    def _for(
        self, against: NDArray[np.integer], favour: NDArray[np.integer], bound: float, zeros: int, ones: int
    ) -> FloatArray:
        """log evidence, with counts (n, M) of answers against and in favour of the label."""
        k = self.order[0]
        others = log_evidence(against, favour)
        others[:, k] = log_evidence(zeros, ones)
        zero, one = against[:, k] - zeros, favour[:, k] - ones
        coin = np.minimum(one / np.maximum(zero + one, 1), 1 - bound)
        likelihood = xlogy(one, coin) + xlog1py(zero, -coin)
        return np.asarray(others.sum(axis=1) + log_mixture(zero, one) - likelihood)

    def evidence(self, items: Items) -> FloatArray:
        return np.maximum(self._for_0(items), self._for_1(items))

    def confidence(self, items: Items) -> FloatArray:
        """As if the labels were equally likely and the two e-values their likelihoods."""
        return np.asarray(expit(self._for_1(items) - self._for_0(items)), np.float64)


@dataclass(frozen=True, slots=True)
class FixedPlan:
    """Get ``answers`` of each of these classes, then hold the item.

    >>> items = Items(np.array([[[0, 2], [0, 0]]]), np.array([[2, 0]]), np.ones((1, 2), bool), np.zeros(1))
    >>> FixedPlan((0, 1), 2).act(items), FixedPlan((0,), 2).act(items)
    (array([1], dtype=int16), array([-1], dtype=int16))
    """

    classes: tuple[int, ...]
    answers: int
    evidence_name: str = "none"

    def act(self, items: Items) -> NDArray[np.int16]:
        classes = np.array(self.classes)
        told = items.counts[:, classes].sum(axis=2)
        wanted = (told < self.answers) & items.open[:, classes]
        return np.where(wanted.any(axis=1), classes[wanted.argmax(axis=1)], HOLD).astype(np.int16)

    def evidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)

    def confidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)
