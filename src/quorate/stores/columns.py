"""Columns that grow, and columns packed into bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]


class Growing:
    """Named int64 columns that rows are appended to; reading never copies.

    >>> log = Growing(("a", "b"))
    >>> log.append({"a": np.array([1, 2]), "b": np.array([3, 4])})
    >>> len(log), log["b"]
    (2, array([3, 4]))
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: np.zeros(64, np.int64) for name in names}
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def __getitem__(self, name: str) -> Int:
        return self._columns[name][: self._used]

    def append(self, rows: Mapping[str, Int]) -> None:
        end = self._used + len(next(iter(rows.values())))
        for name, held in self._columns.items():
            if end > len(held):
                larger = np.empty(max(end, 2 * len(held)), np.int64)
                larger[: self._used] = held[: self._used]
                self._columns[name] = held = larger
            held[self._used : end] = rows[name]
        self._used = end

    def truncate(self, length: int = 0) -> None:
        self._used = length

    def columns(self, start: int = 0) -> dict[str, Int]:
        """Copies of the columns from a row on."""
        return {name: self[name][start:].copy() for name in self._columns}


def pack(columns: Mapping[str, Int]) -> bytes:
    """Columns as bytes: each as its minimum and what remains, in the narrowest integers that hold it.

    >>> unpack(pack({"a": np.array([10**12, 10**12 + 3]), "b": np.array([-1, 5])}))
    {'a': array([1000000000000, 1000000000003]), 'b': array([-1,  5])}
    """
    head, bodies = [], []
    for name, values in columns.items():
        low = int(values.min()) if len(values) else 0
        rest = values.view(np.uint64) - np.uint64(low % 2**64)
        narrow = rest.astype(np.min_scalar_type(int(rest.max()) if len(rest) else 0).newbyteorder("<"))
        head.append([name, low, narrow.dtype.str])
        bodies.append(narrow.tobytes())
    length = len(next(iter(columns.values())))
    return b"".join([json.dumps([length, head]).encode(), b"\n", *bodies])


def unpack(data: bytes) -> dict[str, Int]:
    """The inverse of `pack`."""
    offset = data.index(b"\n") + 1
    length, head = json.loads(data[:offset])
    columns = {}
    for name, low, dtype in head:
        narrow = np.frombuffer(data, dtype, length, offset)
        offset += narrow.nbytes
        columns[name] = (narrow.astype(np.uint64) + np.uint64(low % 2**64)).view(np.int64)
    if offset != len(data):
        raise ValueError("a pack of columns has the wrong length")
    return columns
