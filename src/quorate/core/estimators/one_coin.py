"""The one-coin estimator: accuracies of symmetric classes from how often pairs of classes agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.bootstrap import with_intervals
from quorate.core.estimators.patterns import Patterns, patterns
from quorate.errors import TooFewWorkerClasses
from quorate.model import Estimate, FloatArray


@dataclass(frozen=True, slots=True)
class OneCoin:
    """ĉ_k = ½ + sign(N_{k r}) √(N_{k a} N_{k b} / N_{a b}), with N_ab = (agreement − ½)/2.

    (a, b) is the pair of other classes with the largest \\|N_ab\\|, equals going to the first, and r = a₁ one fixed
    reference class: the paper's sign(N_{k a₁}).  If the mean is below ½ all are flipped.  Paper: Section III, after
    Zhang, Chen, Zhou, Jordan (2016), Algorithm 2, steps 1 and 2.

    It is total: a negative radicand, a pair that never met or agrees like coins give ½, values outside [0, 1] are
    clipped, and the estimate's notes say so.

    >>> rng = np.random.default_rng(1)
    >>> label = rng.random(50_000) < 0.5
    >>> answers = np.where(rng.random((3, 50_000)) < [[0.9], [0.8], [0.7]], label, ~label).astype(np.int8)
    >>> OneCoin().estimate(answers, rng=rng).accuracy_hat.round(1)
    array([[0.9, 0.9],
           [0.8, 0.8],
           [0.7, 0.7]])
    """

    draws: int = 0  # bootstrap samples for intervals

    def estimate(self, answers: NDArray[np.int8], *, rng: np.random.Generator) -> Estimate:
        return with_intervals(one_coin, patterns(answers), self.draws, rng)


def one_coin(data: Patterns) -> Estimate:
    """The estimate from compressed answers."""
    need_three(data, "One-coin")
    c, notes = _accuracies(agreement(data))
    if c.mean() < 0.5:
        c = 1 - c
        notes.append("the mean accuracy came out below 1/2: all classes flipped")
    clipped = np.clip(c, 0.0, 1.0)
    notes += [f"class {k + 1}: {c[k]:.3f} clipped to {clipped[k]:.0f}" for k in np.flatnonzero(clipped != c)]
    accuracy = np.repeat(clipped[:, None], 2, axis=1)
    return Estimate(accuracy, _prior(data, clipped), notes=(*notes, *not_identifiable(accuracy)))


def need_three(data: Patterns, name: str) -> None:
    """One answer per class and item identifies nothing with fewer than three classes."""
    classes = len(data.answers)
    if classes < 3:
        raise TooFewWorkerClasses(
            f"{name} estimation from one answer per class and item needs at least 3 worker classes, got {classes}.",
            hint="Add a class, or ask one class several times per item: three answers of one class identify it"
            " (policies 'calibrated' and 'certified' do that).",
        )


def agreement(data: Patterns) -> FloatArray:
    """N_ab = (share of items on which a and b agree − ½)/2 among those that both answered; 0 where none.

    >>> agreement(patterns(np.array([[1, 0, 1, 1], [1, -1, 1, 0]], np.int8))).round(4)
    array([[0.25  , 0.0833],
           [0.0833, 0.25  ]])
    """
    same, met = (_pairs(data.answers, data.weight, labels) for labels in ((0, 1), (-1,)))
    share = np.full(same.shape, 0.5)
    np.divide(same, met, out=share, where=met > 0)
    return (share - 0.5) / 2


def not_identifiable(accuracy: FloatArray) -> list[str]:
    """A note for each class whose estimate is not between 1/2 and 1, where an accuracy must lie.

    >>> not_identifiable(np.array([[0.8, 0.7], [0.4, 0.9], [1.0, 0.9]]))
    ['class 2: 0.400 is not above 1/2: not identifiable from these answers',
     'class 3: 1.000 is not below 1: not identifiable from these answers']
    """
    notes = []
    for k, row in enumerate(accuracy, 1):
        if row.min() <= 0.5:
            notes.append(f"class {k}: {row.min():.3f} is not above 1/2: not identifiable from these answers")
        if row.max() >= 1:
            notes.append(f"class {k}: {row.max():.3f} is not below 1: not identifiable from these answers")
    return notes


def _pairs(answers: NDArray[np.int8], weight: NDArray[np.int64], labels: tuple[int, ...]) -> FloatArray:
    """How many items have the same answer in a and b, for these answers; −1 stands for any answer."""
    total = np.zeros((len(answers), len(answers)))
    for label in labels:
        shown = (answers >= 0 if label < 0 else answers == label).astype(np.float64)
        total += (shown * weight) @ shown.T
    return total


def _accuracies(n: FloatArray) -> tuple[FloatArray, list[str]]:
    classes = len(n)
    pairs = [_best_pair(np.abs(n), k) for k in range(classes)]
    reference = pairs[0][0]
    c, notes = np.full(classes, 0.5), []
    for k, (a, b) in enumerate(pairs):
        sign = 1.0 if k == reference else np.sign(n[k, reference])
        if n[a, b] == 0:
            notes.append(f"class {k + 1}: no other two classes agree more or less than coins: set to 1/2")
        elif n[k, a] * n[k, b] / n[a, b] < 0:
            notes.append(f"class {k + 1}: negative radicand, signs of agreement contradict: set to 1/2")
        else:
            c[k] += sign * np.sqrt(n[k, a] * n[k, b] / n[a, b])
    return c, notes


def _best_pair(size: FloatArray, k: int) -> tuple[int, int]:
    """(a, b) with a < b, neither k, and the largest |N_ab|; the first of equals."""
    others = np.delete(np.arange(len(size)), k)
    a, b = np.triu_indices(len(others), 1)
    best = int(size[others[a], others[b]].argmax())
    return int(others[a[best]]), int(others[b[best]])


def _prior(data: Patterns, c: FloatArray) -> float:
    """w₁ by least squares over classes of P(answer 1) = w₁ c + (1−w₁)(1−c)."""
    asked = (data.answers >= 0) @ data.weight
    ones = (data.answers == 1) @ data.weight
    share = np.divide(ones, asked, out=np.full(len(c), 0.5), where=asked > 0)
    slope = 2 * c - 1
    if not slope.any():
        return 0.5
    return float(np.clip(slope @ (share - (1 - c)) / (slope @ slope), 0.0, 1.0))
