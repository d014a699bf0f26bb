"""``quorate aggregate``: labels from a file of answers that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import console, print_json, print_table
from quorate.interfaces.cli.estimate import read_columns

_SHOWN = 20  # labels printed when they are not written to a file


@app.command()
def aggregate(
    file: Annotated[Path, typer.Argument(help="CSV, JSON Lines or Parquet with the columns item, class, label.")],
    method: Annotated[str, typer.Option(help="dawid-skene, one-coin or majority.")] = "dawid-skene",
    to: Annotated[Path | None, typer.Option(help="Write the labels to this .csv, .jsonl or .parquet file.")] = None,
    json: Json = False,
) -> None:
    """Conclude a label for each item from answers that you already have, with its confidence.

    FILE has one row an answer: [bold]item, class, label[/bold], or [bold]task, worker, label[/bold]; any labels, any
    number of them.  No promise is made: the answers were not bought to keep one.  How good the classes are says
    [bold]quorate estimate[/bold].

    Example: [bold]quorate aggregate answers.csv --to labels.parquet[/bold]
    """
    from quorate.aggregation import aggregate as conclude
    from quorate.files import Column, write_table

    result = conclude(read_columns(file), method)
    names = list(result)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*result.values(), strict=True)]
    if to is not None:
        columns = [
            Column(names[0], "text"),
            Column("label", "text"),
            Column("confidence", "number"),
            Column("answers", "integer"),
        ]
        written = [{**row, names[0]: str(row[names[0]]), "label": _text(row["label"])} for row in rows]
        write_table(to, columns, written)
    if json:
        print_json({"method": method, "items": len(rows), "written": str(to)} if to else rows)
    elif to is not None:
        console().print(f"{len(rows):,} labels written to {to}.", markup=False)
    else:
        print_table(
            names,
            [
                [_text(row[names[0]]), _text(row["label"]) or "–", row["confidence"], row["answers"]]
                for row in rows[:_SHOWN]
            ],
        )
        if len(rows) > _SHOWN:
            console().print(f"… and {len(rows) - _SHOWN:,} more; --to FILE writes them all.")


def _text(label: object) -> str | None:
    return None if label is None else str(label)
