"""Writes the commands into docs/cli.md, below its marker, as the command line itself describes them.

Run it after a change to the command line: ``python docs/make_cli.py``.  A test compares the page with the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

PAGE = Path(__file__).parent / "cli.md"
MARK = "<!-- from here on: python docs/make_cli.py -->\n"


def shelves() -> dict[str, dict[str, Any]]:
    """The commands by the heading that ``quorate --help`` shows them under."""
    from quorate.interfaces.cli import COMMANDS
    from quorate.interfaces.cli._app import app

    assert COMMANDS
    found: dict[str, dict[str, Any]] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        found.setdefault(getattr(command, "rich_help_panel", None) or "Commands", {})[name] = command
    return found


def written() -> str:
    """All commands as Markdown."""
    lines: list[str] = []
    for shelf, commands in shelves().items():
        lines += [f"## {shelf}", ""]
        for name, command in commands.items():
            lines += [*_command(name, command), ""]
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    words, _, example = _plain(command.help).partition("Example:")
    yield f"### quorate {name}"
    yield ""
    yield from (paragraph for one in words.strip().split("\n\n") for paragraph in (" ".join(one.split()), ""))
    if example.strip():
        yield from ("```text", f"$ {' '.join(example.split())}", "```", "")
    yield from ("| argument or option | meaning | left out |", "|---|---|---|")
    for one in command.params:
        if "--help" in one.opts:
            continue
        called = (one.metavar or one.name.upper()) if one.param_type_name == "argument" else " ".join(one.opts)
        default = "–" if callable(one.default) or one.default is None or one.default is False else f"`{one.default}`"
        required = "needed" if one.required else default
        meaning = _plain(one.help or "").replace("|", "\\|")
        yield f"| `{called.replace('|', ' or ')}` | {meaning} | {required} |"


def _plain(text: str) -> str:
    """Help without the marks of the terminal."""
    return re.sub(r"\[/?(bold|dim|italic)\]", "", text or "").replace("\\[", "[")


def page(old: str) -> str:
    """The page with its commands as they are now."""
    return old.partition(MARK)[0] + MARK + "\n" + written()


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
