"""The fault scripts of files in their short versions, and the mutants that must not pass."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "faults"


@pytest.mark.slow
@pytest.mark.parametrize("script", ["r15_importers", "r17_exports"])
def test_the_bar_is_kept(script):
    done = subprocess.run([sys.executable, SCRIPTS / f"{script}.py", "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["pass"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "mutant"),
    [("r15_importers", "leaky"), ("r15_importers", "half"), ("r17_exports", "raw"), ("r17_exports", "direct")],
)
def test_a_mutant_fails(script, mutant):
    command = [sys.executable, SCRIPTS / f"{script}.py", "--quick", "--mutant", mutant]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["pass"] is False
