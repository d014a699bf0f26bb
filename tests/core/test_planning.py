"""The oracle plan: figures that are known, bounds that must hold, symmetries, and the look-up that plays it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.core.hashing import uniform
from quorate.core.planning.forward import Start, Worlds, follow
from quorate.core.planning.lookup import compiled
from quorate.core.planning.master import mix_policies
from quorate.core.planning.oracle import oracle
from quorate.core.planning.pool import UNITS, Pool, evidence, log_odds_of
from quorate.errors import InputError
from quorate.model import NO_CAP, UNDECIDED, Items, Stage, Task, said, say
from quorate.studies.instances import BUILT_IN, Instance
from quorate.studies.simulate import run_one, task_of

ASYM, SYM = BUILT_IN["p1-asym"], BUILT_IN["p1-sym"]


class Fixed:
    """A policy that plays one plan on all items."""

    name = "fixed"
    promise = "none"

    def __init__(self, plan):
        self.plan = plan

    def stages(self, task, view):
        yield Stage("plan", np.arange(task.items), self.plan)


@pytest.mark.parametrize(
    ("instance", "alpha", "average", "cost"),
    [
        (ASYM, 0.05, False, 4.91), (ASYM, 0.01, False, 7.82), (ASYM, 0.001, False, 11.83),
        (SYM, 0.05, False, 8.42), (SYM, 0.01, False, 14.08), (SYM, 0.001, False, 21.89),
        (ASYM, 0.05, True, 4.81), (ASYM, 0.01, True, 7.81), (ASYM, 0.001, True, 11.82),
    ],
)  # fmt: skip
def test_the_figures_of_the_document(instance, alpha, average, cost):
    plan = oracle(instance.accuracy, instance.price, alpha=alpha, average=average)
    assert plan.cost == pytest.approx(cost, abs=0.011)
    assert 0 <= plan.gap < 0.005
    assert plan.undecided == 0
    error = plan.error.mean() if average else plan.error.max()
    assert error == pytest.approx(alpha, rel=1e-6)
    assert len(plan.table) <= 3
    assert plan.weight.min() > 1e-9  # no policy is carried along that no item uses


def optimal_and_within_bounds(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 6))
    accuracy = rng.uniform(0.6, 0.999, (classes, 2))
    price = 10 ** rng.uniform(-1, 1, classes)
    alpha, prior = 10 ** rng.uniform(-3, -0.5), rng.uniform(0.02, 0.98)
    plan = oracle(accuracy, price, alpha=alpha, prior=prior)
    assert plan.error.max() <= alpha * (1 + 1e-9)
    assert plan.undecided < 1e-6
    assert -1e-6 <= plan.gap < 0.005
    looser = oracle(accuracy, price, alpha=alpha, prior=prior, average=True)
    assert looser.cost <= plan.cost * 1.001
    more = oracle(np.vstack([accuracy, [0.8, 0.7]]), np.append(price, 1.0), alpha=alpha, prior=prior)
    assert more.lower_bound <= plan.cost * 1.001


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_optimal_and_within_bounds(seed):
    optimal_and_within_bounds(seed)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_optimal_and_within_bounds_on_any_instance(seed):
    optimal_and_within_bounds(seed)


def test_symmetries():
    base = oracle(ASYM.accuracy, ASYM.price, alpha=(0.05, 0.02), prior=0.3)
    swapped = oracle(ASYM.accuracy[:, ::-1], ASYM.price, alpha=(0.02, 0.05), prior=0.7)
    permuted = oracle(ASYM.accuracy[::-1], ASYM.price[::-1], alpha=(0.05, 0.02), prior=0.3)
    scaled = oracle(ASYM.accuracy, ASYM.price * 1000, alpha=(0.05, 0.02), prior=0.3)
    for other, factor in ((swapped, 1), (permuted, 1), (scaled, 1000)):
        assert other.cost == pytest.approx(base.cost * factor, rel=0.001)
    assert base.error == pytest.approx([0.05, 0.02], rel=1e-6)


@pytest.mark.parametrize(
    ("c", "alpha"), [pytest.param(0.505, 0.05, marks=pytest.mark.slow), (0.55, 0.05), (0.55, 0.01)]
)
def test_one_poor_class_costs_what_wald_says(c, alpha):
    """With tiny steps an optimal plan is Wald's test: (1 - 2 a) log((1-a)/a) / information answers."""
    plan = oracle([(c, c)], [1.0], alpha=alpha)
    step = np.log(c / (1 - c))
    wald = (1 - 2 * alpha) * np.log((1 - alpha) / alpha) / ((2 * c - 1) * step)
    assert plan.cost == pytest.approx(wald, rel=0.02)
    assert plan.gap < 0.005


