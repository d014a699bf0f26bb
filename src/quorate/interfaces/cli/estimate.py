"""``quorate estimate``: how good those are who gave the answers in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from quorate.errors import InputError, SpecError
from quorate.interfaces.cli._app import REAL, WHOLE, Json, app
from quorate.interfaces.cli._output import console, print_json, print_table

_ROWS = 40  # of a table, and a tenth as many whole matrices; --json has all


@app.command()
def estimate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, JSON Lines or Parquet with the columns item, class, label.")
    ],
    level: Annotated[float, typer.Option(help="How often an interval should hold the true value.", **REAL)] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the draws behind the intervals.", **WHOLE)] = 0,
    json: Json = False,
) -> None:
    """Estimate, from answers alone, how often each class is right, and say what looks wrong.

    FILE has one row an answer: [bold]item, class, label[/bold], or [bold]task, worker, label[/bold].  Nobody needs to
    know the true labels: classes that answer the same items give one another away (Dawid and Skene's model, with a
    mild belief that classes are right more often than wrong).  Three answers an item are enough, from three classes
    or from one.

    The intervals take for granted that classes err independently given the truth.  The table of agreement shows
    where they do not: what is expected of a pair is computed from the other classes.

    Example: [bold]quorate estimate labels.csv[/bold]
    """
    from quorate.aggregation import columns
    from quorate.studies.estimates import estimate_table

    if not 0 < level < 1:
        raise SpecError(f"--level must lie between 0 and 1, got {level:g}.", hint="0.95 is usual.")
    _, item, who, label = columns(read_columns(file))
    record = estimate_table(item, who, label, level=level, seed=seed)
    if json:
        print_json(record)
    else:
        _show(record, file.name)


def read_columns(file: Path) -> dict[str, list[Any]]:
    """A file of rows as columns; what a row lacks is missing there."""
    from quorate.files.sources import rows_of

    found: dict[str, list[Any]] = {}
    for number, (_, row) in enumerate(rows_of(file)):
        for name in row:
            if name not in found:
                found[name] = [None] * number
        for name, values in found.items():
            values.append(row.get(name))
    if not found:
        raise InputError(
            f"{file} has no rows.", hint="It needs one row an answer, with an item, a class and a label."
        )
    return found


def _show(record: dict[str, Any], name: str) -> None:
    labels = [str(one["label"]) for one in record["labels"]]
    percent = f"{100 * record['level']:g} % interval"
    blank = record["without_label"]
    left_out = f"; {blank:,} without a label left out" if blank else ""
    print_table(
        ["label", "share of items", percent],
        [(str(one["label"]), _share(one["share"]), _interval(one["interval"])) for one in record["labels"]],
        title=f"{name}: {record['answers']:,} answers on {record['items']:,} items{left_out}",
    )
    print_table(
        ["class", "answers", *(f"right on {label}" for label in labels)],
        [
            (str(one["class"]), one["answers"], *map(_with, one["accuracy"], one["accuracy_interval"]))
            for one in record["classes"][:_ROWS]
        ],
        title=f"How often each class is right, by true label ({percent})",
    )
    _more(record["classes"])
    if len(labels) > 2:
        for one in record["classes"][: _ROWS // 10]:
            print_table(
                ["true label", *(f"says {label}" for label in labels)],
                [
                    (label, *map(_with, *pair))
                    for label, *pair in zip(labels, one["confusion"], one["interval"], strict=True)
                ],
                title=f"{one['class']}",
            )
    if record["agreement"]:
        print_table(
            ["class", "and", "items", "agree", "expected", ""],
            [
                (
                    str(one["a"]),
                    str(one["b"]),
                    one["items"],
                    _share(one["agree"]),
                    "–" if one["expected"] is None else _share(one["expected"]),
                    "too often" if one["dependent"] else "",
                )
                for one in record["agreement"][:_ROWS]
            ],
            title="Agreement of the classes with one another",
        )
        _more(record["agreement"])
    console().print("What looks wrong" if record["wrong"] else "Nothing looks wrong.", style="bold")
    for sentence in record["wrong"]:
        console().print(f"- {sentence}", markup=False)


def _more(rows: list[Any]) -> None:
    if len(rows) > _ROWS:
        console().print(f"… and {len(rows) - _ROWS:,} more; --json has them all.\n")


def _share(value: float) -> str:
    return f"{value:.3f}"


def _interval(ends: list[float]) -> str:
    return f"{ends[0]:.3f} – {ends[1]:.3f}"


def _with(value: float, ends: list[float]) -> str:
    return f"{value:.3f} ({ends[0]:.3f} – {ends[1]:.3f})"
