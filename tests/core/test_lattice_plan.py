"""The certified policy's boundaries and tables on the (zeros, ones) lattice: exact, monotone, nested."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.boundary import Boundary, ever_said
from quorate.core.certified.lookup import ASK, LookUpPlan, Rules, Table
from quorate.core.certified.units import CELLS
from quorate.model import HOLD, UNDECIDED, FloatArray, Items, say
from quorate.ports import Plan

WORLD = Belief(np.array([[0.92, 0.76], [0.9, 0.8]]), np.array([0.5, 0.4]))
GRID = np.array([1000, 1200, 1400, 1500, 1600, 1700, 1800])


def boundary(level: float = 0.05, horizon: int = 40, label: int = 1) -> Boundary:
    return Boundary.calibrated(WORLD.sequences(label, horizon), GRID, level)


def said(share: FloatArray, coin: float) -> float:
    """P(an item with a random uniform ever says the label | coin), uniforms integrated out."""
    cuts = np.unique(np.concatenate([[0.0], share.ravel(), [1.0]]))
    return sum(
        (high - low) * float(ever_said((share >= high)[None], np.array([coin]))[0]) for low, high in pairwise(cuts)
    )


def test_pushing_probability_is_enumeration() -> None:
    rng = np.random.default_rng(3)
    says = rng.random((2, 8, 8)) < 0.15
    coin = np.array([0.3, 0.6])
    for g, p in enumerate(coin):
        total = 0.0
        for answers in product((0, 1), repeat=7):
            ones = np.cumsum(answers)
            if any(says[g, t, ones[t - 1]] for t in range(1, 8)):
                total += p ** ones[-1] * (1 - p) ** (7 - ones[-1])
        assert ever_said(says, coin)[g] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("level", [0.0475, 0.0095, 0.00095])
@pytest.mark.parametrize("label", [0, 1])
def test_the_error_at_each_bound_is_the_level(level: float, label: int) -> None:
    made = boundary(level, label=label)
    errors = np.array([said(made.share[g], 1 - GRID[g] / CELLS) for g in range(len(GRID))])
    assert (errors <= level).all()
    assert (errors >= 0.9 * level).all()  # randomising meets it; only nesting may cost a little
    assert errors[-1] == pytest.approx(level, rel=1e-9)


def test_a_bound_better_than_the_level_needs_no_randomising() -> None:
    made = boundary(0.2)
    errors = [said(made.share[g], 1 - GRID[g] / CELLS) for g in range(len(GRID))]
    assert max(errors) <= 0.2
    assert made.share[-1, 1, 1] == 1.0  # one answer of a class that errs in a tenth of its answers


def test_the_error_of_better_classes_is_smaller() -> None:
    made = boundary()
    rng = np.random.default_rng(1)
    for g, bound in enumerate(GRID):
        for accuracy in rng.uniform(bound / CELLS, 1, 40):
            assert said(made.share[g], 1 - accuracy) <= 0.05


def test_any_bound_at_any_time_errs_no_more_than_the_largest_that_holds() -> None:
    made = boundary()
    for g in range(len(GRID)):
        assert (made.share[: g + 1].max(axis=0) == made.share[g]).all()


def test_more_answers_for_the_label_never_speak_against_it() -> None:
    share = boundary().share
    for t in range(1, share.shape[1]):
        assert (np.diff(share[:, t, : t + 1], axis=1) >= 0).all()


def test_nothing_is_said_before_the_first_answer() -> None:
    assert (boundary(0.4).share[:, 0] == 0).all()


def test_a_bound_between_grid_points_uses_the_smaller() -> None:
    made = boundary()
    assert (made.at(1599) == made.share[3]).all()
    assert (made.at(1600) == made.share[4]).all()
    assert (made.at(2000) == made.share[-1]).all()


def rules() -> Rules:
    return Rules(boundary(), boundary(label=0))


@given(st.floats(0, 1), st.sampled_from([(1000, 1000), (1600, 1400), (1800, 1500)]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_outcomes_of_a_table_have_probability_one(p: float, bounds: tuple[int, int], held: bool) -> None:
    block = Block.of(rules().table(bounds, (1800, 1600) if held else None))
    assert (block.ways * p**block.ones * (1 - p) ** block.zeros).sum() == pytest.approx(1.0, abs=1e-9)


def test_a_table_errs_at_most_the_level_at_its_bounds_and_at_better_matrices() -> None:
    table = rules().table((1600, 1400))
    rng = np.random.default_rng(5)
    for label, bound in ((0, 0.8), (1, 0.7)):
        wrong = table.action == say(1 - label)
        for accuracy in (bound, *rng.uniform(bound, 1, 500)):
            p_one = accuracy if label else 1 - accuracy
            assert sum(w * _ends(table, q, wrong[q], p_one) for q, w in enumerate(table.weight)) <= 0.05


def _ends(table: Table, q: int, where: FloatArray, p_one: float) -> float:
    from quorate.core.certified.lookup import ways

    t, ones = np.indices(where.shape)
    mass = ways(table.action[q] == ASK) * np.where(ones <= t, p_one**ones * (1 - p_one) ** np.maximum(t - ones, 0), 0)
    return float(mass[where].sum())


def test_what_bounds_allow_now_is_said_and_what_they_will_allow_is_held() -> None:
    now = LookUpPlan(2, rules().table((1200, 1200), (1800, 1700)), WORLD)
    end = LookUpPlan(2, rules().table((1800, 1700)), WORLD)
    assert isinstance(now, Plan)
    counts = np.zeros((4, 3, 2), np.int16)
    counts[:, 2] = [(0, 0), (0, 3), (0, 30), (20, 20)]
    items = Items(counts, counts.sum(axis=2), np.ones((4, 3), bool), np.full(4, 0.5))
    assert now.act(items).tolist() == [2, HOLD, say(1), HOLD]
    assert end.act(items).tolist()[:3] == [2, say(1), say(1)]
    unproved = LookUpPlan(2, rules().table((1000, 1000)), WORLD)
    assert unproved.act(items).tolist()[3] == UNDECIDED
    assert now.evidence(items)[2] == 1.0
    assert now.confidence(items)[2] > 0.999


def test_counts_beyond_the_horizon_are_undecided_not_guessed() -> None:
    plan = LookUpPlan(0, rules().table((1800, 1700)), WORLD)
    items = Items(np.array([[[0, 90]]]), np.array([[90]]), np.ones((1, 1), bool), np.zeros(1))
    assert plan.act(items).tolist() == [UNDECIDED]
