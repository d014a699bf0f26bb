"""R7, the engine's half: eight engine processes on one PostgreSQL campaign, killed and frozen at random.

Twice a second one of them is killed (and another one started) or frozen for twice its lease and then let go on: a
*zombie*, whose asks others have taken over meanwhile.  At the end nothing is stuck, nothing was bought twice,
and the decision log is the one of a campaign run by one process alone.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import _harness as h
from _mutants import breaker
from _torn import Shape, whole

PROCESSES, LEASE = 8, 1.0
MUTANTS = ("keys-ignored", "new-key-on-resume", "intents-forgotten")


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """Campaigns with plenty of money and with too little."""
    if not h.has_postgres():
        return {"failures": ["PostgreSQL or psycopg is not installed"]}
    short = options.quick
    failures: list[str] = []
    totals = dict.fromkeys(("kills", "zombies", "purchases"), 0)
    with h.workplace() as folder, h.postgres() as url:
        for number in range(options.campaigns or (1 if short or options.mutant else 4)):
            seed = options.seed * 1000 + number
            budget = 800_000 if number % 2 else h.PLENTY
            shape = Shape(seed, budget=budget, items=30 if short else 150, faults=0.1, platform={"latency": 0.1})
            found = _crowd(url, f"r7-{number}", folder, shape, options.mutant, 4 if short else 20)
            failures += [f"campaign {number}: {one}" for one in found.pop("wrong")]
            for name in totals:
                totals[name] += found[name]
    return {"failures": failures, "processes": PROCESSES, **totals}


def _crowd(url: str, name: str, folder: Path, shape: Shape, mutant: str | None, blows: int) -> dict[str, Any]:
    """One campaign bought by all of them."""
    dice = h.dice(shape.seed)
    alone = whole(url, f"{name}-alone", folder, shape)
    digests: list[str] = []
    wrong = [f"alone: {one}" for one in alone["wrong"]]
    kills = zombies = 0
    options = {"seed": shape.seed, "faults": shape.faults, "keys": mutant != "keys-ignored", **shape.platform}
    fields = {"items": shape.items, "seed": shape.seed, "budget": shape.budget, "lease": LEASE}
    with h.Paying(folder, name, **options) as platform:
        h.from_child(lambda: h.opened(url, name, shape.items, **_without_items(fields)).close(), folder)

        def start(number: int) -> tuple[int, Path]:
            say = folder / f"{name}-{number}.error"

            def work() -> None:
                client = h.Client(platform.place, timeout=2.0)
                broken = breaker(mutant)
                if broken is not None:
                    broken(client)
                h.live(url, name, client, buyers=2, digest=folder / f"{name}-{number}.digest", **fields)

            return h.in_child(work, say), say

        crew = dict(start(number) for number in range(PROCESSES))
        started, frozen = PROCESSES, dict[int, float]()
        until = time.monotonic() + 120
        strike = time.monotonic() + 0.5
        while crew:
            now = time.monotonic()
            for pid, since in list(frozen.items()):
                if now > since + 2 * LEASE:
                    os.kill(pid, signal.SIGCONT)
                    del frozen[pid]
            for pid in list(crew):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    say = crew.pop(pid)
                    code = os.waitstatus_to_exitcode(status)
                    if code not in (0, -signal.SIGKILL):
                        wrong.append(say.read_text()[-500:] if say.exists() else f"a process ended by {code}")
            lively = [pid for pid in crew if pid not in frozen]
            if blows and now > strike and len(lively) > 1:
                strike, blows, victim = now + 0.5, blows - 1, dice.choice(lively)
                if dice.random() < 0.6:
                    os.kill(victim, signal.SIGKILL)
                    kills += 1
                    pid, say = start(started)
                    crew[pid], started = say, started + 1
                else:
                    os.kill(victim, signal.SIGSTOP)
                    frozen[victim] = now
                    zombies += 1
            if now > until:
                wrong.append(f"{len(crew)} processes did not finish")
                for pid in crew:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                crew = {}
            time.sleep(0.01)
        charges = platform.charges()
    digests = [(folder / f"{name}-{n}.digest").read_text() for n in range(started)
               if (folder / f"{name}-{n}.digest").exists()]  # fmt: skip
    judged = h.from_child(lambda: h.judge(url, name, charges), folder)
    if set(digests) != {alone["digest"]}:
        wrong.append("another decision log than of one process alone")
    return {"wrong": wrong + judged["wrong"], "kills": kills, "zombies": zombies, "purchases": len(charges)}


def _without_items(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "items"}


if __name__ == "__main__":
    h.main("R7", bar, MUTANTS)
