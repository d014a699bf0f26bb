"""The calibrated mixture rule: its threshold, its promise, its price."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from quorate.core.exact import performance
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.mixture import MixtureRule, crossing_bound, log_evidence, log_mixture, log_threshold
from quorate.errors import SpecError
from quorate.ports import StoppingRule

PUBLISHED = {0.05: (2.765, 0.48, 0.51), 0.01: (4.356, 0.57, 0.59), 0.001: (6.719, 0.66, 0.67)}
CLASS_3, CLASS_4 = (0.92, 0.76), (0.88, 0.82)


def test_it_is_a_stopping_rule() -> None:
    assert isinstance(MixtureRule(0.05), StoppingRule)
    assert MixtureRule(0.05) == MixtureRule(0.05)


@pytest.mark.parametrize(("zeros", "ones"), [(0, 0), (0, 1), (3, 5), (9, 2), (0, 30), (40, 60)])
def test_evidence_is_the_integral(zeros: int, ones: int) -> None:
    def density(p: float) -> float:
        return p**11 * (1 - p) ** 2

    normal = quad(density, 0.5, 1, epsabs=0, epsrel=1e-10)[0]
    value = quad(lambda p: density(p) * (2 * p) ** ones * (2 - 2 * p) ** zeros, 0.5, 1, epsabs=0, epsrel=1e-10)[0]
    assert float(log_evidence(zeros, ones)) == pytest.approx(np.log(value / normal), abs=1e-8)


@given(st.integers(0, 300), st.integers(0, 300))
def test_one_more_answer_of_a_fair_coin_leaves_the_evidence_as_it_is_on_average(zeros: int, ones: int) -> None:
    now = float(log_evidence(zeros, ones))
    later = np.logaddexp(log_evidence(zeros, ones + 1), log_evidence(zeros + 1, ones)) - np.log(2)
    if np.isfinite(now):
        assert float(later) == pytest.approx(now, abs=1e-9)


def test_the_mixture_is_a_probability_of_answers() -> None:
    t = np.arange(13)
    ways = np.array([1, 12, 66, 220, 495, 792, 924, 792, 495, 220, 66, 12, 1])
    assert float(ways @ np.exp(log_mixture(t, 12 - t))) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("alpha", PUBLISHED)
def test_thresholds(alpha: float) -> None:
    assert log_threshold(alpha) == pytest.approx(PUBLISHED[alpha][0], abs=6e-4)


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 0.01, 0.05, 0.2, 0.4])
def test_the_fair_coin_errs_at_most_alpha_and_a_lower_threshold_errs_more(alpha: float) -> None:
    log_b = log_threshold(alpha)
    assert crossing_bound(log_b) <= alpha
    assert crossing_bound(log_b - 2e-4) > alpha
    assert log_b <= np.log(1 / alpha)


def test_the_tail_bound_holds_and_closes() -> None:
    bounds = [crossing_bound(2.7654, horizon) for horizon in (50, 200, 1000, 3000)]
    assert bounds == sorted(bounds, reverse=True)
    # the mass that crosses within 3,000 answers, from the independent enumeration of any rule
    exact = performance(MixtureRule(0.05), (0.5, 0.5), cap=3000)
    assert exact.error.max() <= bounds[-1]
    assert bounds[-1] - exact.error.max() <= exact.undecided.max()


@given(st.floats(0.5, 0.995), st.floats(0.5, 0.995), st.sampled_from([0.3, 0.05, 0.01, 0.001]))
@settings(max_examples=25, deadline=None)
def test_no_class_better_than_a_coin_errs_more_than_alpha(c0: float, c1: float, alpha: float) -> None:
    assert performance(MixtureRule(alpha), (c0, c1), cap=400).error.max() <= alpha


@pytest.mark.parametrize("alpha", PUBLISHED)
def test_cost_against_direction_test(alpha: float) -> None:
    _, ratio_3, ratio_4 = PUBLISHED[alpha]
    for accuracy, ratio in ((CLASS_3, ratio_3), (CLASS_4, ratio_4)):
        ours = performance(MixtureRule(alpha), accuracy).mean_answers()
        paper = performance(DirectionTest(alpha), accuracy).mean_answers()
        assert ours / paper == pytest.approx(ratio, abs=0.006)


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_labels_are_alike_and_only_one_side_has_evidence(zeros: int, ones: int) -> None:
    rule = MixtureRule(0.05)
    there, back = int(rule.verdict(zeros, ones)), int(rule.verdict(ones, zeros))
    assert there == (back if back < 0 else 1 - back)
    assert min(float(log_evidence(zeros, ones)), float(log_evidence(ones, zeros))) <= 0


@given(st.integers(0, 300), st.integers(0, 300))
def test_more_ones_are_more_evidence_for_one(zeros: int, ones: int) -> None:
    assert log_evidence(zeros, ones + 1) >= log_evidence(zeros + 1, ones)


@pytest.mark.parametrize("alpha", [0.0, 1e-7, 0.5, 0.9, float("nan")])
def test_an_alpha_it_is_not_calibrated_for_is_refused(alpha: float) -> None:
    with pytest.raises(SpecError, match="calibrated for alpha"):
        MixtureRule(alpha)
