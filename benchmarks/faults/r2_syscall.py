"""R2: kill at the n-th system call — to the disk and to the network, every n.

strace kills the engine as it enters its n-th ``fdatasync``, ``pwrite64``, ``sendto`` or ``recvfrom`` (counted by
thread), for every n = 1 … 60, one life after another on campaigns that go on until they are done; then the same is
asked as in R1.  No hook in the product is needed for it.
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from typing import Any

import _harness as h
from _mutants import breaker
from _torn import End, Shape, compared

CALLS = {"sqlite": ("fdatasync", "pwrite64", "sendto", "recvfrom"), "postgres": ("sendto", "recvfrom")}
NETWORK = ("sendto", "recvfrom")  # one ask a call, so that a life makes sixty of them
PER_CAMPAIGN = 10
MUTANTS = ("keys-ignored", "new-key-on-retry", "new-key-on-resume", "no-search", "answers-dropped")


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """Every call, every n."""
    if shutil.which("strace") is None:
        return {"failures": ["strace is not installed"]}
    points = [1, 2, 3, 5, 8] if options.quick or options.mutant else list(range(1, 61))
    failures: list[str] = []
    figures: dict[str, Any] = {}
    with h.workplace() as folder, h.stores(options.store, folder) as urls:
        for store, url in urls.items():
            died: Counter[str] = Counter()
            campaigns = 0
            for call in CALLS[store]:
                left = list(points)
                while left:
                    campaigns += 1
                    seed = options.seed * 1000 + campaigns
                    keys = options.mutant != "no-search" if options.mutant else campaigns % 6 > 0
                    wrong, torn = compared(
                        url, f"r2-{store}-{call}-{left[0]}", folder,
                        Shape(seed, keys, items=24, batch=1 if call in NETWORK else h.Client.default_batch),
                        iter([End(call, n) for n in left[:PER_CAMPAIGN]]), break_it=breaker(options.mutant),
                        honoured=False if options.mutant == "keys-ignored" else None,
                    )  # fmt: skip
                    failures += wrong
                    died += torn["died"]
                    killed = sum(torn["died"].values())
                    if not killed:
                        failures.append(f"{store}: no life makes {left[0]} calls of {call}")
                        break
                    left = left[killed:]  # where a campaign was done too soon, the next one goes on
            figures[store] = {"campaigns": campaigns, "kills": sum(died.values()), "kills_by": dict(died)}
    return {"failures": failures, **figures}


if __name__ == "__main__":
    h.main("R2", bar, MUTANTS)
