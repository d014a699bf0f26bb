"""One answer per class and item: then the data are how often each pattern of answers occurs, at most (K+1)^M numbers.

Compressing reads the answers once, in blocks that stay in the cache; whatever is computed afterwards does not depend
on the number of items, nor on their order.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.bitplanes import MOST_CLASSES, count_bits
from quorate.core.estimators.histogram import rank
from quorate.errors import AnswerError

_BLOCK: Final = 2**18  # items encoded at a time
_TABLE: Final = 2**18  # count by table up to this many possible patterns, by sorting beyond
_LARGEST: Final = 2**63


class Patterns(NamedTuple):
    """Different columns of ``answers[k, j]`` in lexicographic order, and how many items show each."""

    answers: NDArray[np.int8]  # (M, P), −1 where the class was not asked
    weight: NDArray[np.int64]  # (P,)


def patterns(answers: NDArray[np.int8], labels: int = 2) -> Patterns:
    """Compress ``answers[k, j]`` in {−1, 0, …, labels−1}.

    >>> found = patterns(np.array([[1, 0, 1, 1], [1, -1, 1, 0]], np.int8))
    >>> found.answers, found.weight
    (array([[ 0,  1,  1],
           [-1,  0,  1]], dtype=int8), array([1, 1, 2]))
    """
    answers = np.asarray(answers, np.int8)
    lowest = int(answers.min(initial=labels))
    if lowest < -1 or answers.max(initial=-1) >= labels:
        wrong = lowest if lowest < -1 else int(answers.max())
        raise AnswerError(
            f"There is an answer {wrong} among the answers, where labels are 0 to {labels - 1}.",
            hint="Code the labels as 0, 1, … and a missing answer as -1.",
        )
    if labels == 2 and lowest >= 0 and len(answers) <= MOST_CLASSES:
        return _by_bits(answers)
    if (labels + 1) ** len(answers) <= _TABLE:
        return _by_table(answers, labels + 1)
    return _by_sorting(answers, labels + 1)


def to_items(answers: NDArray[np.int8], found: Patterns, value: NDArray[Any], labels: int = 2) -> NDArray[Any]:
    """Hand what was computed for each pattern found in these answers back to the items that show it.

    >>> answers = np.array([[1, 0, 1, 1], [1, -1, 1, 0]], np.int8)
    >>> to_items(answers, patterns(answers), np.array([0.2, 0.5, 0.9]))
    array([0.9, 0.2, 0.9, 0.5])
    """
    answers, base = np.asarray(answers, np.int8), labels + 1
    if base ** len(answers) > _TABLE:
        inverse, _ = rank(answers.T + np.int8(1))
        return value[inverse]
    table = np.zeros(base ** len(answers), value.dtype)
    table[_code(found.answers, base)] = value
    result = np.empty(answers.shape[1], value.dtype)
    for start in range(0, len(result), _BLOCK):
        code = _code(answers[:, start : start + _BLOCK], base)
        np.take(table, code, out=result[start : start + _BLOCK], mode="clip")
    return result


def _by_bits(answers: NDArray[np.int8]) -> Patterns:
    count = count_bits(answers)
    present = np.flatnonzero(count)
    digits = present >> np.arange(len(answers) - 1, -1, -1)[:, None] & 1
    return Patterns(digits.astype(np.int8), count[present])


def _code(answers: NDArray[np.int8], base: int) -> NDArray[np.unsignedinteger]:
    """Columns read as numbers to this base, class 0 the highest digit, a missing answer 0."""
    dtype = np.min_scalar_type(max(base ** len(answers) - 1, base))
    code = np.zeros(answers.shape[1], dtype)
    for row in answers:
        code *= dtype.type(base)
        code += (row + np.int8(1)).view(np.uint8)
    return code


def _by_table(answers: NDArray[np.int8], base: int) -> Patterns:
    classes, items = answers.shape
    size = base**classes
    count = np.zeros(size, np.int64)
    for start in range(0, items, _BLOCK):
        count += _tally(_code(answers[:, start : start + _BLOCK], base), size)
    present = np.flatnonzero(count)
    digits = present // base ** np.arange(classes - 1, -1, -1)[:, None] % base
    return Patterns((digits - 1).astype(np.int8), count[present])


def _tally(code: NDArray[np.unsignedinteger], size: int) -> NDArray[np.int64]:
    """How often each code occurs; bytes are counted two at a time, which halves the work."""
    if code.dtype == np.uint8 and len(code) >= 2**17:
        half = len(code) // 2
        pairs = np.bincount(code[: 2 * half].view(np.uint16), minlength=2**16).reshape(256, 256)
        rest = np.bincount(code[2 * half :], minlength=256)
        return np.asarray((pairs.sum(axis=0) + pairs.sum(axis=1) + rest)[:size])
    return np.bincount(code, minlength=size)


def _by_sorting(answers: NDArray[np.int8], base: int) -> Patterns:
    """Read columns as numbers, replacing them by their ranks whenever the next digit would not fit."""
    code, size = np.zeros(answers.shape[1], np.int64), 1
    for row in answers:
        if size * base >= _LARGEST:
            distinct, code = np.unique(code, return_inverse=True)
            size = len(distinct)
        code = code * base + (row.astype(np.int64) + 1)
        size *= base
    _, first, weight = np.unique(code, return_index=True, return_counts=True)
    return Patterns(answers[:, first], weight)
