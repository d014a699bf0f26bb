"""How fast whole campaigns are simulated.  Run: python benchmarks/simulate_speed.py

Figures of one run on this machine:

- 200 campaigns of Asym-IMCW on P1-Asym at N = 10,000, on two cores (bar: well under a minute);
- one campaign of a million items, its time and the peak memory of its process (bar: seconds, 1 GiB);
- the time of one bought answer as a ratio to the time in which numpy draws one uniform;
- one calibrated and one certified campaign, re-planning included, on one core (bars: 10,000 items in 2 s; a million
  in 60 s and 2 GiB).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from quorate.studies.campaigns import UNCAPPED, Workers, simulate
from quorate.studies.instances import BUILT_IN
from quorate.studies.policies import policy_named
from quorate.studies.simulate import run_one, task_of

RESULTS = Path(__file__).parent / "results" / "simulate_speed.json"
WORLD = BUILT_IN["p1-asym"]
BARS = {10_000: (2.0, 2.0), 1_000_000: (60.0, 2.0)}  # items: seconds of one core, GiB


def uniform_seconds(count: int = 10_000_000) -> float:
    """The time of one uniform: the best of five, drawn a million at a time."""
    rng, best = np.random.default_rng(1), np.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count // 1_000_000):
            rng.random(1_000_000)
        best = min(best, time.perf_counter() - start)
    return best / count


def one_campaign(policy: str, items: int) -> dict[str, float]:
    """Time and memory of one campaign, this process's; a small one first loads what is loaded once."""
    run_one(WORLD, policy_named(policy), task_of(WORLD, 100, 1, item_cap=UNCAPPED))
    start, start_cpu = time.perf_counter(), time.process_time()
    outcome = run_one(WORLD, policy_named(policy), task_of(WORLD, items, 1, item_cap=UNCAPPED))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    answers = int(outcome.decider.used.sum(dtype=np.int64))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1 / 1024)
    return {"items": items, "seconds": seconds, "cpu_seconds": cpu_seconds, "answers": answers,
            "peak_gib": peak / 2**30}  # fmt: skip


def in_own_process(policy: str, items: int) -> dict[str, float]:
    """The same in a fresh process, so that the peak is its own."""
    command = [sys.executable, __file__, policy, str(items)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def ours(policy: str, items: int) -> dict[str, object]:
    """A campaign of one of our own policies, against its bars."""
    figures = in_own_process(policy, items)
    seconds, gib = BARS[items]
    kept = figures["cpu_seconds"] <= seconds and figures["peak_gib"] <= gib
    return {"policy": policy, **figures, "pass": kept}


def main() -> None:
    uniform = uniform_seconds()
    with Workers(jobs=2) as workers:
        simulate(WORLD, "asym-imcw", items=100, campaigns=4, seed=0, workers=workers)  # the processes are up
        start = time.perf_counter()
        simulate(WORLD, "asym-imcw", items=10_000, campaigns=200, seed=1_000, workers=workers)
        many = time.perf_counter() - start
    small, large = in_own_process("asym-imcw", 10_000), in_own_process("asym-imcw", 1_000_000)
    result = {
        "uniform_ns": 1e9 * uniform,
        "campaigns_200_of_10000_items_on_2_cores_seconds": many,
        "million_items": large,
        "answer_over_uniform_at_10000": small["seconds"] / small["answers"] / uniform,
        "answer_over_uniform_at_1000000": large["seconds"] / large["answers"] / uniform,
        "ours": [ours(policy, items) for policy in ("calibrated", "certified") for items in BARS],
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one_campaign(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
