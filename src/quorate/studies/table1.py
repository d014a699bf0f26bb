"""Table I of the paper, cell by cell: the printed number, ours, and the reading that makes them meet.

From the workers' own counts every cell comes out as printed, under readings that the paper does not state; from the
confusion matrices that it prints, to two decimals, the table cannot be had.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from quorate.core.information import divergence_unknown, gap, k_star, log_confidence, unit_cost
from quorate.model import FloatArray
from quorate.studies.instances import BUILT_IN, Instance

# What the paper prints: c of k*, its price, s, and the smallest gap in per cent.
PAPER: Final = {
    "P1-Asym": {"c": "(0.88, 0.82)", "p": "3.07", "s": "30.75", "Delta_min": "1.48 %"},
    "P1-Sym": {"c": "0.81", "p": "2.95", "s": "29.55", "Delta_min": "1.45 %"},
}
READING: Final = {
    "c": "accuracies of the workers' counts, cut (not rounded) to two decimals; P1-Sym takes each worker's mean of "
    "c(0) and c(1), not its pooled accuracy",
    "p": "P1 at the smaller accuracy, from the counts, cut to two decimals",
    "s": "price times the whole number of answers, p ceil(log(1/(2.4 alpha)) / d), cut; the text's s_k is p/d",
    "Delta_min": "the text's Delta_min over p log(1/(2.4 alpha)) / d of k*: the gap lacks the factor that the "
    "benchmark has; rounded, not cut.  With the same factor in both it is the relative gap of s_k",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table, three times."""

    cell: str
    paper: str
    ours: str  # from the RTE counts
    from_printed: str  # from the printed matrices
    reproduced: bool
    because: str


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """The four numbers of a row of Table I, unrounded, and two that the text would lead one to expect."""

    k_star: int
    c: FloatArray  # (c(0), c(1)) of k*
    p: float
    s: float  # price times whole answers
    s_text: float  # s_k of the text
    gap_printed: float
    gap_relative: float  # (s of the second best - s of k*) / s of k*


def benchmark(instance: Instance) -> Benchmark:
    """A row of the table for an instance.

    >>> row = benchmark(BUILT_IN["p1-asym-rte"])
    >>> row.k_star + 1, round(row.s, 3), round(row.s_text, 3), round(100 * row.gap_relative, 2)
    (4, 30.752, 13.687, 3.13)
    """
    s = unit_cost(instance.accuracy, instance.price)
    best = k_star(s)
    needed = log_confidence(instance.alpha)
    whole = math.ceil(needed / float(divergence_unknown(instance.accuracy[best]).min()))
    relative = float(gap(s)[best] / s[best])
    price = float(instance.price[best])
    return Benchmark(best, instance.accuracy[best], price, price * whole, float(s[best]), relative / needed, relative)


def cut(x: float) -> str:
    """Two decimals, cut.

    >>> cut(3.0752), cut(0.8856)
    ('3.07', '0.88')
    """
    return f"{math.floor(100 * x) / 100:.2f}"


def table1() -> list[Cell]:
    """All eight cells.

    >>> [cell.cell for cell in table1() if not cell.reproduced]
    []
    """
    cells = []
    for name, printed in PAPER.items():
        counted = _as_printed(benchmark(BUILT_IN[f"{name.lower()}-rte"]))
        rounded = _as_printed(benchmark(BUILT_IN[name.lower()]))
        cells += [
            Cell(
                f"{name}/{key}", printed[key], counted[key], rounded[key], counted[key] == printed[key], READING[key]
            )
            for key in printed
        ]
    return cells


def golden() -> dict[str, Any]:
    """What the golden file holds: the cells, and beside them the values that the text's own definitions give."""
    rows = {name: benchmark(one) for name, one in BUILT_IN.items()}
    return {
        "cells": [asdict(cell) for cell in table1()],
        "by the text's definitions": {
            name: {
                "k_star": f"class {row.k_star + 1}",
                "c": [round(float(c), 4) for c in row.c],
                "p": round(row.p, 4),
                "s": round(row.s_text, 4),
                "Delta_min": f"{100 * row.gap_relative:.2f} %",
            }
            for name, row in rows.items()
        },
    }


def _as_printed(row: Benchmark) -> dict[str, str]:
    c0, c1 = (cut(float(c)) for c in row.c)
    return {
        "c": c0 if np.ptp(row.c) == 0 else f"({c0}, {c1})",
        "p": cut(row.p),
        "s": cut(row.s),
        "Delta_min": f"{100 * row.gap_printed:.2f} %",
    }
