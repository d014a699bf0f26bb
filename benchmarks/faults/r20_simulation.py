"""R20: everything at once in one process — a fake clock, a fake platform, a crash at any write, all from a seed.

Each seed draws a campaign (policy, money, number of items, questions in flight) and then its misfortunes: answers
that are late, doubled, out of order, abstained; posts that fail before or after they were charged; ledger writes that
fail without effect; and deaths before or after any write.  *Safety*: whatever came, the two ledgers agree as in R1
and the decision log is the one of the same campaign without misfortunes.  *Liveness*: once the misfortunes stop,
the campaign ends within twice the turns that it needs without them.  No thread, no sleep: a failing seed fails again.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from random import Random
from typing import Any

import _harness as h
from paying_platform import dice as hashed

from quorate.campaign import runner
from quorate.campaign.engine import Campaign
from quorate.campaign.runner import Clock
from quorate.errors import PlatformError, StoreError
from quorate.model import WorkerClass
from quorate.stores import ledger as ledger_module
from quorate.stores.memory import MemoryStore

MUTANTS = ("pay-then-record", "answers-forgotten", "intents-forgotten", "key-of-the-moment")
LONGEST = 100_000  # turns of a campaign without misfortunes
IDLE = 1_000  # turns in which nothing at all happens
MOST = 6  # failures in a row of one ask: after eight the engine rightly parks it
MISFORTUNES = 300  # ledger writes and calls after which nothing goes wrong any more


class Died(BaseException):
    """The process is gone; what it had committed is not."""


class World:
    """The clock, the platform with its ledger, and the misfortunes of one seed."""

    def __init__(self, seed: int, *, calm: bool) -> None:
        self.seed, self.random, self.calm = seed, Random(seed), calm
        self.time, self.left = 0.0, 0 if calm else MISFORTUNES
        self.share = self.random.uniform(0.02, 0.3)
        self.death = self.random.uniform(0.005, 0.05)
        self.charges: list[dict[str, Any]] = []
        self.by_key: dict[str, dict[str, Any]] = {}
        self.deaths = self.turns = self.idle = 0
        self.failed: Counter[str] = Counter()

    def mishap(self, share: float) -> bool:
        if self.left <= 0:
            return False
        self.left -= 1
        self.idle = 0
        return self.random.random() < share

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    # -- a platform that honours keys

    name = "fake"

    def post(self, asks: Sequence[h.Ask]) -> list[h.Receipt]:
        share = self.share if self.failed[asks[0].key] < MOST else 0.0
        self.failed[asks[0].key] += 1
        if self.mishap(share):
            raise h.ServerError("The platform said 500 before it had charged.")
        receipts = [self._buy(one) for one in asks]
        if self.mishap(share):
            raise ConnectionResetError("The line broke after the charge.")
        return receipts

    def _buy(self, ask: h.Ask) -> h.Receipt:
        if ask.key not in self.by_key:
            row = {"item": ask.item, "ordinal": ask.ordinal, "class": ask.worker_class, "charged": ask.price,
                   "at": self.time}  # fmt: skip
            self.charges.append(row)
            self.by_key[ask.key] = row
        return h.Receipt(ask.key, self.name, {"key": ask.key})

    def poll(self, receipts: Sequence[h.Receipt]) -> list[h.Answer]:
        if self.mishap(self.share):
            raise h.ServerError("The platform said 500.")
        due = [one.key for one in receipts if not self.mishap(self.share)]
        answers = [self._answer(key, self.by_key[key]) for key in due]
        answers += [one for one in answers if self.mishap(self.share)]
        if not self.calm:
            self.random.shuffle(answers)
        return answers

    def _answer(self, key: str, row: dict[str, Any]) -> h.Answer:
        truth = hashed(self.seed, "truth", row["item"]) < 0.5
        roll = hashed(self.seed, row["item"], row["ordinal"], row["class"])
        if roll > 0.99:
            return h.Answer(key, None, price=row["charged"])
        return h.Answer(key, str(int(truth == (roll < h.ACCURACY[row["class"]]))), price=row["charged"])

    def cancel(self, receipts: Sequence[h.Receipt]) -> None:
        """Nothing to call back."""


class AtOnce:
    """A crew of buyers that works while one waits."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """As many as there are."""

    def shutdown(self, *, cancel_futures: bool) -> None:
        """Nobody to wait for, and nothing left to cancel."""

    def submit(self, job: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(job())
        return done


def _mortal(write: Callable[..., Any], world: Callable[[], World | None]) -> Callable[..., Any]:
    """A write to the ledger that may fail, or be the last thing that its process does."""

    def call(self: Any, *args: Any, **more: Any) -> Any:
        one = world()
        if one is None:
            return write(self, *args, **more)
        if one.mishap(one.death):
            one.deaths += 1
            raise Died
        if one.mishap(one.death / 4):
            raise StoreError("The disk had an error; nothing was written.")
        result = write(self, *args, **more)
        if one.mishap(one.death):
            one.deaths += 1
            raise Died
        return result

    return call


def lived(seed: int, *, calm: bool, mutant: str | None, turns: int = LONGEST) -> tuple[World, Campaign]:
    """One campaign, one life after another, to its end."""
    world = World(seed, calm=calm)
    draw = Random(seed)
    policy = draw.choice(("sym-imcw", "sym-imcw", "votes-3", "asym-imcw"))
    items, in_flight = draw.randint(3, 25), draw.choice((1, 5, 40))
    need = items * (12_000 if policy != "votes-3" else 1200)
    budget = int(need * draw.choice((0.4, 2.0)))
    current: list[World | None] = [None]
    pool, turn = runner.ThreadPoolExecutor, runner._Runner._turn

    def counted(self: Any) -> bool:
        world.turns += world.left <= 0
        world.idle += world.left > 0
        if world.turns > turns or world.idle > IDLE:
            raise RuntimeError(f"not at its end {turns} turns after the misfortunes")
        return turn(self)

    runner.ThreadPoolExecutor = AtOnce  # type: ignore[assignment, misc]
    runner._Runner._turn = counted  # type: ignore[method-assign]
    right = {name: getattr(ledger_module.Ledger, name) for name in h.WRITES}
    for name in h.WRITES:
        setattr(ledger_module.Ledger, name, _mortal(right[name], lambda: current[0]))
    restore = _break(mutant, world) if not calm else (lambda: None)
    try:
        store = MemoryStore()
        classes = [WorkerClass(**one) for one in h.CLASSES]
        Campaign.create(store, name="sim", items={f"i{j}": "x" for j in range(items)}, labels=["0", "1"],
                        classes=classes, policy=policy, budget=budget, seed=seed)  # fmt: skip
        clock = Clock(now=world.now, sleep=world.sleep, wall=world.now)
        while True:
            campaign = Campaign.open(store, "sim")
            current[0] = world
            platforms = {one.name: world for one in campaign.spec.classes}
            try:
                campaign.run(platforms, in_flight=in_flight, clock=clock)
            except (Died, StoreError, PlatformError):
                continue
            finally:
                current[0] = None
            if campaign.done or world.left <= 0:
                return world, campaign
            world.left = 0
    finally:
        restore()
        runner.ThreadPoolExecutor, runner._Runner._turn = pool, turn  # type: ignore[misc, method-assign]
        for name, write in right.items():
            setattr(ledger_module.Ledger, name, write)


def _break(mutant: str | None, world: World) -> Callable[[], None]:
    if mutant == "answers-forgotten":
        fine = world.poll
        world.poll = lambda receipts: (
            fine(receipts)
            if world.random.random() < 0.9
            else [  # type: ignore[method-assign]
                h.Answer(one.key, one.label, price=0) for one in fine(receipts)
            ]
        )
    elif mutant == "key-of-the-moment":
        buy = world._buy
        world._buy = lambda ask: h.Receipt(  # type: ignore[method-assign]
            ask.key, world.name, {"key": buy(h.Ask(f"{ask.key}-{world.time}", ask.item, ask.worker_class, ask.ordinal,
                                                   ask.price)).key})  # fmt: skip
        answer = world.poll
        world.poll = lambda receipts: [  # type: ignore[method-assign]
            h.Answer(one.key.rsplit("-", 1)[0], one.label, price=one.price)
            for one in answer([h.Receipt(r.data["key"], r.platform, r.data) for r in receipts])
        ]
    elif mutant == "intents-forgotten":
        adopt = runner._Runner._adopt
        runner._Runner._adopt = lambda self: None  # type: ignore[method-assign]
        return lambda: setattr(runner._Runner, "_adopt", adopt)
    elif mutant == "pay-then-record":
        claim = ledger_module.Ledger.claim

        def late(self: Any, asks: Any, **more: Any) -> Any:
            for item, ordinal, k, price in zip(asks.item, asks.ordinal, asks.worker_class, asks.price, strict=True):
                key = f"{world.random.random()}"
                world._buy(h.Ask(key, f"i{item}", h.CLASSES[int(k)]["name"], int(ordinal), int(price)))
            return claim(self, asks, **more)

        ledger_module.Ledger.claim = late  # type: ignore[method-assign]
    return lambda: None


def one_seed(seed: int, mutant: str | None) -> tuple[list[str], World]:
    """What is wrong in one seed's world."""
    calm, whole = lived(seed, calm=True, mutant=None)
    try:
        world, campaign = lived(seed, calm=False, mutant=mutant, turns=2 * calm.turns + 5)
    except RuntimeError as error:
        return [str(error)], calm
    wrong: list[str] = h.judge_ledger(campaign.ledger, world.charges)["wrong"]
    if not campaign.done:
        wrong.append("it did not finish")
    if whole.decisions().digest != campaign.decisions().digest:
        wrong.append("another decision log than without misfortunes")
    return wrong, world


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All seeds."""
    seeds = 5 if options.mutant else 15 if options.quick else 250
    failures: list[str] = []
    deaths = bought = 0
    for seed in range(options.seed * 100_000, options.seed * 100_000 + seeds):
        wrong, world = one_seed(seed, options.mutant)
        failures += [f"seed {seed}: {one}" for one in wrong]
        deaths += world.deaths
        bought += len(world.charges)
    return {"failures": failures, "worlds": seeds, "deaths": deaths, "purchases": bought}


if __name__ == "__main__":
    h.main("R20", bar, MUTANTS)
