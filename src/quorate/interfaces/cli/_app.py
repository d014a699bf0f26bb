"""The one command-line application, and how it fails: with a sentence, a way out and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NoReturn

import typer

from quorate.errors import QuorateError

app = typer.Typer(
    name="quorate",
    help="Buy just enough answers to label every item with the accuracy you asked for, at the least cost.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Buy just enough answers to label every item with the accuracy you asked for, at the least cost."""
    if version:
        from importlib.metadata import version as installed

        print(f"quorate {installed('quorate')}")  # noqa: T201
        raise typer.Exit


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def whole(text: str) -> int:
    """An option's whole number; of anything else the value is named, which typer does not do.

    >>> whole("10_000")
    10000
    """
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number, such as 1000.") from None


def real(text: str) -> float:
    """An option's number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, such as 0.05.") from None


WHOLE: Final[dict[str, Any]] = {"parser": whole, "metavar": "<int>"}
REAL: Final[dict[str, Any]] = {"parser": real, "metavar": "<float>"}


def shelve(app: typer.Typer, shelves: Mapping[str, Sequence[str]]) -> None:
    """Show the commands of ``--help`` in this order, under these headings; every command stands on one shelf."""
    place = {name: (at, heading) for at, (heading, name) in enumerate((h, n) for h in shelves for n in shelves[h])}
    named = [(str(one.name or getattr(one.callback, "__name__", "")), one) for one in app.registered_commands]
    for name, one in named:
        one.rich_help_panel = place[name][1]
    app.registered_commands = [one for _, one in sorted(named, key=lambda pair: place[pair[0]][0])]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; no traceback ever reaches the user."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        app(arguments)
    except QuorateError as error:
        sys.exit(report(error, as_json="--json" in arguments))
    except BrokenPipeError:  # `quorate … | head` has read enough
        sys.stderr.close()
    sys.exit(0)


def report(error: QuorateError, *, as_json: bool) -> int:
    """Say what was wrong and what to do, on stderr; return the exit code of this kind of error."""
    if as_json:
        import json

        print(json.dumps({"error": error.as_dict()}), file=sys.stderr)  # noqa: T201
    else:
        print(f"Error: {error.message}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)  # noqa: T201
    return error.exit_code
