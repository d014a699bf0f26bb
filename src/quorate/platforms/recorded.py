"""Recorded label sets: who once said what about which item, in a folder of three small files.

``labels.csv`` (item,worker,label) must be there; ``workers.csv`` (worker,class) names the classes, without it all
workers are one class; ``truth.csv`` (item,label) is the gold, for some items or all.  Each may be gzipped.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.hashing import item_hash, mix
from quorate.errors import FileError

Int = NDArray[np.int64]
NOT_RECORDED: Final = -1
ONE_CLASS: Final = "workers"


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A label set as columns: one row an answer, indices into ``items``, ``classes``, ``workers`` and ``labels``."""

    name: str
    items: tuple[str, ...]
    classes: tuple[str, ...]
    workers: tuple[str, ...]
    labels: tuple[str, ...]
    item: Int
    worker: Int
    label: Int
    class_of: Int  # (workers,)
    truth: Int  # (items,), −1 where there is no gold

    @property
    def counts(self) -> Int:
        """Every answer there is: (items, classes, labels)."""
        table = np.zeros((len(self.items), len(self.classes), len(self.labels)), np.int64)
        np.add.at(table, (self.item, self.class_of[self.worker], self.label), 1)
        return table


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """The answers of a set in the order in which they are handed out, fixed by a hash of (seed, item, worker)."""

    recorded: Recorded
    order: Int  # rows of the set, those of one item and class together
    start: Int  # (items, classes) where they begin
    length: Int  # (items, classes)

    @classmethod
    def of(cls, recorded: Recorded, seed: int) -> Queue:
        """Shuffle each item's answers within each class."""
        worker_class = recorded.class_of[recorded.worker]
        names = np.array([item_hash(one) for one in recorded.items], np.uint64)
        people = np.array([item_hash(one) for one in recorded.workers], np.uint64)
        turn = mix(seed, names[recorded.item], people[recorded.worker])
        length = np.zeros((len(recorded.items), len(recorded.classes)), np.int64)
        np.add.at(length, (recorded.item, worker_class), 1)
        start = np.concatenate([[0], np.cumsum(length.ravel())[:-1]]).reshape(length.shape)
        return cls(recorded, np.lexsort((turn, worker_class, recorded.item)), start, length)

    def rows(self, item: ArrayLike, worker_class: ArrayLike, repeat: ArrayLike) -> Int:
        """The row of the (repeat+1)-th answer of a class about an item, or `NOT_RECORDED`."""
        item, k, repeat = np.asarray(item), np.asarray(worker_class), np.asarray(repeat)
        there = repeat < self.length[item, k]
        at = np.where(there, self.start[item, k] + repeat, 0)
        return np.where(there, self.order[at], NOT_RECORDED)


def read_recorded(folder: str | Path) -> Recorded:
    """Read a label set, or say which file, line and value is wrong."""
    folder = Path(folder)
    if not _is(folder, Path.is_dir):
        raise FileError(f"There is no folder {folder}.", hint="Name a folder that holds labels.csv.")
    rows = [row for _, row in _rows(folder, "labels.csv", ("item", "worker", "label"), required=True)]
    if not rows:
        raise FileError(f"{folder}/labels.csv has no rows.", hint="It needs one row per answer: item,worker,label.")
    kinds = _unique(folder, "workers.csv", ("worker", "class"))
    truth_of = _unique(folder, "truth.csv", ("item", "label"))
    items = _in_order({row[0] for row in rows} | set(truth_of))
    workers = _in_order({row[1] for row in rows})
    labels = _in_order({row[2] for row in rows} | set(truth_of.values()))
    missing = [one for one in workers if kinds and one not in kinds]
    if missing:
        raise FileError(
            f"{folder}/workers.csv does not say the class of worker {missing[0]!r}"
            + (f" and {len(missing) - 1} more." if len(missing) > 1 else "."),
            hint="Add a row worker,class for each worker of labels.csv, or take the file away.",
        )
    classes = _in_order({kinds.get(one, ONE_CLASS) for one in workers})
    at_item, at_worker, at_label, at_class = (
        {v: i for i, v in enumerate(s)} for s in (items, workers, labels, classes)
    )
    truth = np.full(len(items), NOT_RECORDED, np.int64)
    for item, label in truth_of.items():
        truth[at_item[item]] = at_label[label]
    return Recorded(
        folder.name, items, classes, workers, labels,
        item=np.array([at_item[row[0]] for row in rows], np.int64),
        worker=np.array([at_worker[row[1]] for row in rows], np.int64),
        label=np.array([at_label[row[2]] for row in rows], np.int64),
        class_of=np.array([at_class[kinds.get(one, ONE_CLASS)] for one in workers], np.int64),
        truth=truth,
    )  # fmt: skip


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Whether a path is of a kind; one that cannot be looked at is not."""
    try:
        return kind(path)
    except (OSError, ValueError):  # no permission, a name too long, a NUL in it
        return False


def _rows(
    folder: Path, name: str, columns: Sequence[str], *, required: bool
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The values of the columns, row by row, with the number of the row's last line."""
    path = next((p for p in (folder / name, folder / f"{name}.gz") if _is(p, Path.is_file)), None)
    if path is None:
        if required:
            raise FileError(
                f"{folder} has no {name} (or {name}.gz).", hint=f"It needs the columns {','.join(columns)}."
            )
        return
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as raw:
            reader = csv.reader(io.TextIOWrapper(raw, "utf-8-sig", newline=""), strict=True)
            header = next(reader, [])
            if not set(columns) <= set(header):
                raise FileError(
                    f"{path}, line 1: the columns are {','.join(header)[:200]}.", hint=f"Needed: {','.join(columns)}."
                )
            at = [header.index(one) for one in columns]
            for row in reader:
                if not row:
                    continue
                if len(row) <= max(at) or any(row[i] == "" for i in at):
                    raise FileError(
                        f"{path}, line {reader.line_num}: {','.join(row)[:200]!r} lacks a value.",
                        hint=f"Each row needs {','.join(columns)}.",
                    )
                yield reader.line_num, tuple(row[i] for i in at)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(
            f"{path} cannot be read after line {reader.line_num}: {error}.",
            hint="It must be CSV in UTF-8, or that gzipped.",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path} cannot be read: {error}.", hint="Is it complete, and may you read it?") from None


def _unique(folder: Path, name: str, columns: tuple[str, str]) -> dict[str, str]:
    """What a file of two columns says of each name; not two things of one."""
    said: dict[str, tuple[int, str]] = {}
    for line, (one, value) in _rows(folder, name, columns, required=False):
        first, known = said.setdefault(one, (line, value))
        if known != value:
            raise FileError(
                f"{folder}/{name}, line {line} says {value!r} of {one!r}, line {first} said {known!r}.",
                hint="Keep one of the rows.",
            )
    return {one: value for one, (_, value) in said.items()}


def _in_order(values: set[str]) -> tuple[str, ...]:
    """Numbers by size, before words; by their digits, for a number may have thousands.

    >>> _in_order({"b", "10", "9", "007"})
    ('007', '9', '10', 'b')
    """

    def place(value: str) -> tuple[int, int, str, str]:
        digits = value.lstrip("0")
        return (0, len(digits), digits, value) if value.isascii() and value.isdecimal() else (1, 0, "", value)

    return tuple(sorted(values, key=place))
