"""The theorems' constants: against the inequality they stand for, and honest where there is no number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.core import information as info
from quorate.core import theorems
from quorate.errors import SpecError
from quorate.studies.instances import BUILT_IN

ASYM, SYM = BUILT_IN["p1-asym"], BUILT_IN["p1-sym"]
worlds = st.lists(st.tuples(st.floats(0.55, 0.97), st.floats(0.55, 0.97), st.floats(0.1, 20)), min_size=3, max_size=6)


def named(parts: tuple[theorems.Part, ...]) -> dict[str, theorems.Part]:
    return {one.part: one for one in parts}


@given(st.floats(0.5, 1.0))
def test_accuracy_at_inverts_the_divergence(c: float) -> None:
    back = float(theorems.accuracy_at(info.kl_bernoulli(c, 0.5)))
    assert info.kl_bernoulli(back, 0.5) == pytest.approx(info.kl_bernoulli(c, 0.5), abs=1e-12)


@given(worlds, st.data())
def test_within_its_room_no_estimate_misidentifies(
    world: list[tuple[float, float, float]], data: st.DataObject
) -> None:
    """What the H⁻¹ step is for: all smaller accuracies off by at most ε, all ways, and k̂ is still k*."""
    accuracy, price = np.array(world)[:, :2], np.array(world)[:, 2]
    epsilon = theorems.room(accuracy, price)
    cost = info.unit_cost(accuracy, price)
    best = info.k_star(cost)
    worst = accuracy.min(axis=1) + np.where(np.arange(len(price)) == best, -1, 1) * epsilon * (1 - 1e-9)
    worst = np.clip(worst, 0.5, 1.0)
    pushed = info.unit_cost(np.repeat(worst[:, None], 2, axis=1), price)
    assert pushed[best] <= np.delete(pushed, best).min() * (1 + 1e-6)


def test_room_is_where_half_the_gap_is_used_up() -> None:
    epsilon, cost = theorems.room(SYM.accuracy, SYM.price), info.unit_cost(SYM.accuracy, SYM.price)
    best, gap = info.k_star(cost), info.gap(cost)
    for k, c in enumerate(SYM.accuracy[:, 0]):
        shifted = c - epsilon[k] if k == best else c + epsilon[k]
        if shifted < 1:
            moved = float(info.unit_cost([[shifted, shifted]], [SYM.price[k]])[0])
            assert abs(moved - cost[k]) == pytest.approx(gap[k] / 2, rel=1e-6)


def test_theorem_1_on_p1_sym() -> None:
    parts = named(theorems.symmetric_theorem(SYM.accuracy, SYM.price, gamma=0.25))
    edge = np.sort(SYM.accuracy[:, 0] - 0.5)
    assert parts["K_1"].value == pytest.approx((18 / (edge.mean() * edge[-3] ** 3)) ** 4)
    epsilon = theorems.room(SYM.accuracy, SYM.price)
    assert parts["K_2 solved"].value == pytest.approx((18 / (edge[-3] ** 3 * epsilon[1])) ** 4)
    assert parts["K_3 as printed"].value is None
    assert "negative" in parts["K_3 as printed"].reason
    solved = [parts[name].log10 for name in ("K_1", "K_2 solved", "K_3 solved")]
    assert parts["N_0"].log10 == max(solved)  # type: ignore[type-var]


def test_theorem_1_at_its_n_0_has_the_estimates_within_the_room() -> None:
    parts = named(theorems.symmetric_theorem(SYM.accuracy, SYM.price, gamma=0.25))
    edge = np.sort(SYM.accuracy[:, 0] - 0.5)
    off = 18 / (edge[-3] ** 3 * parts["N_0"].value ** 0.25)  # type: ignore[operator]
    assert off <= theorems.room(SYM.accuracy, SYM.price).min() * (1 + 1e-9)


def test_theorem_2_on_p1_asym_and_its_infinite_part_on_p1_sym() -> None:
    parts = named(theorems.asymmetric_theorem(ASYM.accuracy, ASYM.price))
    assert parts["K_4 as printed"].value is None
    assert parts["K_5"].value == pytest.approx(0.01**-4)
    assert parts["K_3 solved"].log10 == pytest.approx(-4 * np.log10(theorems.room(ASYM.accuracy, ASYM.price)[3]))
    assert 107 < parts["N_0"].log10 < 108  # type: ignore[operator]
    symmetric = named(theorems.asymmetric_theorem(SYM.accuracy, SYM.price))
    assert symmetric["K_5"].value == np.inf
    assert "symmetric" in symmetric["K_5"].reason
    assert symmetric["N_0"].value == np.inf


def test_the_remark_on_intervals_of_width_one_tenth() -> None:
    """3 × 10³³ comes out when the norm is the determinant; the theorem it cites has the least singular value."""
    remark = {one.part: one.value for one in theorems.items_for_width(ASYM.accuracy)}
    assert remark["determinant"] == pytest.approx(3.4e33, rel=0.01)
    assert remark["least singular value"] == pytest.approx(4.5e29, rel=0.01)
    assert remark["largest singular value"] == pytest.approx(2.0e20, rel=0.01)


def test_what_does_not_apply_says_so() -> None:
    (one,) = theorems.symmetric_theorem(ASYM.accuracy, ASYM.price)
    assert one.value is None
    assert "symmetric" in one.reason
    (one,) = theorems.asymmetric_theorem(ASYM.accuracy[:2], ASYM.price[:2])
    assert "three" in one.reason
    (one,) = theorems.symmetric_theorem(SYM.accuracy[:2], SYM.price[:2])
    assert "three" in one.reason
    worse = np.array([[0.8, 0.8], [0.7, 0.7], [0.3, 0.3]])
    for (one,) in (theorems.symmetric_theorem(worse, np.ones(3)), theorems.asymmetric_theorem(worse, np.ones(3))):
        assert one.value is None
        assert "wrong more often than right" in one.reason


def test_two_equally_good_classes_need_infinitely_many_items() -> None:
    c, price = np.full((3, 2), 0.8), np.ones(3)
    assert theorems.room(c, price).tolist() == pytest.approx([0, 0, 0], abs=1e-12)


@given(worlds, st.floats(0.05, 0.95))
def test_no_part_is_ever_nan(world: list[tuple[float, float, float]], prior: float) -> None:
    accuracy, price = np.array(world)[:, :2], np.array(world)[:, 2]
    symmetric = np.repeat(accuracy[:, :1], 2, axis=1)
    for part in (
        *theorems.symmetric_theorem(symmetric, price),
        *theorems.asymmetric_theorem(accuracy, price, prior),
        *theorems.asymmetric_theorem(accuracy, price, prior, gamma_a=0.5, gamma_b=0.25),
        *theorems.items_for_width(accuracy, prior),
    ):
        assert part.log10 is None or not np.isnan(part.log10)
        assert (part.log10 is None) <= bool(part.reason)


def test_bounds_on_misidentification() -> None:
    assert theorems.misidentified_symmetric(100, 5, 0.25) == pytest.approx(25 * np.exp(-5))
    assert theorems.misidentified_asymmetric(10**4, 5, 0.25) == pytest.approx(53 * np.exp(-9))


@pytest.mark.parametrize("gamma", [0.0, 0.5, -1.0, float("nan")])
def test_gamma_out_of_range_is_refused(gamma: float) -> None:
    with pytest.raises(SpecError, match="gamma"):
        theorems.symmetric_theorem(SYM.accuracy, SYM.price, gamma)
    with pytest.raises(SpecError, match="gamma"):
        theorems.asymmetric_theorem(ASYM.accuracy, ASYM.price, gamma_a=gamma, gamma_b=0.4)
