"""The campaign file that `quorate init` writes: complete, commented, and ready to run on simulated workers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

_HEAD: Final = """\
# A Quorate campaign.  Check it with `quorate doctor {file}`, forecast it with `quorate plan`, run it with
# `quorate run {file}`.  Lines that begin with # are explanations or defaults.

name = {name}
labels = {labels}        # two labels, as they stand in every answer
accuracy = {accuracy}                 # how often a label is to be right, whatever the true label is
budget = {budget}             # never exceeded
policy = {policy}         # who decides what to buy next: `quorate policies` lists them
seed = {seed}                        # the campaign's dice: the same answers always give the same decisions
store = {store}   # one file that holds everything; also postgresql://user@host/database

[items]
file = {items}              # CSV, JSON Lines or Parquet; every column goes out with the questions
# id = "id"                     # the column that names an item (default: id, item, or the first)
# gold = "label"                # a column of known labels: such items teach and are never paid for

[limits]
item_cap = 60                   # answers per item; beyond it the item stays undecided
in_flight = 200                 # questions out at once
parallel = 1                    # questions out at once about one item; more is faster and dearer
# patience = 86400              # seconds after which a question without an answer is given up

# The worker classes: pools of annotators, each with one price.  Nobody needs to know how good they are.
# What each class's platform needs stands in its [class.platform]; simulated workers know their own accuracy,
# [P(right | first label), P(right | second label)]: replace them by your own platforms.
"""
_CLASS: Final = """
[[class]]
name = {name}
price = {price}
[class.platform]
kind = "simulator"
accuracy = {accuracy}
"""
EXAMPLE: Final = (("crowd", "0.05", (0.80, 0.75)), ("skilled", "0.12", (0.88, 0.86)), ("model", "0.01", (0.72, 0.78)))


def template(
    *,
    name: str,
    file: str = "campaign.toml",
    labels: Sequence[str] = ("no", "yes"),
    accuracy: float = 0.95,
    budget: str = "100 USD",
    policy: str = "calibrated",
    items: str = "items.csv",
    store: str | None = None,
    seed: int = 1,
    classes: Sequence[tuple[str, str]] = (),
) -> str:
    """The text of a campaign file; ``classes`` are names and prices.

    >>> from quorate.spec.file import parse_campaign
    >>> parse_campaign(template(name="toxicity", classes=[("crowd", "0.05")])).spec.prices
    (50000,)
    """
    quoted = {
        "name": name, "budget": budget, "policy": policy, "items": items, "store": store or f"sqlite:///{name}.db",
    }  # fmt: skip
    head = _HEAD.format(
        **{key: json.dumps(value) for key, value in quoted.items()},
        labels=json.dumps(list(labels), ensure_ascii=False), accuracy=accuracy, seed=seed, file=file,
    )  # fmt: skip
    chosen = [(*one, EXAMPLE[at % len(EXAMPLE)][2]) for at, one in enumerate(classes)] or EXAMPLE
    return head + "".join(
        _CLASS.format(name=json.dumps(one), price=json.dumps(price), accuracy=list(accuracy))
        for one, price, accuracy in chosen
    )
