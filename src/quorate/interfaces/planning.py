"""What a forecast needs to know, read from an instance or a campaign file; and its answer as plain data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from quorate.campaign.forecast import ANY_PRIOR, VAGUE, Forecast, Possible, draw_worlds, pseudo_counts, task_of
from quorate.campaign.outlook import Outlook
from quorate.campaign.remaining import possible_worlds, remaining
from quorate.errors import SpecError
from quorate.interfaces.places import items_of, open_campaign, started
from quorate.model import FloatArray, Task
from quorate.money import MICROS, currency_of, micros
from quorate.spec import CampaignFile, read_campaign
from quorate.studies.instance_file import load_instance

FIRM: Final = 400.0  # pseudo-counts behind a prior that an instance states


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The campaign to forecast; ``in_hand`` is its own forecast if it has answers already."""

    name: str
    policy: str | None
    classes: tuple[str, ...]
    currency: str
    items: int
    budget: float | None
    task: Task
    possible: Possible
    in_hand: Forecast | None = None
    parallel: int = 1  # questions out at once about one item


def question(
    source: str, *, items: int | None, alpha: float | None, budget: str | None, seed: int, parallel: int | None = None
) -> Question:
    """Read the source and draw the worlds.

    >>> asked = question("p1-asym", items=500, alpha=0.01, budget="9000 EUR", seed=1)
    >>> asked.items, asked.budget, asked.currency, len(asked.possible)
    (500, 9000.0, 'EUR', 19)
    """
    if alpha is not None and not 0 < alpha < 0.5:
        raise SpecError(f"alpha is {alpha}.", hint="It must be between 0 and 0.5, both ends excluded.")
    if items is not None and items < 1:
        raise SpecError(f"items is {items}.", hint="It must be a whole number of 1 or more.")
    money = None if budget is None else micros(budget) / MICROS
    currency = "" if budget is None else currency_of(budget)
    if _is_campaign(source):
        found = _of_campaign(read_campaign(source), items, alpha, money, currency, seed)
    else:
        found = _of_instance(source, 1000 if items is None else items, alpha, money, currency, seed)
    return found if parallel is None else replace(found, parallel=parallel)


def _is_campaign(source: str) -> bool:
    """A campaign file names its labels; an instance has none."""
    try:
        return "labels" in tomllib.loads(Path(source).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False  # whoever reads it next says what is wrong


def _of_instance(
    source: str, items: int, alpha: float | None, budget: float | None, currency: str, seed: int
) -> Question:
    instance = load_instance(source)
    spans = np.full((len(instance.classes), 2), np.nan) if instance.between is None else instance.between
    drawn_from, told = _beliefs(instance.accuracy, spans)
    level = instance.alpha if alpha is None else alpha
    task = Task(instance.price, instance.caps, level, np.zeros(0), seed, belief=told)
    prior = (FIRM * (1 - instance.prior), FIRM * instance.prior)
    possible = draw_worlds(drawn_from, prior, seed=seed)
    return Question(instance.name, None, instance.classes, currency, items, budget, task, possible)


def _beliefs(accuracy: FloatArray, spans: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """What the worlds are drawn from, and what the policy may know: nothing of accuracies given exactly."""
    known = np.isnan(spans[:, 0])
    drawn_from = np.stack([accuracy, np.full_like(accuracy, np.nan)], axis=-1)
    told = np.tile(np.array(VAGUE), (len(accuracy), 2, 1))
    for k in np.flatnonzero(~known):
        drawn_from[k] = told[k] = pseudo_counts(*spans[k])
    return drawn_from, None if known.all() else told


def _of_campaign(
    place: CampaignFile, items: int | None, alpha: float | None, budget: float | None, currency: str, seed: int
) -> Question:
    spec = place.spec
    task = task_of(spec, alpha=alpha, seed=seed)
    assert task.belief is not None
    possible, in_hand = draw_worlds(task.belief, ANY_PRIOR, seed=seed), None
    if started(place):
        with open_campaign(str(place.path), read_only=True) as campaign:
            learned = possible_worlds(campaign, seed=seed)
            if learned is not None:
                possible = learned
                in_hand = remaining(campaign, seed=seed) if items is None and alpha is None else None
            count = int((campaign.fold.gold < 0).sum())
    else:
        count = 0 if items is not None else sum(1 for _ in items_of(place))
    return Question(
        spec.name,
        spec.policy,
        tuple(one.name for one in spec.classes),
        currency or spec.currency,
        count if items is None else items,
        spec.budget / MICROS if budget is None else budget,
        task,
        possible,
        in_hand,
        spec.parallel,
    )


def to_json(answer: Outlook, asked: Question) -> dict[str, Any]:
    """The outlook as plain data; costs in the currency."""

    def one(forecast: Forecast) -> dict[str, Any]:
        low, high = forecast.interval()
        return {
            "policy": forecast.policy,
            "cost": forecast.mean,
            "cost_low": low,
            "cost_high": high,
            "level": 0.9,
            "cost_per_item": forecast.mean / forecast.items,
            "answers": dict(zip(asked.classes, forecast.answers.mean(axis=0), strict=True)),
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
        "oracle_undecided": answer.oracle_undecided,
        "with_answers_in_hand": None if asked.in_hand is None else one(asked.in_hand),
        "policies": [one(forecast) for forecast in answer.forecasts],
        "parallel": asked.parallel,
        "at_once": [
            {
                "parallel": one.parallel,
                "items": one.items,
                "answers_per_item": one.answers,
                "cost_per_item": one.per_item,
                "rounds": one.rounds,
                "extra_answers": answer.extra_answers(one),
            }
            for one in answer.at_once
        ],
        "accuracies": {
            name: [{"alpha": r.alpha, "cost_per_item": r.per_item, "oracle": r.oracle} for r in rungs]
            for name, rungs in answer.ladder.items()
        },
        "budget_buys_alpha": {
            name: None if asked.budget is None else answer.bought_by(name, asked.budget) for name in answer.ladder
        },
        "certified_worth_from": answer.proof_from,
    }
