"""The exact numbers on the docs page *The paper, checked*."""

from itertools import product

import numpy as np
import pytest

from quorate.core.exact import performance
from quorate.core.information import chernoff_information, kl_bernoulli, lower_bound
from quorate.core.planning.oracle import oracle
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.fixed import FixedMLE
from quorate.core.stopping.hoeffding import HoeffdingTest
from quorate.core.theorems import misidentified_symmetric, symmetric_theorem
from quorate.studies.benchmarks import benchmarks
from quorate.studies.instances import BUILT_IN
from quorate.studies.limit import limit
from quorate.studies.rules import exact, exact_cost

ASYM, SYM = BUILT_IN["p1-asym"], BUILT_IN["p1-sym"]


@pytest.mark.parametrize("rule", ["direction-test", "mixture"])
@pytest.mark.parametrize("instance", [ASYM, SYM])
def test_lemma_1_bounds_every_valid_rule(rule, instance):
    answers = np.array([one.answers for one in exact(instance, rule, 0.05)])
    assert (answers >= lower_bound(instance.accuracy, 0.05)).all()


def test_k_star_is_not_the_cheapest_class():
    cost = exact_cost(ASYM, "asym-imcw", 0.05)
    assert benchmarks(ASYM)["k_star"] == "class-4"
    assert cost.argmin() == 2
    assert cost[[2, 3]] == pytest.approx([64.9, 73.8], abs=0.05)


def test_known_matrices_make_class_3_the_best():
    """Alone it pays what all classes together pay; k* is 44 % dearer."""
    alone = [
        oracle(ASYM.accuracy[k : k + 1], ASYM.price[k : k + 1], alpha=0.05).cost for k in range(len(ASYM.classes))
    ]
    assert int(np.argmin(alone)) == 2
    assert alone[2] == pytest.approx(limit(ASYM).cost, rel=1e-3)
    assert alone[3] / alone[2] == pytest.approx(1.44, abs=0.005)


def test_direction_test_reaches_lemma_2_slowly():
    ratio = [
        performance(DirectionTest(alpha), (0.82, 0.82)).answers[0] * kl_bernoulli(0.82, 0.5) / -np.log(alpha)
        for alpha in (0.05, 1e-3, 1e-6, 1e-24, 1e-48)
    ]
    assert ratio == pytest.approx([2.19, 1.60, 1.34, 1.11, 1.06], abs=0.006)


def test_direction_test_is_sixteen_times_too_careful():
    worst = performance(DirectionTest(0.05), (0.5001, 0.5001), cap=4_000).error.max()
    assert 0.05 / 17 < worst < 0.05 / 16


def test_cbs_as_printed_stops_no_later_than_the_chernoff_rule_on_any_path():
    """Wherever DirectionTest has stopped, CBS stops too, with the same label."""
    zeros, ones = np.arange(400)[:, None], np.arange(400)[None, :]
    chernoff, printed = (rule(0.05).verdict(zeros, ones) for rule in (DirectionTest, HoeffdingTest))
    np.testing.assert_array_equal(printed[chernoff >= 0], chernoff[chernoff >= 0])


def test_exploring_alone_decides_every_item_if_the_matrices_are_known():
    error = np.zeros(2)
    for z in product((0, 1), repeat=5):
        said = np.array(z)
        p = [np.where(said == i, ASYM.accuracy[:, i], 1 - ASYM.accuracy[:, i]).prod() for i in (0, 1)]
        error[int(p[1] <= p[0])] += min(p)
    assert error == pytest.approx([0.0412, 0.0263], abs=5e-5)
    assert ASYM.price.sum() / limit(ASYM).cost == pytest.approx(3.0, abs=0.01)


def test_lemma_4_bounds_the_mle():
    for c, t in zip(ASYM.accuracy, (5, 12, 9, 9, 64), strict=True):
        rule = FixedMLE(0.05, *c)
        bound = np.exp(-rule.answers * chernoff_information(c))
        assert rule.answers == t
        assert performance(rule, c).error.max() <= bound <= 0.05
        assert 3.6 < bound / performance(rule, c).error.max() < 6.4


def test_the_theorems_and_the_remark():
    parts = {(one["theorem"], one["part"]): one["log10"] for one in benchmarks(ASYM)["theorems"]}
    assert parts["Theorem 2", "N_0"] == pytest.approx(107.2, abs=0.05)
    assert parts["Theorem 2", "K_4 as printed"] is None
    assert 10 ** parts["Remark, Section VI", "determinant"] == pytest.approx(3.4e33, rel=0.02)
    assert 10 ** parts["Remark, Section VI", "least singular value"] == pytest.approx(4.5e29, rel=0.02)
    symmetric = {(one["theorem"], one["part"]): one["log10"] for one in benchmarks(SYM)["theorems"]}
    assert symmetric["Theorem 1", "N_0"] == pytest.approx(21.6, abs=0.05)
    assert symmetric["Theorem 2", "N_0"] == np.inf


def test_a_smaller_gamma_bounds_tighter_and_later():
    gammas = (0.1, 0.25, 0.4, 0.499)
    needed = [symmetric_theorem(SYM.accuracy, SYM.price, gamma)[-1].log10 for gamma in gammas]
    assert needed == pytest.approx([54.0, 21.6, 13.5, 10.8], abs=0.05)
    least = [  # items from which on the theorem both applies and says less than 1
        max(symmetric_theorem(SYM.accuracy, SYM.price, gamma)[-1].log10, np.log10(2 * np.log(25)) / (1 - 2 * gamma))
        for gamma in np.linspace(0.01, 0.499, 300)
    ]
    assert 11 < min(least) < 12
    bound = [misidentified_symmetric(10_000, 5, gamma) for gamma in gammas[:3]]
    assert bound == pytest.approx([0, 5e-21, 1.07], rel=0.05, abs=1e-100)


def test_lemma_6_inverts_the_divergence_from_one_half():
    x = np.linspace(0.5, 0.9999, 2_000)
    y = kl_bernoulli(0.5, x)
    np.testing.assert_allclose((1 + np.sqrt(-np.expm1(-2 * y))) / 2, x, atol=1e-14, rtol=0)


@pytest.mark.parametrize("base", [2, np.e])
def test_lemma_7_bounds_the_inverse_entropy_below_one_half_and_says_nothing_above(base):
    p = np.geomspace(1e-9, 0.4999, 5_000)
    h = -(p * np.log(p) + (1 - p) * np.log1p(-p)) / np.log(base)
    low, high = h / (2 * np.log(6 / h) / np.log(base)), h / (-np.log(h) / np.log(base))
    assert (low <= p).all()
    assert (p <= high).all()
    assert (low < 0.5).all()  # so that no accuracy is below it, and the requirement of the proofs cannot be met
