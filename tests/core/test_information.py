"""Information measures: known values, symmetries, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorate.core import information as info
from quorate.studies.instances import BUILT_IN

ASYM, SYM, RTE = BUILT_IN["p1-asym"], BUILT_IN["p1-sym"], BUILT_IN["p1-asym-rte"]
probabilities = st.floats(0.0, 1.0)
better_than_a_coin = st.floats(0.5, 1.0)
matrices = st.lists(st.tuples(st.floats(0.51, 0.99), st.floats(0.51, 0.99)), min_size=2, max_size=6)


@given(probabilities, probabilities)
@example(8.8e-251, 4.2e-200)
@example(0.3, np.nextafter(0.3, 1))
def test_divergence_is_a_divergence(p: float, q: float) -> None:
    d = float(info.kl_bernoulli(p, q))
    assert d >= 0
    assert d >= 2 * (p - q) ** 2 * (1 - 1e-9) - 1e-15  # Pinsker, up to rounding of two terms of opposite sign
    assert not np.isnan(d)
    assert float(info.kl_bernoulli(p, p)) == 0


def test_divergence_keeps_its_limits() -> None:
    assert info.kl_bernoulli([0, 1, 0.5, 0.5], [0.5, 0.5, 0, 1]).tolist() == [np.log(2), np.log(2), np.inf, np.inf]


def test_the_paper_prices_give_its_choice() -> None:
    """The printed matrices: k* is class 4 and P1's prices are the documents'."""
    cost = info.unit_cost(ASYM.accuracy, ASYM.price)
    assert info.k_star(cost) == 3
    assert ASYM.price.sum() == pytest.approx(14.74, abs=0.005)
    assert SYM.price.sum() == pytest.approx(19.64, abs=0.005)


def test_table_1_from_the_counts_of_the_rte_labels() -> None:
    """Section 1.5: c, p and p⌈log(1/(2.4α))/d⌉, cut to two decimals as the paper cuts; the gap is 3.13 %."""
    cost = info.unit_cost(RTE.accuracy, RTE.price)
    best = info.k_star(cost)
    answers = np.ceil(info.lower_bound(RTE.accuracy[best], 0.05).max())
    assert best == 3
    assert [np.trunc(100 * c) / 100 for c in RTE.accuracy[best]] == [0.88, 0.82]
    assert np.trunc(100 * RTE.price[best]) / 100 == 3.07
    assert np.trunc(100 * RTE.price[best] * answers) / 100 == 30.75
    assert info.gap(cost)[best] / cost[best] == pytest.approx(0.0313, abs=5e-5)

    sym = BUILT_IN["p1-sym-rte"]
    cost = info.unit_cost(sym.accuracy, sym.price)
    best = info.k_star(cost)
    answers = np.ceil(info.lower_bound(sym.accuracy[best], 0.05).max())
    assert best == 1
    assert np.trunc(100 * sym.price[best]) / 100 == 2.95
    assert np.trunc(100 * sym.price[best] * answers) / 100 == 29.55
    assert info.gap(cost)[best] / cost[best] == pytest.approx(0.0307, abs=5e-5)


@given(matrices, st.floats(1e-6, 0.4))
def test_knowing_the_matrix_never_needs_more(c: list[tuple[float, float]], alpha: float) -> None:
    assert np.all(info.lower_bound_known(c, alpha) <= info.lower_bound(c, alpha) * (1 + 1e-9))


@given(matrices, st.data())
def test_unit_costs_follow_prices_labels_and_classes(c: list[tuple[float, float]], data: st.DataObject) -> None:
    prices = st.floats(0.01, 100)
    price = np.array(data.draw(st.lists(prices, min_size=len(c), max_size=len(c))))
    order = np.array(data.draw(st.permutations(range(len(c)))))
    accuracy, scale = np.array(c), data.draw(prices)
    for cost in (info.unit_cost, info.unit_cost_known):
        here = cost(accuracy, price)
        assert cost(accuracy[:, ::-1], price) == pytest.approx(here)
        assert cost(accuracy, scale * price) == pytest.approx(scale * here)
        assert cost(accuracy[order], price[order]) == pytest.approx(here[order])


@given(better_than_a_coin, better_than_a_coin)
def test_theta_is_the_kl_midpoint(c0: float, c1: float) -> None:
    """d(θ, c(0)) = d(θ, 1−c(1)), between the two; swapping the labels mirrors it."""
    cut = float(info.theta((c0, c1)))
    assert 0 <= cut <= 1
    assert float(info.theta((c1, c0))) == pytest.approx(1 - cut, abs=1e-6)
    if min(c0, c1) > 0.505 and max(c0, c1) < 0.999:
        assert float(info.kl_bernoulli(cut, c0)) == pytest.approx(float(info.kl_bernoulli(cut, 1 - c1)), rel=1e-6)
        assert 1 - c1 < cut < c0


@given(better_than_a_coin, better_than_a_coin)
def test_chernoff_information_is_the_best_exponent(c0: float, c1: float) -> None:
    """−min over s of log Σ_z P(z|0)^(1−s) P(z|1)^s, by a fine grid."""
    s = np.linspace(0, 1, 2001)[1:-1]
    with np.errstate(divide="ignore"):
        exponent = -np.log(c0 ** (1 - s) * (1 - c1) ** s + (1 - c0) ** (1 - s) * c1**s)
    got = float(info.chernoff_information((c0, c1)))
    assert got >= exponent.max() * (1 - 1e-9) - 1e-12
    if max(c0, c1) < 0.999:
        assert got == pytest.approx(float(exponent.max()), rel=1e-3, abs=1e-9)


def test_a_class_without_information_costs_infinity_and_is_not_chosen() -> None:
    cost = info.unit_cost([[0.5, 0.9], [0.7, 0.7]], [0.0, 5.0])
    assert cost[0] == np.inf
    assert info.k_star(cost) == 1
    assert info.gap(cost).tolist() == [np.inf, np.inf]
    assert info.k_star(info.unit_cost([[0.5, 0.5]] * 2, [1.0, 1.0])) == 0
    assert not np.isnan(info.gap(info.unit_cost([[0.5, 0.5]] * 2, [1.0, 1.0]))).any()
    assert not np.isnan(info.gap([3.0])).any()


def test_a_class_below_one_half_is_of_no_use_to_who_only_knows_that_none_is() -> None:
    assert info.unit_cost([[0.1, 0.1], [0.9, 0.4], [0.6, 0.6]], [1.0, 1.0, 1.0]).argmin() == 2
    assert info.lower_bound([0.1, 0.9], 0.05)[0] == np.inf
    assert np.isfinite(info.unit_cost_known([[0.1, 0.1]], [1.0])).all()  # who knows the matrix reads it backwards


def test_the_bounds_say_nothing_for_hopeless_alpha() -> None:
    assert info.lower_bound([0.8, 0.7], 0.45).tolist() == [0, 0]
    assert info.lower_bound([0.5, 0.7], 0.45)[0] == np.inf


def test_expected_ignores_a_label_that_never_occurs() -> None:
    assert float(info.expected([np.inf, 3.0], prior=1.0)) == 3.0
    assert float(info.expected([np.inf, 3.0], prior=0.5)) == np.inf
