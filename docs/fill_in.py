"""Runs a page's console blocks and writes below each command what it prints: ``python docs/fill_in.py docs/tour.md``.

Output with ``...`` in it that still matches is left as it is, and so are blocks that are skipped.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

BLOCK = re.compile(r"(<!--+ skip: next -->\s*)?```console\n(.*?)```", re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def filled(text: str, folder: str) -> str:
    """The page with its outputs as they are now."""

    def block(found: re.Match[str]) -> str:
        if found[1]:
            return found[0]
        commands = found[2].removeprefix("$ ").rstrip("\n").split("\n$ ")
        return "```console\n" + "".join(f"$ {_run(one, folder)}\n" for one in commands) + "```"

    return BLOCK.sub(block, text)


def _run(command: str, folder: str) -> str:
    line, _, expected = command.partition("\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    run = subprocess.run(  # noqa: S602 — typed as a reader would, into a shell
        line, shell=True, cwd=folder, env=shell, text=True, capture_output=True, check=False
    )
    printed = (run.stdout + run.stderr).strip("\n")
    as_expected = doctest.OutputChecker().check_output(expected.strip() + "\n", printed.strip() + "\n", FLAGS)
    if "..." in expected and as_expected:
        return command
    lines = [one.rstrip() for one in printed.split("\n") if one.strip()]
    return "\n".join([line, *lines])


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        with TemporaryDirectory() as scratch:
            page.write_text(filled(page.read_text("utf-8"), scratch), "utf-8")
