"""The e-rule: evidence that multiplies over classes, whoever is asked next and for whatever reason.

Evidence for label 1 of an item is M1 of every class's answers (`stopping.mixture`, which needs only c > 1/2), but for the
class with bounds b0, b1 that is asked on: its answers from then on count

    ∫ p^ones (1−p)^zeros dπ(p) / ((1−b0)^ones b0^zeros)        if ones / t >= 1 − b0, and nothing can be said otherwise.

Where 1 − c0 <= 1 − b0 <= ones / t the denominator is at least (1−c0)^ones c0^zeros, so under label 0 the product is at most
a nonnegative supermartingale that starts at 1: P(it ever reaches 1/level, bounds right) <= level, for any bounds, chosen
from whatever data, the item's own included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from quorate.core.stopping.mixture import log_evidence, log_mixture
from quorate.model import HOLD, FloatArray, Items, say


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """Ask the first class of ``order`` that is open until the evidence for a label reaches 1 / level.

    ``bounds`` are those of class ``order[0]``; ``before`` (zeros, ones) of its answers do not lean on them.
    """

    order: tuple[int, ...]
    level: float
    bounds: tuple[float, float] = (0.5, 0.5)
    before: tuple[int, int] = (0, 0)
    evidence_name: str = "log e-value"

    def act(self, items: Items) -> NDArray[np.int16]:
        for_0, for_1 = self._for_0(items), self._for_1(items)
        enough = np.maximum(for_0, for_1) >= -np.log(self.level)
        return np.where(enough, np.where(for_1 > for_0, say(1), say(0)), self._next(items)).astype(np.int16)

    def _next(self, items: Items) -> NDArray[np.int64]:
        order = np.array(self.order)
        open_ = items.open[:, order]
        return np.asarray(order[open_.argmax(axis=1)])  # if none is open the decider says why it gave up

    def _for_1(self, items: Items) -> FloatArray:
        return self._for(items.counts[..., 0], items.counts[..., 1], self.bounds[0], *self.before)

    def _for_0(self, items: Items) -> FloatArray:
        return self._for(items.counts[..., 1], items.counts[..., 0], self.bounds[1], *self.before[::-1])

    def _for(
        self, against: NDArray[np.integer], favour: NDArray[np.integer], b: float, zeros: int, ones: int
    ) -> FloatArray:
        """log evidence, with counts (n, M) of answers against and in favour of the label."""
        k = self.order[0]
        others = log_evidence(against, favour)
        others[:, k] = log_evidence(zeros, ones)
        zero, one = against[:, k] - zeros, favour[:, k] - ones
        null = xlogy(one, 1 - b) + xlogy(zero, b)
        sided = one >= (1 - b) * (zero + one)
        total: FloatArray = np.where(sided, others.sum(axis=1) + log_mixture(zero, one) - null, -np.inf)
        return total

    def evidence(self, items: Items) -> FloatArray:
        return np.maximum(self._for_0(items), self._for_1(items))

    def confidence(self, items: Items) -> FloatArray:
        """As if the two likelihoods were those of equally likely labels."""
        for_0, for_1 = self._for_0(items), self._for_1(items)
        known = np.isfinite(for_0) | np.isfinite(for_1)
        odds = np.where(known, for_1, 0.0) - np.where(known, for_0, 0.0)
        return np.asarray(expit(odds), np.float64)


@dataclass(frozen=True, slots=True)
class FixedPlan:
    """Ask each of these classes ``answers`` times, then hold the item."""

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
