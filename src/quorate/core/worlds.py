"""Simulated worlds: who is right about what, as hashes of (seed, item, ordinal, class) and nothing else.

`quorate.studies.simulate` and the simulator platform draw from the same functions, so a campaign makes the same
purchases in both, in any order and after any number of restarts.  ``item`` is any number that names an item: its row,
or `quorate.core.hashing.item_hash` of its id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from quorate.core.hashing import mix, uniform
from quorate.model import FloatArray, IntArray

TRUTH, PLAN, ANSWER, DIFFICULTY, SOURCE, COPY = range(1, 7)  # separate streams of dice
FAULTS: Final = 64  # streams from here on belong to the platforms


def symmetric_errors(accuracy: ArrayLike) -> FloatArray:
    """Confusion matrices (M, K, K) from accuracies (M, K): what a wrong answer says is spread evenly.

    >>> symmetric_errors([[0.9, 0.8]])[0]      # column i: what is answered when the true label is i
    array([[0.9, 0.2],
           [0.1, 0.8]])
    """
    right = np.asarray(accuracy, np.float64)
    labels = right.shape[1]
    wrong = (1 - right) / (labels - 1)
    matrix = np.repeat(wrong[:, None, :], labels, axis=1)
    matrix[:, np.arange(labels), np.arange(labels)] = right
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Classes with known matrices, and how the world departs from the model.

    ``hard``: item j's accuracy is a draw from Beta(hard c, hard (1-c)), one quantile for all classes, so an item that
    is hard is hard for everybody.  ``copied``: this share of answers repeats one source per item, which is right with
    probability ``source``.  ``drift``: the (t+1)-th answer about an item keeps only (1 - drift)^t of what lifts its
    class above chance.

    >>> world = World(symmetric_errors([[0.9, 0.8], [0.7, 0.7]]), prior=np.array([0.5, 0.5]), seed=7)
    >>> item = np.arange(6)
    >>> world.truth(item)
    array([...], dtype=int8)
    >>> world.answers(item, ordinal=0, worker_class=1)
    array([...], dtype=int8)
    """

    confusion: FloatArray  # (M, K, K): confusion[k, answer, label]
    prior: FloatArray  # (K,)
    seed: int
    hard: float | None = None
    copied: float = 0.0
    source: float = 0.8
    drift: float = 0.0

    @property
    def labels(self) -> int:
        return int(self.confusion.shape[1])

    def dice(self, item: ArrayLike, ordinal: ArrayLike, worker_class: ArrayLike, stream: int = ANSWER) -> FloatArray:
        """The uniforms that decide these answers, or what becomes of them."""
        turn = np.asarray(ordinal, np.int64) * len(self.confusion) + np.asarray(worker_class, np.int64)
        return uniform(mix(self.seed, stream, item), turn)

    def truth(self, item: ArrayLike) -> NDArray[np.int8]:
        """The true label of each item."""
        return _at_least(uniform(self.seed, TRUTH, item), _tail(self.prior))

    def answers(
        self, item: ArrayLike, ordinal: ArrayLike, worker_class: ArrayLike, truth: ArrayLike | None = None
    ) -> NDArray[np.int8]:
        """What the classes say when asked for the ordinal-th time about these items."""
        item, ordinal, k = np.asarray(item), np.asarray(ordinal), np.asarray(worker_class)
        truth = self.truth(item) if truth is None else np.asarray(truth)
        tail = _tail(self.confusion)[k, :, truth]
        if self.hard is not None or self.drift:
            tail = self._distorted(tail, item, ordinal, k, truth)
        label = _at_least(self.dice(item, ordinal, k), tail)
        if not self.copied:
            return label
        right = uniform(self.seed, SOURCE, item) < self.source
        step = 1 + (mix(self.seed, SOURCE, item) % np.uint64(self.labels - 1)).astype(np.int64)
        theirs = np.where(right, truth, (truth + step) % self.labels)
        return np.where(self.dice(item, ordinal, k, COPY) < self.copied, theirs, label).astype(np.int8)

    def _distorted(
        self, tail: FloatArray, item: IntArray, ordinal: IntArray, k: IntArray, truth: IntArray
    ) -> FloatArray:
        """P(answer >= l | truth) once the accuracy has moved; wrong answers keep their proportions."""
        right = self.confusion[k, truth, truth]
        moved = right
        if self.hard is not None:
            quantile = uniform(self.seed, DIFFICULTY, item)
            inside = (right > 0) & (right < 1)
            c = np.where(inside, right, 0.5)
            moved = np.where(inside, betaincinv(self.hard * c, self.hard * (1 - c), quantile), right)
        if self.drift:
            chance = 1 / self.labels
            moved = chance + (moved - chance) * (1 - self.drift) ** ordinal
        says_right = np.arange(1, self.labels) <= truth[..., None]
        others = tail - np.where(says_right, right[..., None], 0.0)
        scale = np.divide(1 - moved, 1 - right, out=np.zeros_like(moved), where=right < 1)
        spread: FloatArray = others * scale[..., None] + np.where(says_right, moved[..., None], 0.0)
        return spread


def _tail(chance: FloatArray) -> FloatArray:
    """P(answer >= l) for l = 1 … K-1, along the answers' axis: the last but one of matrices, a prior's only one."""
    axis = max(chance.ndim - 2, 0)
    return np.flip(np.cumsum(np.flip(chance, axis), axis), axis).take(np.arange(1, chance.shape[axis]), axis)


def _at_least(u: FloatArray, tail: FloatArray) -> NDArray[np.int8]:
    """Draw by inversion: the label is the number of levels l with u < P(answer >= l)."""
    label: NDArray[np.int8] = (u[..., None] < tail).sum(axis=-1).astype(np.int8)
    return label
