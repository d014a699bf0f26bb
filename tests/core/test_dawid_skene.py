"""K-ary Dawid-Skene: against an item-by-item reference, on every shape of data, and on recorded labels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from quorate.core.estimators.bitplanes import count_bits
from quorate.core.estimators.dawid_skene import DawidSkene, dawid_skene, full, one_coin, one_hot, pattern_rows
from quorate.core.estimators.patterns import patterns, to_items
from quorate.ports import Estimator


def drawn(confusion, prior, items, rng, missing=0.0):
    """Answers (M, N) of classes with these confusion matrices, and the true labels."""
    truth = rng.choice(len(prior), items, p=prior)
    cut = np.cumsum(confusion[:, :, truth], axis=1)  # (M, K, N)
    answers = (rng.random((len(confusion), 1, items)) > cut).sum(axis=1).astype(np.int8)
    answers[rng.random(answers.shape) < missing] = -1
    return answers, truth


def one_item_at_a_time(answers, labels, rounds, coin=False):
    """The textbook, in loops."""
    classes, items = answers.shape
    posterior = np.array([[(answers[:, j] == i).mean() for i in range(labels)] for j in range(items)])
    posterior /= posterior.sum(axis=1, keepdims=True)
    for step in range(rounds + 1):
        confusion = np.zeros((classes, labels, labels))
        for k, j in itertools.product(range(classes), range(items)):
            if answers[k, j] >= 0:
                confusion[k, answers[k, j]] += posterior[j]
        if coin:
            skill = [confusion[k].trace() / confusion[k].sum() for k in range(classes)]
            confusion = np.array(
                [
                    [[s if a == i else (1 - s) / (labels - 1) for i in range(labels)] for a in range(labels)]
                    for s in skill
                ]
            )
        else:
            confusion /= confusion.sum(axis=1, keepdims=True)
        prior = posterior.mean(axis=0)
        if step == rounds:
            return confusion, prior, posterior
        for j in range(items):
            joint = prior.copy()
            for k in range(classes):
                if answers[k, j] >= 0:
                    joint *= confusion[k, answers[k, j]]
            posterior[j] = joint / joint.sum()
    raise AssertionError


def diagonal(right, labels):
    """Matrices with this on the diagonal and the rest spread evenly."""
    return np.array([np.where(np.eye(labels, dtype=bool), c, (1 - c) / (labels - 1)) for c in right])


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("coin", [False, True])
def test_every_round_is_the_textbooks(labels, coin):
    rng = np.random.default_rng(labels)
    answers, _ = drawn(diagonal([0.9, 0.7, 0.6], labels), np.full(labels, 1 / labels), 80, rng, missing=0.1)
    answers = answers[:, (answers >= 0).any(axis=0)]
    confusion, prior, posterior = one_item_at_a_time(answers, labels, 4, coin)
    shape = one_coin if coin else full
    found = dawid_skene(one_hot(answers, labels), labels, shape=shape, tol=-np.inf, max_iter=4)
    assert found.confusion == pytest.approx(confusion, abs=1e-12)
    assert found.prior == pytest.approx(prior, abs=1e-12)
    assert found.posterior == pytest.approx(posterior, abs=1e-12)
    assert found.iterations == 4


def test_dense_sparse_and_compressed_are_the_same():
    rng = np.random.default_rng(1)
    answers, _ = drawn(diagonal([0.9, 0.8, 0.7, 0.6], 3), np.array([0.2, 0.3, 0.5]), 2000, rng, missing=0.3)
    x = one_hot(answers, 3)
    rows, weight = pattern_rows(answers, 3)
    dense = dawid_skene(x, 3)
    for other in (dawid_skene(csr_array(x), 3), dawid_skene(rows, 3, weight=weight)):
        assert other.confusion == pytest.approx(dense.confusion, abs=1e-10)
        assert other.iterations == dense.iterations


def test_consistent_for_four_labels():
    rng = np.random.default_rng(2)
    confusion = rng.dirichlet(np.ones(4), (5, 4)).transpose(0, 2, 1) * 0.4 + diagonal([1.0] * 5, 4) * 0.6
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    answers, truth = drawn(confusion, prior, 200_000, rng)
    rows, weight = pattern_rows(answers, 4)
    found = dawid_skene(rows, 4, weight=weight, tol=1e-9, max_iter=1000)
    assert found.converged
    assert np.abs(found.confusion - confusion).max() < 0.02
    assert found.prior == pytest.approx(prior, abs=0.01)
    whole = dawid_skene(one_hot(answers[:, :5000], 4), 4)
    assert (whole.posterior.argmax(axis=1) == truth[:5000]).mean() > 0.9


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_the_bound_never_falls(seed):
    rng = np.random.default_rng(seed)
    answers = rng.integers(-1, 3, (4, 40)).astype(np.int8)
    x = one_hot(answers, 3)
    bounds = [dawid_skene(x, 3, tol=-np.inf, max_iter=rounds).loglik for rounds in range(1, 8)]
    assert (np.diff(bounds) > -1e-9 * abs(bounds[0])).all()


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 10), st.integers(0, 12)), elements=st.integers(-1, 2)),
    st.sampled_from([full, one_coin]),
)
def test_total(answers, shape):
    found = dawid_skene(one_hot(answers, 3), 3, shape=shape)
    assert np.isfinite(found.confusion).all()
    assert found.confusion.sum(axis=1) == pytest.approx(1)
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(answers.shape[1]))
    assert np.isfinite(found.loglik)


def test_estimator_keeps_to_the_port():
    rng = np.random.default_rng(3)
    confusion = np.array([[[a, 1 - b], [1 - a, b]] for a, b in ((0.9, 0.8), (0.7, 0.85), (0.8, 0.75))])
    answers, _ = drawn(confusion, np.array([0.4, 0.6]), 50_000, rng)
    estimator = DawidSkene(tol=1e-9, max_iter=1000)
    assert isinstance(estimator, Estimator)
    estimate = estimator.estimate(answers, rng=rng)
    assert estimate.accuracy_hat == pytest.approx(confusion[:, [0, 1], [0, 1]], abs=0.03)
    assert estimate.prior_hat == pytest.approx(0.6, abs=0.03)
    assert "still rising" in DawidSkene(max_iter=1).estimate(answers, rng=rng).notes[0]


@given(st.integers(1, 6), st.integers(0, 400), st.integers(0, 2**32 - 1))
def test_bits_count_what_a_table_counts(classes, items, seed):
    answers = np.random.default_rng(seed).integers(0, 2, (classes, items)).astype(np.int8)
    code = (answers.astype(int) << np.arange(classes - 1, -1, -1)[:, None]).sum(axis=0)
    assert (count_bits(answers) == np.bincount(code, minlength=2**classes)).all()


def test_bits_count_across_blocks():
    answers = np.random.default_rng(4).integers(0, 2, (3, 2**19 + 1001)).astype(np.int8)
    code = answers[0] * 4 + answers[1] * 2 + answers[2]
    assert (count_bits(answers) == np.bincount(code, minlength=8)).all()


@pytest.mark.parametrize(("classes", "labels"), [(5, 2), (4, 4), (30, 3)])
def test_items_get_back_what_their_pattern_got(classes, labels):
    answers = np.random.default_rng(5).integers(-1, labels, (classes, 500)).astype(np.int8)
    found = patterns(answers, labels)
    place = to_items(answers, found, np.arange(len(found.weight)), labels)
    assert (found.answers[:, place] == answers).all()
