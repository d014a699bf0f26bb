"""A campaign's life as its user sees it."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from tests.campaign.worlds import CLASSES, LABELS, answer_of, create, finish, reference

from quorate.campaign.engine import Campaign
from quorate.errors import AnswerError, InputError, LifecycleError, SpecError
from quorate.files import open_items
from quorate.model import Answer, WorkerClass
from quorate.stores import open_store


@pytest.fixture
def store():
    with open_store("memory:") as one:
        yield one


def test_opening_again_is_going_on(store):
    campaign = create(store, policy="asym-imcw")
    for _ in range(3):
        campaign.tell_many([answer_of(one) for one in campaign.ask(7)])
    again = finish(Campaign.open(store))
    assert again.decisions().digest == reference(policy="asym-imcw").digest


def test_a_replay_equals_the_life(store):
    live = finish(create(store, policy="asym-imcw", items=40), np.random.default_rng(1))
    replayed = Campaign.open(store, read_only=True)
    for name in ("verdict", "reason", "counts", "used", "asked", "confidence", "evidence", "concluded_in"):
        assert np.array_equal(live.fold.column(name, 0), replayed.fold.column(name, 0), equal_nan="e" in name)
    assert str(list(live.labels())) == str(list(replayed.labels()))


@pytest.mark.parametrize("parallel", [1, 2, 5])
@pytest.mark.parametrize("budget", [10**9, 300, 150])
def test_the_order_of_arrival_is_not_in_the_log(parallel, budget):
    plain = {"policy": "asym-imcw", "items": 9, "parallel": parallel, "budget": budget}
    expected = reference(**plain).digest
    for seed in range(4):
        order = np.random.default_rng(seed)
        assert finish(create(**plain), order, several=3 + seed).decisions().digest == expected


def test_two_processes_on_one_ledger(store):
    """Two campaigns over one ledger: each folds what the other buys, and nothing is bought twice."""
    create(store, policy="asym-imcw", items=12)
    ledger = store.open("test")
    both = [Campaign(ledger), Campaign(ledger)]
    order = np.random.default_rng(4)
    out = [[], []]
    for turn in range(3000):
        one, mine = both[turn % 2], out[turn % 2]
        mine += one.ask(int(order.integers(1, 6)))
        if mine:
            order.shuffle(mine)
            one.tell_many([answer_of(ask) for ask in mine[:3]])
            del mine[:3]
        elif one.done and not out[1 - turn % 2]:
            break
    for one in both:
        one.sync()
        assert one.done
        assert one.decisions().digest == reference(policy="asym-imcw", items=12).digest


def test_what_becomes_of_answers():
    campaign = create()
    first, second = campaign.ask(2)
    answer = answer_of(first)
    other = Answer(first.key, LABELS[1 - LABELS.index(answer.label)])
    stranger = Answer("someone-else-1-2", "yes")
    beyond = Answer(f"{campaign.uid}-1-2-77", "yes")
    assert campaign.outcomes([answer, stranger, beyond]) == ["recorded", "stray", "stray"]
    assert campaign.outcomes([answer, other]) == ["known", "conflict"]
    assert not campaign.tell(answer)
    with pytest.raises(AnswerError, match="maybe"):
        campaign.tell_many([answer_of(second), Answer(first.key, "maybe")])
    assert campaign.tell(answer_of(second)), "nothing of the refused batch was recorded"
    assert campaign.status()["kept_apart"] == {"conflict": 1, "stray": 2}


def test_abstentions_and_failures_are_outcomes():
    campaign = create(items=1)
    (ask,) = campaign.ask(5)
    assert campaign.tell(Answer(ask.key, None))
    (ask,) = campaign.ask(5)
    assert campaign.tell(Answer(ask.key, None, failure="exhausted"))
    assert campaign.ask(5) == []
    (row,) = campaign.labels()
    assert (row["status"], row["answers"], row["cost"]) == ("undecided", 0, 7)


def test_a_late_answer_is_admitted_at_the_next_barrier(store):
    campaign = create(store, policy="asym-imcw", items=6)
    asks = campaign.ask(100)
    late = asks[0]
    campaign.tell(Answer(late.key, None, failure="expired", price=late.price))
    assert campaign.outcomes([answer_of(late)]) == ["late"]
    before = campaign.fold.column("counts", 0)[0].sum()
    campaign.tell_many([answer_of(one) for one in asks[1:]])
    finish(campaign)
    counts = campaign.fold.column("counts", 0)[0].sum()
    used = campaign.fold.column("used", 0)[0].sum()
    assert before == 0
    assert counts == used, "the failed ask has its answer after all"
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_items_that_come_later_are_the_next_cohort(store):
    campaign = create(store, policy="asym-imcw", items=6)
    asks = campaign.ask(3)
    campaign.add_items({"late-1": "x", "late-2": "y", "late-3": "z"})
    campaign.tell_many([answer_of(one) for one in asks])
    finish(campaign)
    assert campaign.done
    assert [len(one.rows) for one in campaign.fold.cohorts] == [6, 3]
    assert all(row["status"] != "open" for row in campaign.labels())
    campaign.add_items(["one more"])
    assert not campaign.done
    finish(campaign)
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_more_money_reopens_what_was_left_for_money(store):
    campaign = finish(create(store, policy="asym-imcw", items=20, budget=400, item_cap=60))
    left = [row["item"] for row in campaign.labels() if row["reason"] == "budget"]
    assert left
    assert campaign.done
    campaign.set_budget(10**6)
    assert not campaign.done
    finish(campaign)
    assert not [row for row in campaign.labels() if row["reason"] == "budget"]
    assert len(campaign.fold.cohorts) == 2
    assert campaign.fold.cohorts[1].decider.task.items == len(left)
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_a_budget_that_is_cut_under_way_ends_in_verdicts(store):
    campaign = create(store, policy="votes-3", items=6)
    asks = campaign.ask(4)
    campaign.tell_many([answer_of(one) for one in asks[:2]])
    campaign.set_budget(4 * 7)
    campaign.tell_many([answer_of(one) for one in asks[2:]])
    finish(campaign)
    assert campaign.done
    assert {row["reason"] for row in campaign.labels()} == {"budget"}
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest
    with pytest.raises(SpecError, match="budget"):
        campaign.set_budget(1)


def test_a_paused_class_is_left_out(store):
    campaign = create(store, policy="asym-imcw", items=10)
    campaign.tell_many([answer_of(one) for one in campaign.ask(5)])
    campaign.pause("a")
    finish(campaign)
    asks = campaign.decisions().asks
    bought = (asks["class"] == 0) & (asks["failure"] == 0)
    assert bought.sum() == 5
    assert campaign.done
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_a_class_that_charges_too_much_is_halted_until_a_human_says_so(store):
    campaign = create(store, items=3)
    first, *rest = campaign.ask(3)
    assert campaign.tell(Answer(first.key, "yes", price=8))
    campaign.tell_many([answer_of(one) for one in rest])
    assert campaign.ask(10) == []
    (halted,) = [one for one in campaign.status()["classes"] if one["why"]]
    assert "0.000008" in halted["why"]
    campaign = Campaign.open(store)
    assert campaign.ask(10) == []
    campaign.resume("a")
    assert len(campaign.ask(10)) == 3


def test_a_paused_campaign_buys_nothing_and_takes_answers():
    campaign = create()
    asks = campaign.ask(2)
    campaign.pause()
    with pytest.raises(LifecycleError, match="paused"):
        campaign.ask()
    assert campaign.tell(answer_of(asks[0]))
    campaign.resume()
    assert campaign.ask()
    campaign.finish()
    with pytest.raises(LifecycleError, match="closed"):
        campaign.ask()


def test_a_closed_campaign_says_so(tmp_path):
    url = f"sqlite:///{tmp_path}/one.db"
    with create(url) as campaign:
        finish(campaign)
    with pytest.raises(LifecycleError, match="closed here"):
        campaign.ask()
    with Campaign.open(url) as again:
        assert again.decisions().digest == reference().digest


def test_gold_items_are_never_paid_for():
    campaign = Campaign.create(
        name="g", items=[{"id": "a", "gold": "yes"}, {"id": "b", "gold": None}], gold="gold", labels=LABELS,
        classes=CLASSES, budget=100, policy="votes-3",
    )  # fmt: skip
    finish(campaign)
    gold, other = campaign.labels()
    assert (gold["label"], gold["status"], gold["cost"]) == ("yes", "gold", 0)
    assert other["status"] == "labelled"


def test_changed_prices_hold_for_the_next_cohort(store):
    campaign = finish(create(store, items=2))
    campaign.change(prices={"a": 9}, accuracy=0.9)
    campaign.add_items(["x"])
    finish(campaign)
    assert sorted(set(campaign.decisions().asks["price"].tolist())) == [7, 9]
    assert campaign.fold.cohorts[1].decider.task.alpha == 0.1
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest
    with pytest.raises(SpecError, match="policy"):
        campaign.change(policy="votes-5")


def test_a_warm_start_comes_from_what_was_learned(store):
    campaign = finish(create(store, policy="calibrated", items=60, item_cap=30))
    belief, _ = campaign.fold.beliefs(campaign.spec)
    assert np.array(belief).sum() > 3 * 14
    campaign.add_items([f"more {j}" for j in range(30)])
    finish(campaign)
    assert campaign.fold.cohorts[1].decider.task.belief.tolist() == belief
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"labels": ["yes"]}, "two different labels"),
        ({"labels": ["a", "a"]}, "two different labels"),
        ({"classes": []}, "worker class"),
        ({"classes": [WorkerClass("x", price=1)] * 2}, "'x'"),
        ({"accuracy": 0.4}, "accuracy"),
        ({"accuracy": float("nan")}, "accuracy"),
        ({"budget": "lots"}, "lots"),
        ({"policy": "nonsense"}, "nonsense"),
        ({"policy": "calibrated", "labels": ["a", "b", "c"]}, "two labels"),
        ({"policy": "asym-imcw", "classes": CLASSES[:2]}, "3|three"),
        ({"name": "a b"}, "'a b'"),
        ({"items": {"a": {1, 2}}}, "'a'"),
        ({"items": [{"id": "a"}, {"id": "a"}]}, "comes twice"),
        ({"items": 7}, "int"),
        ({"item_cap": 0}, "item_cap"),
    ],
)
def test_a_wrong_spec_is_refused_whole(store, changes, says):
    good = {"name": "x", "items": ["a"], "labels": LABELS, "classes": CLASSES, "budget": 100, "policy": "votes-3"}
    with pytest.raises(InputError, match=says):
        Campaign.create(store, **{**good, **changes})
    assert store.campaigns() == []


def test_everything_shown_is_plain_json():
    campaign = create(policy="asym-imcw", items=30, item_cap=60)
    campaign.tell_many([answer_of(one) for one in campaign.ask(10)])
    json.dumps(campaign.status())
    json.dumps(campaign.explain("i3"))
    finish(campaign)
    status = json.loads(json.dumps(campaign.status(), allow_nan=False))
    assert status["items"]["labelled"] + status["items"]["undecided"] == 30
    assert status["money"]["spent"] == campaign.decisions().asks["charged"].sum() == campaign.labels().cost.sum()
    story = campaign.explain("i3")
    (row,) = [one for one in campaign.labels() if one["item"] == "i3"]
    assert (story["label"], story["status"], story["cost"]) == (row["label"], row["status"], row["cost"])
    assert len(story["asks"]) == sum(campaign.fold.column("used", 0)[3])
    with pytest.raises(InputError, match="zzz"):
        campaign.explain("zzz")


def test_the_estimates_cover_the_truth():
    campaign = finish(create(policy="votes-5", items=600, item_cap=60))
    status = campaign.status()
    (low_0, high_0), (low_1, high_1) = status["classes"][0]["interval"]
    assert low_0 < 0.9 < high_0
    assert low_1 < 0.9 < high_1
    assert status["error"]["low"] < 0.00856 < status["error"]["high"] + 0.01
    (health,) = status["health"]
    assert health["answers"] == 5
    assert health["p_value"] > 0.001


def test_money_that_comes_before_a_barrier_counts_from_there_on(store):
    campaign = create(store, policy="asym-imcw", items=20, budget=20 * 12 + 5, item_cap=60)
    asks = campaign.ask(1000)
    campaign.tell_many([answer_of(one) for one in asks[:-1]])
    campaign.set_budget(10**6)
    campaign.tell_many([answer_of(one) for one in asks[-1:]])
    finish(campaign)
    assert len(campaign.fold.cohorts) == 1 or campaign.fold.undecided_for([5]).size == 0
    assert campaign.fold.cohorts[0].decider.purse.budget == 10**6
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_an_event_of_ours_does_not_hide_what_others_told(store):
    create(store, policy="asym-imcw", items=6)
    ledger = store.open("test")
    here, there = Campaign(ledger), Campaign(ledger)
    there.tell_many([answer_of(one) for one in there.ask(4)])
    here.set_budget(10**8)
    assert here.fold.folded == 4
    there.tell_many([answer_of(one) for one in there.ask(2)])
    here.add_items(["x"])
    assert here.fold.folded == 6
    finish(here)
    assert Campaign.open(store).decisions().digest == here.decisions().digest


@pytest.mark.parametrize("policy", ["calibrated", "certified"])
def test_policies_that_replan_do_so_alike_whatever_the_order(policy):
    plain = {"policy": policy, "items": 24, "item_cap": 30, "budget": 300}
    expected = reference(**plain)
    assert 5 in expected.verdicts["reason"], "the money runs out"
    campaign = finish(create(**plain), np.random.default_rng(1), several=6)
    assert campaign.decisions().digest == expected.digest


def test_a_trusted_class_is_not_asked_by_policies():
    classes = [*CLASSES, WorkerClass("judge", price=1, trusted=True)]
    campaign = Campaign.create(
        name="t", items=[str(j) for j in range(20)], labels=LABELS, classes=classes, budget=10**6,
        policy="calibrated", item_cap=20,
    )  # fmt: skip
    finish(campaign)
    assert campaign.done
    assert 3 not in campaign.decisions().asks["class"]


def test_a_worker_answers_an_item_once(store):
    campaign = create(store, items=1)
    for worker, counted in (("ann", 1), ("ann", 1), ("bob", 2)):
        (ask,) = campaign.ask()
        assert campaign.tell(Answer(ask.key, "yes", worker=worker))
        assert campaign.fold.column("counts", 0).sum() == counted
    (row,) = campaign.labels()
    assert (row["label"], row["answers"]) == ("yes", 2)
    assert campaign.ledger.money().spent == 3 * 7
    assert Campaign.open(store).decisions().digest == campaign.decisions().digest


def test_what_the_items_cost_is_what_was_spent(store):
    """Conflicts and late answers that were charged for, too."""
    campaign = create(store)
    first, second, third = campaign.ask(3)
    campaign.tell(Answer(first.key, "yes", price=5))
    assert not campaign.tell(Answer(first.key, "no", price=7))  # in conflict, and dearer
    campaign.tell(Answer(second.key, None, failure="expired"))
    assert not campaign.tell(Answer(second.key, "yes", price=3))  # late
    campaign.tell(Answer(third.key, "yes", worker="ann"))
    finish(campaign)
    spent = campaign.ledger.money().spent
    labels = list(campaign.labels())
    assert sum(row["cost"] for row in labels) == spent
    assert [campaign.explain(row["item"])["cost"] for row in labels] == [row["cost"] for row in labels]
    assert labels[0]["cost"] == 7 + 2 * 7


def test_a_large_file_becomes_a_campaign_in_little_memory_or_none_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.campaign.items.PIECE", 500)
    items, wide = 10_000, "x" * 2000
    file = tmp_path / "items.csv"
    file.write_text("id,text,gold\n" + "".join(f"item-{j},{wide},\n" for j in range(items)))
    plain = {"name": "large", "labels": ["0", "1"], "classes": CLASSES, "budget": 9, "policy": "votes-3"}
    tracemalloc.start()
    with Campaign.create(f"sqlite:///{tmp_path}/large.db", items=open_items(file), **plain) as campaign:
        assert campaign.fold.items == items
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * file.stat().st_size
    with file.open("a") as more:
        more.write(f"last,{wide},maybe\n")
    with pytest.raises(InputError, match="gold label 'maybe'"):
        Campaign.create(f"sqlite:///{tmp_path}/half.db", items=open_items(file), gold="gold", **plain)
    assert not (tmp_path / "half.db").exists()


def test_a_number_of_a_frame_that_json_has_not_is_refused():
    frame = pd.DataFrame({"id": ["a"], "size": [float("inf")]})
    crowd = [WorkerClass("crowd", price="0.05")]
    with pytest.raises(InputError, match="item 'a'"):
        Campaign.create("memory:", name="x", items=frame, labels=["p", "q"], budget="1 USD", classes=crowd)
