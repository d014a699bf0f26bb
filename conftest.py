"""README, CONTRIBUTING and docs are run: Python blocks as doctests, console blocks as a reader would type them.

A console block's ``$`` lines run in one scratch directory a document; the lines below are the output they must
print (``...`` stands for anything).
"""

import doctest
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parent
DATA = Path(os.environ.get("QUORATE_DATA", ROOT.parent / "shared" / "data"))
# Time is never a test here: it depends on who else uses the machine.
settings.register_profile("quorate", deadline=None, print_blob=True)
settings.load_profile("quorate")

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
checker = doctest.OutputChecker()


def run_console(example):
    """Type each ``$`` line of a block and compare what it prints."""
    folder = example.namespace["scratch"]
    commands = example.parsed.lstrip().removeprefix("$ ").split("\n$ ")
    for command, _, expected in (one.partition("\n") for one in commands):
        run = subprocess.run(
            command, shell=True, cwd=folder, env=environment(), text=True, capture_output=True, check=False
        )
        printed = run.stdout + run.stderr
        if expected.strip() and not checker.check_output(expected.strip() + "\n", printed.strip() + "\n", FLAGS):
            return f"$ {command}\nExpected:\n{expected}\nGot (exit {run.returncode}):\n{printed}"
        if not expected.strip() and run.returncode:
            return f"$ {command}\nfailed with exit {run.returncode}:\n{printed}"
    return None


def environment():
    """What a reader's shell has, with this Python's commands first and a width that does not change."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "QUORATE_DATA": str(DATA)}


def enter(namespace):
    import tempfile

    namespace["_folder"] = tempfile.TemporaryDirectory()
    namespace["scratch"] = namespace["_folder"].name
    namespace["_home"] = Path.cwd()
    os.chdir(namespace["scratch"])


def leave(namespace):
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[
        SkipParser(),
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
    ],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/_build/**"],
    setup=enter,
    teardown=leave,
).pytest()

ran = set()  # examples, in this process


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """An example builds on those above it: where another process has run them, they are run here first."""
    if isinstance(item, SybilItem):
        above = [one for one in item.session.items if one.parent is item.parent]
        for one in above[: above.index(item)]:
            if one not in ran:
                with suppress(SkipTest):
                    one.example.evaluate()
                ran.add(one)
        ran.add(item)
