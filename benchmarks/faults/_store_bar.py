"""What the store-level bars share: options, one JSON line, a busy ledger, and what it must still hold afterwards."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.facts import OURS, NewAnswers, NewAsks, key_of
from quorate.model import Receipt
from quorate.ports_store import Ledger, Store
from quorate.testing.store_contract import some_items

ITEMS = 40


def main(bar: str, run: Callable[[argparse.Namespace], dict[str, Any]], mutants: Sequence[str]) -> None:
    """Parse the options, run the bar, print its one line and exit: 0 if it passed."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a short version, as the tests run it")
    parser.add_argument("--mutant", choices=mutants, help="break the product on purpose: the bar must fail")
    options = parser.parse_args()
    began = time.monotonic()
    found = run(options)
    failures = found.pop("failures")
    line = {
        "bar": bar,
        "pass": not failures,
        "seed": options.seed,
        "mutant": options.mutant,
        **found,
        "failures": len(failures),
        "examples": failures[:3],
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(line))
    sys.exit(0 if line["pass"] else 1)


def begin(store: Store, name: str = "bar", *, items: int = ITEMS) -> Ledger:
    """A campaign with money enough."""
    return store.create(name, uid=name, spec={"labels": ["a", "b"]}, budget=10**9, items=some_items(items))


class Buyer:
    """Does one random thing after another to a ledger, as an engine would."""

    def __init__(self, ledger: Ledger, dice: random.Random) -> None:
        self.ledger, self.dice = ledger, dice
        self.turn: dict[int, int] = {}
        self.flying: list[tuple[int, int]] = []

    def step(self) -> None:
        """One call that writes; when it returns, what it wrote must be safe."""
        dice, ledger = self.dice, self.ledger
        what = dice.random()
        if what < 0.4 or not self.flying:
            rows = sorted(dice.sample(range(ITEMS), dice.randint(1, 12)))
            turns = [self.turn.get(j, 0) for j in rows]
            columns = (np.array(one) for one in (rows, turns, [dice.randrange(3) for _ in rows], [100 for _ in rows]))
            outcome = ledger.claim(NewAsks(*columns)).outcome
            self.flying += [
                slot for slot, code in zip(zip(rows, turns, strict=True), outcome, strict=True) if code == OURS
            ]
            self.turn.update((j, turn + 1) for j, turn in zip(rows, turns, strict=True))
        elif what < 0.55:
            item, ordinal = dice.choice(self.flying)
            key = key_of(ledger.campaign().uid, 1, item, ordinal)
            ledger.keep([Receipt(key, "bar", {"job": dice.randrange(10**6)})])
        elif what < 0.97:
            told = [
                self.flying.pop(dice.randrange(len(self.flying)))
                for _ in range(min(len(self.flying), dice.randint(1, 6)))
            ]
            ledger.record(self.answers(told))
        else:
            ledger.append("note", {"text": "x" * dice.randrange(2000)})

    def answers(self, slots: Sequence[tuple[int, int]]) -> NewAnswers:
        """Random answers to these asks."""
        j = np.array([slot[0] for slot in slots])
        labels = np.array([self.dice.randrange(2) for _ in slots])
        charged = np.array([self.dice.randrange(101) for _ in slots])
        raw = [json.dumps({"said": self.dice.randrange(10**9)}) for _ in slots]
        workers = [f"w{self.dice.randrange(10**9)}" for _ in slots]
        return NewAnswers(j, np.array([slot[1] for slot in slots]), labels, charged, j * 0, workers, raw)
