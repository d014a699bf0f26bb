"""The paper's policies on the decider: what they ask, what they cost, what they choose, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.campaign.decider import REASONS, Decider
from quorate.core import information
from quorate.core.estimators.one_coin import OneCoin
from quorate.core.exact import performance
from quorate.core.policies.explore_exploit import (
    PAPER,
    WITH_MIXTURE,
    ExploreExploit,
    OneEach,
    direction,
    direction_cost,
    one_answer_each,
)
from quorate.core.policies.rule_plan import RulePlan
from quorate.core.stopping.bias import BiasIdentification
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.fixed import FixedMLE
from quorate.core.stopping.hoeffding import HoeffdingTest
from quorate.errors import SpecError, TooFewWorkerClasses
from quorate.model import HOLD, NO_CAP, NO_LABEL, UNDECIDED, Estimate, Items, Stage, Task, View, said
from quorate.ports import Plan, Policy
from quorate.studies.instances import BUILT_IN, Instance
from quorate.studies.simulate import Outcome, run_one, task_of

ASYM, SYM = BUILT_IN["p1-asym"], BUILT_IN["p1-sym"]
ALL = {**PAPER, **WITH_MIXTURE}
TAIL = 30_000


def run(name: str, instance: Instance, items: int, seed: int, **changes: object) -> Outcome:
    task = task_of(instance, items, seed, **{"item_cap": TAIL, **changes})  # type: ignore[arg-type]
    return run_one(instance, ALL[name], task)


def k_hat(outcome: Outcome) -> int:
    plan = outcome.decider.stages[1].plan
    assert isinstance(plan, RulePlan)
    return plan.worker_class


def rows(counts: object) -> Items:
    """Items of one class with these (zeros, ones)."""
    table = np.asarray(counts, np.int16)[:, None, :]
    n = len(table)
    return Items(table, table.sum(axis=2), np.ones((n, 1), np.bool_), np.zeros(n))


# ------------------------------------------------------------------------------------------ plans

RULES = [DirectionTest(0.05), HoeffdingTest(0.05), BiasIdentification(0.05, 0.8, 0.7), FixedMLE(0.05, 0.8, 0.7)]


@pytest.mark.parametrize("rule", RULES)
def test_the_plan_does_what_the_rule_says_in_and_beyond_its_table(rule: DirectionTest) -> None:
    rng = np.random.default_rng(1)
    counts = np.concatenate([rng.integers(0, 40, (300, 2)), rng.integers(0, 16_000, (300, 2)), [[0, 0], [257, 256]]])
    plan = RulePlan(rule, worker_class=0)
    action = plan.act(rows(counts))
    verdict = rule.verdict(counts[:, 0], counts[:, 1])
    assert action.dtype == np.int16
    assert np.array_equal(said(action), verdict)
    assert np.all(action[verdict < 0] == 0)
    assert np.array_equal(plan.evidence(rows(counts)), counts[:, 1] - counts[:, 0])
    assert np.isnan(plan.confidence(rows(counts))).all()


def test_the_plan_gives_up_at_its_cap_and_not_before() -> None:
    plan = RulePlan(DirectionTest(0.05), worker_class=0, cap=9)
    assert plan.act(rows([[4, 4], [5, 4], [0, 9], [300, 300]])).tolist() == [0, UNDECIDED, -4, UNDECIDED]


@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 600)), min_size=1, max_size=20), st.integers(1, 700))
def test_the_plan_is_total_and_looks_at_each_row_alone(counts: list[tuple[int, int]], cap: int) -> None:
    plan = RulePlan(HoeffdingTest(0.05), worker_class=0, cap=cap)
    together = plan.act(rows(counts))
    assert together.tolist() == [int(plan.act(rows([one]))[0]) for one in counts]
    assert np.all((together == 0) | (together == UNDECIDED) | (said(together) >= 0))
    assert all(sum(one) < cap for one, action in zip(counts, together, strict=True) if action == 0)


def test_plans_and_policies_keep_to_their_protocols() -> None:
    assert all(isinstance(policy, Policy) for policy in ALL.values())
    assert isinstance(OneEach(), Plan)
    assert isinstance(RulePlan(DirectionTest(0.05), 0), Plan)
    assert all(name == policy.name and policy.promise for name, policy in ALL.items())


def test_one_each_skips_what_is_closed_and_holds_at_the_end() -> None:
    open_ = np.array([[True, True], [False, True], [False, False], [True, True]])
    used = np.array([[0, 0], [0, 0], [0, 0], [1, 2]])
    items = Items(np.zeros((4, 2, 2), int), used, open_, np.zeros(4))
    assert OneEach().act(items).tolist() == [0, 1, HOLD, HOLD]
    assert np.isnan(OneEach().evidence(items)).all()
    assert np.isnan(OneEach().confidence(items)).all()


def test_of_several_answers_one_is_drawn_evenly() -> None:
    counts = np.tile(np.array([[[3, 1]]]), (40_000, 1, 1))
    answers = one_answer_each(counts, np.random.default_rng(3))
    assert answers.mean() == pytest.approx(0.25, abs=0.01)


# ------------------------------------------------------------------------------------------ campaigns


@pytest.mark.parametrize("name", list(ALL))
def test_a_campaign_explores_once_then_exploits_one_class(name: str) -> None:
    done = run(name, ASYM, 400, seed=5)
    decider, best = done.decider, k_hat(done)
    assert [(s.name, s.fixed, s.fresh) for s in decider.stages] == [
        ("explore", True, False),
        ("exploit", False, True),
    ]
    others = np.delete(decider.used, best, axis=1)
    assert np.all(others == 1)
    assert np.all(decider.used[:, best] > 1)
    assert done.decided.all()
    assert done.stage_cost["explore"] == pytest.approx(400 * ASYM.price.sum())
    estimate = decider.stages[1].estimate
    assert estimate is not None
    assert estimate.accuracy_hat.shape == (5, 2)
    assert decider.stages[1].notes == estimate.notes


class Watched:
    """A policy that keeps what its view showed at the barrier."""

    name, promise = "watched", "none"

    def __init__(self, policy: ExploreExploit) -> None:
        self.policy = policy

    def stages(self, task: Task, view: View) -> Iterator[Stage]:
        plan = self.policy.stages(task, view)
        yield next(plan)
        self.explored = view.counts.copy()
        yield from plan


@pytest.mark.parametrize("name", list(ALL))
def test_every_label_follows_from_the_rule_on_fresh_answers(name: str) -> None:
    watched = Watched(ALL[name])
    done = run_one(ASYM, watched, task_of(ASYM, 200, 6, item_cap=TAIL))
    plan = done.decider.stages[1].plan
    assert isinstance(plan, RulePlan)
    fresh = (done.decider.counts - watched.explored)[:, plan.worker_class].astype(int)
    assert np.array_equal(plan.rule.verdict(fresh[:, 0], fresh[:, 1]), done.decider.verdict)
    before = [plan.rule.verdict(*(fresh - last).clip(0).T) for last in np.eye(2, dtype=int)]
    assert np.all((before[0] < 0) | (before[1] < 0))  # without the last answer, whichever it was, it was open


COSTS = {  # (instance, least, most): algorithms, section 1.7; explore included
    "asym-imcw": (ASYM, 84, 89),
    "cbs": (ASYM, 47, 50.5),
    "mle": (ASYM, 31, 41.5),
    "abi": (ASYM, 23.5, 25.5),
    "asym-imcw+mixture": (ASYM, 47, 52),
}


@pytest.mark.parametrize("name", COSTS)
def test_campaign_costs_are_the_documents(name: str) -> None:
    instance, least, most = COSTS[name]
    done = [run(name, instance, 1000, seed=40 + r) for r in range(24)]
    assert least < np.mean([one.cost.mean() for one in done]) < most
    assert all(one.error() <= 0.05 for one in done)


@pytest.mark.parametrize("name", ["asym-imcw", "sym-imcw", "cbs", "asym-imcw+mixture"])
def test_campaign_cost_given_the_class_is_the_exact_one(name: str) -> None:
    """Simulation against enumeration, two-sided: a lost factor 2 in a threshold is tens of standard errors away."""
    instance, n = (SYM if name.startswith("sym") else ASYM), 4000
    done = run(name, instance, n, seed=77)
    best = k_hat(done)
    stage = done.decider.stages[1]
    assert isinstance(stage.plan, RulePlan)
    exact = performance(stage.plan.rule, instance.accuracy[best])
    t = np.arange(len(exact.stopped))
    fresh = done.decider.used[:, best] - 1
    for label in (0, 1):
        mine = fresh[done.truth == label]
        sd = np.sqrt(t**2 @ exact.stopped[:, label] - exact.answers[label] ** 2)
        assert abs(mine.mean() - exact.answers[label]) < 4 * sd / np.sqrt(len(mine))


@pytest.mark.slow
def test_how_often_the_best_class_is_found() -> None:
    """P(k̂ = k*) = .33 / .46 at N = 1,000 / 10,000; estimates drawn as the campaign's explore stage draws them."""
    for n, chance in ((1000, 0.33), (10_000, 0.46)):
        hits = []
        for r in range(150):
            rng = np.random.default_rng((9, n, r))
            label = (rng.random(n) < 0.5).astype(np.int64)
            answers = np.where(rng.random((5, n)) < ASYM.accuracy[:, label], label, 1 - label).astype(np.int8)
            found = PAPER["asym-imcw"].estimator.estimate(answers, rng=rng).accuracy_hat
            hits.append(information.k_star(direction_cost(np.maximum(found, 0.5), ASYM.price)) == 3)
        assert abs(np.mean(hits) - chance) < 3 * np.sqrt(chance * (1 - chance) / 150)


