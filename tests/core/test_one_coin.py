"""Patterns and the one-coin estimator: exact on exact moments, total on anything, blind to the order of items."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from quorate.core.estimators.one_coin import OneCoin, agreement, one_coin
from quorate.core.estimators.patterns import Patterns, patterns
from quorate.core.estimators.spectral import Spectral
from quorate.errors import AnswerError, TooFewWorkerClasses
from quorate.model import Estimate

DICE = np.random.default_rng(0)
matrices = arrays.arrays(np.int8, st.tuples(st.integers(3, 7), st.integers(1, 40)), elements=st.integers(-1, 1))


def expected_patterns(accuracy: NDArray[np.float64], prior: float, scale: float = 2.0**50) -> Patterns:
    """What infinitely many items would show: weights proportional to the probability of each pattern."""
    shown = np.array(list(product((0, 1), repeat=len(accuracy))), np.int8).T
    chance = sum(
        w * np.prod([np.where(row == i, c[i], 1 - c[i]) for row, c in zip(shown, accuracy, strict=True)], axis=0)
        for i, w in enumerate((1 - prior, prior))
    )
    return Patterns(shown, np.round(np.asarray(chance) * scale).astype(np.int64))


def unpacked(data: Patterns) -> NDArray[np.int8]:
    return np.repeat(data.answers, data.weight, axis=1)


def same(a: Estimate, b: Estimate) -> bool:
    return np.array_equal(a.accuracy_hat, b.accuracy_hat) and a.prior_hat == b.prior_hat and a.notes == b.notes


@given(matrices)
def test_patterns_lose_nothing_but_the_order(answers: NDArray[np.int8]) -> None:
    found = patterns(answers)
    columns = sorted(map(tuple, answers.T.tolist()))
    assert sorted(map(tuple, unpacked(found).T.tolist())) == columns
    assert list(map(tuple, found.answers.T.tolist())) == sorted(set(columns))
    assert found.weight.min() >= 1


@pytest.mark.parametrize(
    ("classes", "labels"), [(1, 2), (5, 2), (6, 2), (12, 2), (30, 2), (50, 2), (130, 2), (6, 5), (40, 9)]
)
def test_patterns_of_any_size(classes: int, labels: int) -> None:
    answers = np.random.default_rng(3).integers(-1, labels, (classes, 700)).astype(np.int8)
    answers[:, 350:] = answers[:, :350]
    found = patterns(answers, labels)
    want, weight = np.unique(answers, axis=1, return_counts=True)
    assert np.array_equal(found.answers, want)
    assert np.array_equal(found.weight, weight)


def test_patterns_of_any_memory_layout() -> None:
    answers = np.random.default_rng(6).integers(0, 2, (5, 999)).astype(np.int8)
    for one in (answers, np.asfortranarray(answers), np.repeat(answers, 2, axis=1)[:, ::2]):
        for low in (0, -1):  # with and without missing answers
            shown = np.where(one == 0, low, one).astype(np.int8, order="K")
            want, weight = np.unique(shown, axis=1, return_counts=True)
            found = patterns(shown)
            assert np.array_equal(found.answers, want)
            assert np.array_equal(found.weight, weight)


def test_patterns_of_many_items_and_none() -> None:
    answers = np.random.default_rng(4).integers(-1, 2, (4, 300_001)).astype(np.int8)
    want, weight = np.unique(answers, axis=1, return_counts=True)
    found = patterns(answers)
    assert np.array_equal(found.answers, want)
    assert np.array_equal(found.weight, weight)
    assert patterns(np.zeros((3, 0), np.int8)).answers.shape == (3, 0)
    assert patterns(np.zeros((60, 0), np.int8)).weight.sum() == 0


@pytest.mark.parametrize("wrong", [-2, 2, 100])
def test_an_answer_that_is_no_label_is_named(wrong: int) -> None:
    with pytest.raises(AnswerError, match=str(wrong)):
        patterns(np.array([[0, wrong], [1, 1], [0, 0]], np.int8))


@given(matrices)
def test_agreement_counts_pairs(answers: NDArray[np.int8]) -> None:
    found = agreement(patterns(answers))
    for a, b in product(range(len(answers)), repeat=2):
        met = (answers[a] >= 0) & (answers[b] >= 0)
        share = (answers[a] == answers[b])[met].mean() if met.any() else 0.5
        assert found[a, b] == pytest.approx((share - 0.5) / 2)


@given(st.lists(st.floats(0.55, 0.99), min_size=3, max_size=7), st.floats(0.05, 0.95))
def test_exact_on_exact_moments(c: list[float], prior: float) -> None:
    accuracy = np.repeat(np.array(c)[:, None], 2, axis=1)
    found = one_coin(expected_patterns(accuracy, prior))
    assert found.accuracy_hat == pytest.approx(accuracy, abs=1e-6)
    assert found.prior_hat == pytest.approx(prior, abs=1e-6)
    assert found.notes == ()


@pytest.mark.parametrize("estimator", [OneCoin(), Spectral()])
def test_consistent_and_both_agree_on_symmetric_classes(estimator: OneCoin | Spectral) -> None:
    rng = np.random.default_rng(11)
    c, n = np.array([0.92, 0.82, 0.84, 0.85, 0.65]), 400_000
    label = rng.random(n) < 0.3
    answers = np.where(rng.random((5, n)) < c[:, None], label, ~label).astype(np.int8)
    answers[rng.random((5, n)) < 0.1] = -1
    found = estimator.estimate(answers, rng=rng)
    assert found.accuracy_hat == pytest.approx(np.repeat(c[:, None], 2, axis=1), abs=0.01)
    assert found.prior_hat == pytest.approx(0.3, abs=0.005)


@given(matrices, st.data())
@settings(max_examples=60)
def test_the_order_of_items_does_not_matter(answers: NDArray[np.int8], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(answers.shape[1])))
    for estimator in (OneCoin(), Spectral()):
        one = estimator.estimate(answers, rng=np.random.default_rng(1))
        assert same(one, estimator.estimate(answers[:, order], rng=np.random.default_rng(1)))


@given(st.lists(st.floats(0.55, 0.99), min_size=3, max_size=6, unique=True), st.data())
@settings(max_examples=40)
def test_permuting_classes_permutes_the_estimate(c: list[float], data: st.DataObject) -> None:
    answers = unpacked(expected_patterns(np.repeat(np.array(c)[:, None], 2, axis=1), 0.4, scale=4000.0))
    order = list(data.draw(st.permutations(range(len(c)))))
    here = OneCoin().estimate(answers, rng=DICE)
    there = OneCoin().estimate(answers[order], rng=DICE)
    assert there.accuracy_hat == pytest.approx(here.accuracy_hat[order], abs=1e-9)


@given(matrices)
@settings(max_examples=100)
def test_swapping_the_labels_leaves_the_one_coin_accuracies(answers: NDArray[np.int8]) -> None:
    swapped = np.where(answers >= 0, 1 - answers, -1).astype(np.int8)
    here, there = (OneCoin().estimate(one, rng=DICE) for one in (answers, swapped))
    assert np.array_equal(here.accuracy_hat, there.accuracy_hat)
    assert there.prior_hat == pytest.approx(1 - here.prior_hat, abs=1e-9)


def test_workers_who_are_mostly_wrong_are_flipped_and_it_is_noted() -> None:
    """The data cannot tell c from 1 − c; the assumption c > 1/2 does.  One class on the other side stays there."""
    data = expected_patterns(np.repeat([[0.9], [0.8], [0.3]], 2, axis=1), 0.5)
    found = one_coin(data)
    assert found.accuracy_hat[:, 0] == pytest.approx([0.9, 0.8, 0.3], abs=1e-6)
    assert any("class 3" in note and "not identifiable" in note for note in found.notes)
    backwards = one_coin(expected_patterns(np.repeat([[0.2], [0.4], [0.9]], 2, axis=1), 0.5))
    assert backwards.accuracy_hat[:, 0].mean() >= 0.5


DEGENERATE = {
    "all say one": np.ones((4, 9), np.int8),
    "all say zero": np.zeros((3, 9), np.int8),
    "one item": np.array([[1], [0], [1]], np.int8),
    "one always one": np.array([[1] * 6, [0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 0, 0]], np.int8),
    "all opposite": np.array([[0, 1] * 4, [1, 0] * 4, [0, 1] * 4], np.int8),
    "nobody asked": np.full((3, 5), -1, np.int8),
    "one class never asked": np.array([[0, 1, 1], [0, 1, 0], [-1, -1, -1]], np.int8),
    "never together": np.array([[0, -1, -1], [-1, 1, -1], [-1, -1, 1]], np.int8),
    "no items": np.zeros((3, 0), np.int8),
    "identical": np.tile(np.array([0, 1, 1, 0, 1], np.int8), (10, 1)),
    "coins": np.array(list(product((0, 1), repeat=3)), np.int8).T,
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("estimator", [OneCoin(), Spectral()])
def test_degenerate_answers_give_finite_annotated_estimates(name: str, estimator: OneCoin | Spectral) -> None:
    found = estimator.estimate(DEGENERATE[name], rng=np.random.default_rng(0))
    assert np.isfinite(found.accuracy_hat).all()
    assert found.accuracy_hat.min() >= 0
    assert found.accuracy_hat.max() <= 1
    assert 0 <= found.prior_hat <= 1
    if name not in ("identical", "all say one", "all say zero"):
        assert found.notes


def test_answers_like_coins_are_called_not_identifiable() -> None:
    found = OneCoin().estimate(DEGENERATE["coins"], rng=DICE)
    assert found.accuracy_hat.tolist() == [[0.5, 0.5]] * 3
    assert all("set to 1/2" in note or "not identifiable" in note for note in found.notes)


def check_total(answers: NDArray[np.int8], estimator: OneCoin | Spectral) -> Estimate:
    """R21: finite, a probability, strictly between 1/2 and 1 or called not identifiable."""
    found = estimator.estimate(answers, rng=np.random.default_rng(0))
    c = found.accuracy_hat
    assert np.isfinite(c).all()
    assert 0 <= c.min() <= c.max() <= 1
    assert 0 <= found.prior_hat <= 1
    for k in np.flatnonzero((c.min(axis=1) <= 0.5) | (c.max(axis=1) >= 1)):
        assert any(note.startswith(f"class {k + 1}: ") and "not identifiable" in note for note in found.notes)
    return found


@given(matrices)
@settings(max_examples=300)
def test_total(answers: NDArray[np.int8]) -> None:
    for estimator in (OneCoin(), Spectral()):
        check_total(answers, estimator)


def explore(classes: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """What an explore stage may bring home: poor classes, few items, missing answers, copies, opposites, silence."""
    n = int(rng.choice([1, 2, 3, 5, 10, 30, 60]))
    label = rng.random(n) < rng.random()
    kind = rng.integers(6)
    if kind == 0:
        answers = np.tile(label, (classes, 1))
    elif kind == 1:
        answers = label ^ (np.arange(classes) % 2 == 1)[:, None]
    elif kind == 2:
        answers = rng.random((classes, n)) < 0.5
    else:
        answers = np.where(
            rng.random((classes, n)) < rng.uniform(0.5, (0.7, 1.0)[kind % 2], (classes, 1)), label, ~label
        )
    made = answers.astype(np.int8)
    made[rng.random((classes, n)) < rng.choice([0, 0, 0.2, 0.8, 1.0])] = -1
    return made


@pytest.mark.slow
@pytest.mark.parametrize("classes", range(3, 11))
def test_total_on_a_hundred_thousand_explores(classes: int) -> None:
    """R21: the printed estimate is often undefined, ours never; and the order of the items changes nothing."""
    rng, undefined = np.random.default_rng((21, classes)), 0
    for at in range(12_500):
        answers = explore(classes, rng)
        for estimator in (OneCoin(), Spectral()):
            found = check_total(answers, estimator)
            undefined += isinstance(estimator, OneCoin) and any("set to 1/2" in note for note in found.notes)
            if at % 25 == 0:
                shuffled = answers[:, rng.permutation(answers.shape[1])]
                assert np.array_equal(check_total(shuffled, estimator).accuracy_hat, found.accuracy_hat)
    assert undefined > 1000  # the hard cases were met


@pytest.mark.parametrize(("estimator", "rounds"), [(OneCoin(draws=60), 60), (Spectral(draws=40), 20)])
def test_bootstrap_intervals_cover_about_as_often_as_they_say(estimator: OneCoin | Spectral, rounds: int) -> None:
    c, n = np.array([0.9, 0.8, 0.7]), 3000
    rng, covered, prior_covered = np.random.default_rng(31), 0.0, 0
    for _ in range(rounds):
        label = rng.random(n) < 0.4
        answers = np.where(rng.random((3, n)) < c[:, None], label, ~label).astype(np.int8)
        found = estimator.estimate(answers, rng=rng)
        assert found.interval is not None
        assert found.prior_interval is not None
        assert np.all(found.interval[..., 0] <= found.interval[..., 1])
        covered += float(((found.interval[..., 0] <= c[:, None]) & (c[:, None] <= found.interval[..., 1])).mean())
        prior_covered += found.prior_interval[0] <= 0.4 <= found.prior_interval[1]
    assert covered / rounds >= 0.86
    assert prior_covered / rounds >= 0.8


def test_without_items_there_is_no_interval() -> None:
    assert OneCoin(draws=10).estimate(np.zeros((3, 0), np.int8), rng=DICE).interval is None


@pytest.mark.parametrize("classes", [0, 1, 2])
@pytest.mark.parametrize("estimator", [OneCoin(), Spectral()])
def test_fewer_than_three_classes_is_refused_with_the_way_out(classes: int, estimator: OneCoin | Spectral) -> None:
    with pytest.raises(TooFewWorkerClasses, match=f"got {classes}") as caught:
        estimator.estimate(np.zeros((classes, 10), np.int8), rng=DICE)
    assert "several times" in caught.value.hint


def test_inputs_are_not_changed() -> None:
    answers = np.random.default_rng(5).integers(-1, 2, (4, 50)).astype(np.int8)
    before = answers.copy()
    for estimator in (OneCoin(), Spectral()):
        estimator.estimate(answers, rng=DICE)
    assert np.array_equal(answers, before)
