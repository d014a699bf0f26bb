"""MAP-EM on count vectors: the right likelihood, the right maximum, and an answer to everything."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from quorate.core.estimators.em import BELIEF, Histogram, compress, fit_counts
from quorate.core.estimators.map_em import EM
from quorate.errors import SpecError
from quorate.ports import Estimator
from quorate.studies.instances import BUILT_IN

P1 = BUILT_IN["p1-asym"].accuracy


def answers(accuracy, prior, asked, rng):
    """Counts of ``asked[j, k]`` answers each, and the true labels."""
    truth = (rng.random(len(asked)) < prior).astype(int)
    right = rng.binomial(asked, accuracy[:, truth].T)
    on_0 = np.stack([right, asked - right], axis=-1)
    return np.where(truth[:, None, None] == 0, on_0, on_0[..., ::-1]), truth


def log_likelihood(counts, accuracy, prior):
    """Row by row, from the definition."""
    c0, c1 = accuracy[:, 0], accuracy[:, 1]
    on_0 = counts[..., 0] @ np.log(c0) + counts[..., 1] @ np.log(1 - c0) + np.log(1 - prior)
    on_1 = counts[..., 1] @ np.log(c1) + counts[..., 0] @ np.log(1 - c1) + np.log(prior)
    return logsumexp([on_0, on_1], axis=0)


# ------------------------------------------------------------------------------------------- compression


@given(hnp.arrays(np.int16, st.tuples(st.integers(0, 30), st.integers(1, 4), st.just(2)), elements=st.integers(0, 3)))
def test_compress_is_the_sorted_set_of_rows(counts):
    rows = compress(counts)
    unique, inverse, weight = np.unique(
        counts.reshape(len(counts), 2 * counts.shape[1]), axis=0, return_inverse=True, return_counts=True
    )
    assert (rows.unique.reshape(unique.shape) == unique).all()
    assert (rows.weight == weight).all()
    assert (rows.inverse == inverse.ravel()).all()


def test_compress_keeps_its_order_when_rows_are_too_wide_for_one_integer():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, (60, 20, 2)).repeat(3, axis=0)  # 5**40 different rows
    counts[:, 7, 1] += 1000 * rng.integers(0, 2, 180)
    rows = compress(counts)
    unique, weight = np.unique(counts.reshape(180, -1), axis=0, return_counts=True)
    assert (rows.unique.reshape(unique.shape) == unique).all()
    assert (rows.weight == weight).all()
    assert (rows.unique[rows.inverse] == counts).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_histogram_grown_in_batches_is_the_histogram_of_all(seed, batches):
    rng = np.random.default_rng(seed)
    parts = [rng.integers(0, 3, (rng.integers(0, 12), 2, 2)) for _ in range(batches)]
    grown = Histogram.of(parts[0])
    for part in parts[1:]:
        grown = grown.plus(part)
    at_once = compress(np.concatenate(parts))
    assert (grown.unique == at_once.unique).all()
    assert (grown.weight == at_once.weight).all()
    emptied = grown.minus(np.concatenate(parts))
    assert len(emptied.weight) == 0


def test_histogram_refuses_to_forget_what_it_never_knew():
    with pytest.raises(ValueError, match="does not hold"):
        Histogram.of(np.array([[[1, 0]]])).minus(np.array([[[0, 1]]]))


# ------------------------------------------------------------------------------------- the right maximum


def test_loglik_is_the_definition():
    rng = np.random.default_rng(2)
    counts, _ = answers(P1, 0.4, rng.integers(0, 3, (200, 5)), rng)
    fit = fit_counts(counts)
    assert fit.loglik == pytest.approx(log_likelihood(counts, fit.accuracy_hat, fit.prior_hat).sum(), rel=1e-12)
    joint = np.log(fit.prior_hat) + (
        counts[..., 1] @ np.log(fit.accuracy_hat[:, 1]) + counts[..., 0] @ np.log(1 - fit.accuracy_hat[:, 1])
    )
    posterior = np.exp(joint - log_likelihood(counts, fit.accuracy_hat, fit.prior_hat))
    assert fit.posterior == pytest.approx(posterior, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_em_finds_the_maximum_that_a_general_optimiser_finds(seed):
    rng = np.random.default_rng(seed)
    counts, _ = answers(P1[:3], 0.3, rng.integers(0, 3, (150, 3)), rng)
    a, b = BELIEF

    def minus_log_posterior(theta):
        accuracy, prior = expit(theta[:-1]).reshape(3, 2), expit(theta[-1])
        believed = (a * np.log(accuracy) + b * np.log(1 - accuracy)).sum()
        on_prior = 2 * np.log(prior) + 2 * np.log(1 - prior)
        return -(log_likelihood(counts, accuracy, prior).sum() + believed + on_prior)

    bounds = [(logit(0.505), logit(0.995))] * 6 + [(-8, 8)]
    best = minimize(minus_log_posterior, np.full(7, 0.5), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14})
    fit = fit_counts(counts, tol=1e-9)
    assert fit.accuracy_hat.ravel() == pytest.approx(expit(best.x[:-1]), abs=2e-4)
    assert fit.prior_hat == pytest.approx(expit(best.x[-1]), abs=2e-4)


def test_consistent_on_large_data_with_mixed_and_capped_classes():
    rng = np.random.default_rng(3)
    asked = rng.integers(0, 4, (200_000, 5))
    asked[:, 0] = np.minimum(asked[:, 0], 1)
    asked[rng.random(len(asked)) < 0.5, 3] = 0
    counts, truth = answers(P1, 0.2, asked, rng)
    fit = fit_counts(counts)
    assert np.abs(fit.accuracy_hat - P1).max() < 0.01
    assert fit.prior_hat == pytest.approx(0.2, abs=0.005)
    assert fit.posterior.mean() == pytest.approx(truth.mean(), abs=0.003)


def test_right_under_adaptive_stopping():
    """Items stop at a lead of two: the share of right answers is then biased, the likelihood is not."""
    rng = np.random.default_rng(4)
    n, c0, c1 = 200_000, 0.8, 0.7
    truth = rng.random(n) < 0.5
    p_one = np.where(truth, c1, 1 - c0)
    counts = np.zeros((n, 1, 2), int)
    open_ = np.ones(n, bool)
    for _ in range(60):
        one = rng.random(open_.sum()) < p_one[open_]
        counts[open_, 0, one.astype(int)] += 1
        open_ &= np.abs(counts[:, 0, 1] - counts[:, 0, 0]) < 2
    items_mean = (counts[truth, 0, 1] / counts[truth, 0].sum(axis=1)).mean()
    assert items_mean > 0.74  # what a moment estimator would be led to believe
    fit = fit_counts(counts)
    assert fit.accuracy_hat[0] == pytest.approx([c0, c1], abs=0.006)


def test_one_class_is_enough_when_asked_three_times():
    rng = np.random.default_rng(5)
    counts, _ = answers(np.array([[0.85, 0.7]]), 0.35, np.full((100_000, 1), 3), rng)
    fit = fit_counts(counts)
    assert fit.accuracy_hat[0] == pytest.approx([0.85, 0.7], abs=0.02)
    assert fit.prior_hat == pytest.approx(0.35, abs=0.02)


# ------------------------------------------------------------------------------------------ what is known


def test_weights_stand_for_repeated_rows():
    rng = np.random.default_rng(6)
    counts, _ = answers(P1, 0.5, np.ones((500, 5), int), rng)
    rows = compress(counts)
    long, short = fit_counts(counts), fit_counts(rows.unique, weight=rows.weight)
    assert (long.accuracy_hat == short.accuracy_hat).all()
    assert (long.posterior == short.posterior[rows.inverse]).all()


def test_row_order_is_irrelevant():
    rng = np.random.default_rng(7)
    counts, _ = answers(P1, 0.5, rng.integers(0, 3, (300, 5)), rng)
    order = rng.permutation(300)
    one, other = fit_counts(counts), fit_counts(counts[order])
    assert (one.accuracy_hat == other.accuracy_hat).all()
    assert (one.posterior[order] == other.posterior).all()


def test_swapping_the_labels_swaps_the_estimate():
    rng = np.random.default_rng(8)
    counts, _ = answers(P1, 0.3, rng.integers(0, 3, (300, 5)), rng)
    one, other = fit_counts(counts, tol=1e-9), fit_counts(counts[..., ::-1], tol=1e-9)
    assert other.accuracy_hat == pytest.approx(one.accuracy_hat[:, ::-1], abs=1e-6)
    assert other.prior_hat == pytest.approx(1 - one.prior_hat, abs=1e-6)


def test_a_class_known_to_be_nearly_perfect_is_not_clipped():
    belief = np.tile(BELIEF, (2, 2, 1))
    belief[0] = (99_900, 100)
    counts, _ = answers(np.array([[0.999, 0.999], [0.7, 0.8]]), 0.5, np.ones((400, 2), int), np.random.default_rng(9))
    fit = fit_counts(counts, belief=belief)
    assert fit.accuracy_hat[0] == pytest.approx([0.999, 0.999], abs=1e-4)
    assert fit_counts(counts).accuracy_hat.max() <= 0.995


def test_gold_teaches_about_the_classes_and_not_about_the_prior():
    rng = np.random.default_rng(10)
    accuracy = np.array([[0.9, 0.6], [0.65, 0.85]])
    counts, truth = answers(accuracy, 0.5, np.ones((4000, 2), int), rng)
    gold = np.where(np.arange(4000) < 3000, truth, -1)
    fit = fit_counts(counts, gold=gold)
    right = np.stack([(counts[:3000, k, i][truth[:3000] == i]).mean() for k in (0, 1) for i in (0, 1)])
    assert fit.accuracy_hat.ravel() == pytest.approx(right, abs=0.02)
    assert (fit.posterior[:3000] == truth[:3000]).all()
    only_ones = fit_counts(counts, gold=np.where(truth == 1, 1, -1))
    assert only_ones.prior_hat < 0.2  # all items that are left are zeros
    nothing_else = fit_counts(counts[:3000], gold=gold[:3000])
    assert nothing_else.prior_hat == 0.5


def test_warm_start_arrives_at_the_same_place_sooner():
    rng = np.random.default_rng(11)
    counts, _ = answers(P1, 0.5, np.ones((2000, 5), int), rng)
    cold = fit_counts(counts, tol=1e-9)
    warm = fit_counts(counts, start=cold, tol=1e-9)
    assert warm.iterations <= 2 < cold.iterations
    assert warm.accuracy_hat == pytest.approx(cold.accuracy_hat, abs=1e-8)


def test_a_belief_without_doubt_is_refused():
    with pytest.raises(SpecError, match="above 0, got 0"):
        fit_counts(np.zeros((1, 1, 2), int), belief=[[[5, 0], [5, 2]]])


# ----------------------------------------------------------------------------------- total, and annotated


@settings(max_examples=300, deadline=None)
@given(
    hnp.arrays(np.int16, st.tuples(st.integers(0, 12), st.integers(1, 10), st.just(2)), elements=st.integers(0, 4)),
    st.sampled_from([1, 50, 10**6]),
)
def test_total(counts, times):
    fit = fit_counts(counts, weight=np.full(len(counts), times), max_iter=200)
    assert ((fit.accuracy_hat >= 0.505) & (fit.accuracy_hat <= 0.995)).all()
    assert 0 < fit.prior_hat < 1
    assert ((fit.posterior >= 0) & (fit.posterior <= 1)).all()
    assert np.isfinite(fit.loglik)


def test_every_small_explore_matrix():
    """All 4 items x 3 classes matrices up to the order of items: one answer each, 0 or 1."""
    rows = np.array(list(itertools.product([0, 1], repeat=3)))
    for chosen in itertools.combinations_with_replacement(range(8), 4):
        counts = np.stack([rows[list(chosen)] == 0, rows[list(chosen)] == 1], axis=-1).astype(int)
        fit = fit_counts(counts)
        assert np.isfinite(fit.accuracy_hat).all()
        unanimous = np.ptp(rows[list(chosen)], axis=1) == 0
        assert ((fit.posterior > 0.5) == (rows[list(chosen), 0] == 1))[unanimous].all()


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (np.zeros((5, 2, 2), int), "no answers"),
        (np.zeros((0, 2, 2), int), "no answers"),
        (np.array([[[0, 1], [0, 1]]]), "a single item"),
        (np.array([[[0, 1], [0, 1]]] * 9), "class 0 always answers 1"),
        (np.array([[[0, 1], [0, 0]]] * 4 + [[[1, 0], [0, 0]]] * 4), "nothing but the belief"),
        (np.array([[[0, 1], [1, 0]], [[1, 0], [1, 0]]] * 9), "no item has three answers"),
        (np.array([[[3, 0], [0, 0]]] * 9), "class 1 has no answers"),
        (np.array([[[4, 0], [0, 4]]] * 50 + [[[4, 0], [4, 0]]] * 50), "no better than chance"),
        (np.array([[[9, 0]]] * 500 + [[[0, 9]]] * 500), "held at the upper limit"),
    ],
)
def test_degenerate_data_is_annotated(counts, note):
    fit = fit_counts(counts)
    assert any(note in one for one in fit.notes), fit.notes


def test_ordinary_data_has_no_notes_and_an_unfinished_fit_says_so():
    rng = np.random.default_rng(12)
    counts, _ = answers(P1, 0.5, np.ones((2000, 5), int), rng)
    assert fit_counts(counts).notes == ()
    assert "EM stopped after 2 rounds" in fit_counts(counts, max_iter=2).notes[-1]


# --------------------------------------------------------------------------------------------- the value


def test_the_estimator_value_is_the_fit_with_intervals():
    rng = np.random.default_rng(13)
    counts, _ = answers(P1, 0.3, rng.integers(0, 2, (3000, 5)), rng)
    matrix = np.where(counts.sum(axis=2) == 0, -1, counts.argmax(axis=2)).T.astype(np.int8)
    assert isinstance(EM(), Estimator)
    estimate = EM().estimate(matrix, rng=rng)
    fit = fit_counts(counts)
    assert estimate.accuracy_hat == pytest.approx(fit.accuracy_hat, abs=1e-12)
    assert estimate.prior_hat == pytest.approx(fit.prior_hat, abs=1e-12)
    assert (np.diff(estimate.interval, axis=2) > 0).all()
    inside = (estimate.interval[..., 0] < P1) & (estimate.interval[..., 1] > P1)
    assert inside.sum() >= 8
    shuffled = EM().estimate(matrix[:, rng.permutation(3000)], rng=np.random.default_rng(1))
    assert (shuffled.accuracy_hat == estimate.accuracy_hat).all()


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.int8, st.tuples(st.integers(1, 10), st.integers(0, 10)), elements=st.integers(-1, 1)))
def test_the_estimator_value_is_total(matrix):
    estimate = EM(draws=20).estimate(matrix, rng=np.random.default_rng(0))
    assert ((estimate.accuracy_hat > 0.5) & (estimate.accuracy_hat < 1)).all()
    assert np.isfinite(estimate.interval).all()
    assert (estimate.interval[..., 0] <= estimate.interval[..., 1]).all()


@pytest.mark.slow
def test_ten_thousand_random_explore_matrices():
    """R21: uninformative classes, one to forty items, three to ten classes, cells missing."""
    rng = np.random.default_rng(14)
    for _ in range(10_000):
        shape = rng.integers(3, 11), rng.integers(1, 41)
        matrix = (rng.random(shape) < rng.random()).astype(np.int8)
        matrix[rng.random(shape) < rng.choice([0, 0.3])] = -1
        rows = np.stack([matrix.T == 0, matrix.T == 1], axis=-1).astype(int)
        fit = fit_counts(rows)
        assert np.isfinite(fit.accuracy_hat).all()
        assert np.isfinite(fit.posterior).all()
        assert 0.505 <= fit.accuracy_hat.min() <= fit.accuracy_hat.max() <= 0.995
