"""Simulated campaigns agree with what is known exactly, and their errors are honest."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from quorate.core.exact import performance
from quorate.errors import SpecError
from quorate.studies import campaigns
from quorate.studies.campaigns import UNCAPPED, Workers, exceeds, mean_se, run_campaign, simulate
from quorate.studies.instance_file import parse_instance
from quorate.studies.instances import BUILT_IN
from quorate.studies.limit import limit
from quorate.studies.policies import policy_named
from quorate.studies.rules import RULE_OF, exact, exact_cost
from quorate.studies.simulate import run_one, task_of
from quorate.studies.summary import summary

ASYM = BUILT_IN["p1-asym"]


def test_campaign_r_has_the_seed_s_plus_r():
    study = simulate(ASYM, "abi", items=50, campaigns=3, seed=40)
    assert [one.seed for one in study.campaigns] == [40, 41, 42]
    assert simulate(ASYM, "abi", items=50, campaigns=1, seed=41).campaigns[0] == study.campaigns[1]


@pytest.mark.parametrize("policy", ["asym-imcw", "cbs", "abi", "mle", "asym-imcw+mixture"])
def test_exploit_cost_is_the_exact_cost_of_the_chosen_class(policy):
    """One class's rule on fresh answers: given k_hat, campaign means scatter about the enumerated value."""
    outcome = run_one(ASYM, policy_named(policy), task_of(ASYM, 4_000, seed=11, item_cap=UNCAPPED))
    rule, k = outcome.decider.stage.plan.rule, outcome.decider.stage.plan.worker_class
    known = performance(rule, ASYM.accuracy[k])
    answers = outcome.decider.used[:, k] - 1  # one was the explore phase's
    mean, se = answers.mean(), answers.std(ddof=1) / np.sqrt(len(answers))
    expected = known.answers[outcome.truth].mean()
    assert abs(mean - expected) <= max(4 * se, 1e-9)
    wrong = (outcome.decider.verdict != outcome.truth).sum()
    chance = known.error[outcome.truth].mean()
    assert binom.sf(wrong - 1, len(answers), chance) > 1e-4
    assert outcome.stage_cost["explore"] == pytest.approx(4_000 * ASYM.price.sum())


def test_direction_test_costs_what_the_case_study_says():
    assert exact_cost(ASYM, "asym-imcw", 0.05) == pytest.approx([93.3, 70.5, 64.9, 73.8, 220.8], abs=0.05)
    assert exact_cost(ASYM, "cbs", 0.05) == pytest.approx([53.3, 32.3, 29.6, 36.65, 71.75], abs=0.05)
    assert exact_cost(ASYM, "abi", 0.05) == pytest.approx([15.2, 12.7, 9.0, 15.3, 49.4], abs=0.05)
    assert exact_cost(ASYM, "mle", 0.05) == pytest.approx([31.5, 25.9, 18.3, 27.3, 78.1], abs=0.05)
    assert exact_cost(ASYM, "votes-3", 0.05) is None


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "low", "high"), [("asym-imcw", 85, 88), ("cbs", 48, 50), ("abi", 24, 25.5)])
def test_campaigns_cost_what_the_case_study_says(policy, low, high):
    with Workers(jobs=1) as workers:
        study = simulate(ASYM, policy, items=1_000, campaigns=60, seed=5_000_000, workers=workers)
    mean, se = study.over(lambda one: one.cost)
    assert low - 2 * se < mean < high + 2 * se


def test_the_summary_is_made_of_campaign_means():
    study = simulate(ASYM, "abi", items=300, campaigns=8, seed=7)
    record = summary(study)
    costs = np.array([one.cost for one in study.campaigns])
    assert record["cost_per_item"] == pytest.approx(costs.mean())
    assert record["cost_se"] == pytest.approx(costs.std(ddof=1) / np.sqrt(8))
    assert record["ratio"] == pytest.approx(costs.mean() / limit(ASYM).cost)
    shares = [one.wrong[1] / one.decided[1] for one in study.campaigns]
    assert record["error_1"] == pytest.approx(np.mean(shares))
    assert (record["k_star"], record["best_class"]) == ("class-4", "class-3")


def test_undecided_items_are_counted_and_not_called_wrong():
    study = simulate(ASYM, "asym-imcw", items=200, campaigns=2, seed=1, item_cap=25)
    record = summary(study)
    assert 0 < record["undecided_fraction"] < 1
    assert max(one.answers for one in study.campaigns) <= 25
    assert record["error"] == pytest.approx(
        np.mean([sum(one.wrong) / sum(one.decided) for one in study.campaigns]), rel=1e-12
    )


