"""The paper's four rules: as values, against their formulas in exact arithmetic, and against their symmetries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.core.exact import performance
from quorate.core.information import theta
from quorate.core.stopping.bias import BiasIdentification
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.fixed import FixedMLE
from quorate.core.stopping.hoeffding import HoeffdingTest
from quorate.core.stopping.tables import table
from quorate.errors import SpecError
from quorate.ports import StoppingRule

alphas = st.floats(1e-6, 0.5)
accuracies = st.floats(0.51, 0.99)
counts = st.integers(0, 400)
matrices = st.tuples(accuracies, accuracies)


def direction_by_integers(zeros: int, ones: int, alpha: Fraction) -> int:
    """t·d(s/t, ½) > log(2t/α) without logs: s^s f^f 2^t / t^t > 2t/α."""
    t = zeros + ones
    if t <= 1:
        return -1
    likelihood = Fraction(zeros**zeros * ones**ones * 2**t, t**t)
    return int(ones > zeros) if likelihood > 2 * t / alpha else -1


@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 1000)])
def test_direction_test_stops_where_exact_arithmetic_says(alpha: Fraction) -> None:
    rule = DirectionTest(float(alpha))
    for t in (*range(30), 61, 120, 199):
        ones = np.arange(t + 1)
        want = [direction_by_integers(t - s, s, alpha) for s in range(t + 1)]
        assert rule.verdict(t - ones, ones).tolist() == want


def test_hoeffding_test_stops_where_exact_arithmetic_says() -> None:
    # |s/t − ½| > √(L/(2t))  ⇔  (2s − t)² > 2 t L, with L = log 20 between two rationals
    low, high = Fraction(2995732273553990, 10**15), Fraction(2995732273553992, 10**15)
    rule = HoeffdingTest(0.05)
    for t in range(1, 200):
        for s in range(t + 1):
            square = (2 * s - t) ** 2
            assert (square > 2 * t * low) == (square > 2 * t * high)  # no near-ties: the rationals decide
            want = int(2 * s > t) if square > 2 * t * low else -1
            assert int(rule.verdict(t - s, s)) == want


@given(matrices, counts, counts, alphas)
def test_bias_identification_is_its_formula(c: tuple[float, float], zeros: int, ones: int, alpha: float) -> None:
    t = zeros + ones
    z = ones * (np.log(c[1]) - np.log(1 - c[0])) + zeros * (np.log(1 - c[1]) - np.log(c[0]))
    distance = abs(z) - np.log(2 * max(t, 1) / alpha)
    got = int(BiasIdentification(alpha, *c).verdict(zeros, ones))
    if t <= 1 or distance < -1e-9 * (1 + t):
        assert got == -1
    elif distance > 1e-9 * (1 + t):
        assert got == int(z > 0)


@given(matrices, alphas)
def test_the_fixed_number_bounds_both_errors(c: tuple[float, float], alpha: float) -> None:
    """Lemma "mle": exp(−t d(θ, c(0))) ≤ α bounds either error, by the Chernoff bound."""
    rule = FixedMLE(alpha, *c)
    if rule.answers > 2000:
        return
    exact = performance(rule, c)
    assert np.all(exact.answers == pytest.approx(rule.answers))
    assert np.all(exact.error <= alpha * (1 + 1e-9))
    assert np.all(exact.undecided == 0)


def test_the_fixed_rule_takes_the_likelier_label() -> None:
    c0, c1 = 0.88, 0.82
    rule = FixedMLE(0.05, c0, c1)
    for zeros in range(10):
        ones = 9 - zeros
        zero_likelier = c0**zeros * (1 - c0) ** ones > (1 - c1) ** zeros * c1**ones
        assert int(rule.verdict(zeros, ones)) == (0 if zero_likelier else 1)
        assert zero_likelier == (zeros / 9 > theta((c0, c1)))


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_the_fixed_rule_takes_the_likelier_label_of_any_class(c0: float, c1: float) -> None:
    """Also of a class that answers the wrong way round; no sum of logs that is nearly 0 is asked about."""
    rule = FixedMLE(0.05, c0, c1)
    if rule.answers > 300:
        return
    n = int(rule.answers)
    zeros = np.arange(n + 1)
    ones = n - zeros
    lead = zeros * (np.log(c0) - np.log(1 - c1)) + ones * (np.log(1 - c0) - np.log(c1))
    clear = np.abs(lead) > 1e-9
    np.testing.assert_array_equal(rule.verdict(zeros, ones)[clear], (lead < 0)[clear])
    assert np.all(performance(rule, (c0, c1)).error <= 0.05 * (1 + 1e-9))


@pytest.mark.parametrize("c", [(0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.9, 0.1), (0.7, 0.3 + 1e-16)])
def test_a_class_whose_answers_tell_nothing_is_never_enough_for_the_fixed_rule(c: tuple[float, float]) -> None:
    assert FixedMLE(0.05, *c).verdict([0, 10**6], [10**6, 0]).tolist() == [-1, -1]


def test_fixed_answers_of_the_papers_classes() -> None:
    classes = [(0.94, 0.90), (0.77, 0.87), (0.92, 0.76), (0.88, 0.82), (0.64, 0.66)]
    assert [FixedMLE(0.05, *c).answers for c in classes] == [5, 12, 9, 9, 64]


def test_a_fair_coin_is_never_enough_for_the_fixed_rule() -> None:
    rule = FixedMLE(0.05, 0.5, 0.5)
    assert rule.answers == np.inf
    assert rule.verdict([0, 10**6], [10**6, 0]).tolist() == [-1, -1]


@given(alphas, counts, counts, matrices)
def test_swapping_the_labels_swaps_the_verdict(alpha: float, zeros: int, ones: int, c: tuple[float, float]) -> None:
    pairs: list[tuple[StoppingRule, StoppingRule]] = [
        (DirectionTest(alpha), DirectionTest(alpha)),
        (HoeffdingTest(alpha), HoeffdingTest(alpha)),
        (BiasIdentification(alpha, *c), BiasIdentification(alpha, c[1], c[0])),
    ]
    for rule, mirrored in pairs:
        here, there = int(rule.verdict(zeros, ones)), int(mirrored.verdict(ones, zeros))
        assert there == (here if here < 0 else 1 - here)


@given(st.floats(1e-6, 0.4), counts, counts)
def test_a_looser_promise_never_waits_longer(alpha: float, zeros: int, ones: int) -> None:
    for make in (DirectionTest, HoeffdingTest, lambda a: BiasIdentification(a, 0.8, 0.7)):
        if int(make(alpha).verdict(zeros, ones)) >= 0:
            assert int(make(min(0.5, alpha * 1.2)).verdict(zeros, ones)) == int(make(alpha).verdict(zeros, ones))


@pytest.mark.parametrize(
    "rule", [DirectionTest(0.05), HoeffdingTest(0.05), BiasIdentification(0.05, 0.8, 0.7), FixedMLE(0.05, 0.8, 0.7)]
)
def test_the_table_is_the_rule(rule: StoppingRule) -> None:
    compiled = table(rule, 40)
    assert compiled.dtype == np.int8
    assert compiled.shape == (41, 41)
    assert not compiled.flags.writeable
    assert all(compiled[z, o] == int(rule.verdict(z, o)) for z in range(41) for o in range(41))
    assert compiled[0, 0] == -1
    assert rule == type(rule)(*(getattr(rule, name) for name in rule.__dataclass_fields__))  # type: ignore[attr-defined]


def test_counts_may_be_small_integers() -> None:
    """int16 counts of 30,000 answers: sums and products must not wrap round."""
    zeros, ones = np.array([14_000, 16_000], np.int16), np.array([16_000, 14_000], np.int16)
    for rule in (DirectionTest(0.05), HoeffdingTest(0.05), BiasIdentification(0.05, 0.6, 0.6)):
        assert rule.verdict(zeros, ones).tolist() == [1, 0]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5, float("nan")])
def test_an_impossible_alpha_is_refused_by_name(alpha: float) -> None:
    with pytest.raises(SpecError, match="alpha") as caught:
        DirectionTest(alpha)
    assert "0.05" in caught.value.hint


@pytest.mark.parametrize("c", [(0.0, 0.8), (0.8, 1.0), (float("nan"), 0.8)])
def test_an_impossible_accuracy_is_refused_by_value(c: tuple[float, float]) -> None:
    for rule in (BiasIdentification, FixedMLE):
        with pytest.raises(SpecError, match="accuracies"):
            rule(0.05, *c)
