"""The spectral estimator and the tensor power method it rests on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from quorate.core.estimators.one_coin import one_coin
from quorate.core.estimators.patterns import Patterns, patterns
from quorate.core.estimators.spectral import Spectral, confusion_matrices, spectral
from quorate.core.estimators.tensor import eigenpairs, symmetrised
from quorate.studies.instances import BUILT_IN


def expected_patterns(accuracy: NDArray[np.float64], prior: float) -> Patterns:
    """What infinitely many items would show: weights proportional to the probability of each pattern."""
    shown = np.array(list(product((0, 1), repeat=len(accuracy))), np.int8).T
    rows = [np.where(row == i, c[i], 1 - c[i]) for i in (0, 1) for row, c in zip(shown, accuracy, strict=True)]
    given_0, given_1 = np.prod(rows[: len(shown)], axis=0), np.prod(rows[len(shown) :], axis=0)
    return Patterns(shown, np.round(((1 - prior) * given_0 + prior * given_1) * 2.0**50).astype(np.int64))


accuracies = st.lists(st.tuples(st.floats(0.6, 0.97), st.floats(0.6, 0.97)), min_size=3, max_size=6)


@given(arrays.arrays(np.float64, (3, 3), elements=st.floats(-1, 1)), st.tuples(*[st.floats(1, 4)] * 3))
@settings(max_examples=50)
def test_the_power_method_finds_orthogonal_components(matrix: NDArray[np.float64], sizes: tuple[float, ...]) -> None:
    v = np.linalg.qr(matrix + 3 * np.eye(3))[0]
    tensor = np.einsum("h,ih,jh,kh->ijk", np.array(sizes), v, v, v)
    e, found = eigenpairs(tensor, np.random.default_rng(0))
    assert np.sort(e) == pytest.approx(np.sort(sizes), abs=1e-6)
    assert np.einsum("h,ih,jh,kh->ijk", e, found, found, found) == pytest.approx(tensor, abs=1e-6)


def test_symmetrising_keeps_a_symmetric_tensor() -> None:
    v = np.array([1.0, 2.0])
    tensor = np.einsum("i,j,k->ijk", v, v, v)
    assert symmetrised(tensor) == pytest.approx(tensor)
    tilted = symmetrised(np.random.default_rng(0).random((3, 3, 3)))
    assert tilted == pytest.approx(np.transpose(tilted, (2, 0, 1)))


@given(accuracies, st.floats(0.15, 0.85))
@settings(max_examples=60)
def test_exact_on_exact_moments(c: list[tuple[float, float]], prior: float) -> None:
    accuracy = np.array(c)
    found = spectral(expected_patterns(accuracy, prior), 2, np.random.default_rng(0))
    assert found.accuracy_hat == pytest.approx(accuracy, abs=1e-4)
    assert found.prior_hat == pytest.approx(prior, abs=1e-4)
    assert found.notes == ()


@given(accuracies, st.floats(0.2, 0.8))
@settings(max_examples=30)
def test_swapping_the_labels_swaps_the_columns(c: list[tuple[float, float]], prior: float) -> None:
    data = expected_patterns(np.array(c), prior)
    swapped = Patterns((1 - data.answers).astype(np.int8), data.weight)
    here = spectral(data, 2, np.random.default_rng(0))
    there = spectral(swapped, 2, np.random.default_rng(0))
    assert there.accuracy_hat[:, ::-1] == pytest.approx(here.accuracy_hat, abs=1e-4)
    assert there.prior_hat == pytest.approx(1 - here.prior_hat, abs=1e-4)


def test_close_to_the_likelihood_on_a_small_sample() -> None:
    """Against brute force: the log-likelihood at the estimate, near its maximum by a search around the truth."""
    instance, n = BUILT_IN["p1-asym"], 3000
    rng = np.random.default_rng(8)
    label = (rng.random(n) < 0.5).astype(np.int64)
    right = rng.random((5, n)) < instance.accuracy[:, label]
    data = patterns(np.where(right, label, 1 - label).astype(np.int8))

    def loglik(accuracy: NDArray[np.float64], prior: float) -> float:
        shown = data.answers[:, None, :] == np.arange(2)[None, :, None]
        c = accuracy[:, :, None]
        chance = np.prod(np.where(shown, c, 1 - c), axis=0)
        return float(data.weight @ np.log((1 - prior) * chance[0] + prior * chance[1]))

    found = spectral(data, 2, rng)
    best, at = -np.inf, (instance.accuracy.copy(), 0.5)
    for step in (0.03, 0.01, 0.003):
        for _ in range(400):
            trial = np.clip(at[0] + rng.normal(0, step, (5, 2)), 0.5, 0.999), float(at[1] + rng.normal(0, step))
            value = loglik(*trial)
            if value > best:
                best, at = value, trial
    poor = loglik(np.clip(found.accuracy_hat - 0.05, 0.5, 1), found.prior_hat)
    assert best - 15 < loglik(found.accuracy_hat, found.prior_hat) <= best + 5
    assert poor < best - 30


@pytest.mark.parametrize("labels", [3, 4])
def test_more_than_two_labels(labels: int) -> None:
    rng = np.random.default_rng(2)
    n, classes = 300_000, 4
    truth = rng.choice(labels, n, p=np.arange(1, labels + 1) / np.arange(1, labels + 1).sum())
    confusion = np.array(
        [0.7 * np.eye(labels) + 0.3 * rng.dirichlet(np.ones(labels), labels).T for _ in range(classes)]
    )
    cumulative = confusion.cumsum(axis=1)
    answers = np.array([(rng.random(n) > cumulative[k][:, truth]).sum(axis=0) for k in range(classes)], np.int8)
    found, prior, notes = confusion_matrices(patterns(answers, labels), labels, rng)
    assert found == pytest.approx(confusion, abs=0.03)
    assert prior == pytest.approx(np.bincount(truth) / n, abs=0.03)
    assert all("clipped" in note for note in notes)  # entries near 0 may come out just below it
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx(1.0)
    estimate = Spectral(labels).estimate(answers, rng=rng)
    assert estimate.accuracy_hat.shape == (classes, labels)


def test_more_than_two_labels_falls_back_to_the_plurality() -> None:
    answers = np.tile(np.array([0, 1, 2, 2], np.int8), (3, 1))
    answers[:, 0] = 1  # nobody ever says 0: the moments are singular
    found = Spectral(labels=3).estimate(answers, rng=np.random.default_rng(0))
    assert "plurality" in found.notes[0]
    assert found.accuracy_hat[:, 1:].min() > 0.5
    assert np.isfinite(found.accuracy_hat).all()


def test_singular_moments_fall_back_to_one_coin_and_say_so() -> None:
    data = patterns(np.ones((3, 20), np.int8))
    found, simple = spectral(data, 2, np.random.default_rng(0)), one_coin(data)
    assert np.array_equal(found.accuracy_hat, simple.accuracy_hat)
    assert "one-coin" in found.notes[0]


def test_missing_answers_do_not_bias() -> None:
    instance = BUILT_IN["p1-asym"]
    rng, n = np.random.default_rng(17), 600_000
    label = (rng.random(n) < 0.5).astype(np.int64)
    right = rng.random((5, n)) < instance.accuracy[:, label]
    answers = np.where(right, label, 1 - label).astype(np.int8)
    answers[rng.random((5, n)) < np.array([[0.0], [0.5], [0.3], [0.1], [0.7]])] = -1
    found = Spectral().estimate(answers, rng=rng)
    assert found.accuracy_hat == pytest.approx(instance.accuracy, abs=0.02)
