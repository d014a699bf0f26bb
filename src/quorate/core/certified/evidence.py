"""The e-rule for classes that can only do it together, each of them capped at a few answers per item.

Evidence for label 1 is the product over the classes of M1 (`stopping.mixture`).  Under label 0 every factor
is a nonnegative supermartingale that starts at 1, whoever is asked next and for whatever reason, hence so
is the product, and

    P(the evidence for 1 ever reaches 1/level | label 0) <= level        (Ville).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate.core.stopping.mixture import log_evidence
from quorate.model import HOLD, FloatArray, Items, say


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """Ask the first class of ``order`` that is open until the evidence for a label reaches 1 / level.

    >>> counts = np.array([[[0, 4], [0, 3]], [[0, 4], [1, 3]]])
    >>> items = Items(counts, counts.sum(axis=2), np.ones((2, 2), bool), np.zeros(2))
    >>> EvidencePlan((1, 0), 0.05).act(items)
    array([-4,  1], dtype=int16)
    """

    order: tuple[int, ...]
    level: float
    evidence_name: str = "log e-value"

    def act(self, items: Items) -> NDArray[np.int16]:
        for_0, for_1 = self._for(items, 0), self._for(items, 1)
        enough = np.maximum(for_0, for_1) >= -np.log(self.level)
        order = np.array(self.order)
        ask = order[items.open[:, order].argmax(axis=1)]  # if none is open the decider says why it gave up
        return np.where(enough, np.where(for_1 > for_0, say(1), say(0)), ask).astype(np.int16)

    def _for(self, items: Items, label: int) -> FloatArray:
        evidence = log_evidence(items.counts[..., 1 - label], items.counts[..., label])
        return np.asarray(evidence.sum(axis=1), np.float64)

    def evidence(self, items: Items) -> FloatArray:
        return np.maximum(self._for(items, 0), self._for(items, 1))

    def confidence(self, items: Items) -> FloatArray:
        """As if the labels were equally likely and the two e-values their likelihoods."""
        return np.asarray(expit(self._for(items, 1) - self._for(items, 0)), np.float64)


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
