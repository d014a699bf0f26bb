"""R2: kill at the n-th system call — to the disk and to the network, every n.

strace kills the engine as it enters its n-th ``fdatasync``, ``pwrite64``, ``sendto`` or ``recvfrom`` (counted by
thread), for n = 1 … 60, one life after another on campaigns that go on until they are done; then the same is asked
as in R1.  No hook in the product is needed for it.
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any

import _harness as h
from _mutants import breaker
from _torn import End, Shape, compared

CALLS = {"sqlite": ("fdatasync", "pwrite64", "sendto", "recvfrom"), "postgres": ("sendto", "recvfrom")}
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
                for first in range(0, len(points), PER_CAMPAIGN):
                    some = points[first : first + PER_CAMPAIGN]
                    campaigns += 1
                    seed = options.seed * 1000 + campaigns
                    keys = options.mutant != "no-search" if options.mutant else campaigns % 6 > 0
                    wrong, torn = compared(
                        url, f"r2-{store}-{call}-{first}", folder, Shape(seed, keys, items=24), _ends(call, some),
                        break_it=breaker(options.mutant),
                        honoured=False if options.mutant == "keys-ignored" else None,
                    )  # fmt: skip
                    failures += wrong
                    died += torn["died"]
            figures[store] = {"campaigns": campaigns, "kills": sum(died.values()), "kills_by": dict(died)}
    return {"failures": failures, **figures}


def _ends(call: str, points: list[int]) -> Iterator[End]:
    return (End(call, n) for n in points)


if __name__ == "__main__":
    h.main("R2", bar, MUTANTS)