def test_certainty_is_no_special_case():
    assert oracle([(1.0, 1.0)], [2.0], alpha=0.05).cost == pytest.approx(0.9 * 2.0)  # guess 5 % each way
    useless = oracle([(0.5, 0.5)], [1.0], alpha=0.05)
    assert (useless.cost, round(useless.undecided, 6)) == (0.0, 1.0)
    assert oracle(ASYM.accuracy, ASYM.price, alpha=0.05, prior=0.02, average=True).cost == 0.0
    free = oracle([(0.8, 0.8), (0.9, 0.9)], [0.0, 1.0], alpha=0.05)
    assert free.asks[1] < 0.01
    reversed_class = oracle([(0.2, 0.2)], [1.0], alpha=0.05)
    assert reversed_class.cost == pytest.approx(oracle([(0.8, 0.8)], [1.0], alpha=0.05).cost, rel=1e-3)


def test_caps_limit_and_are_planned_for():
    free = oracle(ASYM.accuracy, ASYM.price, alpha=0.05).cost
    some = oracle(ASYM.accuracy, ASYM.price, alpha=0.05, cap=[3] * 5).cost
    once = oracle(ASYM.accuracy, ASYM.price, alpha=0.05, cap=[1] * 5).cost
    assert free < some < once < ASYM.price.sum()
    lonely = oracle([(0.8, 0.8)], [1.0], alpha=0.05, cap=[1])
    assert lonely.error.max() <= 0.05 + 1e-9
    assert lonely.undecided == pytest.approx(1.0)  # no guessing: the bound is on decided items
    crowd = oracle(np.tile([0.75, 0.75], (12, 1)), np.ones(12), alpha=0.05, cap=[4] * 12)  # 5^12 states: cut to 256
    assert crowd.pool.states <= 256
    assert crowd.error.max() <= 0.05 + 1e-9


def test_evidence_in_hand_is_worth_what_it_saves():
    plan = oracle(ASYM.accuracy, ASYM.price, alpha=0.05)
    pool = Pool.of(ASYM.accuracy, ASYM.price)
    jumps = np.round(pool.evidence[0] * UNITS).astype(np.int64)
    likelihood = np.array([[0.94, 0.10], [0.06, 0.90]])  # P(answer | label) of class 1
    start = Start(jumps, np.zeros(2, np.int64), likelihood)
    helped = oracle(ASYM.accuracy, ASYM.price, alpha=0.05, start=start)
    assert plan.cost - ASYM.price[0] - 0.001 <= helped.cost < plan.cost
    assert helped.gap < 0.005


def test_forward_evaluation_against_enumeration():
    """Every sequence of answers of a short plan, weighed by hand."""
    plan = oracle([(0.9, 0.8), (0.7, 0.85)], [2.0, 1.0], alpha=0.1, cap=[2, 3])
    look = compiled(plan)
    accuracy, price = plan.pool.accuracy, plan.pool.price
    wrong, cost = np.zeros(2), 0.0
    edges = np.concatenate([[0.0], np.cumsum(plan.weight)])
    for low, high in pairwise(edges):
        todo = [(np.zeros((2, 2), np.int64), np.array([high - low, high - low]))]
        while todo:
            counts, mass = todo.pop()
            used = counts.sum(axis=1)
            row = Items(counts[None], used[None], (used < [2, 3])[None], np.array([(low + high) / 2]))
            action = int(look.act(row)[0])
            if action < 0:
                wrong += mass * [action == say(1), action == say(0)]
                continue
            cost += price[action] * mass.mean()
            for answer in (0, 1):
                more = counts.copy()
                more[action, answer] += 1
                right = accuracy[action]
                chance = np.array([right[0] if answer == 0 else 1 - right[0], right[1] if answer else 1 - right[1]])
                todo.append((more, mass * chance))
    assert wrong == pytest.approx(plan.error, abs=1e-6)
    assert cost == pytest.approx(plan.cost, abs=1e-6)


def test_worlds_average():
    worlds = Worlds(np.stack([ASYM.accuracy, ASYM.accuracy * 0.95]), np.array([0.5, 0.4]))
    plan = oracle(ASYM.accuracy, ASYM.price, alpha=0.05, worlds=worlds, longest=200)
    each = []
    for d in (slice(0, 1), slice(1, 2)):
        alone = Worlds(worlds.accuracy[d], worlds.prior[d])
        errors = [follow(table, plan.pool, alone, Start.fresh(0.0, 0, 2)).error for table in plan.table]
        each.append(plan.weight @ np.array(errors))
    assert np.mean(each, axis=0) == pytest.approx(
        plan.error, abs=5e-5
    )  # with a cap, waves below alpha/1000 are let go
    assert plan.error.max() <= 0.05 + 1e-9
    assert each[0].max() < 0.045 < 0.055 < each[1].max()


