"""``quorate reproduce``: the paper's table and figures, remade."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quorate.interfaces.cli._app import WHOLE, Json, app
from quorate.interfaces.cli._output import print_json, print_table
from quorate.interfaces.cli._progress import progress


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="The folder to write into; it is made if need be.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer campaigns, N up to 3,000: under a minute.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with rte/labels.csv. Left out: $QUORATE_DATA, else ../shared/data, else none."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes. Left out: one a core.", **WHOLE)] = None,
    json: Json = False,
) -> None:
    """Remake the paper's table and all its figures, with this library's policies and the limit beside them.

    Writes table1.csv, each figure as PNG, SVG and CSV with standard errors and seeds, and report.md that shows them
    all. The page "The paper, checked" of the documentation goes through every claim.

    Example: [bold]quorate reproduce --out repro --quick[/bold]
    """
    from quorate.studies.campaigns import Workers
    from quorate.studies.figures import runs
    from quorate.studies.reproduce import reproduce as remake
    from quorate.studies.rte import data_folder

    with Workers(jobs) as workers, progress("studies", len(runs(quick=quick))) as done:
        made = remake(out, quick=quick, data=data_folder(data), workers=workers, progress=done)
    cells = made.cells
    if json:
        print_json({"folder": str(out), "files": made.files, "table1": [asdict(cell) for cell in cells]})
        return
    print_table(
        ["Table I", "paper", "from the counts", "from the printed matrices"],
        [(cell.cell, cell.paper, cell.ours, cell.from_printed) for cell in cells],
    )
    print_table(["written to", "files"], [(str(out), len(made.files))])
