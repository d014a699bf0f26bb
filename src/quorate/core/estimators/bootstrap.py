"""Intervals for estimators that have none of their own: draw the items again, estimate again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from quorate.core.estimators.patterns import Patterns
from quorate.model import Estimate

_ENDS: Final = (0.025, 0.975)


def with_intervals(
    estimate: Callable[[Patterns], Estimate], data: Patterns, draws: int, rng: np.random.Generator
) -> Estimate:
    """The estimate with 95 % percentile intervals from ``draws`` bootstrap samples; without intervals for 0 draws.

    A sample of N items is one multinomial draw of the pattern weights, so its cost does not depend on N.

    >>> from quorate.core.estimators.one_coin import one_coin
    >>> data = Patterns(np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]], np.int8), np.array([400, 90, 110, 400]))
    >>> found = with_intervals(one_coin, data, draws=200, rng=np.random.default_rng(1))
    >>> found.accuracy_hat[2].round(2), found.interval[2, 0].round(2)
    (array([0.88, 0.88]), array([0.85, 0.89]))
    """
    best = estimate(data)
    items = int(data.weight.sum())
    if draws == 0 or items == 0:
        return best
    weights = rng.multinomial(items, data.weight / items, size=draws)
    again = [estimate(Patterns(data.answers, weight)) for weight in weights]
    ends = np.quantile([one.accuracy_hat for one in again], _ENDS, axis=0)
    low, high = np.quantile([one.prior_hat for one in again], _ENDS).tolist()
    return replace(best, interval=np.moveaxis(ends, 0, -1), prior_interval=(low, high))
