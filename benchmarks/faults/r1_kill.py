"""R1: kill -9 at any moment — nothing lost, nothing bought twice, nothing decided differently.

Campaigns of 40 items and 3 classes buy through a paying platform of which a fifth of the calls go wrong, half of them
from a platform that honours keys and half from one that does not; half with plenty of money, half with a budget that
runs out.  Each is killed again and again: before or after its n-th write to the ledger, before or after the
platform has charged its n-th call, or by the clock; every tenth time right after it was started again.  At the end
its decision log must be the one of the same campaign that was never killed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import _harness as h
from _mutants import NAMES, breaker
from _torn import End, Shape, compared

BINDING = 250_000  # micros: not enough


def ends(dice: Random, kills: int) -> Iterator[End]:
    """How the lives of a campaign end."""
    for number in range(kills):
        kind = dice.choice(("write", "call", "write", "call", "clock"))
        if kind == "clock":
            yield End(kind, dice.randint(0, 500))
        else:
            yield End(kind, dice.randint(1, 4 if number % 10 == 9 else 40), dice.random() < 0.5)


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All campaigns over all stores."""
    campaigns, kills = (2, 5) if options.quick or options.mutant else (20, 14)
    campaigns = options.campaigns or campaigns
    failures: list[str] = []
    figures: dict[str, Any] = {}
    with h.workplace() as folder, h.stores(options.store, folder) as urls:
        for store, url in urls.items():
            died: Counter[str] = Counter()
            bought = 0
            for number in range(campaigns):
                seed = options.seed * 1000 + number
                keys = options.mutant != "no-search" if options.mutant else number % 2 == 0
                policy = "calibrated" if number % 5 == 4 or options.mutant == "dice-redrawn" else "sym-imcw"
                items = 16 if options.quick else 40
                budget = BINDING if number % 4 >= 2 else h.PLENTY
                wrong, torn = compared(
                    url, f"r1-{store}-{number}", folder, Shape(seed, keys, budget, items, policy=policy),
                    ends(h.dice(seed), kills),
                    break_it=breaker(options.mutant), honoured=False if options.mutant == "keys-ignored" else None,
                )  # fmt: skip
                failures += wrong
                died += torn["died"]
                bought += torn["charges"]
            figures[store] = {"campaigns": campaigns, "kills": sum(died.values()), "kills_by": dict(died),
                              "purchases": bought}  # fmt: skip
    return {"failures": failures, **figures}


if __name__ == "__main__":
    h.main("R1", bar, NAMES)
