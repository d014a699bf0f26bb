"""R6: a platform that ignores keys, and whose list of purchases is behind — nothing is sent twice in doubt.

A fifth of the calls go wrong; a purchase shows in the list only a while after it was charged.  Half the campaigns buy
where there is a list: what is in doubt is looked for, later than the stated delay, before it is sent again.  The
other half buy where there is none: what is in doubt is parked, counted as spent and shown.  In neither may an ask be
bought twice; what is parked must not be more than the calls that went wrong.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import _harness as h

from quorate.campaign import runner
from quorate.model import Ask

LIST_DELAY, FIND_DELAY = 0.2, 0.35
MUTANTS = ("plain-resend", "search-too-early", "parked-free")


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All campaigns."""
    campaigns = 2 if options.quick or options.mutant else 20
    failures: list[str] = []
    totals = dict.fromkeys(("purchases", "faults", "parked", "searches"), 0)
    with h.workplace() as folder:
        for number in range(campaigns):
            found = campaign(folder, options.seed * 1000 + number, number % 2 == 0, options.mutant)
            failures += [f"campaign {number}: {one}" for one in found.pop("wrong")]
            for name, value in found.items():
                totals[name] += value
    return {"failures": failures, "campaigns": campaigns, **totals}


def campaign(folder: Path, seed: int, listing: bool, mutant: str | None) -> dict[str, Any]:
    """One campaign, judged."""
    url, name = f"sqlite:///{folder}/{seed}.db", f"r6-{seed}"
    moods = ("500-before", "500-after", "dead-line-before", "dead-line-after", "hang")
    with h.Paying(folder, name, seed=seed, faults=0.15, keys=False, moods=moods, hang=0.15,
                  list_delay=LIST_DELAY) as platform:  # fmt: skip

        def life() -> dict[str, Any]:
            early = mutant == "search-too-early"
            client = h.Client(platform.place, keyless=True, find_delay=0.0 if early else FIND_DELAY, timeout=0.1)
            if not listing and mutant is None:
                client.find = None  # type: ignore[assignment, method-assign]
            if mutant == "plain-resend":
                client.find = lambda keys: []  # type: ignore[method-assign]
            if mutant == "parked-free":
                runner._Runner._fail = _fail_for_nothing  # type: ignore[method-assign]
                client.find = None  # type: ignore[assignment, method-assign]
            with h.hurry(), h.opened(url, name, 20, seed=seed) as campaign:
                platforms = {one.name: client for one in campaign.spec.classes}
                report = campaign.run(platforms, buyers=8)
                kept = [row for row in campaign.decisions() if row["failure"] == "parked"]
                shown = sum(times for trouble in report.trouble.values() for what, times in trouble.items()
                            if what.startswith("parked"))  # fmt: skip
                doubts = sum(times for trouble in report.trouble.values() for what, times in trouble.items()
                             if what.startswith("post"))  # fmt: skip
                return {"parked": len(kept), "doubts": doubts, "shown": shown, "done": report.done}

        end = h.from_child(life, folder)
        charges, heard = platform.charges(), platform.control()
    judged = h.from_child(lambda: h.judge(url, name, charges, parked=True), folder)
    wrong, met = judged["wrong"], end["doubts"]
    if end["parked"] > met:
        wrong.append(f"{end['parked']} parked, though only {met} calls went wrong")
    if end["parked"] != end["shown"]:
        wrong.append(f"{end['parked']} are parked, {end['shown']} are shown")
    if listing and end["parked"]:
        wrong.append(f"{end['parked']} parked, though the platform could be asked")
    if not end["done"]:
        wrong.append("it did not finish")
    return {"wrong": wrong, "purchases": len(charges), "faults": met, "parked": end["parked"],
            "searches": heard["calls"].get("list", 0)}  # fmt: skip


_FAIL = runner._Runner._fail


def _fail_for_nothing(self: Any, asks: list[Ask], failure: int) -> None:
    """Believe that what is in doubt was not charged."""
    _FAIL(self, [Ask(one.key, one.item, one.worker_class, one.ordinal, 0) for one in asks], failure)


if __name__ == "__main__":
    h.main("R6", bar, MUTANTS)
