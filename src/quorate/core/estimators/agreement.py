"""How often classes agree with one another, and how often they would if only the truth made them agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from quorate.core.estimators.dawid_skene import Confusions, dawid_skene, posterior_of
from quorate.model import FloatArray

_WITNESSES: Final = 2  # classes besides a pair that it takes to tell what the truth is
_STRIKING: Final = 5.0  # standard errors …
_MATERIAL: Final = 0.05  # … and share of the items by which a pair must agree too much to be called dependent


@dataclass(frozen=True, slots=True)
class Pair:
    """Classes ``a`` and ``b`` on the items that both answered."""

    a: int
    b: int
    items: int
    observed: float  # how often two of their answers agree
    expected: float | None  # the same if they were independent given the truth; None where nobody else can tell
    error: float | None  # standard error of observed − expected

    @property
    def dependent(self) -> bool:
        """They agree more often than the truth explains: copies, or they err on the same items."""
        return self.score > _STRIKING

    @property
    def score(self) -> float:
        """Standard errors above what is expected, 0 where the excess is immaterial or unknown."""
        if self.expected is None or not self.error or self.observed < self.expected + _MATERIAL:
            return 0.0
        return (self.observed - self.expected) / self.error


class Agreement:
    """Agreement of the classes in rows of counts ``x[j, k·labels + answer]`` that stand for ``weight[j]`` items each.

    What is expected of a pair is computed without the pair: the truth from the other classes, a's matrix from a fit
    without b and b's from a fit without a, so that two copies cannot vouch for each other.  Nor for a third class: of
    a dependent pair only one stays a witness.  Three or more copies of one another do vouch for each other: as long
    as the third is a witness, the first two look right.

    >>> from quorate.core.estimators.gibbs import believed_cells
    >>> rng = np.random.default_rng(1)
    >>> answers = rng.random((5, 2000)) < np.where(rng.random(2000) < 0.5, 0.8, 0.2)
    >>> answers[4] = answers[3]                                              # a copy
    >>> x = (answers.T[:, :, None] == [False, True]).reshape(2000, 10).astype(float)
    >>> pairs = Agreement(x, np.ones(2000), 2, believed_cells(2)).pairs()
    >>> [(one.a, one.b, round(one.observed, 2), round(one.expected, 2)) for one in pairs if one.dependent]
    [(3, 4, 1.0, 0.68)]
    """

    def __init__(self, x: FloatArray, weight: FloatArray, labels: int, belief: FloatArray) -> None:
        self._counts = x.reshape(len(x), -1, labels)
        self._weight = weight
        self._labels = labels
        self._belief = belief
        self._fits: dict[frozenset[int], Confusions] = {}

    def observed(self) -> list[Pair]:
        """Every pair of classes that met on an item, without asking what is to be expected."""
        found = [self._pair(a, b, set()) for a, b in combinations(range(self._counts.shape[1]), 2)]
        return [one for one in found if one is not None]

    def pairs(self) -> list[Pair]:
        """Every pair of classes that met on an item; this fits the model once or twice a pair."""
        classes = range(self._counts.shape[1])
        witnesses = set(classes)
        partner: dict[int, int] = {}
        while True:
            found = [self._pair(a, b, witnesses - {a, b}) for a, b in combinations(sorted(witnesses), 2)]
            worst = max((one for one in found if one is not None), key=lambda one: one.score, default=None)
            if worst is None or not worst.dependent:
                break
            witnesses.discard(worst.b)
            partner[worst.b] = worst.a
        everyone = [
            self._pair(a, b, witnesses - _kin(a, partner) - _kin(b, partner)) for a, b in combinations(classes, 2)
        ]
        return [one for one in everyone if one is not None]

    def _fit(self, classes: frozenset[int]) -> Confusions:
        if classes not in self._fits:
            x = self._counts[:, sorted(classes)].reshape(len(self._counts), -1)
            self._fits[classes] = dawid_skene(
                x, self._labels, weight=self._weight, pseudo=self._belief, tol=1e-6, max_iter=100
            )
        return self._fits[classes]

    def _pair(self, a: int, b: int, witnesses: set[int]) -> Pair | None:
        of_a, of_b = self._counts[:, a], self._counts[:, b]
        both = of_a.any(axis=1) & of_b.any(axis=1)
        items = self._weight[both]
        n = float(items.sum())
        if n == 0:
            return None
        share_a = of_a[both] / of_a[both].sum(axis=1, keepdims=True)
        share_b = of_b[both] / of_b[both].sum(axis=1, keepdims=True)
        observed = float(items @ (share_a * share_b).sum(axis=1) / n)
        if len(witnesses) < _WITNESSES:
            return Pair(a, b, int(n), observed, None, None)
        with_a, with_b = self._fit(frozenset(witnesses | {a})), self._fit(frozenset(witnesses | {b}))
        place_a, place_b = sorted(witnesses | {a}).index(a), sorted(witnesses | {b}).index(b)
        others = self._counts[both][:, sorted(witnesses)].reshape(int(both.sum()), -1)
        truth = posterior_of(others, np.delete(with_a.confusion, place_a, axis=0), with_a.prior)
        each = truth @ (with_a.confusion[place_a] * with_b.confusion[place_b]).sum(axis=0)
        expected = float(items @ each / n)
        return Pair(a, b, int(n), observed, expected, float(np.sqrt(items @ (each * (1 - each))) / n))


def _kin(k: int, partner: Mapping[int, int]) -> set[int]:
    """All who depend on the same witness as class k, and that witness."""
    return {one for one in {k, *partner, *partner.values()} if _root(one, partner) == _root(k, partner)}


def _root(k: int, partner: Mapping[int, int]) -> int:
    while k in partner:
        k = partner[k]
    return k
