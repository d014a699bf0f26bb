"""The short versions of the store-level bars, and that each can fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "benchmarks" / "faults"
BARS = {
    "r3_power_loss": "normal",
    "r8_many_processes": "no-lock",
    "r9_disk_full": "no-floor",
    "r10_damage": "no-checksums",
    "r11_backup_upgrade": "plain-copy",
    "r23_money": "check-then-buy",
}


def outcome(script: str, *options: str) -> tuple[int, dict[str, object]]:
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}  # the disk's speed is not the question
    done = subprocess.run(
        [sys.executable, FAULTS / f"{script}.py", "--quick", *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | memory,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("script", BARS)
def test_the_bar_passes(script: str) -> None:
    code, line = outcome(script)
    assert (code, line["pass"]) == (0, True), line


@pytest.mark.slow
@pytest.mark.parametrize(("script", "mutant"), BARS.items())
def test_the_bar_fails_where_it_must(script: str, mutant: str) -> None:
    code, line = outcome(script, "--mutant", mutant)
    assert (code, line["pass"]) == (1, False), line
