"""R4: the budget — eight buyers at once, money for two fifths of what is wanted, late charges, changing prices.

*Counter*: eight buyers (threads; on PostgreSQL processes) claim straight from one ledger and record what they were
charged later, out of order, sometimes less than was reserved.  *Campaign*: the engine with eight buyers on a slow
platform; the price list is changed midway, and more items come.  *Greedy*: from some purchase on a class charges
one micro more than was asked: it must be halted by name, and nothing more be asked of it.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import _harness as h
import numpy as np

from quorate.core.hashing import item_hash
from quorate.errors import PlatformError
from quorate.facts import OURS, NewAnswers, NewAsks, NewItems
from quorate.ports_store import Ledger
from quorate.stores import ledger as ledger_module
from quorate.stores import open_store

BUYERS, WANTED = 8, 400
MUTANTS = ("check-then-buy", "no-purse", "greed-unseen")


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """Counters, campaigns, greedy platforms."""
    quick = options.quick or options.mutant
    failures: list[str] = []
    figures: dict[str, Any] = {}
    if options.mutant == "check-then-buy":
        _check_then_buy()
    with h.workplace() as folder, h.stores(options.store, folder) as urls:
        for store, url in ({"memory": lambda name: "memory:"} | urls).items():
            several = 2 if quick else 20 if store != "postgres" else 10
            for number in range(several):
                seed = options.seed * 1000 + number
                work = _counter_of_threads if store != "postgres" else _counter_of_processes
                failures += [f"{store} counter {number}: {one}" for one in work(url(f"c{number}"), seed, folder)]
            figures[f"counters_{store}"] = several
        several = options.campaigns or (1 if quick else 50)
        figures["campaigns"] = figures["greedy"] = several
        for number in range(several):
            seed = options.seed * 1000 + number
            failures += [f"campaign {number}: {one}" for one in _campaign(folder, seed, options.mutant)]
            failures += [f"greedy {number}: {one}" for one in _greedy(folder, seed, options.mutant)]
    return {"failures": failures, **figures}


# ------------------------------------------------------------------------------------------------- counter


def _found(url: str, name: str, seed: int) -> tuple[Any, Ledger, np.ndarray[Any, Any]]:
    """A store with a campaign of items at all prices, and money for two fifths of them."""
    price = np.random.default_rng(seed).integers(100, 2000, WANTED)
    ids = [f"i{j}" for j in range(WANTED)]
    items = NewItems(ids, ["{}"] * WANTED, np.array([item_hash(one) for one in ids], np.uint64), np.full(WANTED, -1))
    store = open_store(url)
    ledger = store.create(name, uid=f"u{seed}", spec={}, budget=int(price.sum()) * 2 // 5, items=items)
    return store, ledger, price


def _buy(ledger: Ledger, price: np.ndarray[Any, Any], dice: Random) -> None:
    """One buyer: claim a few at a time, in an order of its own, and settle late."""
    order = list(range(WANTED))
    dice.shuffle(order)
    late: list[int] = []
    for at in range(0, WANTED, 4):
        rows = np.array(order[at : at + 4])
        claimed = ledger.claim(NewAsks(rows, rows * 0, rows * 0, price[rows]))
        late += rows[claimed.outcome == OURS].tolist()
        while len(late) > (12 if at < WANTED - 4 else 0):
            j = late.pop(dice.randrange(len(late)))
            charged = int(price[j]) - (dice.randrange(100) if dice.random() < 0.3 else 0)
            one = np.array([j])
            ledger.record(NewAnswers(one, one * 0, one * 0 + 1, np.array([charged]), one * 0))


def _leftover(ledger: Ledger, price: np.ndarray[Any, Any]) -> list[str]:
    """Whether somebody could still have been paid, once every buyer has tried again."""
    _buy(ledger, price, Random(0))
    money = ledger.money()
    unclaimed = np.setdiff1d(np.arange(WANTED), ledger.asks().item)
    left = money.budget - money.spent
    cheapest = int(price[unclaimed].min(initial=2**40))
    wrong = [f"{left} left, and an ask at {cheapest} not granted"] if left >= cheapest else []
    return wrong + [one for one in h.judge_ledger(ledger, [])["wrong"] if "platform" not in one]


def _counter_of_threads(url: str, seed: int, folder: Path) -> list[str]:
    store, ledger, price = _found(url, "counter", seed)
    with store:
        crew = [threading.Thread(target=_buy, args=(ledger, price, Random(seed * 100 + n))) for n in range(BUYERS)]
        for one in crew:
            one.start()
        for one in crew:
            one.join()
        return _leftover(ledger, price)


def _counter_of_processes(url: str, seed: int, folder: Path) -> list[str]:
    name = f"counter-{seed}"
    h.from_child(lambda: _found(url, name, seed)[0].close(), folder)
    price = np.random.default_rng(seed).integers(100, 2000, WANTED)

    def buyer(n: int) -> Callable[[], None]:
        def work() -> None:
            with open_store(url) as store:
                _buy(store.open(name), price, Random(seed * 100 + n))

        return work

    crew = [h.in_child(buyer(n), folder / f"buyer-{n}.error") for n in range(BUYERS)]
    wrong = [(folder / f"buyer-{n}.error").read_text()[-400:] for n, pid in enumerate(crew) if h.ended(pid)]

    def look() -> list[str]:
        with open_store(url) as store:
            return _leftover(store.open(name), price)

    return wrong + h.from_child(look, folder)


def _check_then_buy() -> None:
    """Look at the money first, buy afterwards: the gap that two buyers fit through."""
    claim, grant = ledger_module.Ledger.claim, ledger_module.grant
    seen = threading.local()

    def looked(self: Any, asks: NewAsks, **more: Any) -> Any:
        money = self.money()
        seen.left = money.budget - money.spent - money.reserved
        time.sleep(0.0005)
        return claim(self, asks, **more)

    ledger_module.Ledger.claim = looked  # type: ignore[method-assign]
    ledger_module.grant = lambda price, taken, left: grant(price, taken, seen.left)


# ------------------------------------------------------------------------------------- campaign and greedy


def _campaign(folder: Path, seed: int, mutant: str | None) -> list[str]:
    """Forty items, money for two fifths of them; then dearer prices, more items and a little more money."""
    url, name = f"sqlite:///{folder}/b{seed}.db", f"r4-{seed}"
    budget = 180_000
    with h.Paying(folder, name, seed=seed, faults=0.1, latency=0.05) as platform:

        def life() -> dict[str, Any]:
            if mutant == "no-purse":
                ledger_module.grant = lambda price, taken, left: np.where(taken, 1, OURS).astype(np.int8)
                from quorate.campaign import purse

                purse.Purse.grant = lambda self, rows, cost, *, quiet: (rows, rows[:0])  # type: ignore
                purse.Purse.tranche = lambda self, waiting: waiting  # type: ignore
            with h.hurry(), h.opened(url, name, 40, seed=seed, budget=budget) as campaign:
                client = h.Client(platform.place)
                platforms = {one.name: client for one in campaign.spec.classes}

                def midway(progress: Any) -> None:
                    if campaign.spec.classes[0].price == h.CLASSES[0]["price"] and progress.answers >= 60:
                        campaign.change(prices={"small": 700, "large": 1000})
                        campaign.add_items({f"more-{j}": "x" for j in range(10)})

                first = campaign.run(platforms, buyers=BUYERS, progress=midway)
                left = [campaign.ledger.money()]
                campaign.set_budget(budget + 40_000)
                second = campaign.run(platforms, buyers=BUYERS)
                left.append(campaign.ledger.money())
                prices = [one.price for one in campaign.spec.classes]
                return {"left": [one.budget - one.spent for one in left], "prices": prices,
                        "done": first.done and second.done,
                        "undecided": [first.undecided, second.undecided]}  # fmt: skip

        end = h.from_child(life, folder)
        charges = platform.charges()
    wrong: list[str] = h.from_child(lambda: h.judge(url, name, charges), folder)["wrong"]
    for left, undecided in zip(end["left"], end["undecided"], strict=True):
        if undecided and left >= max(end["prices"]):
            wrong.append(f"{left} left, though {undecided} items went without")
    if end["prices"] != [700, 1000, 1500] or not end["done"]:
        wrong.append(f"it did not finish: {end}")
    return wrong


def _greedy(folder: Path, seed: int, mutant: str | None) -> list[str]:
    """A platform that charges one micro more than was asked, from the hundredth purchase on."""
    url, name = f"sqlite:///{folder}/g{seed}.db", f"r4-greedy-{seed}"
    with h.Paying(folder, name, seed=seed, markup={"large": 1}, markup_from=30) as platform:

        def life() -> dict[str, Any]:
            if mutant == "greed-unseen":
                h.Campaign._halt_for_charge = lambda self, k, charged: None  # type: ignore[method-assign]
            with h.hurry(), h.opened(url, name, 40, seed=seed) as campaign:
                client = h.Client(platform.place)
                try:
                    campaign.run({one.name: client for one in campaign.spec.classes}, buyers=BUYERS)
                    error = ""
                except PlatformError as raised:
                    error = str(raised)
                rows = list(campaign.ledger.facts())
                halted = [fact.seq for fact in rows if fact.table == "event" and fact.row["kind"] == "class"]
                asked = [fact.seq for fact in rows if fact.table == "ask" and fact.row["worker_class"] == 1]
                over = [fact.seq for fact in rows if fact.table == "answer" and fact.row["worker_class"] == 1
                        and fact.row["charged"] > 900]  # fmt: skip
                return {"error": error, "halted": halted[:1], "asked": asked, "over": over[:1],
                        "states": campaign.class_state}  # fmt: skip

        end = h.from_child(life, folder)
        charges = platform.charges()
    judged: list[str] = h.from_child(lambda: h.judge(url, name, charges), folder)["wrong"]
    wrong = [one for one in judged if "without an answer" not in one]
    if not end["halted"] or end["states"][1] != "halted":
        return [*wrong, f"the greedy class was not halted: {end['states']}"]
    after = [seq for seq in end["asked"] if seq > end["halted"][0]]
    if after:
        wrong.append(f"{len(after)} asks of the class after it was halted")
    between = [seq for seq in end["asked"] if end["over"][0] < seq < end["halted"][0]]
    if between:  # other answers of the same delivery may stand between, but nothing more may be bought
        wrong.append(f"{len(between)} asks of the class between the first overcharge on record and the halt")
    if "'large'" not in end["error"] or "charged" not in end["error"]:
        wrong.append(f"the error does not name it: {end['error']!r}")
    return wrong


if __name__ == "__main__":
    h.main("R4", bar, MUTANTS)
