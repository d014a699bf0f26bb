"""The fault scripts, each in its short version, and one mutant of each that must be noticed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "faults"


def run(script: str, *options: str) -> tuple[int, dict]:
    """The exit code of a script, and what its one line says."""
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}  # the disk's speed is not the question
    done = subprocess.run(
        [sys.executable, SCRIPTS / f"{script}.py", "--quick", *options],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | memory,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stderr[-2000:]
    return done.returncode, json.loads(lines[0])


QUICK = [
    ("r1_kill", "--store", "sqlite"),
    ("r5_hostile",),
    ("r20_simulation",),
    pytest.param(("r4_budget", "--store", "sqlite"), marks=pytest.mark.slow),
    pytest.param(("r6_keyless",), marks=pytest.mark.slow),
    pytest.param(("r12_same_decisions",), marks=pytest.mark.slow),
    pytest.param(
        ("r2_syscall", "--store", "sqlite"),
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
        ],
    ),
    pytest.param(("r7_processes",), marks=[pytest.mark.slow, pytest.mark.postgres]),
]


def needs_postgres(command: tuple[str, ...]) -> None:
    """Skip what cannot be run here."""
    if command[0] == "r7_processes" and not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed")


@pytest.mark.parametrize("command", QUICK, ids=lambda command: command[0])
def test_the_bar_holds(command):
    needs_postgres(command)
    code, line = run(*command)
    assert line["pass"], line["failures"]
    assert code == 0


@pytest.mark.parametrize(
    ("script", "mutant"),
    [
        ("r5_hostile", "believe-anybody"),
        ("r20_simulation", "pay-then-record"),
        ("r20_simulation", "intents-forgotten"),
        pytest.param("r1_kill", "dice-redrawn", marks=pytest.mark.slow),
        pytest.param("r1_kill", "new-key-on-resume", marks=pytest.mark.slow),
        pytest.param("r4_budget", "check-then-buy", marks=pytest.mark.slow),
        pytest.param("r6_keyless", "plain-resend", marks=pytest.mark.slow),
        pytest.param("r12_same_decisions", "hash-of-text", marks=pytest.mark.slow),
    ],
)
def test_a_mutant_is_noticed(script, mutant):
    store = ("--store", "sqlite") if script in ("r1_kill", "r4_budget") else ()
    code, line = run(script, "--mutant", mutant, *store)
    assert not line["pass"]
    assert code == 1
