"""The rest of the bill, while a campaign runs: the forecast of `quorate.campaign.forecast`, with the answers in hand.

The worlds are draws from what the answers leave possible; in each of them the campaign is replayed with the answers
that it has, and played on from there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from quorate.campaign.decider import NOBODY_LEFT
from quorate.campaign.forecast import WORLDS, Forecast, Played, Possible, Recorded, asked_caps, play
from quorate.core.estimators.em import compress, fit_counts
from quorate.core.estimators.posterior import posterior_draws
from quorate.core.hashing import generator, mix, uniform
from quorate.core.worlds import World, symmetric_errors
from quorate.facts import FAILURES
from quorate.model import FloatArray, IntArray, Task
from quorate.ports import Policy

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign
    from quorate.campaign.outlook import Mapper

_WORLDS, _TRUTH = 0x52, 0x53  # streams of dice


def remaining(campaign: Campaign, *, seed: int = 0, worlds: int = WORLDS, run: Mapper = map) -> Forecast | None:
    """What a running campaign will have cost at its end; None where `possible_worlds` has no say.

    Items that are still to come in a later cohort are not in it.
    """
    cohort, possible = campaign.fold.cohort, possible_worlds(campaign, seed=seed, worlds=worlds)
    if cohort is None or possible is None:
        return None
    decider, asks = cohort.decider, campaign.decisions().asks
    task = replace(decider.task, answers_per_item=asked_caps(campaign.spec))
    exhausted = asks["failure"] == FAILURES.index("exhausted")
    recorded = Recorded(cohort.local(asks["item"]), asks["ordinal"], np.where(exhausted, NOBODY_LEFT, asks["label"]))
    one = partial(
        _play_on, policy=campaign.policy, task=task, counts=decider.counts, recorded=recorded,
        possible=possible, seed=seed, parallel=decider.parallel,
    )  # fmt: skip
    played = list(run(one, range(worlds)))
    spent = campaign.ledger.money().spent / 1e6
    used = decider.used.sum(axis=0)
    return Forecast(
        campaign.policy.name,
        decider.task.items,
        np.array([one.cost for one in played]) + spent,
        np.array([one.answers + used for one in played]),
        np.array([one.rounds for one in played], np.float64),
        np.array([one.undecided for one in played]),
        np.array([one.wrong for one in played]),
    )


def possible_worlds(campaign: Campaign, *, seed: int = 0, worlds: int = WORLDS) -> Possible | None:
    """Worlds that the answers so far leave possible; None before the first, or with other than two labels."""
    cohort = campaign.fold.cohort
    if cohort is None or cohort.number or not campaign.fold.folded or len(campaign.spec.labels) != 2:
        return None
    task = cohort.decider.task
    rows = compress(cohort.decider.counts)
    fit = fit_counts(rows.unique, weight=rows.weight, belief=task.belief, prior_belief=task.prior_belief)
    dice = generator(seed, _WORLDS)
    return Possible(*posterior_draws(rows.unique, rows.weight, fit, draws=worlds, rng=dice))


def _play_on(
    world: int, *, policy: Policy, task: Task, counts: IntArray, recorded: Recorded, possible: Possible, seed: int,
    parallel: int,
) -> Played:  # fmt: skip
    accuracy, prior = possible.accuracy[world], float(possible.prior[world])
    dice = int(mix(seed, _TRUTH, world) >> np.uint64(2))
    truth = (uniform(dice, np.arange(task.items)) < _posterior(counts, accuracy, prior)).astype(np.int8)
    drawn = World(symmetric_errors(accuracy), np.array([1 - prior, prior]), dice)
    return play(policy, task, drawn, recorded, truth, parallel=parallel)


def _posterior(counts: IntArray, accuracy: FloatArray, prior: float) -> FloatArray:
    """P(true label 1) of each item in a world of these accuracies."""
    one = np.log(accuracy[:, 1]) - np.log1p(-accuracy[:, 0])  # what an answer 1 adds to the log-odds
    zero = np.log1p(-accuracy[:, 1]) - np.log(accuracy[:, 0])
    found: FloatArray = expit(logit(prior) + counts[:, :, 1] @ one + counts[:, :, 0] @ zero)
    return found
