"""Exact enumeration: the documents' figures, brute force on small caps, and what must hold for every class."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from quorate.core.exact import performance
from quorate.core.stopping.bias import BiasIdentification
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.fixed import FixedMLE
from quorate.core.stopping.hoeffding import HoeffdingTest
from quorate.ports import StoppingRule
from quorate.studies.instances import BUILT_IN

P1 = BUILT_IN["p1-asym"]
ALPHA = 0.05


def by_class(make: object) -> list[object]:
    return [performance(make(*c), c) for c in P1.accuracy]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("make", "costs"),
    [
        (lambda c0, c1: DirectionTest(ALPHA), [93.3, 70.5, 64.9, 73.8, 220.8]),
        (lambda c0, c1: HoeffdingTest(ALPHA), [53.3, 32.3, 29.6, 36.65, 71.75]),
        (lambda c0, c1: BiasIdentification(ALPHA, c0, c1), [15.2, 12.7, 9.0, 15.3, 49.4]),
        (lambda c0, c1: FixedMLE(ALPHA, c0, c1), [31.5, 25.9, 18.3, 27.3, 78.1]),
    ],
    ids=["direction", "cbs", "bias", "mle"],
)
def test_cost_per_item_on_p1_asym(make: object, costs: list[float]) -> None:
    results = by_class(make)
    assert [r.cost(p) for r, p in zip(results, P1.price, strict=True)] == pytest.approx(costs, abs=0.051)
    assert all(r.undecided.max() < 1e-14 for r in results)


def test_answers_by_label_of_direction_test_on_p1_asym() -> None:
    answers = np.array([r.answers for r in by_class(lambda c0, c1: DirectionTest(ALPHA))])
    want = [(12.9, 16.7), (44.9, 20.5), (14.7, 49.1), (19.1, 29.6), (208.6, 153.5)]
    assert answers == pytest.approx(np.array(want), abs=0.051)


@pytest.mark.parametrize(
    ("c", "error", "mean", "sd"),
    [
        (0.60, 2.9e-4, 448.461, 245.3),
        (0.70, 2.0e-5, 91.379, 53.6),
        (0.81, 3.2e-7, 32.018, 18.4),
        (0.90, 1e-9, 16.704, 8.3),
    ],
)
def test_direction_test_on_symmetric_classes(c: float, error: float, mean: float, sd: float) -> None:
    exact = performance(DirectionTest(ALPHA), (c, c))
    t = np.arange(len(exact.stopped))
    assert exact.error == pytest.approx(error, rel=0.05)
    assert exact.answers == pytest.approx(mean, abs=6e-4)
    assert np.sqrt(t**2 @ exact.stopped - exact.answers**2) == pytest.approx(sd, abs=0.05)


def test_direction_test_can_be_far_from_done_at_a_large_cap() -> None:
    near = performance(DirectionTest(ALPHA), (0.51, 0.51), cap=4000)
    assert near.undecided == pytest.approx(0.99, abs=0.005)
    fair = performance(DirectionTest(ALPHA), (0.5, 0.5), cap=4000)
    assert 0.0029 < fair.error[0] < 0.0031
    assert fair.answers.max() < 4000


@pytest.mark.parametrize(("c", "error"), [(0.6, 0.007), (0.55, 0.020)])
def test_cbs_is_within_its_level_only_far_from_one_half(c: float, error: float) -> None:
    assert performance(HoeffdingTest(ALPHA), (c, c)).error == pytest.approx(error, abs=5e-4)


def test_cbs_fails_close_to_one_half() -> None:
    """Not valid as printed: at c = .51 more than α = .05 have gone wrong within 20,000 answers already."""
    early = performance(HoeffdingTest(ALPHA), (0.51, 0.51), cap=20_000)
    assert early.error.min() > 0.06
    assert early.error.max() < 0.0685


@pytest.mark.slow
def test_cbs_fails_by_the_documents_figures() -> None:
    assert performance(HoeffdingTest(ALPHA), (0.51, 0.51), cap=150_000).error == pytest.approx(0.068, abs=5e-4)
    assert performance(HoeffdingTest(ALPHA), (0.505, 0.505), cap=150_000).error == pytest.approx(0.092, abs=5e-4)


@given(st.floats(1e-4, 0.4), st.floats(0.5, 1.0), st.floats(0.5, 1.0))
@settings(max_examples=40)
def test_direction_test_is_valid_for_every_class(alpha: float, c0: float, c1: float) -> None:
    exact = performance(DirectionTest(alpha), (c0, c1), cap=1500)
    assert np.all(exact.error <= alpha)


@given(st.sampled_from([DirectionTest(0.05), HoeffdingTest(0.05), BiasIdentification(0.05, 0.8, 0.7)]), st.data())
@settings(max_examples=40)
def test_a_better_class_errs_less(rule: StoppingRule, data: st.DataObject) -> None:
    c, better = sorted(data.draw(st.lists(st.floats(0.5, 0.99), min_size=2, max_size=2)))
    poor = performance(rule, (c, c), cap=800)
    good = performance(rule, (better, better), cap=800)
    assert np.all(good.error <= poor.error + 1e-12)


@given(st.floats(0.01, 0.4), st.floats(0.5, 1.0), st.floats(0.5, 1.0))
@settings(max_examples=30)
def test_swapping_the_labels_swaps_the_columns(alpha: float, c0: float, c1: float) -> None:
    here = performance(DirectionTest(alpha), (c0, c1), cap=300)
    there = performance(DirectionTest(alpha), (c1, c0), cap=300)
    for name in ("answers", "error", "undecided"):
        assert getattr(there, name)[::-1] == pytest.approx(getattr(here, name), rel=1e-9, abs=1e-12)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(0, 60))
@example(0.0, 0.2899940712929912, 3)
@settings(max_examples=40)
def test_no_mass_is_lost(c0: float, c1: float, cap: int) -> None:
    exact = performance(HoeffdingTest(0.1), (c0, c1), cap=cap)
    assert exact.stopped.sum(axis=0) + exact.undecided == pytest.approx(1.0, abs=1e-12)
    assert np.all(exact.error <= exact.stopped.sum(axis=0) + 1e-15)
    assert np.all(exact.answers <= cap)


class _Ragged:
    """A rule whose open states are not one interval: stops at (2, 2) and nowhere beside it."""

    def verdict(self, zeros: object, ones: object) -> np.ndarray:
        zeros, ones = np.asarray(zeros), np.asarray(ones)
        return np.where((zeros == 2) & (ones == 2), 1, np.where(ones - zeros >= 4, 1, -1)).astype(np.int8)


@pytest.mark.parametrize("rule", [DirectionTest(0.4), HoeffdingTest(0.3), FixedMLE(0.3, 0.8, 0.7), _Ragged()])
def test_brute_force_over_all_sequences(rule: StoppingRule) -> None:
    cap, accuracy = 11, (0.7, 0.85)
    want = {"answers": np.zeros(2), "error": np.zeros(2), "undecided": np.zeros(2)}
    for sequence in product((0, 1), repeat=cap):
        chance = [1.0, 1.0]
        for z in sequence:
            chance = [x * (c if z == i else 1 - c) for i, (x, c) in enumerate(zip(chance, accuracy, strict=True))]
        for t in range(cap + 1):
            ones = sum(sequence[:t])
            said = int(rule.verdict(t - ones, ones))
            if said >= 0 or t == cap:
                break
        for i in (0, 1):
            want["answers"][i] += t * chance[i]
            want["undecided" if said < 0 else "error"][i] += chance[i] * (said < 0 or said != i)
    exact = performance(rule, accuracy, cap=cap)
    for name, value in want.items():
        assert getattr(exact, name) == pytest.approx(value, abs=1e-12), name


def test_a_prior_weighs_the_labels() -> None:
    exact = performance(DirectionTest(ALPHA), (0.88, 0.82))
    assert exact.mean_answers(0.0) == exact.answers[0]
    assert exact.cost(2.0, 0.25) == pytest.approx(2 * (0.75 * exact.answers[0] + 0.25 * exact.answers[1]))
    assert exact.mean_error(1.0) == exact.error[1]


# ------------------------------------------------------------------- algorithms, section 2: a class that is known


@dataclass(frozen=True, slots=True)
class Sprt:
    """Wald's test on a known class: say 1 from log-odds ``high`` on, 0 from -``low`` on."""

    low: float
    high: float
    c0: float
    c1: float

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]:
        z = BiasIdentification(0.05, self.c0, self.c1).log_odds(zeros, ones)
        return np.where(z >= self.high, 1, np.where(z <= -self.low, 0, -1)).astype(np.int8)


