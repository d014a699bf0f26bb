"""The report of a reproduction, in Markdown: what was printed, what came out, and where the two part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quorate.studies.figures import Figure, Series
from quorate.studies.rte import Worker
from quorate.studies.table1 import Cell

Records = Mapping[Series, Sequence[Mapping[str, Any]]]


def report(
    figures: Sequence[Figure],
    records: Records,
    cells: Sequence[Cell],
    workers: Sequence[Sequence[Worker]] | None,
    *,
    quick: bool,
) -> str:
    """The whole page."""
    parts = [
        "# The paper, remade\n",
        "Didwania, Nair, Hemachandra, *Unsupervised Crowdsourcing with Accuracy and Cost Guarantees*. "
        + ("Quick run: few campaigns, N up to 3,000." if quick else "Full run.")
        + " Means are over campaigns; ± is one standard error; bars in the figures are 95 % intervals."
        " An error of 0 ± 0 means that no wrong label was seen, not that there can be none.\n",
        "## The five workers\n",
        _workers(workers),
        "## Table I\n",
        _table1(cells),
        *(_figure(figure, records) for figure in figures),
    ]
    return "\n".join(parts)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown_table(["N", "cost"], [["100", "4.9"]]))
    | N | cost |
    |---|---|
    | 100 | 4.9 |
    <BLANKLINE>
    """
    lines = [header, ["---"] * len(header), *rows]
    head, rule, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, rule.replace(" ", ""), *body]) + "\n"


def _workers(workers: Sequence[Sequence[Worker]] | None) -> str:
    if workers is None:
        return "The label files were not given; the counts that the library ships were used.\n"
    rows = [
        [
            str(k),
            one.name,
            *(f"{right}/{asked} = {right / asked:.4f}" for right, asked in (one.zeros, one.ones)),
            f"{one.price:.4f}",
        ]
        for k, fits in enumerate(workers, 1)
        for one in fits
    ]
    return (
        "Workers of the RTE labels whose counts print as the paper's matrices, cut or rounded; those with most "
        "answers first. Where several fit, the price in Table I decides for the first.\n\n"
        + markdown_table(["class", "worker", "c(0)", "c(1)", "price P1"], rows)
    )


def _table1(cells: Sequence[Cell]) -> str:
    rows = [[one.cell, one.paper, one.ours, one.from_printed, one.because] for one in cells]
    return markdown_table(["cell", "paper", "from the counts", "from the printed matrices", "reading"], rows)


def _figure(figure: Figure, records: Records) -> str:
    rows = [[series.label(with_instance=True), *_cells(row)] for series in figure.series for row in records[series]]
    header = [
        "policy",
        "N",
        "campaigns",
        "seeds from",
        "cost",
        "× least",
        "error",
        "undecided",
        "P(k^ = k*)",
        "beyond alpha",
    ]
    return (
        f"## {figure.caption} ({figure.paper})\n\n![{figure.caption}]({figure.name}.png)\n\n"
        f"[SVG]({figure.name}.svg) · [CSV]({figure.name}.csv)\n\n{markdown_table(header, rows)}"
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    hit = row["k_star_fraction"]
    return [
        f"{row['items']:,}",
        str(row["campaigns"]),
        str(row["seed"]),
        f"{row['cost_per_item']:.2f} ± {row['cost_se']:.2f}",
        f"{row['ratio']:.2f}",
        f"{row['error']:.5f} ± {row['error_se']:.5f}",
        f"{row['undecided_fraction']:.3f}",
        "–" if hit is None else f"{hit:.2f} ± {row['k_star_fraction_se']:.2f}",
        f"{row['exceed_fraction']:.2f}",
    ]
