"""The forecast is a campaign played in advance: its interval covers, and answers in hand count."""

import numpy as np
import pytest
from scipy.stats import beta

from quorate.campaign.decider import Decider
from quorate.campaign.engine import Campaign
from quorate.campaign.forecast import (
    NOTHING,
    PLAYED,
    Recorded,
    draw_worlds,
    forecast,
    games,
    play,
    play_one,
    pseudo_counts,
    task_for,
)
from quorate.campaign.remaining import remaining
from quorate.core.worlds import World, symmetric_errors
from quorate.model import NO_CAP, Task, WorkerClass
from quorate.platforms.simulator import Simulator
from quorate.registry import lookup

BELIEF = np.array([[pseudo_counts(0.6, 0.9)] * 2] * 3)
PRICES = np.array([0.05, 0.03, 0.01])


def task(seed, alpha=0.05):
    return Task(PRICES, np.full(3, NO_CAP), alpha, np.zeros(0), seed)


def forecast_of(name, items, seed, worlds=19):
    possible = draw_worlds(BELIEF, (20, 20), seed=seed, count=worlds)
    policy = lookup("policies", name)
    played = {game: play_one(policy, task(seed), possible, *game) for game in games(items, worlds)}
    return forecast(name, items, played)


def test_somewhere_between_is_a_ninety_percent_belief():
    right, wrong = pseudo_counts(0.6, 0.9)
    assert beta.cdf(0.9, right, wrong) - beta.cdf(0.6, right, wrong) == pytest.approx(0.9, abs=0.01)


def test_every_world_keeps_the_assumption_and_exact_accuracies():
    belief = np.array([[pseudo_counts(0.45, 0.75)] * 2, [(0.93, np.nan), (0.51, np.nan)]])
    worlds = draw_worlds(belief, (20, 80), seed=3, count=200)
    assert (worlds.accuracy[:, 0] > 0.5).all()
    assert (worlds.accuracy[:, 1] == [0.93, 0.51]).all()
    assert worlds.prior.mean() == pytest.approx(0.8, abs=0.02)


FORECASTS, TRUTHS = 4, 15


def fewest_hits(level=0.005):
    """The hits that so many forecasts, each judged by so many truths, undercut with probability ``level``."""
    draws = np.random.default_rng(1).normal(size=(20_000, FORECASTS, 19 + TRUTHS))
    worlds, truths = draws[:, :, :19], draws[:, :, 19:]
    hits = (truths >= worlds.min(2, keepdims=True)) & (truths <= worlds.max(2, keepdims=True))
    return np.quantile(hits.sum((1, 2)), level)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mle", "calibrated", "certified"])
def test_the_interval_covers_the_real_bill_at_its_level(name):
    policy = lookup("policies", name)
    hits = 0
    for seed in range(FORECASTS):
        low, high = forecast_of(name, 60, seed=5000 + seed).interval()
        truths = draw_worlds(BELIEF, (20, 20), seed=90_000 + seed, count=TRUTHS)
        bills = [play_one(policy, task(700_000 + seed), truths, items=60, world=w).cost for w in range(TRUTHS)]
        hits += sum(low <= bill <= high for bill in bills)
    assert hits >= fewest_hits(), f"{hits} of {FORECASTS * TRUTHS} bills in a 90 % interval"


def test_the_ranks_are_those_of_an_exchangeable_sample():
    bills = forecast_of("votes-3", 100, seed=1)
    values = np.random.default_rng(5).normal(size=(20_000, 20))
    bills.cost.setflags(write=True)
    bills.cost[:] = np.arange(19)
    assert bills.interval(0.9) == (0, 18)
    inside = (values[:, 0] >= values[:, 1:].min(1)) & (values[:, 0] <= values[:, 1:].max(1))
    assert inside.mean() == pytest.approx(18 / 20, abs=0.01)


def test_a_longer_campaign_is_extended_and_lands_near_the_played_one():
    items = 4 * PLAYED
    extended = forecast_of("cbs", items, seed=11, worlds=3)
    possible = draw_worlds(BELIEF, (20, 20), seed=11, count=3)
    real = [play_one(lookup("policies", "cbs"), task(11), possible, items=items, world=w).cost for w in range(3)]
    assert extended.mean == pytest.approx(np.mean(real), rel=0.03)


def test_asking_several_at_once_takes_fewer_rounds_and_no_fewer_answers():
    policy, whole = lookup("policies", "asym-imcw"), task_for(task(4), items=60)
    world = World(symmetric_errors([[0.9, 0.8], [0.7, 0.8], [0.8, 0.8]]), np.array([0.5, 0.5]), seed=4)
    slow, fast = (play(policy, whole, world, parallel=n) for n in (1, 4))
    assert fast.rounds < slow.rounds
    assert slow.answers.sum() < fast.answers.sum() <= slow.answers.sum() + 3 * 60  # at most n − 1 too many an item


@pytest.mark.parametrize("parallel", [1, 3])
def test_the_rest_of_a_running_campaign_is_played_as_it_asks(parallel):
    """With every answer in hand nothing is left to buy, however many were out at once."""
    accuracy = {"a": [0.9, 0.8], "b": [0.8, 0.9], "c": [0.8, 0.8]}
    campaign = Campaign.create(
        "memory:", name="rest", items=[str(j) for j in range(40)], labels=["0", "1"], budget="1000 USD",
        classes=[WorkerClass(name, price="0.05") for name in accuracy], policy="asym-imcw", parallel=parallel,
    )  # fmt: skip
    campaign.run(dict.fromkeys(accuracy, Simulator.of(accuracy, seed=3)))
    rest = remaining(campaign, worlds=2)
    assert rest.cost == pytest.approx([campaign.ledger.money().spent / 1e6] * 2)


def test_answers_in_hand_are_not_bought_again():
    policy = lookup("policies", "mle")
    world = World(symmetric_errors([[0.9, 0.8], [0.7, 0.8], [0.8, 0.8]]), np.array([0.5, 0.5]), seed=4)
    whole = task_for(task(4), items=60)
    alone = play(policy, whole, world)
    truth = world.truth(np.arange(60))
    decider = Decider(policy, whole)
    told = {"item": [], "ordinal": [], "label": []}
    for _ in range(4):
        asks = decider.wants()
        labels = world.answers(asks.item, asks.ordinal, asks.worker_class, truth[asks.item])
        decider.tell(asks.item, asks.ordinal, asks.worker_class, labels)
        for name, column in zip(told, (asks.item, asks.ordinal, labels), strict=True):
            told[name].append(column)
    recorded = Recorded(**{name: np.concatenate(columns) for name, columns in told.items()})
    rest = play(policy, whole, world, recorded)
    spent = decider.used.sum(axis=0)
    assert (rest.answers + spent == alone.answers).all()
    assert rest.cost == pytest.approx(alone.cost - spent @ PRICES)
    assert (rest.wrong == alone.wrong).all()
    assert play(policy, whole, world, NOTHING).cost == alone.cost
