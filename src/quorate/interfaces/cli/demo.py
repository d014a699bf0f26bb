"""``quorate demo``: a real campaign in a minute."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import console, print_json, print_table
from quorate.interfaces.cli._output import say as print_line

if TYPE_CHECKING:
    from quorate.demo.story import Told


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="The folder to work in; an earlier demonstration there is replaced.")
    ] = Path("demo"),
    items: Annotated[int, typer.Option(min=100, max=10302, help="Sentences to label.")] = 3000,
    json: Json = False,
) -> None:
    """Label film sentences with real people's recorded answers and two programs; be killed half-way, and go on.

    Texts and ratings are those of Hutto and Gilbert (ICWSM 2014); they are fetched from the package index at the
    first run.  Needs the extra: pip install 'quorate\\[demo]'

    Example: [bold]quorate demo --out demo[/bold]
    """
    from quorate.demo.story import tell

    screen = console()

    def say(heading: str, words: str) -> None:
        if json:
            return
        if heading:
            screen.print(f"\n[bold green]{heading}[/bold green]")
        if words:
            print_line(f"   {words}")

    told = tell(out, say, items=items)
    if json:
        print_json(record(told))
    else:
        _show(told, say)


def record(told: Told) -> dict[str, object]:
    """What the demonstration showed, as plain values."""
    from dataclasses import asdict

    return {**asdict(told), "folder": str(told.folder)}


def _show(told: Told, say: object) -> None:
    from quorate.certificate.plain import check_sentence, undecided_sentences
    from quorate.demo.stage import read_gold

    found, screen = told.certificate, console()
    assert callable(say)
    assert found.check is not None
    say("5  Beside the gold, which the campaign never saw", "")
    accuracy = found.check.right / max(found.check.of, 1)
    rows = [("Quorate", found.spent, f"{found.labelled / found.items:.1%}", f"{accuracy:.1%}")]
    rows += [(one.name, one.cost, "100.0%", f"{one.accuracy:.1%}") for one in told.habits]
    print_table(["way of labelling", f"cost, {found.currency}", "labelled", "right"], rows)
    for line in (check_sentence(found), *undecided_sentences(found)):
        say("", line)
    say("6  Was anything lost or decided differently because of the kill?", "")
    verdict = "the same" if told.same else "NOT the same"
    say("", f"The decision log (every question, answer and verdict) is {verdict} as that of a run nobody killed:")
    say("", f"SHA-256 {found.decisions}")
    screen.print()
    print_line(
        f"Done in {told.seconds:.0f} seconds. Open {told.folder / 'certificate.html'}; why an item got its label:"
    )
    print_line(f"   {_quorate()} explain {told.folder / 'campaign.toml'} {next(iter(read_gold(told.folder)))}")
    print_line("Texts and ratings: C.J. Hutto and E.E. Gilbert, ICWSM 2014.")


def _quorate() -> str:
    """The command as this shell finds it."""
    return "quorate" if shutil.which("quorate") else os.path.relpath(sys.argv[0])