# ------------------------------------------------------------------------------------------ symmetries


def test_the_price_unit_does_not_matter() -> None:
    cheap = Instance("cheap", ASYM.classes, ASYM.accuracy, ASYM.price / 1000)
    here, there = run("asym-imcw", ASYM, 300, seed=3), run("asym-imcw", cheap, 300, seed=3)
    assert np.array_equal(here.decider.used, there.decider.used)
    assert np.array_equal(here.decider.verdict, there.decider.verdict)


@given(st.permutations(range(5)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_classes_does_not_matter_to_the_choice(order: list[int]) -> None:
    estimate = ASYM.accuracy
    cost = direction_cost(estimate, ASYM.price)
    permuted = direction_cost(estimate[order], ASYM.price[order])
    assert order[information.k_star(permuted)] == information.k_star(cost)


def test_several_answers_in_flight_change_nothing_but_the_bill() -> None:
    task = task_of(ASYM, 200, 8, item_cap=TAIL)
    done = run_one(ASYM, PAPER["asym-imcw"], task, parallel=4)
    assert done.decided.all()
    assert done.error() <= 0.05
    assert done.stage_cost["explore"] == pytest.approx(200 * ASYM.price.sum())  # one answer each, never more


# ------------------------------------------------------------------------------------------ what goes wrong


class _Fixed:
    """An estimator that has been told."""

    def __init__(self, accuracy: object) -> None:
        self.accuracy = np.asarray(accuracy, np.float64)

    def estimate(self, answers: np.ndarray, *, rng: np.random.Generator) -> Estimate:
        return Estimate(self.accuracy, 0.5)


def told(accuracy: object) -> ExploreExploit:
    return ExploreExploit(_Fixed(accuracy), direction_cost, direction, "told", "none")


def test_estimates_below_one_half_are_raised_and_never_chosen() -> None:
    accuracy = np.array([[0.1, 0.1], [0.7, 0.7], [0.95, 0.3]])
    instance = Instance("w", ("a", "b", "c"), np.array([[0.8, 0.8]] * 3), np.ones(3))
    done = run_one(instance, told(accuracy), task_of(instance, 20, 1, item_cap=TAIL))
    assert k_hat(done) == 1


def test_when_no_class_is_informative_the_first_is_asked_and_the_cap_ends_it() -> None:
    instance = Instance("coins", ("a", "b", "c"), np.full((3, 2), 0.5), np.ones(3))
    for name in ("sym-imcw", "asym-imcw", "abi", "mle"):
        done = run(name, instance, 60, seed=2, item_cap=40)
        assert done.decider.done
        assert np.all(done.decider.used.sum(axis=1) <= 40)
        assert set(np.unique(done.decider.verdict)) <= {UNDECIDED, 0, 1}
    stuck = ExploreExploit(_Fixed(np.full((3, 2), 0.5)), direction_cost, PAPER["mle"].stop, "stuck", "none")
    done = run_one(instance, stuck, task_of(instance, 10, 2, item_cap=40))
    assert k_hat(done) == 0
    assert np.all(done.decider.verdict == UNDECIDED)
    assert {REASONS[r] for r in done.decider.reason} == {"cap"}


def test_perfect_classes_are_no_trouble() -> None:
    instance = Instance("oracles", ("a", "b", "c"), np.ones((3, 2)), np.array([1.0, 2.0, 3.0]))
    for name in ALL:
        done = run(name, instance, 30, seed=4)
        assert done.error() == 0
        assert k_hat(done) == 0


def test_a_class_that_has_no_second_answer_is_not_chosen() -> None:
    instance = Instance(
        "llm", ("llm", "b", "c"), np.array([[0.99, 0.99], [0.8, 0.8], [0.8, 0.8]]), np.ones(3),
        answers_per_item=np.array([1, NO_CAP, NO_CAP]),
    )  # fmt: skip
    done = run("sym-imcw", instance, 200, seed=4)
    assert k_hat(done) in (1, 2)
    assert np.all(done.decider.used[:, 0] == 1)
    assert done.decided.all()


def test_gold_items_are_left_alone() -> None:
    gold = np.full(50, -1)
    gold[[3, 7]] = 1
    done = run("asym-imcw", ASYM, 50, seed=1, gold=gold)
    assert np.all(done.decider.used[[3, 7]] == 0)
    assert np.all(done.decider.verdict[[3, 7]] == -1)
    assert np.all(np.delete(done.decider.verdict, [3, 7]) >= 0)


def test_answers_that_never_come_leave_a_campaign_that_ends() -> None:
    """Every other answer is an abstention: never counted, never awaited."""
    task = task_of(ASYM, 80, 12, item_cap=400)
    decider = Decider(PAPER["asym-imcw"], task)
    while not decider.done:
        asks = decider.wants()
        labels = np.where((asks.item + asks.ordinal) % 2 == 0, NO_LABEL, asks.item % 2)
        decider.tell(asks.item, asks.ordinal, asks.worker_class, labels)
    assert np.array_equal(decider.verdict, np.arange(80) % 2)


@pytest.mark.parametrize("name", list(ALL))
def test_fewer_than_three_classes_are_refused_before_anything_is_asked(name: str) -> None:
    pair = Instance("pair", ("a", "b"), ASYM.accuracy[:2], ASYM.price[:2])
    with pytest.raises(TooFewWorkerClasses, match="got 2") as caught:
        Decider(ALL[name], task_of(pair, 10, 1))
    assert "calibrated" in caught.value.hint


def test_more_than_two_labels_are_refused() -> None:
    with pytest.raises(SpecError, match="3"):
        Decider(PAPER["asym-imcw"], task_of(ASYM, 10, 1, labels=3))


@pytest.mark.parametrize("name", list(ALL))
def test_an_alpha_that_the_rule_refuses_is_refused_before_anything_is_asked(name: str) -> None:
    with pytest.raises(SpecError):
        Decider(ALL[name], task_of(ASYM, 10, 1, alpha=1.5))


def test_no_items_is_a_campaign_that_is_done() -> None:
    task = Task(ASYM.price, ASYM.caps, 0.05, np.zeros(0), seed=1)
    for policy in ALL.values():
        assert Decider(policy, task).done


def test_the_same_seed_makes_the_same_campaign() -> None:
    for name in ("sym-imcw", "asym-imcw"):
        one, two = run(name, SYM, 150, seed=9), run(name, SYM, 150, seed=9)
        assert np.array_equal(one.decider.used, two.decider.used)
        assert np.array_equal(one.decider.verdict, two.decider.verdict)


def test_sym_imcw_is_said_in_the_same_words() -> None:
    assert PAPER["sym-imcw"] == ExploreExploit(
        OneCoin(), direction_cost, direction, "sym-imcw", PAPER["sym-imcw"].promise
    )
