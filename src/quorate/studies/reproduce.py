"""Remake the paper: its table, the workers behind it, and its figures, beside exact values and the limit."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from quorate.errors import InputError
from quorate.studies.campaigns import Workers, simulate
from quorate.studies.figures import FIGURES, Figure, Run, Series, runs
from quorate.studies.instances import BUILT_IN
from quorate.studies.limit import limit
from quorate.studies.plots import check_drawing, draw
from quorate.studies.report import report
from quorate.studies.rte import Worker, find, read_workers
from quorate.studies.summary import summary
from quorate.studies.table1 import Cell, golden, table1

COLUMNS: Final = (
    "instance", "policy", "items", "campaigns", "seed", "alpha", "cost_per_item", "cost_se", "explore_cost",
    "explore_cost_se", "exploit_cost", "exploit_cost_se", "oracle_cost", "ratio", "ratio_se", "error", "error_se",
    "error_0", "error_0_se", "error_1", "error_1_se", "undecided_fraction", "undecided_se", "exceed_fraction",
    "k_star", "k_star_fraction", "k_star_fraction_se", "best_class", "best_class_fraction", "best_class_fraction_se",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was made, and where."""

    folder: Path
    cells: list[Cell]
    records: dict[Series, list[dict[str, Any]]]
    workers: list[list[Worker]] | None  # None: the label files are not here
    files: list[str]  # their names, in order


def reproduce(
    folder: Path,
    *,
    quick: bool = False,
    data: Path | None = None,
    workers: Workers | None = None,
    figures: Sequence[Figure] = FIGURES,
    progress: Callable[[int], None] = lambda done: None,
) -> Reproduction:
    """Write the table, every figure (PNG, SVG, CSV) and ``report.md`` into ``folder``.

    ``data`` holds ``rte/labels.csv``; without it the table rests on the counts that the library ships.  ``progress``
    hears how many of `runs` are done.
    """
    check_drawing()
    found = None if data is None else find(read_workers(data))
    cells = table1()
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files = [_write_csv(folder / "table1.csv", [asdict(cell) for cell in cells])]
        files.append(_write_text(folder / "table1.json", json.dumps(golden(), indent=2) + "\n"))
        if found is not None:
            rows = [_worker_row(k, one) for k, fits in enumerate(found, 1) for one in fits]
            files.append(_write_csv(folder / "workers.csv", rows))
    records = _simulate(runs(figures, quick=quick), workers, progress)
    with _writing(folder):
        for figure in figures:
            instance = BUILT_IN[figure.series[0].instance]
            files += draw(figure, records, folder, oracle_cost=limit(instance).cost, alpha=instance.alpha)
            rows = [{key: row[key] for key in COLUMNS} for series in figure.series for row in records[series]]
            files.append(_write_csv(folder / f"{figure.name}.csv", rows))
        files.append(_write_text(folder / "report.md", report(figures, records, cells, found, quick=quick)))
    return Reproduction(folder, cells, records, found, sorted(path.name for path in files))


def _simulate(
    plan: Sequence[Run], workers: Workers | None, progress: Callable[[int], None]
) -> dict[Series, list[dict[str, Any]]]:
    records: dict[Series, list[dict[str, Any]]] = {}
    for done, run in enumerate(plan, 1):
        instance = BUILT_IN[run.series.instance]
        study = simulate(
            instance,
            run.series.policy,
            items=run.items,
            campaigns=run.campaigns,
            seed=run.seed,
            workers=workers,
        )
        records.setdefault(run.series, []).append(summary(study))
        progress(done)
    return records


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """What goes wrong with the folder or a file in it, as a sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{error.filename or folder} cannot be written: {error.strerror}.", hint="Give another place with --out."
        ) from None


def _worker_row(k: int, worker: Worker) -> dict[str, Any]:
    c0, c1 = worker.accuracy
    return {
        "class": k,
        "worker": worker.name,
        "right_0": worker.zeros[0],
        "asked_0": worker.zeros[1],
        "right_1": worker.ones[0],
        "asked_1": worker.ones[1],
        "c0": f"{c0:.6f}",
        "c1": f"{c1:.6f}",
        "price": f"{worker.price:.6f}",
    }


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _write_text(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path
