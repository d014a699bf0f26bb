"""Counting the patterns of a few yes/no answers sixty-four items at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_BLOCK: Final = 2**19  # items at a time: the planes of a block take a few megabytes
MOST_CLASSES: Final = 6  # beyond, 2^M planes cost more than counting item by item


def count_bits(answers: NDArray[np.int8]) -> NDArray[np.int64]:
    """How many columns of ``answers[k, j]`` in {0, 1} show each of the 2^M patterns, class 0 the highest bit.

    One bit an answer; for each set S of classes count the items where all of S say 1 (AND, popcount); then

        #(exactly S says 1) = Σ_{T ⊇ S} (−1)^{|T \\ S|} #(all of T say 1).

    >>> count_bits(np.array([[1, 0, 1, 1], [1, 1, 1, 0]], np.int8))
    array([0, 1, 1, 2])
    """
    classes, items = answers.shape
    at_least = np.zeros(2**classes, np.int64)
    at_least[0] = items
    for start in range(0, items, _BLOCK):
        bits = np.packbits(answers[:, start : start + _BLOCK].view(np.bool_), axis=1)
        bits = np.ascontiguousarray(np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))).view(np.uint64)
        planes = np.empty((2**classes, bits.shape[1]), np.uint64)
        planes[0] = ~np.uint64(0)
        for k in range(classes):
            np.bitwise_and(planes[: 2**k], bits[classes - 1 - k], out=planes[2**k : 2 ** (k + 1)])
        at_least[1:] += np.bitwise_count(planes[1:]).sum(axis=1, dtype=np.int64)
    return _exactly(at_least, classes)


def _exactly(at_least: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Möbius inversion over the subsets, one class at a time."""
    cube = at_least.reshape((2,) * classes)
    for axis in range(classes):
        without, with_ = np.split(cube, 2, axis=axis)
        cube = np.concatenate([without - with_, with_], axis=axis)
    return cube.ravel()
