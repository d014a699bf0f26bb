"""R23: any order of claims, answers, second answers, failures, budget changes and crashes keeps the money right.

A machine drives a real ledger beside a model of a page: what was charged is booked, nothing is claimed twice, and
what is spent and reserved never passes the budget by a claim.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import _store_bar as bar
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from quorate.errors import SpecError
from quorate.facts import AS_ASKED, OURS, OVER_BUDGET, TAKEN, Money, NewAnswers, NewAsks
from quorate.stores import ledger as ledger_module
from quorate.stores import open_store, tellings
from quorate.stores.book import Book, Open
from quorate.testing.store_contract import some_items

SLOTS = st.tuples(st.integers(0, 4), st.integers(0, 2))
KINDS = ("memory", "sqlite")
PLACE: list[Path] = []
COUNT = itertools.count()


class Books(RuleBasedStateMachine):
    """The model: what every ask was priced, and the dearest that was said of it."""

    def __init__(self) -> None:
        super().__init__()
        self.price: dict[tuple[int, int], int] = {}
        self.booked: dict[tuple[int, int], int] = {}
        self.failed: dict[tuple[int, int], bool] = {}
        self.worker: dict[tuple[int, int], str | None] = {}

    @initialize(kind=st.sampled_from(KINDS), budget=st.integers(0, 60))
    def begin(self, kind: str, budget: int) -> None:
        self.kind, self.budget = kind, budget
        self.url = "memory:" if kind == "memory" else f"sqlite:///{PLACE[0]}/{next(COUNT)}.db"
        self.store = open_store(self.url, floor=0)
        self.ledger = self.store.create("m", uid="m", spec={}, budget=budget, items=some_items(5))

    @rule(wanted=st.lists(st.tuples(SLOTS, st.integers(0, 30)), max_size=6))
    def claim(self, wanted: list[tuple[tuple[int, int], int]]) -> None:
        columns = [np.array(one, np.int64) for one in zip(*((j, o, 0, p) for (j, o), p in wanted), strict=True)]
        if not columns:
            return
        outcome = self.ledger.claim(NewAsks(*columns)).outcome.tolist()
        seen = set(self.price)
        for (slot, price), got in zip(wanted, outcome, strict=True):
            left = self.budget - sum(self.booked.values()) - self.reserved()
            want = TAKEN if slot in seen else OURS if price <= left else OVER_BUDGET
            assert got == want, (slot, price, left, got)
            seen.add(slot)
            if got == OURS:
                self.price[slot] = price

    def reserved(self) -> int:
        return sum(price for slot, price in self.price.items() if slot not in self.booked)

    @rule(
        slot=SLOTS,
        label=st.integers(-1, 2),
        charged=st.integers(AS_ASKED, 40),
        failure=st.sampled_from([0, 0, 0, 1, 3]),
        worker=st.sampled_from([None, "ann", "bob"]),
        times=st.integers(1, 2),
    )
    def tell(
        self, slot: tuple[int, int], label: int, charged: int, failure: int, worker: str | None, times: int
    ) -> None:
        values = [[slot[0]], [slot[1]], [-1 if failure else label], [charged], [failure]]
        told = self.ledger.record(NewAnswers(*(np.array(v * times) for v in values), worker=[worker] * times))
        if slot in self.price:
            cost = (0 if failure else self.price[slot]) if charged == AS_ASKED else charged
            new = slot not in self.booked
            assert told.overcharged[0] == (cost > max(self.price[slot], -1 if new else self.booked[slot]))
            self.booked[slot] = max(self.booked.get(slot, 0), cost)

    @rule(budget=st.integers(0, 120))
    def change_budget(self, budget: int) -> None:
        committed = sum(self.booked.values()) + self.reserved()
        try:
            self.ledger.set_budget(budget)
            assert budget >= committed
            self.budget = budget
        except SpecError:
            assert budget < committed

    @rule()
    def crash(self) -> None:
        """Memory gone, store kept."""
        if self.kind == "sqlite":
            self.store.close()
            self.store = open_store(self.url, floor=0)
        self.ledger = self.store.open("m")
        assert len(self.ledger.adopt()) == len(self.price.keys() - self.booked.keys())

    @invariant()
    def the_books_are_right(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.money() == Money(self.budget, sum(self.booked.values()), self.reserved())
            self.ledger.verify()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


def break_it(mutant: str | None) -> None:
    """Put one fault into the money's rules."""
    if mutant == "check-then-buy":  # each ask is checked against the money as it was before
        ledger_module.grant = lambda price, taken, left: np.where(
            taken, TAKEN, np.where(price <= left, OURS, OVER_BUDGET)
        )
    elif mutant == "second-value-stands":
        tellings.second = lambda standing, value, charged: (2, charged)
    elif mutant == "overcharge-forgotten":
        tellings.second = lambda standing, value, charged: (2, 0)
    elif mutant == "slot-again":
        Book.claimed = lambda self, item, ordinal: (self._reach(item), np.zeros(len(item), np.bool_))[1]  # type: ignore[method-assign]
    elif mutant == "reservation-kept":
        take = Book.take

        def taken(self: Book, *what: Any) -> Open:
            found = take(self, *what)
            return Open(found.seq, found.worker_class, found.price * 0)

        Book.take = taken  # type: ignore[method-assign]
    elif mutant == "load-forgets":
        Book.load = lambda self, asks, answered: None  # type: ignore[method-assign]


MUTANTS = (
    "check-then-buy",
    "second-value-stands",
    "overcharge-forgotten",
    "slot-again",
    "reservation-kept",
    "load-forgets",
)


def run(options: argparse.Namespace) -> dict[str, Any]:
    examples, steps = (60, 30) if options.quick else (2000, 50)
    break_it(options.mutant)
    machine = seed(options.seed)(Books)
    began = time.process_time()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        PLACE[:] = [Path(place)]
        try:
            run_state_machine_as_test(  # type: ignore[no-untyped-call]
                machine,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=steps,
                    deadline=None,
                    database=None,
                    verbosity=Verbosity.quiet,
                    suppress_health_check=list(HealthCheck),
                    phases=[Phase.generate] if options.mutant else [Phase.generate, Phase.shrink],
                ),
            )
        except BaseException as error:  # an ExceptionGroup too
            failures.append(f"{type(error).__name__}: {error}"[:300])
    return {
        "machines": examples,
        "steps": steps,
        "cpu_s": round(time.process_time() - began, 1),
        "failures": failures,
    }


if __name__ == "__main__":
    bar.main("R23", run, MUTANTS)
