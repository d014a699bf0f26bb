"""Run the fault scripts, all or those named (R1 …), and keep what they say in ``benchmarks/results/faults.json``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "faults.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bars", nargs="*", help="R1, R2, …; all if none is named")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = []
    for script in sorted(HERE.glob("r[0-9]*_*.py")):
        bar = script.stem.split("_")[0].upper()
        if options.bars and bar not in options.bars:
            continue
        command = [script.name, "--seed", options.seed, *(["--quick"] if options.quick else [])]
        done = subprocess.run([sys.executable, HERE / command[0], *command[1:]], stdout=subprocess.PIPE, text=True)
        line = json.loads(done.stdout.splitlines()[-1])
        known[bar] = {"date": str(date.today()), "command": f"python benchmarks/faults/{' '.join(command)}", **line}
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{bar}: {'passed' if line['pass'] else 'FAILED'}", flush=True)
        failed += [] if line["pass"] else [bar]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
