"""Answers that are known before their turn: replayed from the ledger, or bought by another process."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
_ORDINALS: Final = 16  # bits; an item has at most 2^15 answers


def ask_code(item: Int, ordinal: Int) -> Int:
    """One number that names an ask, in the order of items, then of ordinals."""
    return (item << _ORDINALS) | ordinal


def code_parts(code: Int) -> tuple[Int, Int]:
    """Item and ordinal: the inverse of `ask_code`.

    >>> code_parts(ask_code(np.array([3]), np.array([5])))
    (array([3]), array([5]))
    """
    return code >> _ORDINALS, code & ((1 << _ORDINALS) - 1)


class Book:
    """Known outcomes of asks, looked up by (item, ordinal) and taken out once.

    >>> book = Book()
    >>> book.add(np.array([4, 2]), np.array([0, 0]), label=np.array([1, 0]), charged=np.array([5, 5]))
    >>> found, label, charged = book.take(np.array([2, 3]), np.array([0, 0]))
    >>> found, label, len(book)
    (array([ True, False]), array([0]), 1)
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._code = np.zeros(0, np.int64)  # sorted
        self._label = np.zeros(0, np.int64)
        self._charged = np.zeros(0, np.int64)
        self._left = 0

    def __len__(self) -> int:
        return self._left

    def add(self, item: Int, ordinal: Int, *, label: Int, charged: Int) -> None:
        """Write down outcomes; of two for the same ask the first stands."""
        code = np.concatenate([self._code, ask_code(item, ordinal)])
        order = np.argsort(code, kind="stable")
        self._code = code[order]
        self._label = np.concatenate([self._label, label])[order]
        self._charged = np.concatenate([self._charged, charged])[order]
        self._left += len(item)

    def take(self, item: Int, ordinal: Int) -> tuple[NDArray[np.bool_], Int, Int]:
        """Which of these asks are known, and their outcomes; nobody asks for the same one twice."""
        if not self._left:
            return np.zeros(len(item), np.bool_), item[:0], item[:0]
        code = ask_code(item, ordinal)
        at = np.searchsorted(self._code, code)
        found = at < len(self._code)
        found[found] = self._code[at[found]] == code[found]
        at = at[found]
        label, charged = self._label[at], self._charged[at]
        self._left -= len(at)
        if not self._left:
            self._clear()
        return found, label, charged
