"""R12: one decision log, whatever the hash seed, the threads, the order of arrival, the clock, the store.

Every combination of PYTHONHASHSEED 0, 1, random; one or two numpy threads; 1, 4, 16 buyers; memory, SQLite,
PostgreSQL runs the same campaigns (plenty of money, and a budget that runs out), with answers that come back in an
order drawn from the machine's own dice and a wall clock that jumps by up to an hour.  The SHA-256 of the decision log
must be one and the same for each campaign.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _harness as h
import numpy as np

from quorate.campaign.runner import Clock

MUTANTS = ("hash-of-text", "first-come-first-paid", "dice-of-the-moment")
CAMPAIGNS = (("sym-imcw", h.PLENTY), ("calibrated", h.PLENTY), ("sym-imcw", 120_000), ("calibrated", 25_000))
BUYERS = {"memory": (1, 16), "sqlite": (1, 4, 16), "postgres": (1, 4, 16)}


class Fickle:
    """Answers that are a hash of the ask, in any order, some at once and some much later."""

    name = "fickle"

    def __init__(self) -> None:
        self.random = random.SystemRandom()
        self.lock = threading.Lock()

    def post(self, asks: Sequence[h.Ask]) -> list[h.Receipt]:
        time.sleep(self.random.random() * 0.002)
        return [h.Receipt(one.key, self.name, {"item": one.item, "class": one.worker_class, "ordinal": one.ordinal})
                for one in asks]  # fmt: skip

    def poll(self, receipts: Sequence[h.Receipt]) -> list[h.Answer]:
        with self.lock:
            due = [one for one in receipts if self.random.random() < 0.6] or list(receipts[-1:])
            self.random.shuffle(due)
        return [h.Answer(one.key, _answer(one.data["item"], one.data["class"], one.data["ordinal"])) for one in due]

    def cancel(self, receipts: Sequence[h.Receipt]) -> None:
        """Nothing to call back."""


def _answer(item: str, worker_class: str, ordinal: int) -> str:
    from paying_platform import dice

    truth = dice("truth", item) < 0.5
    return str(int(truth == (dice("label", item, worker_class, ordinal) < h.ACCURACY[worker_class])))


def _break(mutant: str | None) -> None:
    from quorate.campaign import fold, purse

    if mutant == "hash-of-text":
        fold.uniform = lambda seed, stream, hashes: np.array([hash(str(one)) % 997 / 997 for one in hashes.tolist()])
    elif mutant == "dice-of-the-moment":
        fold.uniform = lambda seed, stream, hashes: np.random.default_rng().random(len(hashes))
    elif mutant == "first-come-first-paid":

        def greedy(self: Any, rows: Any, cost: Any, *, quiet: bool) -> Any:
            can = purse._affordable(cost, self.free)
            self._pay(rows[can], cost[can])
            return rows[can], rows[~can]

        purse.Purse.grant = greedy  # type: ignore[method-assign]
        purse.Purse.tranche = lambda self, waiting: waiting  # type: ignore[method-assign]


def here(place: str, quick: bool, mutant: str | None) -> dict[str, list[str]]:
    """The digests of all combinations that one process can try, by campaign."""
    _break(mutant)
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{place}/{os.getpid()}"}
    if os.environ.get("FAULTS_POSTGRES"):
        urls["postgres"] = os.environ["FAULTS_POSTGRES"]
    clock = Clock(wall=lambda: time.time() + random.uniform(-3600, 3600))
    found: dict[str, list[str]] = {}
    for number, (policy, budget) in enumerate(CAMPAIGNS):
        for store, url in urls.items():
            for buyers in (1, 16) if quick else BUYERS[store]:
                name = f"c{os.getpid()}-{number}-{store}-{buyers}"
                at = f"{url}-{number}-{buyers}.db" if store == "sqlite" else url
                campaign = h.opened(at, name, 24, policy=policy, budget=budget, in_flight=20, lease=600.0)
                with h.hurry(), campaign:
                    platform = Fickle()
                    campaign.run({one.name: platform for one in campaign.spec.classes}, buyers=buyers, clock=clock)
                    found.setdefault(f"{policy}/{budget}", []).append(campaign.decisions().digest)
    return found


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All combinations, a process for each that needs one."""
    short = bool(options.quick or options.mutant)
    ways = [("0", "1"), ("random", "2")] if short else [(one, n) for one in ("0", "1", "random") for n in ("1", "2")]
    found: dict[str, list[str]] = {}
    store = options.store or ("sqlite" if short else None)
    with h.workplace() as folder, h.stores(store, folder) as urls:
        server = urls["postgres"]("") if "postgres" in urls else ""
        for hash_seed, threads in ways:
            environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": threads,
                           "OPENBLAS_NUM_THREADS": threads, "FAULTS_POSTGRES": server}  # fmt: skip
            call = f"r.here({str(folder)!r}, {short}, {options.mutant!r})"
            code = f"import json, r12_same_decisions as r; print(json.dumps({call}))"
            done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=Path(__file__).parent, text=True,
                                  capture_output=True, timeout=300, check=False)  # fmt: skip
            if done.returncode:
                return {"failures": [done.stderr[-800:]]}
            for campaign, digests in json.loads(done.stdout).items():
                found.setdefault(campaign, []).extend(digests)
    failures = [f"{campaign}: {len(set(digests))} decision logs in {len(digests)} runs"
                for campaign, digests in found.items() if len(set(digests)) > 1]  # fmt: skip
    return {
        "failures": failures,
        "combinations": len(next(iter(found.values()))),
        "campaigns": len(found),
        "runs": sum(map(len, found.values())),
        "hashes": {one: len(set(each)) for one, each in found.items()},
    }


if __name__ == "__main__":
    h.main("R12", bar, MUTANTS)
