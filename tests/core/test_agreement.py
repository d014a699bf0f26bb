"""Agreement beyond the truth, and how sure confusion matrices of any size are."""

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from quorate.core.estimators.agreement import Agreement
from quorate.core.estimators.dawid_skene import dawid_skene, one_hot, pattern_rows
from quorate.core.estimators.gibbs import believed_cells, confusion_draws


def independent(right, items, labels, rng):
    truth = rng.integers(0, labels, items)
    wrong = (truth + rng.integers(1, labels, (len(right), items))) % labels
    return np.where(rng.random((len(right), items)) < np.array(right)[:, None], truth, wrong).astype(np.int8)


def pairs_of(answers, labels):
    rows, weight = pattern_rows(answers, labels)
    return Agreement(rows, weight, labels, believed_cells(labels)).pairs()


@pytest.mark.parametrize("labels", [2, 4])
def test_independent_classes_agree_as_often_as_the_truth_explains(labels):
    rng = np.random.default_rng(labels)
    scores = []
    for _ in range(12):
        for pair in pairs_of(independent([0.9, 0.8, 0.7, 0.6, 0.85], 3000, labels, rng), labels):
            assert not pair.dependent
            assert pair.observed == pytest.approx(pair.expected, abs=0.08)
            scores.append((pair.observed - pair.expected) / pair.error)
    assert abs(np.mean(scores)) < 1


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_copies_are_found_and_nobody_else_is_accused(share):
    rng = np.random.default_rng(3)
    answers = independent([0.8, 0.8, 0.75, 0.7, 0.8, 0.65], 4000, 2, rng)
    answers[5] = np.where(rng.random(4000) < share, answers[2], answers[5])
    assert [(one.a, one.b) for one in pairs_of(answers, 2) if one.dependent] == [(2, 5)]


def test_two_pairs_of_copies_are_both_found():
    rng = np.random.default_rng(4)
    answers = independent([0.8] * 7, 4000, 2, rng)
    answers[4], answers[6] = answers[0], answers[5]
    assert {(one.a, one.b) for one in pairs_of(answers, 2) if one.dependent} == {(0, 4), (5, 6)}


def test_what_agreement_is_on_repeated_and_missing_answers():
    x = np.array([[2, 1, 3, 0], [0, 1, 0, 0], [1, 0, 0, 1]], float)
    (pair,) = Agreement(x, np.array([1.0, 5.0, 3.0]), 2, believed_cells(2)).pairs()
    assert pair.items == 4
    assert pair.observed == pytest.approx((1 * 2 / 3 + 3 * 0) / 4)
    assert pair.expected is None
    assert not pair.dependent


def test_classes_that_never_met_make_no_pair():
    x = np.array([[1, 0, 0, 0], [0, 0, 0, 1]], float)
    assert Agreement(x, np.ones(2), 2, believed_cells(2)).pairs() == []


def test_intervals_of_confusion_matrices_cover():
    """Worlds from the belief, three labels: each entry lies below its q-quantile q of the time."""
    belief, labels, worlds = believed_cells(3), 3, 150
    below = []
    for world in range(worlds):
        rng = np.random.default_rng([5, world])
        confusion = np.stack([[rng.dirichlet(belief[:, i]) for i in range(labels)] for _ in range(4)]).transpose(
            0, 2, 1
        )
        prior = rng.dirichlet(np.full(labels, 2.0))
        truth = rng.choice(labels, 400, p=prior)
        cut = np.cumsum(confusion[:, :, truth], axis=1)
        answers = (rng.random((4, 1, 400)) > cut).sum(axis=1).astype(np.int8)
        rows, weight = pattern_rows(answers, labels)
        fit = dawid_skene(rows, labels, weight=weight, pseudo=belief, tol=1e-8, max_iter=500)
        drawn, drawn_prior = confusion_draws(rows, weight, fit, belief=belief, draws=200, rng=rng)
        below.append(np.append((drawn < confusion).mean(axis=0)[:, 0, 0], (drawn_prior < prior).mean(axis=0)[0]))
    below = np.array(below)
    for column in below.T:
        assert kstest(column, "uniform").pvalue > 1e-3
    assert binomtest(int(((below > 0.05) & (below < 0.95)).sum()), below.size, 0.9).pvalue > 1e-3


def test_draws_without_answers_are_the_belief():
    x, weight = one_hot(np.full((2, 3), -1), 2), np.ones(3)
    belief = believed_cells(2)
    fit = dawid_skene(x, 2, weight=weight, pseudo=belief)
    drawn, _ = confusion_draws(x, weight, fit, belief=belief, draws=3000, rng=np.random.default_rng(6))
    assert kstest(drawn[:, 0, 0, 0], "beta", args=(5, 2)).pvalue > 1e-3
