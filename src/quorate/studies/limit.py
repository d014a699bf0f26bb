"""The limit: what the cheapest policy that knows the matrices pays.  All costs are divided by it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from quorate.model import NO_CAP
from quorate.studies.instances import Instance

if TYPE_CHECKING:
    from quorate.core.planning.oracle import OraclePlan

_NONE: Final = 1e-9


def limit(instance: Instance, alpha: float | None = None, *, average: bool = False) -> OraclePlan:
    """The oracle plan of an instance: both conditional errors at most alpha, or their average.

    >>> from quorate.studies.instances import BUILT_IN
    >>> round(limit(BUILT_IN["p1-sym"]).cost, 2)
    8.42
    """
    level = instance.alpha if alpha is None else alpha
    pairs = tuple((float(c0), float(c1)) for c0, c1 in instance.accuracy)
    caps = tuple(int(cap) for cap in instance.caps)
    return _limit(pairs, tuple(instance.price.tolist()), caps, instance.prior, level, average)


def least_cost(instance: Instance, alpha: float | None = None, *, average: bool = False) -> float:
    """What the cheapest policy pays that labels every item and keeps the promise; nan where none can.

    >>> from quorate.studies.instance_file import parse_instance
    >>> coin = '[[class]]\\nname = "coin"\\nprice = 1\\naccuracy = [0.8, 0.8]\\nanswers_per_item = 1'
    >>> least_cost(parse_instance(coin))
    nan
    """
    plan = limit(instance, alpha, average=average)
    return plan.cost if feasible(plan) else math.nan


def feasible(plan: OraclePlan) -> bool:
    """Does the plan label every item?  Caps on answers may make that impossible."""
    return plan.undecided < _NONE


@lru_cache(maxsize=64)
def _limit(
    accuracy: tuple[tuple[float, float], ...],
    price: tuple[float, ...],
    caps: tuple[int, ...],
    prior: float,
    alpha: float,
    average: bool,
) -> OraclePlan:
    from quorate.core.planning.oracle import oracle

    cap = None if min(caps) == NO_CAP else np.array(caps)
    return oracle(accuracy, price, alpha=alpha, prior=prior, average=average, cap=cap)
