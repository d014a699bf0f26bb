"""Are the promises kept?  Whole simulated campaigns on instances drawn at random, judged by their true labels.

    python benchmarks/validity.py --policy certified --instances 20 --campaigns 1000 --jobs 2

For each instance: both conditional errors with their standard errors over campaigns; for `certified` also how often a
proven bound on an accuracy was ever above it (the confidence set missed the truth), against the delta that pays for
it.  A row fails where chance explains it once in a thousand runs of the whole table, or less.  ``--mutant`` breaks
what the promise rests on, and the table must notice.  Seeds from 2,000,000 on; nothing was tuned on them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import binom, norm

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.sequence import ConfidenceSequence
from quorate.core.certified.units import CELLS
from quorate.core.policies import certified
from quorate.model import IntArray
from quorate.studies.campaigns import Workers, boil_down, exceeds, mean_se
from quorate.studies.instances import Instance
from quorate.studies.policies import policy_named
from quorate.studies.simulate import run_one, task_of

RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 2_000_000
BY_CHANCE = 0.001  # of the tables of a valid policy fail


@dataclass(frozen=True)
class Trial:
    """An instance with the size and the level that it is tried at."""

    instance: Instance
    items: int
    alpha: float
    item_cap: int = 60


def drawn(number: int, policy: str) -> Trial:
    """One to six classes, good, poor or lopsided, some capped; any prior; prices up to a hundredfold apart."""
    rng = np.random.default_rng([FIRST_SEED, number])
    m = int(rng.integers(1, 7))
    worst = 0.7 if number % 4 == 3 else 0.99
    accuracy = rng.uniform(0.55, worst, (m, 2))
    caps = np.where(rng.random(m) < 0.2, rng.integers(1, 6, m), 60)
    instance = Instance(
        f"drawn {number}", tuple(f"class-{k}" for k in range(m)), accuracy, 10 ** rng.uniform(0, 2, m),
        prior=float(rng.uniform(0.05, 0.95)), answers_per_item=caps,
    )  # fmt: skip
    sizes = (20, 50, 100) if policy == "certified" else (100, 300, 1000)
    return Trial(instance, int(rng.choice(sizes)), float(rng.choice([0.05, 0.1, 0.2])))


def run(trial: Trial, policy: str, mutant: str | None, seed: int) -> dict[str, Any]:
    """One campaign: wrong and all items by true label, and whether a bound was ever above its accuracy."""
    works: list[Any] = []

    class Witnessed(certified._Work):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            works.append(self)

    with ExitStack() as stack:
        stack.enter_context(patch.object(certified, "_Work", Witnessed))
        for target, name, new in broken(mutant):
            stack.enter_context(patch.object(target, name, new))
        task = task_of(trial.instance, trial.items, seed, alpha=trial.alpha, item_cap=trial.item_cap)
        one = boil_down(run_one(trial.instance, policy_named(policy), task))
    c = trial.instance.accuracy
    missed = [(bound / CELLS >= c[work.k]).tolist() for work in works
              for bound in [np.array(work.sequence.bounds)]]  # fmt: skip
    return {"cost": one.cost, "items": one.items, "decided": one.decided, "wrong": one.wrong,
            "missed": np.any(np.reshape(missed, (-1, 2)), axis=0).tolist()}  # fmt: skip


class Believed(ConfidenceSequence):
    """Bounds that nobody has proved: the estimates."""

    def add(self, block: Block, zeros: IntArray, ones: IntArray, belief: Belief) -> None:
        super().add(block, zeros, ones, belief)
        _, c0, c1 = belief.mean
        self.side_0.bound, self.side_1.bound = int(c0 * CELLS), int(c1 * CELLS)


def broken(mutant: str | None) -> Iterator[tuple[Any, str, Any]]:
    """What a mutant replaces."""
    if mutant == "bounds":  # take what is believed for proven
        yield certified, "ConfidenceSequence", Believed


def judged(trial: Trial, policy: str, rows: list[dict[str, Any]], tests: int) -> dict[str, Any]:
    """What the campaigns of one instance say together."""
    items, wrong, decided = (np.array([row[name] for row in rows]) for name in ("items", "wrong", "decided"))
    missed = np.array([row["missed"] for row in rows]).sum(axis=0)
    among = items if policy == "certified" else decided  # certified: also an undecided item is not wrong
    record: dict[str, Any] = {
        "policy": policy, "instance": trial.instance.name, "classes": len(trial.instance.price), "N": trial.items,
        "alpha": trial.alpha, "prior": trial.instance.prior, "campaigns": len(rows),
        "cost": float(np.mean([row["cost"] for row in rows])),
        "undecided": float(1 - decided.sum() / items.sum()),
    }  # fmt: skip
    too_many = norm.isf(BY_CHANCE / tests)
    record["pass"] = True
    for label in (0, 1):
        share = np.divide(wrong[:, label], among[:, label], out=np.full(len(rows), np.nan), where=among[:, label] > 0)
        mean, se = mean_se(share)
        record[f"error_{label}"], record[f"error_{label}_se"] = mean, se
        record["pass"] &= not mean > trial.alpha + too_many * se  # nan: nothing was labelled, so nothing wrongly
    if policy == "certified":
        delta = certified.Certified().delta * trial.alpha
        record["delta"], record["missed"] = delta, missed.tolist()
        record["pass"] &= bool((missed <= binom.isf(BY_CHANCE / tests, len(rows), delta)).all())
    else:
        record["beyond_noise"] = float(exceeds(wrong, decided, trial.alpha).any(axis=1).mean())
    return record


COLUMNS = ("instance", "classes", "N", "alpha", "prior", "campaigns", "cost", "undecided", "error_0", "error_1")


def table(records: list[dict[str, Any]]) -> str:
    """The records as Markdown."""
    lines = []
    for policy in dict.fromkeys(one["policy"] for one in records):
        last = {"certified": "bounds above c(0), c(1)"}.get(policy, "beyond noise")
        lines += [f"**{policy}**", "", "| " + " | ".join([*COLUMNS, last, "pass"]) + " |",
                  "|---" * (len(COLUMNS) + 2) + "|"]  # fmt: skip
        for one in records:
            if one["policy"] != policy:
                continue
            cells = [f"{one[name]:.3g}" if isinstance(one[name], float) else str(one[name]) for name in COLUMNS]
            for label in (0, 1):
                at, se = COLUMNS.index(f"error_{label}"), one[f"error_{label}_se"]
                cells[at] = f"{cells[at]} ± {se:.1g}" if one["undecided"] < 1 else "–"
            cells.append(", ".join(map(str, one["missed"])) if "missed" in one else f"{one['beyond_noise']:.3g}")
            lines.append("| " + " | ".join([*cells, "yes" if one["pass"] else "**no**"]) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="certified", choices=["certified", "calibrated"])
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--mutant", choices=["bounds"], help="break it: the table must notice; nothing is kept")
    asked = parser.parse_args()
    path = RESULTS / "validity.json"
    held = json.loads(path.read_text()) if path.exists() else []
    records = []
    with Workers(asked.jobs) as workers:
        for number in range(asked.instances):
            trial = drawn(number, asked.policy)
            first = FIRST_SEED + 10_000 * number
            one = partial(run, trial, asked.policy, asked.mutant)
            rows = list(workers.map(one, range(first, first + asked.campaigns)))
            records.append(judged(trial, asked.policy, rows, tests=4 * asked.instances) | {"seed": first})
            print(json.dumps(records[-1]), flush=True)
            if asked.mutant is None:
                kept = [old for old in held if old["policy"] != asked.policy] + records
                path.write_text(json.dumps(kept, indent=1) + "\n")
                (RESULTS / "validity.md").write_text(table(kept))
    passed = all(one["pass"] for one in records)
    print(json.dumps({"bar": "validity", "policy": asked.policy, "mutant": asked.mutant, "pass": passed}))
    return not passed


if __name__ == "__main__":
    raise SystemExit(main())
