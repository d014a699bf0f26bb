"""Items from files and frames: an id, every other column as payload; all is checked before any of it is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.errors import FileError
from quorate.files.sources import rows_of
from quorate.files.values import id_of, payload_of, shown

ID_COLUMNS: Final = ("id", "item")  # looked for in this order, then the first column
_CHUNK: Final = 1 << 16


class Item(NamedTuple):
    """One thing to label."""

    id: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ItemSource:
    """A checked source of items: iterate it for its items; ``len`` of it is their number.

    Iterating streams the source again, so a file of gigabytes needs memory for one row (and eight bytes a row while
    it is checked).  If the file is changed in between, iterating stops with an error.
    """

    source: Any
    id_column: str | None
    encoding: str | None
    count: int
    stamp: tuple[int, int] | None

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Item]:
        number = 0
        for number, (_, item) in enumerate(_items(self.source, self.id_column, self.encoding), 1):
            self._unchanged(number <= self.count)
            yield item
        self._unchanged(number == self.count)

    def _unchanged(self, as_before: bool) -> None:
        if not as_before or (self.stamp is not None and self.stamp != _stamp(self.source)):
            raise FileError(f"{self.source} was changed while it was read.", hint="Start again when it is complete.")


def open_items(source: Any, *, id_column: str | None = None, encoding: str | None = None) -> ItemSource:
    """Check every row of a source, then hand it out: nothing is ever imported by half.

    ``source`` is a path (CSV, JSON Lines, Parquet), a pandas, polars or Arrow table, a list of dicts, or a dict of
    id -> payload.  The id is the column named, or ``id``, or ``item``, or the first.

    >>> source = open_items([{"id": "a", "text": "good"}, {"id": "b", "text": "bad"}])
    >>> len(source), next(iter(source))
    (2, Item(id='a', payload={'text': 'good'}))
    """
    if isinstance(source, Iterable) and iter(source) is source:  # a generator can be read only once
        source = list(source)
    stamp = _stamp(source)
    chunks = [np.zeros(0, np.uint64)]
    hashes: list[int] = []
    for _, item in _items(source, id_column, encoding):
        hashes.append(_hash(item.id))
        if len(hashes) == _CHUNK:
            chunks.append(np.array(hashes, np.uint64))
            hashes.clear()
    seen = np.concatenate([*chunks, np.array(hashes, np.uint64)])
    suspects = _twice(seen)
    if len(suspects):
        _refuse_duplicates(source, id_column, encoding, set(suspects.tolist()))
    if not len(seen):
        raise FileError(f"{_name(source)} has no items.", hint="It needs one row per item.")
    return ItemSource(source, id_column, encoding, len(seen), stamp)


def _items(source: Any, id_column: str | None, encoding: str | None) -> Iterator[tuple[str, Item]]:
    column = id_column
    for place, row in rows_of(source, encoding=encoding):
        if column is None:
            column = _id_column(row, place)
        if column not in row:
            raise FileError(
                f"{place} has no column {shown(column)}.",
                hint=f"Its columns are {', '.join(map(shown, list(row)[:20]))}: name the one that is the id.",
            )
        value = row.pop(column)
        yield place, Item(id_of(value, f"{place}, column {shown(column)}"), payload_of(row, place))


def _id_column(row: dict[str, Any], place: str) -> str:
    if not row:
        raise FileError(f"{place} has no columns.", hint="Each row needs an id and what annotators are to see.")
    return next((one for one in ID_COLUMNS if one in row), next(iter(row)))


def _refuse_duplicates(source: Any, id_column: str | None, encoding: str | None, suspects: set[int]) -> None:
    """Name the first id that stands twice; equal hashes of different ids pass."""
    first: dict[str, str] = {}
    for place, item in _items(source, id_column, encoding):
        if _hash(item.id) in suspects and first.setdefault(item.id, place) != place:
            raise FileError(
                f"{place}: the id {shown(item.id)} stands there for the second time, first in {first[item.id]}.",
                hint="Ids must be unique: take one of the rows away, or name another id column.",
            )


def _twice(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _hash(item: str) -> int:
    return int.from_bytes(blake2b(item.encode(), digest_size=8).digest(), "little")


def _stamp(source: Any) -> tuple[int, int] | None:
    if not isinstance(source, (str, Path)):
        return None
    try:
        about = Path(source).stat()
    except (OSError, ValueError):
        return None  # reading it will say what is wrong
    return about.st_size, about.st_mtime_ns


def _name(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else "The source"
