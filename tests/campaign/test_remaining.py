"""The forecast of a running campaign: what is spent counts, what is told is not bought again, the end is covered."""

import numpy as np
import pytest

import quorate
from quorate.campaign.engine import Campaign
from quorate.campaign.remaining import possible_worlds, remaining
from quorate.core.hashing import item_hash
from quorate.core.worlds import World, symmetric_errors

ACCURACY = [[0.85, 0.8], [0.75, 0.78], [0.9, 0.92]]


def campaign_of(items=60):
    classes = [
        quorate.WorkerClass(name, price=price) for name, price in (("a", "0.02"), ("b", "0.01"), ("c", "0.05"))
    ]
    return Campaign.create(
        "memory:", name="x", items={f"i{j}": {} for j in range(items)}, labels=["0", "1"], classes=classes,
        budget="100 USD", policy="mle", seed=4,
    )  # fmt: skip


def answer(campaign, asks):
    world = World(symmetric_errors(ACCURACY), np.array([0.5, 0.5]), 9)
    for ask in asks:
        item = np.array([item_hash(ask.item)])
        truth = world.truth(item)
        label = world.answers(item, ask.ordinal, campaign.spec.class_named(ask.worker_class), truth)
        campaign.tell(quorate.Answer(ask.key, str(int(label[0]))))


def test_nothing_is_said_before_the_first_answer():
    assert remaining(campaign_of()) is None


def test_the_rest_adds_to_what_is_spent_and_the_end_lies_inside():
    campaign = campaign_of()
    while campaign.fold.folded < 250:
        answer(campaign, campaign.ask(20))
    midway = remaining(campaign)
    spent = campaign.ledger.money().spent / 1e6
    assert midway.cost.min() > spent
    while asks := campaign.ask(50):
        answer(campaign, asks)
    end = campaign.ledger.money().spent / 1e6
    low, high = midway.interval()
    assert low <= end <= high
    finished = remaining(campaign)
    assert finished.cost == pytest.approx(np.full(19, end))
    assert (finished.rounds == 0).all()


def test_worlds_come_from_the_answers():
    campaign = campaign_of(items=400)
    for _ in range(12):
        answer(campaign, campaign.ask(100))
    worlds = possible_worlds(campaign, worlds=200)
    assert worlds.accuracy.mean(axis=0) == pytest.approx(np.array(ACCURACY), abs=0.09)


def test_plan_is_a_method_and_speaks():
    campaign = campaign_of()
    before = campaign.plan(["votes-3"])
    assert [one.policy for one in before.forecasts] == ["mle", "votes-3"]
    assert before.in_hand is None
    answer(campaign, campaign.ask(40))
    after = campaign.plan()
    assert after.in_hand is not None
    assert "as it goes on" in str(after)
