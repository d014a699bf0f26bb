"""The paper's benchmarks of a known world beside the real limit, as one record."""

from __future__ import annotations

from typing import Any

from quorate.core.information import (
    expected,
    gap,
    k_star,
    log_confidence,
    lower_bound,
    lower_bound_known,
    unit_cost,
)
from quorate.core.theorems import asymmetric_theorem, items_for_width, symmetric_theorem
from quorate.studies.instances import Instance
from quorate.studies.limit import least_cost
from quorate.studies.rules import checked_level


def benchmarks(instance: Instance, alpha: float | None = None) -> dict[str, Any]:
    """Both lemmas, s_k, k*, the gaps, the oracle and N_0 of both theorems.

    >>> from quorate.studies.instances import BUILT_IN
    >>> found = benchmarks(BUILT_IN["p1-asym"])
    >>> found["k_star"], round(float(found["benchmark_cost"]), 2), round(found["oracle_cost"], 2)
    ('class-4', 24.34, 4.91)
    """
    level = checked_level(instance, alpha)
    c, price, prior = instance.accuracy, instance.price, instance.prior
    unknown, known = lower_bound(c, level), lower_bound_known(c, level)
    s = unit_cost(c, price)
    best = k_star(s)
    return {
        "instance": instance.name,
        "alpha": level,
        "prior": prior,
        "classes": [
            {
                "class": name,
                "price": price[k],
                "accuracy": c[k],
                "answers_unknown": unknown[k],
                "answers_known": known[k],
                "cost_unknown": price[k] * expected(unknown[k], prior),
                "cost_known": price[k] * expected(known[k], prior),
                "s": s[k],
                "gap": gap(s)[k],
            }
            for k, name in enumerate(instance.classes)
        ],
        "k_star": instance.classes[best],
        "explore_cost": price.sum(),
        "benchmark_cost": price[best] * float(expected(unknown[best], prior)),
        "worst_case_cost": float(s[best]) * log_confidence(level),
        "oracle_cost": least_cost(instance, level),
        "theorems": [
            {"theorem": one.theorem, "part": one.part, "log10": one.log10, "reason": one.reason}
            for one in (
                *symmetric_theorem(c, price),
                *asymmetric_theorem(c, price, prior),
                *(items_for_width(c, prior) if len(c) > 1 else ()),
            )
        ],
    }
