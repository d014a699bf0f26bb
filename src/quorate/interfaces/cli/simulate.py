"""``quorate simulate``: whole campaigns of a policy on a known world."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from quorate.interfaces.cli._app import REAL, WHOLE, Json, app
from quorate.interfaces.cli._output import number, print_json, print_table
from quorate.interfaces.cli._progress import progress

Instance = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE", help="A built-in name (p1-asym, p1-sym, p1-asym-rte, p1-sym-rte) or a TOML file."
    ),
]
Alpha = Annotated[
    float | None, typer.Option(help="The error to promise per true label. Left out: the instance's own.", **REAL)
]


@app.command()
def simulate(
    instance: Instance,
    policy: Annotated[str, typer.Option(help="Who decides what to buy next; 'quorate policies' lists them.")],
    items: Annotated[int, typer.Option(help="Items in each campaign.", **WHOLE)] = 1000,
    campaigns: Annotated[
        int, typer.Option(help="Campaigns to run; the error of every mean is over campaigns.", **WHOLE)
    ] = 50,
    seed: Annotated[int, typer.Option(help="Campaign r has the seed SEED + r.", **WHOLE)] = 0,
    alpha: Alpha = None,
    item_cap: Annotated[
        int | None,
        typer.Option(help="Most answers for one item. Left out: none for the paper's policies, else 200.", **WHOLE),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes. Left out: one a core.", **WHOLE)] = None,
    json: Json = False,
) -> None:
    """Run whole campaigns of POLICY on a known world and compare what it costs with the least possible.

    An INSTANCE is a world, known to the simulator and not to the policy. As a TOML file:

    \b
    prior = 0.5               # the probability that a true label is 1
    alpha = 0.05              # the promised error, per true label
    \\[\\[class]]
    name = "crowd"
    price = 0.05              # or "p1": the paper's price of this accuracy
    accuracy = [0.88, 0.82]   # P(right) on items of true label 0 and 1
    answers_per_item = 5      # optional

    Every mean stands beside its standard error over campaigns.  A campaign is beyond alpha when it has more wrong
    labels of either true label than chance explains (one-sided binomial tests at 2.5 %).

    Example: [bold]quorate simulate p1-asym --policy asym-imcw --items 1000 --campaigns 100 --seed 1[/bold]
    """
    from quorate.studies.campaigns import Workers
    from quorate.studies.campaigns import simulate as run
    from quorate.studies.instance_file import load_instance
    from quorate.studies.summary import summary

    world = load_instance(instance)
    with Workers(jobs if campaigns > 1 else 1) as workers, progress("campaigns", campaigns) as done:
        study = run(
            world,
            policy,
            items=items,
            campaigns=campaigns,
            seed=seed,
            alpha=alpha,
            item_cap=item_cap,
            workers=workers,
            progress=done,
        )
    record = summary(study)
    if json:
        print_json(record)
    else:
        _show(record)


def _show(record: dict[str, Any]) -> None:
    title = "{policy} on {instance}: {items:,} items × {campaigns:,}, alpha {alpha}, seed {seed}"
    lines = [
        ("cost per item", "cost_per_item", "cost_se"),
        ("  of which explore", "explore_cost", "explore_cost_se"),
        ("  of which exploit", "exploit_cost", "exploit_cost_se"),
        ("answers per item", "answers_per_item", "answers_se"),
        ("least possible cost (oracle)", "oracle_cost", ""),
        ("cost / least possible", "ratio", "ratio_se"),
        ("error", "error", "error_se"),
        ("  on true label 0", "error_0", "error_0_se"),
        ("  on true label 1", "error_1", "error_1_se"),
        ("undecided items", "undecided_fraction", "undecided_se"),
        ("campaigns beyond alpha", "exceed_fraction", ""),
        (f"chose k* = {record['k_star']}", "k_star_fraction", "k_star_fraction_se"),
        (f"chose the cheapest, {record['best_class']}", "best_class_fraction", "best_class_fraction_se"),
    ]
    rows = [
        (label, number(record[key]), _error(record[se]) if se else "")
        for label, key, se in lines
        if record[key] is not None
    ]
    print_table(["", "mean", "standard error"], rows, title=title.format(**record))


def _error(se: float) -> str:
    return "–" if math.isnan(se) else f"± {number(se)}"