@given(st.integers(0, 60), st.integers(1, 300), st.sampled_from([0.01, 0.05, 0.2]))
def test_exceeds_is_the_binomial_test(wrong, decided, alpha):
    wrong = min(wrong, decided)
    assert bool(exceeds(wrong, decided, alpha)) == bool(binom.sf(wrong - 1, decided, alpha) < 0.025)


def test_no_labels_of_a_kind_exceed_nothing():
    assert not exceeds(0, 0, 0.05)


def test_a_policy_that_errs_at_alpha_exceeds_in_a_fortieth_of_campaigns_or_less():
    rng = np.random.default_rng(1)
    assert exceeds(rng.binomial(400, 0.05, 20_000), 400, 0.05).mean() < 0.025 + 4 * np.sqrt(0.025 / 20_000)


def test_standard_errors():
    assert mean_se([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1 / np.sqrt(3)))
    assert mean_se([0.1] * 7) == (0.1, 0.0)
    assert np.isnan(mean_se([np.nan])).all()


def test_the_truth_follows_the_prior():
    world = parse_instance('prior = 0.1\n[[class]]\nname = "a"\nprice = 1\naccuracy = [0.9, 0.8]\n')
    one = run_campaign(world, "votes-5", 20_000, 0.05, None, seed=3)
    assert one.items[1] == pytest.approx(2_000, abs=4 * np.sqrt(20_000 * 0.09))
    share_wrong = binom.cdf(2, 5, 0.9)
    assert one.wrong[0] / one.items[0] == pytest.approx(share_wrong, abs=4 * np.sqrt(share_wrong / 18_000))


@pytest.mark.parametrize("changes", [{"items": 0}, {"campaigns": 0}, {"seed": -1}, {"alpha": 0.5}, {"alpha": 0.0}])
def test_bad_numbers_are_refused_before_anything_runs(changes):
    with pytest.raises(SpecError) as caught:
        simulate(ASYM, "abi", **({"items": 10, "campaigns": 1, "seed": 0} | changes))
    assert next(iter(changes)) in caught.value.message


def test_a_process_that_is_killed_is_a_sentence_and_no_wait():
    with Workers(jobs=2) as workers, pytest.raises(SpecError, match="was killed") as caught:
        list(workers.map(os._exit, [1, 1]))
    assert "jobs was 2" in caught.value.hint


def test_memory_that_runs_out_is_a_sentence(monkeypatch):
    def no_room(*_):
        raise MemoryError

    monkeypatch.setattr(campaigns, "run_campaign", no_room)
    with pytest.raises(SpecError, match="with 1,000 items"):
        simulate(ASYM, "abi", items=1_000, campaigns=1, seed=0)


def long_run():
    """A simulation under way in two processes of its own; whoever still runs holds its stderr open."""
    words = ["simulate", "p1-asym", "--policy", "asym-imcw", "--items", "100000", "--campaigns", "500", "--jobs", "2"]
    running = subprocess.Popen(
        [sys.executable, "-m", "quorate", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    listed = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while len(listed.read_text().split()) < 3:  # two that work, one that keeps track of them
        time.sleep(0.05)
    return running


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc who is running")
def test_an_interrupt_ends_every_process_without_a_traceback():
    """As at a terminal, where Ctrl-C reaches all of them."""
    running = long_run()
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc who is running")
def test_a_killed_simulation_leaves_no_process_behind():
    running = long_run()
    running.kill()
    running.communicate(timeout=20)  # comes back when nobody holds its stderr any more


def test_every_rule_of_a_policy_exists():
    assert all(len(exact(ASYM, rule, 0.05)) == 5 for rule in set(RULE_OF.values()))


def test_the_limit_respects_caps():
    text = '[[class]]\nname = "a"\nprice = 1\naccuracy = [0.8, 0.8]\nanswers_per_item = {}\n'
    text += '[[class]]\nname = "b"\nprice = 9\naccuracy = [0.9, 0.9]\n'
    free, capped = (limit(parse_instance(text.format(cap))) for cap in (50, 1))
    assert capped.asks[0] <= 1
    assert capped.cost > free.cost


def test_a_policy_that_promises_the_average_is_held_to_it():
    both = simulate(ASYM, "calibrated", items=100, campaigns=1, seed=2)
    average = simulate(ASYM, "calibrated-average", items=100, campaigns=1, seed=2)
    assert (both.average, average.average) == (False, True)
    assert summary(both)["oracle_cost"] == limit(ASYM).cost
    assert summary(average)["oracle_cost"] == limit(ASYM, average=True).cost
    skewed = replace(average.campaigns[0], items=(50, 50), decided=(50, 50), wrong=(7, 0))
    assert summary(replace(average, campaigns=(skewed,)))["exceed_fraction"] == 0
    assert summary(replace(both, campaigns=(skewed,)))["exceed_fraction"] == 1
