"""How light ``import quorate`` and ``quorate --help`` are, as ratios to ``import numpy``.

    python benchmarks/import_time.py [--runs 30]

Fresh processes, interleaved; the best processor time of each, less that of a Python that imports nothing.  Bar: 2.5.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

RESULT = Path(__file__).parent / "results" / "import_time.json"
BAR = 2.5
CODE = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import quorate": "import quorate",
    "quorate --help": "from quorate.interfaces.cli import main; main(['--help'])",
}


def processor_seconds(code: str) -> float:
    """User and system time of one fresh Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(code: str) -> int:
    """How many modules it leaves loaded."""
    counted = f"import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); {code}"
    run = subprocess.run([sys.executable, "-c", counted], check=True, capture_output=True, text=True)
    return int(run.stderr.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    runs = parser.parse_args().runs
    for code in CODE.values():
        processor_seconds(code)  # byte code and caches
    best = dict.fromkeys(CODE, float("inf"))
    for _ in range(runs):
        for name, code in CODE.items():
            best[name] = min(best[name], processor_seconds(code))
    net = {name: seconds - best["nothing"] for name, seconds in best.items() if name != "nothing"}
    ratios = {name: net[name] / net["import numpy"] for name in ("import quorate", "quorate --help")}
    record = {
        "bar": f"ratio to import numpy below {BAR}",
        "pass": all(ratio < BAR for ratio in ratios.values()),
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "milliseconds": {name: round(1e3 * seconds, 1) for name, seconds in best.items()},
        "modules": {name: modules(code) for name, code in CODE.items()},
        "runs": runs,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record))
    return 0 if record["pass"] else 1


if __name__ == "__main__":
    sys.exit(main())
