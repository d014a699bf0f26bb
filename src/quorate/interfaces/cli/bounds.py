"""``quorate bounds``, ``exact`` and ``oracle``: what theory says of a known world, without any sampling."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import number, print_json, print_table, say
from quorate.interfaces.cli.simulate import Alpha, Instance

_NOTHING = 1e-12  # the enumeration stops when less is open


@app.command()
def bounds(instance: Instance, alpha: Alpha = None, json: Json = False) -> None:
    """Print the paper's benchmarks of a known world: lower bounds, s_k, k*, gaps, N_0, beside the real limit.

    The paper's two lemmas bound the answers of [italic]one[/italic] class that an item needs, without and with
    knowledge of its confusion matrix.  The oracle may mix all classes; it is the least that any policy pays.

    Example: [bold]quorate bounds p1-asym[/bold]
    """
    from quorate.studies.benchmarks import benchmarks
    from quorate.studies.instance_file import load_instance

    found = benchmarks(load_instance(instance), alpha)
    if json:
        print_json(found)
        return
    print_table(
        ["class", "price", "c(0)", "c(1)", "s_k", "gap"],
        [(one["class"], one["price"], *one["accuracy"], one["s"], one["gap"]) for one in found["classes"]],
        title=f"{found['instance']}: s_k is price per nat of evidence, matrix unknown; k* = {found['k_star']}",
    )
    print_table(
        ["class", "label 0", "label 1", "cost", "known, 0", "known, 1", "cost "],
        [
            (one["class"], *one["answers_unknown"], one["cost_unknown"], *one["answers_known"], one["cost_known"])
            for one in found["classes"]
        ],
        title=f"Least expected answers of one class by true label, matrix unknown or known; alpha {found['alpha']}",
    )
    totals = [
        ("cost per item of exploring, one answer of each class", found["explore_cost"]),
        ("least cost per item with k* alone, matrix unknown", found["benchmark_cost"]),
        ("  the same for the worst prior", found["worst_case_cost"]),
        ("least cost per item of any policy (oracle, matrices known)", found["oracle_cost"]),
    ]
    print_table(["all classes together, per item", "cost"], totals)
    print_table(
        ["", "part", "items"],
        [(one["theorem"], one["part"], _power_of_ten(one["log10"])) for one in found["theorems"]],
        title="Items from which on the theorems speak, gamma = gamma_a = gamma_b = 1/4; estimates within 0.1",
    )
    for one in found["theorems"]:
        if one["reason"]:
            say(f"{one['theorem']}, {one['part']}: {one['reason']}.")


@app.command()
def exact(
    instance: Instance,
    rule: Annotated[str, typer.Option(help="direction-test, mixture, cbs, bias-identification or mle.")],
    alpha: Alpha = None,
    json: Json = False,
) -> None:
    """Enumerate a stopping rule on each class of a known world: no sampling, the sums are the values.

    A rule that needs the confusion matrix (bias-identification, mle) is given the true one.

    Example: [bold]quorate exact p1-asym --rule direction-test --alpha 0.05[/bold]
    """
    from quorate.studies import rules
    from quorate.studies.instance_file import load_instance

    world = load_instance(instance)
    level = rules.checked_level(world, alpha, least=0.0)
    found = [
        {
            "class": name,
            "price": price,
            "answers": one.mean_answers(world.prior),
            "answers_by_label": one.answers,
            "cost": one.cost(price, world.prior),
            "error": one.mean_error(world.prior),
            "error_by_label": one.error,
            "undecided": one.mean_undecided(world.prior),
            "undecided_by_label": one.undecided,
        }
        for name, price, one in zip(world.classes, world.price.tolist(), rules.exact(world, rule, level), strict=True)
    ]
    if json:
        print_json({"instance": world.name, "rule": rule, "alpha": level, "prior": world.prior, "classes": found})
        return
    rows = [
        (
            one["class"],
            one["price"],
            one["answers"],
            *one["answers_by_label"],
            one["cost"],
            *one["error_by_label"],
            0 if max(one["undecided_by_label"]) < _NOTHING else one["undecided"],
        )
        for one in found
    ]
    print_table(
        ["class", "price", "answers", "label 0", "label 1", "cost", "error 0", "error 1", "undecided"],
        rows,
        title=f"{rule} on {world.name}, alpha {level}: per item, exact",
    )


@app.command()
def oracle(
    instance: Instance,
    alpha: Alpha = None,
    average: Annotated[bool, typer.Option("--average", help="Bound the average error, not both.")] = False,
    json: Json = False,
) -> None:
    """Compute the least possible cost of a known world: the limit that all costs are divided by.

    No policy, adaptive or randomised, that keeps the promise can pay less per item than the lower bound; the plan
    that is found pays the cost.  Both errors, given true label 0 and given 1, are at most ALPHA.

    Example: [bold]quorate oracle p1-asym --alpha 0.05[/bold]
    """
    from quorate.studies.instance_file import load_instance
    from quorate.studies.limit import feasible, limit
    from quorate.studies.rules import checked_level

    world = load_instance(instance)
    level = checked_level(world, alpha)
    plan = limit(world, level, average=average)
    found = {
        "instance": world.name,
        "alpha": level,
        "promise": "average error" if average else "both conditional errors",
        "cost": plan.cost,
        "lower_bound": plan.lower_bound if feasible(plan) else math.nan,
        "gap": plan.gap if feasible(plan) else math.nan,
        "error_0": plan.error[0],
        "error_1": plan.error[1],
        "undecided": plan.undecided,
        "answers": dict(zip(world.classes, plan.asks.tolist(), strict=True)),
        "weights": plan.weight,
    }
    if json:
        print_json(found)
        return
    rows = [
        *(
            [
                ("cost", number(plan.cost)),
                ("no policy can pay less than", number(plan.lower_bound)),
                ("gap between the two", f"{100 * plan.gap:.2g} %"),
            ]
            if feasible(plan)
            else [("plan that labels every item", "none found"), ("cost of what can be labelled", number(plan.cost))]
        ),
        ("error on true label 0, 1", ", ".join(map(number, plan.error))),
        ("undecided", number(plan.undecided)),
        *((f"answers of {name}", number(k)) for name, k in found["answers"].items()),
        ("weights of the mixed policies", ", ".join(number(w, 3) for w in plan.weight)),
    ]
    print_table(["per item", "value"], rows, title=f"{world.name}, alpha {level}, {found['promise']}")


def _power_of_ten(log10: float | None) -> str:
    if log10 is None:
        return "–"
    return f"10^{log10:.1f}" if math.isfinite(log10) else number(log10)