@pytest.mark.parametrize("prior", [0.5, 0.85])
def test_played_on_items_it_costs_and_errs_as_computed(prior):
    world = Instance("w", ASYM.classes, ASYM.accuracy, ASYM.price, prior=prior, alpha=0.05)
    plan = oracle(world.accuracy, world.price, alpha=0.05, prior=prior)
    outcome = run_one(world, Fixed(compiled(plan)), task_of(world, 60_000, 12))
    assert outcome.cost.mean() == pytest.approx(plan.cost, abs=4 * outcome.cost.std() / 60_000**0.5)
    for label in (0, 1):
        n = (outcome.truth == label).sum()
        assert outcome.error(label) == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / n) ** 0.5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_look_up_is_total_and_blind_to_order_and_company(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 5))
    cap = rng.choice([1, 2, 5, NO_CAP], classes)
    look = compiled(oracle(rng.uniform(0.55, 0.99, (classes, 2)), rng.uniform(1, 9, classes), alpha=0.05, cap=cap))
    counts = rng.integers(0, 4, (300, classes, 2)).astype(np.int16)
    used = (counts.sum(axis=2) + rng.integers(0, 2, (300, classes))).astype(np.int16)
    is_open = (used < cap) & (rng.random((300, classes)) < 0.8)
    items = Items(counts, used, is_open, uniform(seed, np.arange(300)))
    action = look.act(items)
    asks = action >= 0
    assert is_open[asks, action[asks]].all()
    assert np.isin(action[~asks], [UNDECIDED, say(0), say(1)]).all()
    order = rng.permutation(300)
    shuffled = Items(counts[order], used[order], is_open[order], items.uniform[order])
    assert (look.act(shuffled) == action[order]).all()
    alone = [look.act(Items(counts[[j]], used[[j]], is_open[[j]], items.uniform[[j]]))[0] for j in range(40)]
    assert alone == action[:40].tolist()
    p = look.confidence(items)
    assert ((p >= 0) & (p <= 1)).all()
    assert ((said(action) < 0) | (np.abs(look.evidence(items)) < 200)).all()


def test_the_master_mixes_like_a_linear_programme():
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    for _ in range(50):
        n, m = int(rng.integers(2, 30)), int(rng.integers(1, 3))
        cost = np.concatenate([[50.0], rng.uniform(0, 20, n)])
        error = np.vstack([np.zeros(m), rng.uniform(0, 0.3, (n, m))])
        weight, multiplier, value = mix_policies(cost, error, np.full(m, 0.05))
        exact = linprog(cost, A_ub=error.T, b_ub=np.full(m, 0.05), A_eq=np.ones((1, n + 1)), b_eq=[1.0])
        assert value == pytest.approx(exact.fun, rel=1e-9)
        assert (weight @ error <= 0.05 + 1e-12).all()
        assert weight.sum() == pytest.approx(1.0)
        assert multiplier == pytest.approx(-exact.ineqlin.marginals, abs=1e-6)


def test_log_odds_add_without_rounding():
    weights = evidence(np.random.default_rng(0).uniform(0.5, 0.99, (6, 2))).ravel()
    assert sum(weights) == sum(weights[::-1]) == float(weights[np.argsort(np.abs(weights))].sum())
    assert float(log_odds_of(1.0)) == 64.0


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": 0.0}, {"alpha": 1.0}, {"prior": 1.5}, {"prior": float("nan")}, {"accuracy": [(1.2, 0.5)]},
        {"accuracy": [0.5]}, {"price": [1.0, 2.0]},
    ],
)  # fmt: skip
def test_bad_input_is_named(bad):
    good = {"accuracy": [(0.9, 0.9)], "price": [1.0], "alpha": 0.05} | bad
    with pytest.raises(InputError, match="got"):
        oracle(good.pop("accuracy"), good.pop("price"), **good)


def test_deciding_costs_about_one_pass_over_the_counts():
    import time

    look = compiled(oracle(ASYM.accuracy, ASYM.price, alpha=0.05))
    n = 200_000
    counts = np.random.default_rng(1).integers(0, 3, (n, 5, 2)).astype(np.int16)
    items = Items(counts, counts.sum(axis=2), np.ones((n, 5), np.bool_), uniform(1, np.arange(n)))

    def seconds(work):
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    ratio = min(seconds(lambda: look.act(items)) for _ in range(5)) / min(
        seconds(lambda: counts.sum(axis=(1, 2))) for _ in range(5)
    )
    assert ratio < 6  # the pass takes about 16 ns an item, so this is the bar of 100 ns


def test_a_task_is_all_it_needs():
    task = Task(price=ASYM.price, answers_per_item=ASYM.caps, alpha=0.05, uniform=uniform(1, np.arange(10)), seed=1)
    assert (oracle(ASYM.accuracy, task.price, alpha=task.alpha, cap=task.answers_per_item).pool.states) == 1


def test_few_answers_per_item_lead_to_classes_that_say_more(monkeypatch):
    """Twenty answers of the cheapest class decide three items in five; of better classes, all."""
    models, price = [(0.65, 0.7), (0.8, 0.85), (0.93, 0.95)], [0.05, 0.5, 5.0]
    plan = oracle(models, price, alpha=0.05, longest=20)
    assert plan.undecided < 0.001
    assert (plan.error <= 0.05 + 1e-9).all()
    assert plan.cost < 2
    monkeypatch.setattr("quorate.core.planning.oracle.HURRY", ())
    assert oracle(models, price, alpha=0.05, longest=20).undecided > 0.3
