"""What a study of simulated campaigns found, as one flat record: each mean beside its standard error."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.core.information import k_star, unit_cost
from quorate.studies.campaigns import Campaign, Study, exceeds
from quorate.studies.limit import least_cost
from quorate.studies.rules import exact_cost


def summary(study: Study) -> dict[str, Any]:
    """The record that ``quorate simulate --json`` prints; standard errors are over campaign means.

    ``oracle_cost`` is the least that a policy pays which keeps the same promise: both conditional errors, or (for a
    policy that promises no more) the average; nan where the classes' caps let no policy keep it for every item.

    ``error`` is the share of wrong labels among decided items, ``error_0`` and ``error_1`` the same by true label;
    ``exceed_fraction`` the share of campaigns with more wrong labels of either true label than an error of alpha
    explains (one-sided binomial tests at 2.5 %), or of both together where the promise is the average.
    ``k_star_fraction`` is P(k_hat = k*), ``best_class_fraction`` P(k_hat = the class that is really cheapest under
    the policy's rule): None where the policy settles on no class.
    """
    instance = study.instance
    record: dict[str, Any] = {
        "instance": instance.name,
        "policy": study.policy,
        "items": study.items,
        "campaigns": len(study.campaigns),
        "alpha": study.alpha,
        "promise": "average error" if study.average else "both conditional errors",
        "seed": study.seed,
    }

    def add(name: str, se_name: str, mean_and_se: tuple[float, float]) -> None:
        record[name], record[se_name] = mean_and_se

    add("cost_per_item", "cost_se", study.over(lambda one: one.cost))
    add("explore_cost", "explore_cost_se", study.over(lambda one: one.explore_cost))
    add("exploit_cost", "exploit_cost_se", study.over(lambda one: one.cost - one.explore_cost))
    add("answers_per_item", "answers_se", study.over(lambda one: one.answers))
    oracle_cost = least_cost(instance, study.alpha, average=study.average)
    record["oracle_cost"] = oracle_cost
    record["ratio"] = record["cost_per_item"] / oracle_cost
    record["ratio_se"] = record["cost_se"] / oracle_cost
    add("error", "error_se", study.over(lambda one: _share(sum(one.wrong), sum(one.decided))))
    for label in (0, 1):
        name = f"error_{label}"
        add(name, f"{name}_se", study.over(lambda one, i=label: _share(one.wrong[i], one.decided[i])))  # type: ignore[misc]
    add("undecided_fraction", "undecided_se", study.over(lambda one: 1 - sum(one.decided) / study.items))
    record["exceed_fraction"] = study.over(lambda one: float(_exceeds(one, study)))[0]
    return record | _class_choice(study)


def _class_choice(study: Study) -> dict[str, Any]:
    """How often the policy settled on the right class, by the paper's yardstick and by the exact one."""
    instance = study.instance
    star = k_star(unit_cost(instance.accuracy, instance.price))
    cost = exact_cost(instance, study.policy, study.alpha)
    best = None if cost is None else int(np.argmin(cost))
    return {
        "k_star": instance.classes[star],
        **_hits("k_star_fraction", study, star),
        "best_class": None if best is None else instance.classes[best],
        **_hits("best_class_fraction", study, best),
    }


def _hits(name: str, study: Study, k: int | None) -> dict[str, float | None]:
    if k is None or any(one.k_hat is None for one in study.campaigns):
        return {name: None, f"{name}_se": None}
    mean, se = study.over(lambda one: float(one.k_hat == k))
    return {name: mean, f"{name}_se": se}


def _exceeds(one: Campaign, study: Study) -> bool:
    if study.average:
        return bool(exceeds(sum(one.wrong), sum(one.decided), study.alpha))
    return bool(exceeds(one.wrong, one.decided, study.alpha).any())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan
