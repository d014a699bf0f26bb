"""R1: kill -9 at any moment — nothing lost, nothing bought twice, nothing decided differently.

Campaigns of 40 items and 3 classes buy through a paying platform of which a fifth of the calls go wrong, half of them
from a platform that honours keys and half from one that does not; half with plenty of money, half with a budget that
runs out.  Each is killed again and again: before or after its n-th write to the ledger, before or after the platform
has charged its n-th call, or by the clock; every tenth time right after it was started again.  At the end its decision
log must be the one of the same campaign that was never killed.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import _harness as h

ITEMS, FAULTS = 40, 0.2
LIST_DELAY, FIND_DELAY = 0.05, 0.25
MUTANTS = ("keys-ignored", "new-key-on-retry", "new-key-on-resume", "dice-redrawn", "intents-forgotten", "no-search")


def break_it(mutant: str | None, client: h.Client) -> None:
    """Break the product, in the process that is about to run it."""
    from quorate.campaign import desk, fold, runner

    if mutant == "new-key-on-retry":
        post = client.post

        def renamed(asks: Any) -> Any:
            tag = os.urandom(3).hex()
            wire = [h.Ask(f"{one.key}~{tag}", *[getattr(one, name) for name in
                    ("item", "worker_class", "ordinal", "price", "payload", "repeat")]) for one in asks]  # fmt: skip
            return [h.Receipt(one.key.split("~")[0], one.platform, one.data) for one in post(wire)]

        client.post = renamed  # type: ignore[method-assign]
        answers = client.poll
        client.poll = lambda receipts: [  # type: ignore[method-assign]
            h.Answer(one.key.split("~")[0], one.label, price=one.price) for one in answers(receipts)
        ]
    elif mutant == "new-key-on-resume":
        right = runner.key_of
        runner.key_of = lambda uid, epoch, item, ordinal: right(uid, os.getpid(), item, ordinal)
    elif mutant == "dice-redrawn":
        from quorate.core.policies import explore_exploit

        roll = explore_exploit.generator
        explore_exploit.generator = lambda *parts: roll(*parts, os.getpid())
        plain = fold.uniform
        fold.uniform = lambda *parts: plain(os.getpid(), *parts)
    elif mutant == "intents-forgotten":
        runner._Runner._adopt = lambda self: None  # type: ignore[method-assign]
    elif mutant == "no-search":
        add = desk.Desk.add
        desk.Desk.add = lambda self, ask, now, *, doubtful=False: add(self, ask, now)  # type: ignore[method-assign]


def doom(dice: Random, early: bool) -> tuple[str, int, str]:
    """How the next life ends: at which kind of event, the how-manieth, before or after it."""
    kind = dice.choice(("write", "call", "write", "call", "clock"))
    return kind, dice.randint(1, 4) if early else dice.randint(2, 60), dice.choice(("before", "after"))


def campaign(
    url: str, name: str, folder: Path, *, seed: int, keys: bool, budget: int, kills: int, mutant: str | None
) -> dict[str, Any]:
    """One campaign, killed up to ``kills`` times (0: never), judged by the two ledgers."""
    dice = h.dice(seed * 1009 + 1)
    honoured = keys and mutant != "keys-ignored"
    digest, say = folder / f"{name}.digest", folder / f"{name}.error"
    died: Counter[str] = Counter()
    with h.Paying(folder, name, seed=seed, faults=FAULTS, keys=honoured, list_delay=LIST_DELAY) as platform:

        def life(end: tuple[str, int, str] | None) -> Callable[[], None]:
            def work() -> None:
                client = h.Client(platform.place, keyless=not keys, find_delay=0.0 if keys else FIND_DELAY)
                break_it(mutant, client)
                if end is not None and end[0] == "write":
                    h.kill_at_write(end[1], end[2] == "after")
                h.live(url, name, client, items=ITEMS, seed=seed, budget=budget, digest=digest)

            return work

        wrong: list[str] = []
        left, resumed = kills, 0
        while True:
            end = doom(dice, early=resumed % 10 == 9) if left else None
            pid = h.in_child(life(end), say)
            if end is not None and end[0] == "call":
                platform.control(kill={"pid": pid, "calls": end[1], "when": end[2]})
            elif end is not None and end[0] == "clock":
                time.sleep(0.3 * dice.random())
                os.kill(pid, signal.SIGKILL)
            code = h.ended(pid)
            if code == -signal.SIGKILL and end is not None:
                died[end[0]] += 1
                left, resumed = left - 1, resumed + 1
                continue
            platform.control(kill=None)
            if code != 0:
                wrong.append(say.read_text()[-400:] if code == 1 else f"ended by {code}")
            break
        charges = platform.charges()
    if wrong and not digest.exists():
        return {"wrong": wrong, "digest": "", "died": died, "charges": len(charges)}
    found = h.from_child(lambda: h.judge(url, name, charges), folder)
    return {**found, "wrong": wrong + found["wrong"], "died": died, "digest": digest.read_text()}


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All campaigns over all stores."""
    campaigns, kills = (2, 4) if options.quick else (20, 12)
    failures: list[str] = []
    figures: dict[str, Any] = {}
    with h.workplace() as folder, h.stores(options.store, folder) as urls:
        for store, url in urls.items():
            died: Counter[str] = Counter()
            bought = 0
            for number in range(campaigns):
                seed = options.seed * 1000 + number
                keys, tight = number % 2 == 0, number % 4 >= 2
                if options.mutant:
                    keys = options.mutant != "no-search"
                shape = {"seed": seed, "keys": keys, "budget": 250_000 if tight else h.PLENTY}
                name = f"{store}-{number}"
                whole = campaign(url(f"{name}-whole"), f"{name}-whole", folder, kills=0, mutant=None, **shape)
                torn = campaign(url(name), name, folder, kills=kills, mutant=options.mutant, **shape)
                wrong = [f"uninterrupted: {one}" for one in whole["wrong"]] + torn["wrong"]
                if whole["digest"] != torn["digest"]:
                    wrong.append("another decision log than the uninterrupted campaign")
                failures += [f"{name}: {one}" for one in wrong]
                died += torn["died"]
                bought += torn["charges"]
            figures[store] = {"campaigns": campaigns, "kills": sum(died.values()), "kills_by": dict(died),
                              "purchases": bought}  # fmt: skip
    return {"failures": failures, **figures}


if __name__ == "__main__":
    h.main("R1", bar, MUTANTS)
