"""The paper's five worker classes, found again in the recorded labels of the RTE task (Snow et al. 2008).

The paper prints confusion matrices to two decimals and does not say whose they are.  They are single workers: for
each printed matrix we look for every worker whose own counts give it, cut or rounded.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quorate.errors import FileError
from quorate.files.sources import rows_of
from quorate.studies.instances import PRINTED, p1_price

Pair = tuple[int, int]
_PLACE: Final = Path("..") / "shared" / "data"


@dataclass(frozen=True, slots=True, order=True)
class Worker:
    """A worker's answers to items of true label 0 and 1: (right, asked) of each."""

    name: str
    zeros: Pair
    ones: Pair

    @property
    def accuracy(self) -> tuple[float, float]:
        """(c(0), c(1)) as the labels have it; nan where the worker saw no such item."""
        return _share(self.zeros), _share(self.ones)

    @property
    def price(self) -> float:
        """The paper's price P1 of these accuracies."""
        return float(p1_price(self.accuracy))

    def prints_as(self, printed: tuple[float, float]) -> bool:
        """Would this worker's accuracies be printed so, to two decimals, cut or rounded?

        >>> Worker("w1", (178, 201), (180, 219)).prints_as((0.88, 0.82))
        True
        """
        return all(
            not math.isnan(c) and round(100 * p) in (math.floor(100 * c), round(100 * c))
            for c, p in zip(self.accuracy, printed, strict=True)
        )


def data_folder(asked: Path | None = None) -> Path | None:
    """The folder asked for, else ``$QUORATE_DATA`` or ``../shared/data`` if the labels are there, else None."""
    if asked is not None:
        if not asked.is_dir():
            raise FileError(
                f"There is no folder {str(asked)!r}.", hint="Give the folder that holds 'rte/labels.csv'."
            )
        return asked
    folder = Path(os.environ.get("QUORATE_DATA", _PLACE))
    return folder if (folder / "rte" / "labels.csv").is_file() else None


def read_workers(folder: Path) -> list[Worker]:
    """Count each worker of ``folder/rte``: ``labels.csv`` (item, worker, label) against ``truth.csv``."""
    truth = {str(row["item"]): _label(row, place) for place, row in _rows(folder / "rte" / "truth.csv", "item")}
    tally: dict[str, list[list[int]]] = {}
    for place, row in _rows(folder / "rte" / "labels.csv", "item", "worker"):
        if row["item"] not in truth:
            raise FileError(f"{place}: the item {row['item']!r} is not in truth.csv.", hint="Are the two of one set?")
        label = truth[row["item"]]
        of_label = tally.setdefault(row["worker"], [[0, 0], [0, 0]])[label]
        of_label[0] += _label(row, place) == label
        of_label[1] += 1
    return [Worker(name, (zero[0], zero[1]), (one[0], one[1])) for name, (zero, one) in tally.items()]


def find(workers: list[Worker]) -> list[list[Worker]]:
    """For each printed matrix the workers who fit it, those with most answers first; there must be one."""
    found = []
    for printed in [(float(c0), float(c1)) for c0, c1 in PRINTED]:
        fits = [worker for worker in workers if worker.prints_as(printed)]
        if not fits:
            raise FileError(
                f"rte/labels.csv has no worker who fits the paper's accuracies {printed}.",
                hint="These are not the RTE labels of Snow et al. (2008). Without a folder, shipped counts serve.",
            )
        found.append(sorted(fits, key=lambda worker: (-worker.zeros[1] - worker.ones[1], worker.name)))
    return found


def _rows(path: Path, *columns: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file with these columns and ``label``, each with its place."""
    if not path.is_file():
        raise FileError(f"There is no file {str(path)!r}.", hint="Give the folder that holds 'rte/labels.csv'.")
    needed = (*columns, "label")
    for place, row in rows_of(path):
        if missing := [name for name in needed if name not in row]:
            raise FileError(
                f"{path} has no column {', '.join(missing)}.", hint=f"Its columns should be {', '.join(needed)}."
            )
        yield place, row


def _label(row: dict[str, Any], place: str) -> int:
    if row["label"] not in ("0", "1"):
        raise FileError(f"{place}: the label is {row['label']!r}.", hint="The labels of this task are 0 and 1.")
    return int(row["label"])


def _share(pair: Pair) -> float:
    return pair[0] / pair[1] if pair[1] else math.nan