@pytest.mark.parametrize(
    ("alpha", "wald", "calibrated", "oracle"),
    [(0.05, 6.44, 6.37, 4.91), (0.01, 9.64, 8.46, 7.82), (0.001, 13.52, 12.83, 11.83)],
)
def test_wald_with_and_without_calibrated_thresholds_on_class_3(
    alpha: float, wald: float, calibrated: float, oracle: float
) -> None:
    """What discreteness costs: both errors of Wald's thresholds are far below alpha, the best pair wins some back."""
    (c0, c1), price = P1.accuracy[2], P1.price[2]
    least = float(np.log((1 - alpha) / alpha))

    def cost(low: float, high: float) -> tuple[float, float, float]:
        exact = performance(Sprt(low, high, c0, c1), (c0, c1), leftover=1e-9)
        return exact.cost(price), *exact.error

    assert cost(least, least)[0] == pytest.approx(wald, abs=0.005)
    best = np.inf
    for high in np.arange(least - 1.2, least + 0.2, 0.02):
        near, far = 0.0, least + 1  # the least -low at which few enough ones are called 0
        while far - near > 0.02:
            middle = (near + far) / 2
            near, far = (near, middle) if cost(middle, high)[2] <= alpha else (middle, far)
        spent, false_one, _ = cost(far, high)
        best = min(best, spent) if false_one <= alpha else best
    assert best == pytest.approx(calibrated, abs=0.011)
    assert best > oracle
