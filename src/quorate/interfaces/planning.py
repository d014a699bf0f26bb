"""What a forecast needs to know, read from an instance or a campaign file; and its answer as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.campaign.forecast import Possible, draw_worlds, pseudo_counts
from quorate.campaign.outlook import Outlook
from quorate.errors import SpecError
from quorate.model import FloatArray, Task
from quorate.money import MICROS, currency_of, micros
from quorate.studies.instance_file import load_instance

FIRM = 400.0  # pseudo-counts behind an exactly known prior


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The campaign to forecast."""

    name: str
    classes: tuple[str, ...]
    currency: str
    items: int
    budget: float | None
    task: Task
    possible: Possible


def question(source: str, *, items: int | None, alpha: float | None, budget: str | None, seed: int) -> Question:
    """Read the source and draw the worlds.

    >>> asked = question("p1-asym", items=500, alpha=0.01, budget="9000 EUR", seed=1)
    >>> asked.items, asked.budget, asked.currency, len(asked.possible)
    (500, 9000.0, 'EUR', 19)
    """
    instance = load_instance(source)
    level = instance.alpha if alpha is None else alpha
    count = 1000 if items is None else items
    if not 0 < level < 0.5:
        raise SpecError(f"alpha is {level}.", hint="It must be between 0 and 0.5, both ends excluded.")
    if count < 1:
        raise SpecError(f"items is {count}.", hint="It must be a whole number of 1 or more.")
    spans = np.full((len(instance.classes), 2), np.nan) if instance.between is None else instance.between
    world_belief, policy_belief = _beliefs(instance.accuracy, spans)
    prior = (FIRM * (1 - instance.prior), FIRM * instance.prior)
    task = Task(instance.price, instance.caps, level, np.zeros(0), seed, belief=policy_belief)
    currency = currency_of(budget) if budget else ""
    return Question(
        instance.name,
        instance.classes,
        currency,
        count,
        micros(budget) / MICROS if budget else None,
        task,
        draw_worlds(world_belief, prior, seed=seed),
    )


def _beliefs(accuracy: FloatArray, spans: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """What the worlds are drawn from, and what the policy may know: nothing of accuracies given exactly."""
    known = np.isnan(spans[:, 0])
    worlds = np.stack([accuracy, np.full_like(accuracy, np.nan)], axis=-1)
    told = np.tile(np.array([5.0, 2.0]), (len(accuracy), 2, 1))
    for k in np.flatnonzero(~known):
        worlds[k] = told[k] = pseudo_counts(*spans[k])
    return worlds, None if known.all() else told


def to_json(answer: Outlook, asked: Question) -> dict[str, Any]:
    """The outlook as plain data; costs in the currency."""

    def one(forecast: Any) -> dict[str, Any]:
        low, high = forecast.interval()
        shares = zip(asked.classes, forecast.answers.mean(axis=0), strict=True)
        return {
            "policy": forecast.policy,
            "cost": forecast.mean,
            "cost_low": low,
            "cost_high": high,
            "level": 0.9,
            "cost_per_item": forecast.mean / answer.items,
            "answers": dict(shares),
            "rounds": forecast.rounds.mean(),
            "undecided": forecast.undecided.mean(),
            "wrong_0": forecast.wrong[:, 0].mean(),
            "wrong_1": forecast.wrong[:, 1].mean(),
            "budget_enough": None if asked.budget is None else forecast.covered_by(asked.budget),
        }

    return {
        "campaign": asked.name,
        "items": answer.items,
        "alpha": asked.task.alpha,
        "currency": asked.currency,
        "budget": asked.budget,
        "worlds": len(asked.possible),
        "seed": asked.task.seed,
        "oracle_per_item": answer.oracle,
        "policies": [one(forecast) for forecast in answer.forecasts],
        "accuracies": {
            name: [{"alpha": r.alpha, "cost_per_item": r.per_item, "oracle": r.oracle} for r in rungs]
            for name, rungs in answer.ladder.items()
        },
        "budget_buys_alpha": {
            name: None if asked.budget is None else answer.bought_by(name, asked.budget) for name in answer.ladder
        },
        "certified_worth_from": answer.proof_from,
    }
