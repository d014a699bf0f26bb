"""The certified policy as a whole: its promise, its reach, its price."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from quorate.core.certified.evidence import EvidencePlan, FixedPlan
from quorate.core.policies.certified import Certified
from quorate.core.stopping.mixture import log_evidence
from quorate.model import NO_CAP, OPEN, UNDECIDED, Items
from quorate.ports import Plan, Policy
from quorate.studies.instances import BUILT_IN, Instance
from quorate.studies.simulate import Outcome, run_one, task_of


def made(
    accuracy: list[tuple[float, float]], price: list[float], prior: float = 0.5, caps: list[int] | None = None
) -> Instance:
    names = tuple(f"class-{k}" for k in range(len(price)))
    return Instance(
        "made", names, np.array(accuracy), np.array(price), prior,
        answers_per_item=None if caps is None else np.array(caps),
    )  # fmt: skip


def campaign(instance: Instance, items: int, seed: int, alpha: float = 0.05, **changes: object) -> Outcome:
    return run_one(instance, Certified(), task_of(instance, items, seed, alpha=alpha, **changes))


def drawn(seed: int) -> Instance:
    rng = np.random.default_rng([29, seed])
    m = int(rng.integers(1, 6))
    accuracy = rng.uniform(0.55, 0.99, (m, 2))
    return made([tuple(c) for c in accuracy], list(10 ** rng.uniform(0, 2, m)), float(rng.uniform(0.05, 0.95)))


def test_it_is_a_policy_with_a_promise_in_words() -> None:
    assert isinstance(Certified(), Policy)
    assert Certified().promise.startswith("certified: each item")
    assert isinstance(EvidencePlan((0,), 0.05), Plan)
    assert isinstance(FixedPlan((0,), 3), Plan)


@pytest.mark.slow
def test_errors_given_either_label_are_at_most_alpha() -> None:
    wrong, of = np.zeros(2), np.zeros(2)
    for seed in range(12):
        instance = drawn(seed)
        for campaign_seed in range(3):
            outcome = campaign(instance, 60, 100 * seed + campaign_seed, alpha=0.2)
            for label in (0, 1):
                among = outcome.decided & (outcome.truth == label)
                wrong[label] += (outcome.decider.verdict[among] != label).sum()
                of[label] += among.sum()
    assert (wrong <= binom.ppf(0.999, of, 0.2)).all()
    assert (wrong > 0).all()


def test_every_item_ends_with_a_label_or_a_reason() -> None:
    for items in (1, 2, 7, 40):
        outcome = campaign(BUILT_IN["p1-asym"], items, 5)
        decider = outcome.decider
        assert decider.done
        assert ((decider.verdict >= 0) | (decider.verdict == UNDECIDED)).all()
        assert (decider.reason > 0).all()


def test_no_items_is_no_trouble() -> None:
    assert campaign(BUILT_IN["p1-asym"], 0, 5).decider.done


@pytest.mark.parametrize("classes", [[2], [2, 3]])
def test_one_or_two_classes_are_enough(classes: list[int]) -> None:
    paper = BUILT_IN["p1-asym"]
    instance = made([tuple(c) for c in paper.accuracy[classes]], list(paper.price[classes]))
    outcome = campaign(instance, 250, 3)
    assert outcome.decided.mean() > 0.99
    assert max(outcome.error(0), outcome.error(1)) <= 0.05


def test_the_same_answers_make_the_same_decisions() -> None:
    one, two = (campaign(BUILT_IN["p1-sym"], 120, 9).decider for _ in range(2))
    assert (one.verdict == two.verdict).all()
    assert (one.used == two.used).all()
    assert [stage.name for stage in one.stages] == [stage.name for stage in two.stages]


def test_one_answer_of_one_capped_class_is_undecided_never_guessed() -> None:
    outcome = campaign(made([(0.95, 0.95)], [1.0], caps=[1]), 30, 1)
    assert (outcome.decider.verdict == UNDECIDED).all()


def test_capped_classes_together_decide_where_they_agree() -> None:
    instance = made([(0.95, 0.95)] * 8, [1.0] * 8, caps=[1] * 8)
    outcome = campaign(instance, 100, 1)
    assert outcome.decided.mean() > 0.5
    assert (outcome.decider.used <= 1).all()
    assert max(outcome.error(0), outcome.error(1)) <= 0.05


def test_a_capped_class_helps_to_explore_and_an_uncapped_one_works() -> None:
    instance = made([(0.9, 0.9), (0.85, 0.8), (0.8, 0.85)], [0.1, 1.0, 1.0], caps=[1, NO_CAP, NO_CAP])
    outcome = campaign(instance, 200, 1)
    assert (outcome.decider.used[:, 0] <= 1).all()
    assert outcome.decided.mean() > 0.99


def test_gold_items_are_never_asked_about() -> None:
    instance = BUILT_IN["p1-asym"]
    gold = np.where(np.arange(80) % 4 == 0, 1, OPEN)
    outcome = run_one(instance, Certified(), replace(task_of(instance, 80, 2), gold=gold))
    assert (outcome.decider.used[gold != OPEN] == 0).all()
    assert (outcome.decider.verdict[gold == OPEN] != OPEN).all()


def test_a_false_belief_costs_money_and_no_accuracy() -> None:
    """Matrices "known" to be near perfect that are poor: only the price may suffer."""
    instance = made([(0.66, 0.62)], [1.0])
    belief = np.tile([500.0, 5.0], (1, 2, 1))
    outcome = campaign(instance, 150, 4, alpha=0.1, belief=belief)
    for label in (0, 1):
        among = outcome.decided & (outcome.truth == label)
        wrong = (outcome.decider.verdict[among] != label).sum()
        assert wrong <= binom.ppf(0.999, among.sum(), 0.1)


def test_learning_items_get_as_many_answers_whatever_they_say() -> None:
    """Only such items may test how well the model fits."""
    decider = campaign(BUILT_IN["p1-asym"], 120, 6).decider
    fixed = [stage for stage in decider.stages if stage.fixed]
    assert {stage.name.split()[0] for stage in fixed} == {"explore", "learn"}
    assert all(isinstance(stage.plan, FixedPlan) for stage in fixed)


def test_evidence_multiplies_over_classes() -> None:
    counts = np.array([[[1, 4], [0, 3]]])
    items = Items(counts, counts.sum(axis=2), np.ones((1, 2), bool), np.zeros(1))
    expected = float(log_evidence(1, 4) + log_evidence(0, 3))
    assert EvidencePlan((0, 1), 0.05).evidence(items)[0] == pytest.approx(expected)


def test_the_e_process_of_mixed_classes_has_mean_one_at_fair_coins_whoever_is_asked() -> None:
    """Enumerated: the next class depends on all answers so far."""
    states = {((0, 0), (0, 0)): 1.0}
    for _ in range(7):
        after: dict[tuple[tuple[int, int], tuple[int, int]], float] = {}
        for state, mass in states.items():
            k = (3 * state[0][1] + state[1][0]) % 2
            for z in (0, 1):
                counts = [list(c) for c in state]
                counts[k][z] += 1
                key = (tuple(counts[0]), tuple(counts[1]))
                after[key] = after.get(key, 0.0) + mass / 2
        states = after
    mean = sum(m * np.exp(log_evidence(*a) + log_evidence(*b)) for (a, b), m in states.items())
    assert mean == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_the_price_on_the_papers_instance() -> None:
    costs = [campaign(BUILT_IN["p1-asym"], 1000, 500 + r).cost.mean() for r in range(8)]
    assert np.mean(costs) <= 10.0
