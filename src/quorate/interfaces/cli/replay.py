"""``quorate replay``: what a policy would have bought of answers that were recorded."""

from __future__ import annotations

import os
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.errors import SpecError
from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import number, print_json, print_table, say

if TYPE_CHECKING:
    from quorate.studies.replay_study import Replayed


@app.command()
def replay(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="A folder with labels.csv, or its name in $QUORATE_DATA.")
    ],
    policy: Annotated[
        str, typer.Option(help="Who decides what to buy; 'quorate policies' lists them.")
    ] = "calibrated",
    accuracy: Annotated[float, typer.Option(help="How often a label is to be right.")] = 0.95,
    seed: Annotated[int, typer.Option(help="The order in which recorded answers are handed out.")] = 0,
    price: Annotated[
        list[str] | None, typer.Option(metavar="CLASS=PRICE", help="What an answer costs; repeat it for each class.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a campaign on recorded answers, and compare it with the gold and with the usual habits.

    The folder holds labels.csv (item,worker,label), truth.csv (item,label) and, if workers differ in kind,
    workers.csv (worker,class); each may be gzipped.  Items without gold are labelled and paid for, not judged.

    Example: [bold]quorate replay data/rte --policy certified --accuracy 0.9[/bold]
    """
    from decimal import Decimal

    from quorate.platforms.recorded import read_recorded
    from quorate.registry import lookup
    from quorate.studies.replay_study import replay as run

    if not 0.5 < accuracy < 1:
        raise SpecError(f"An accuracy of {accuracy:g} cannot be promised.", hint="Choose one above 0.5 and below 1.")
    found = run(
        read_recorded(_folder(dataset)),
        lookup("policies", policy),
        alpha=float(1 - Decimal(repr(accuracy))),
        seed=seed,
        prices=_prices(price),
    )
    if json:
        print_json(record(found))
    else:
        _show(found)


def record(found: Replayed) -> dict[str, Any]:
    """A replay as plain values; the policy's own way is the first of ``ways``."""
    from dataclasses import asdict, fields

    plain = {
        one.name: getattr(found, one.name) for one in fields(found) if one.name not in ("classes", "ways", "stages")
    }
    return {**plain, "classes": [asdict(one) for one in found.classes], "ways": [asdict(one) for one in found.ways]}


def _folder(dataset: str) -> Path:
    named = Path(os.environ.get("QUORATE_DATA", "")) / dataset
    return named if not Path(dataset).exists() and named.is_dir() else Path(dataset)


def _prices(given: list[str] | None) -> dict[str, float] | None:
    if not given:
        return None
    prices = {}
    for one in given:
        name, _, amount = one.rpartition("=")
        try:
            prices[name] = float(amount)
        except ValueError:
            prices[name] = -1.0
        if not name or not 0 < prices[name] < float("inf"):
            raise SpecError(f"{one!r} is not CLASS=PRICE.", hint="Write --price crowd=0.05, above 0.")
    return prices


def _show(found: Replayed) -> None:
    say(
        f"{found.dataset}: {found.items:,} items, {found.gold:,} with gold ({found.prior:.0%} of label 1);"
        f" policy {found.policy}, accuracy {1 - found.alpha:g}, seed {found.seed}."
    )
    say(f"Promise: {found.promise}.")
    say(f"Prices: {found.price_rule}.")
    print_table(
        ["class", "workers", "per item", "price", "c(0)", "c(1)", "believed c(0)", "c(1)", "correlation", "fit p"],
        [
            (
                one.name, one.workers, number(one.answers), number(one.price),
                *("–" if isnan(c) else f"{c:.3f}" for c in one.accuracy),
                *(f"{c:.3f}" for c in found.estimate.get(one.name, ())),
                *(("–", "–") if one.name not in found.estimate else ()),
                number(one.correlation, 2),
                number(one.fit, 2),
            )
            for one in found.classes
        ],
    )  # fmt: skip
    print_table(
        ["way of labelling", "cost/item", "answers/item", "labelled", "right", "right on 0", "right on 1"],
        [
            (
                one.name, number(one.cost), number(one.answers), f"{one.labelled:.1%}",
                *("–" if isnan(share) else f"{share:.1%}" for share in (one.accuracy, *one.by_label)),
            )
            for one in found.ways
        ],
    )  # fmt: skip
    if found.undecided:
        say(f"Undecided: {', '.join(f'{n:,} {reason}' for reason, n in found.undecided.items())}.")
    worst = max((one for one in found.classes if one.correlation == one.correlation), key=_correlation, default=None)
    if worst is not None and worst.correlation > NOTABLE:
        say(
            f"Two answers of {worst.name} about one item agree more than the model allows (correlation"
            f" {worst.correlation:.2f} given the true label): some items mislead many at once, and no promise that"
            " rests on independent answers holds for these."
        )
    own = found.ways[0]
    if min(own.by_label) < 1 - found.alpha:
        say(f"The promise of {1 - found.alpha:g} on each true label was not kept on this gold.")


NOTABLE = 0.05


def _correlation(one: Any) -> float:
    return float(one.correlation)
