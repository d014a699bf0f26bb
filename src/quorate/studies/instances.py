"""Worlds to simulate: classes with known matrices and prices, and the paper's two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from quorate.model import NO_CAP, FloatArray, IntArray


def p1_price(accuracy: ArrayLike) -> FloatArray:
    """The paper's pricing model P1: p_k = exp(5 d(min(c_k(0), c_k(1)), 1/2)).  Paper: Section V.

    >>> p1_price([[0.94, 0.90], [0.64, 0.66]]).round(2)
    array([6.3 , 1.22])
    """
    worst = np.asarray(accuracy, np.float64).min(axis=-1)
    price: FloatArray = np.exp(5 * (rel_entr(worst, 0.5) + rel_entr(1 - worst, 0.5)))
    return price


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """What a simulator knows and a policy does not: ``accuracy[k, i]`` = c_k(i), and the prior P(label = 1)."""

    name: str
    classes: tuple[str, ...]
    accuracy: FloatArray  # (M, 2)
    price: FloatArray  # (M,)
    prior: float = 0.5
    alpha: float = 0.05
    answers_per_item: IntArray | None = None  # (M,), None: no class is capped
    between: FloatArray | None = None  # (M, 2) where accuracies are only known to lie, nan where they are known

    @property
    def caps(self) -> IntArray:
        """The cap of each class, `NO_CAP` where it has none."""
        if self.answers_per_item is not None:
            return self.answers_per_item
        return np.full(len(self.price), NO_CAP, np.int64)


def _p1(name: str, accuracy: ArrayLike) -> Instance:
    matrix = np.asarray(accuracy, np.float64)
    return Instance(name, tuple(f"class-{k + 1}" for k in range(len(matrix))), matrix, p1_price(matrix))


# As the paper's appendix prints them; its C_4 prints a column (.18, .88), read (.18, .82).
PRINTED = np.array([(0.94, 0.90), (0.77, 0.87), (0.92, 0.76), (0.88, 0.82), (0.64, 0.66)])
# Workers 3, 44, 67, 1 and 20 of the RTE labels: (right, asked) on items of true label 0 and 1.
RTE_COUNTS = np.array(
    [
        ((135, 144), (122, 136)),
        ((23, 30), (26, 30)),
        ((25, 27), (25, 33)),
        ((178, 201), (180, 219)),
        ((18, 28), (21, 32)),
    ]
)
_COUNTED = RTE_COUNTS[:, :, 0] / RTE_COUNTS[:, :, 1]


def _symmetric(accuracy: FloatArray) -> FloatArray:
    return np.repeat(accuracy.mean(axis=1, keepdims=True), 2, axis=1)


BUILT_IN = {
    one.name: one
    for one in (
        _p1("p1-asym", PRINTED),
        _p1("p1-sym", _symmetric(PRINTED)),
        _p1("p1-asym-rte", _COUNTED),
        _p1("p1-sym-rte", _symmetric(_COUNTED)),
    )
}
