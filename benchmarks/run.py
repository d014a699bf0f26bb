"""All benchmarks, one after the other: `make bench`, or by name: python benchmarks/run.py peers store_speed

Each is a script of its own, writes to `benchmarks/results`, and compares within one run: against a peer, the oracle,
or what the machine can do at most.  An hour or so on two cores; the fault scripts are run by `--faults`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SPEED = {
    "import_time": [],
    "simulate_speed": [],
    "engine_speed": [],
    "store_speed": ["--large"],
    "drivers": [],
    "peers": [],
    "ratio_table": ["--policy", "calibrated", "certified", "--jobs", "2"],
    "validity": ["--jobs", "2"],
    "replay_table": [],
}
FAULTS = sorted(path.stem for path in (HERE / "faults").glob("r*.py"))


def main(wanted: list[str]) -> int:
    """Run the wanted scripts; the exit code is the number that failed."""
    if "--faults" in wanted:
        scripts = {HERE / "faults" / f"{name}.py": [] for name in FAULTS}
    else:
        scripts = {HERE / f"{name}.py": SPEED[name] for name in wanted or SPEED}
    failed = []
    for script, options in scripts.items():
        print(f"== {script.relative_to(HERE.parent)} {' '.join(options)}", flush=True)
        if subprocess.run([sys.executable, script, *options], check=False).returncode:
            failed.append(script.stem)
    print(f"Failed: {', '.join(failed)}" if failed else "All passed.")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
