"""Posterior draws: exact where the posterior is known, calibrated where it is not (Talts et al. 2018)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import beta, binomtest, chisquare, kstest

from quorate.core.estimators.em import BELIEF, compress, fit_counts
from quorate.core.estimators.posterior import estimate_of, posterior_draws
from quorate.core.estimators.sweeps import cut_beta
from quorate.model import HOLD, Stage
from quorate.studies.instances import Instance
from quorate.studies.simulate import run_one, task_of


def from_belief(rng, classes, belief=BELIEF):
    """A world drawn from what is believed of it."""
    right, wrong = np.full((classes, 2), belief[0]), np.full((classes, 2), belief[1])
    return cut_beta(right, wrong, 0.5, rng), rng.beta(2, 2)


def one_world(accuracy, prior, asked, rng):
    truth = (rng.random(len(asked)) < prior).astype(int)
    right = rng.binomial(asked, accuracy[:, truth].T)
    on_0 = np.stack([right, asked - right], axis=-1)
    return np.where(truth[:, None, None] == 0, on_0, on_0[..., ::-1])


# ----------------------------------------------------------------------------------------- known exactly


@pytest.mark.parametrize(("right", "wrong", "floor"), [(5, 2, 0.5), (2, 40, 0.5), (3, 3, 0.0), (0.5, 300, 0.5)])
def test_cut_beta_has_the_cut_distribution(right, wrong, floor):
    drawn = cut_beta(np.full(4000, float(right)), np.full(4000, float(wrong)), floor, np.random.default_rng(1))
    outside = beta.sf(floor, right, wrong)
    assert drawn.min() > floor
    assert kstest(beta.sf(drawn, right, wrong) / outside, "uniform").pvalue > 1e-3


def test_cut_beta_survives_where_the_tail_underflows():
    drawn = cut_beta(np.full(4000, 3.0), np.full(4000, 20_000.0), 0.5, np.random.default_rng(2))
    assert 0.5 < drawn.min() < drawn.max() < 0.501
    assert (drawn - 0.5).mean() == pytest.approx(1 / (2 * 20_000), rel=0.1)


def test_without_answers_the_posterior_is_the_belief():
    empty = np.zeros((0, 2, 2), int)
    fit = fit_counts(empty)
    accuracy, prior = posterior_draws(empty, np.zeros(0, int), fit, draws=4000, rng=np.random.default_rng(3))
    outside = beta.sf(0.5, *BELIEF)
    for k in (0, 1):
        for i in (0, 1):
            assert kstest(beta.sf(accuracy[:, k, i], *BELIEF) / outside, "uniform").pvalue > 1e-3
    assert kstest(prior, beta(2, 2).cdf).pvalue > 1e-3


def test_with_gold_alone_the_posterior_is_conjugate():
    counts = np.array([[[30, 10]], [[5, 45]]])
    fit = fit_counts(counts, gold=np.array([0, 1]))
    rows = np.zeros((0, 1, 2), int)
    accuracy, _ = posterior_draws(rows, np.zeros(0, int), fit, draws=4000, rng=np.random.default_rng(4))
    assert kstest(accuracy[:, 0, 0], beta(35, 12).cdf).pvalue > 1e-3
    assert kstest(accuracy[:, 0, 1], beta(50, 7).cdf).pvalue > 1e-3


def test_against_the_posterior_on_a_grid():
    """One class, three answers an item, prior and both accuracies integrated by brute force."""
    unique, weight = np.array([[[3, 0]], [[2, 1]], [[1, 2]], [[0, 3]]]), np.array([13, 9, 7, 16])
    fit = fit_counts(unique, weight=weight)
    accuracy, prior = posterior_draws(unique, weight, fit, draws=4000, rng=np.random.default_rng(5))
    c = np.linspace(0.5, 1, 101)[1:-1]
    w = np.linspace(0, 1, 61)[1:-1]
    c0, c1, w1 = np.meshgrid(c, c, w, indexing="ij")
    density = beta.logpdf(c0, *BELIEF) + beta.logpdf(c1, *BELIEF) + beta.logpdf(w1, 2, 2)
    for (zeros, ones), many in zip(unique[:, 0], weight, strict=True):
        row = w1 * c1**ones * (1 - c1) ** zeros + (1 - w1) * c0**zeros * (1 - c0) ** ones
        density += many * np.log(row)
    density = np.exp(density - density.max())
    density /= density.sum()
    for drawn, axis in ((accuracy[:, 0, 0], c0), (accuracy[:, 0, 1], c1), (prior, w1)):
        mean = (density * axis).sum()
        spread = np.sqrt((density * (axis - mean) ** 2).sum())
        assert drawn.mean() == pytest.approx(mean, abs=5 * spread / np.sqrt(4000))
        assert drawn.std() == pytest.approx(spread, rel=0.07)


def test_draws_are_a_function_of_the_generator():
    rng = np.random.default_rng(6)
    rows = compress(one_world(np.full((3, 2), 0.8), 0.5, np.ones((50, 3), int), rng))
    fit = fit_counts(rows.unique, weight=rows.weight)
    one, other = (
        posterior_draws(rows.unique, rows.weight, fit, draws=7, rng=np.random.default_rng(1)) for _ in range(2)
    )
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()


def test_estimate_carries_its_intervals():
    rng = np.random.default_rng(7)
    rows = compress(one_world(np.full((3, 2), 0.8), 0.5, np.ones((500, 3), int), rng))
    fit = fit_counts(rows.unique, weight=rows.weight)
    estimate = estimate_of(fit, *posterior_draws(rows.unique, rows.weight, fit, draws=500, rng=rng))
    assert estimate.interval.shape == (3, 2, 2)
    assert (estimate.interval[..., 0] < estimate.accuracy_hat).all()
    assert (estimate.accuracy_hat < estimate.interval[..., 1]).all()
    assert estimate.prior_interval[0] < estimate.prior_hat < estimate.prior_interval[1]


# -------------------------------------------------------------------------------------------- calibrated


@dataclass(frozen=True)
class TwoAhead:
    """Ask ``first`` until a label leads by two over all classes, then hold; then the best-looking class for more."""

    first: int
    cap: int
    evidence_name = "lead"

    def act(self, items):
        lead = np.abs(items.counts.sum(axis=1) @ np.array([-1, 1]))
        return np.where((lead >= 2) | (items.used.sum(axis=1) >= self.cap), HOLD, self.first).astype(np.int16)

    def evidence(self, items):
        return np.zeros(len(items.uniform))

    def confidence(self, items):
        return np.full(len(items.uniform), np.nan)


@dataclass(frozen=True)
class AdaptiveCollection:
    """Half of the items under one class; the rest under the class that then looks best; then all again."""

    name = "adaptive"
    promise = "none"

    def stages(self, task, view) -> Iterator[Stage]:
        half = task.items // 2
        yield Stage("first", np.arange(half), TwoAhead(0, 4))
        best = int(fit_counts(view.counts).accuracy_hat.sum(axis=1).argmax())
        yield Stage("second", np.arange(half, task.items), TwoAhead(2, 2))
        yield Stage("third", np.arange(task.items), TwoAhead(1, 5))
        yield Stage("fourth", np.arange(task.items), TwoAhead(best, 8))


def ranks(collect, worlds, draws, seed, classes=3):
    """The rank of the truth among the draws, (worlds, parameters), when worlds come from the belief."""
    result = []
    for world in range(worlds):
        rng = np.random.default_rng([seed, world])
        accuracy, prior = from_belief(rng, classes)
        rows = compress(collect(accuracy, prior, world, rng))
        fit = fit_counts(rows.unique, weight=rows.weight)
        drawn, drawn_prior = posterior_draws(rows.unique, rows.weight, fit, draws=draws, rng=rng)
        below = (drawn < accuracy).sum(axis=0).ravel()
        result.append(np.append(below, (drawn_prior < prior).sum()))
    return np.array(result)


def one_answer_each(accuracy, prior, world, rng):
    return one_world(accuracy, prior, np.ones((60, 3), int), rng)


def collected_adaptively(accuracy, prior, world, rng):
    instance = Instance("drawn", ("a", "b", "c"), accuracy, np.ones(3), prior=prior)
    return run_one(instance, AdaptiveCollection(), task_of(instance, 60, 1000 + world)).decider.counts


@pytest.mark.parametrize("collect", [one_answer_each, collected_adaptively])
@pytest.mark.parametrize("n_draws", [19])
def test_ranks_of_the_truth_are_uniform(collect, n_draws):
    """Simulation-based calibration: each parameter's rank among its draws is uniform, and intervals cover."""
    found = ranks(collect, worlds=600, draws=n_draws, seed=20)
    p_values = [chisquare(np.bincount(column // 4, minlength=5)).pvalue for column in found.T]
    assert min(p_values) > 1e-3 / 7, p_values
    covered = ((found >= 1) & (found < n_draws)).sum()  # of 20 equally likely ranks the two at the ends miss
    assert binomtest(int(covered), found.size, 0.9).pvalue > 1e-4  # columns of one world are nearly independent


def two_answers_each(accuracy, prior, world, rng):
    return one_world(accuracy, prior, np.ones((20_000, 2), int), rng)


@pytest.mark.slow
def test_calibrated_where_two_answers_an_item_leave_a_direction_open():
    """Much data, yet only a thin curve in the parameters is known: a normal proposal covers .68 of the time."""
    found = ranks(two_answers_each, worlds=120, draws=19, seed=21, classes=2)
    assert min(chisquare(np.bincount(column // 4, minlength=5)).pvalue for column in found.T) > 1e-3 / 5
    covered = ((found >= 1) & (found < 19)).all(axis=1)  # of all five parameters, which depend on one another
    assert ((found >= 1) & (found < 19)).mean() > 0.84
    assert covered.mean() > 0.45


@pytest.mark.slow
def test_intervals_cover_at_their_level_in_a_campaign_of_usual_size():
    accuracy = np.array([[0.94, 0.90], [0.77, 0.87], [0.92, 0.76], [0.88, 0.82], [0.64, 0.66]])
    covered = np.zeros((80, 11), bool)
    for world in range(80):
        rng = np.random.default_rng([30, world])
        rows = compress(one_world(accuracy, 0.4, rng.integers(0, 3, (2000, 5)), rng))
        fit = fit_counts(rows.unique, weight=rows.weight)
        drawn = posterior_draws(rows.unique, rows.weight, fit, draws=300, rng=rng)
        estimate = estimate_of(fit, *drawn, level=0.9)
        inside = (estimate.interval[..., 0] < accuracy) & (accuracy < estimate.interval[..., 1])
        covered[world] = np.append(inside.ravel(), estimate.prior_interval[0] < 0.4 < estimate.prior_interval[1])
    assert binomtest(int(covered.sum()), covered.size, 0.9).pvalue > 1e-3


def test_a_thousand_draws_of_ten_thousand_items_in_a_second():
    rng = np.random.default_rng(8)
    accuracy = np.array([[0.94, 0.90], [0.77, 0.87], [0.92, 0.76], [0.88, 0.82], [0.64, 0.66]])
    rows = compress(one_world(accuracy, 0.5, rng.integers(0, 3, (10_000, 5)), rng))
    fit = fit_counts(rows.unique, weight=rows.weight)
    started = time.process_time()
    posterior_draws(rows.unique, rows.weight, fit, draws=1000, rng=rng)
    assert time.process_time() - started < 3  # a third of that on an idle core
