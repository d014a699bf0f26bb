"""E-values against a projected null, their certificate, and the bounds that they prove."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.boundary import Boundary
from quorate.core.certified.lookup import Rules
from quorate.core.certified.projection import largest_mean, project
from quorate.core.certified.sequence import ConfidenceSequence
from quorate.core.certified.units import CELLS, FLOOR
from quorate.model import FloatArray

GRID = np.array([1000, 1400, 1600, 1700, 1760, 1800])


def world(c0: float = 0.92, c1: float = 0.76, prior: float = 0.5) -> Belief:
    return Belief(np.array([[c0, c1]]), np.array([prior]))


def batch() -> Block:
    rules = Rules(
        Boundary.calibrated(world().sequences(1, 40), GRID, 0.05),
        Boundary.calibrated(world().sequences(0, 40), GRID, 0.05),
    )
    return Block.of(rules.table((1600, 1400), (1760, 1400)))


BLOCKS = {"three": Block.fixed(3), "seven": Block.fixed(7), "batch": batch()}


def law(block: Block, belief: Belief) -> FloatArray:
    horizon = int(max(block.zeros.max(), block.ones.max()))
    return block.ways * belief.paths(horizon)[block.zeros, block.ones]


def mean(block: Block, e: FloatArray, p: FloatArray) -> FloatArray:
    return e @ (block.ways * p[:, None] ** block.ones * (1 - p[:, None]) ** block.zeros).T


@pytest.mark.parametrize("name", BLOCKS)
@given(c0=st.floats(0.55, 0.99), c1=st.floats(0.55, 0.99), prior=st.floats(0.02, 0.98), data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_null_gives_an_e_value_a_mean_above_one(
    name: str, c0: float, c1: float, prior: float, data: st.DataObject
) -> None:
    block = BLOCKS[name]
    below = int(c0 * CELLS) - 1
    null = np.unique(data.draw(st.lists(st.integers(FLOOR, max(below, FLOOR)), min_size=1, max_size=5)))
    test = project(block, law(block, world(c0, c1, prior)), c1, null)
    for bound, log_e in zip(test.null, test.log_e, strict=True):
        p = np.linspace(1 - bound / CELLS, 1, 3001)
        assert mean(block, np.exp(log_e)[None], p).max() <= 1 + 1e-12


@pytest.mark.parametrize("name", BLOCKS)
def test_the_certificate_is_above_the_maximum_and_near_it(name: str) -> None:
    block = BLOCKS[name]
    rng = np.random.default_rng(7)
    null = np.array([1100, 1500, 1900])
    ratio = np.exp(rng.normal(0, 0.4, (3, len(block.ways))))
    brute = [
        mean(block, r[None], np.linspace(1 - b / CELLS, 1, 100_001)).max() for r, b in zip(ratio, null, strict=True)
    ]
    certified = largest_mean(block, ratio, null)
    assert (certified >= brute).all()
    assert certified == pytest.approx(brute, rel=2e-4)


@pytest.mark.parametrize("name", ["seven", "batch"])
def test_the_projection_is_the_nearest_null(name: str) -> None:
    """Growth is the KL distance to the hull, which no law in it undercuts: two atoms and a little near 1."""
    block, truth = BLOCKS[name], world()
    predicted = law(block, truth)
    growth = project(block, predicted, 0.76, np.array([1600])).log_e[0] @ predicted
    third = [(0.0, 1.0), *((v, p) for v in (0.002, 0.005, 0.01, 0.02) for p in (0.9, 0.95, 0.98, 1.0))]
    rivals = [
        (1 - v) * law(block, world(0.8, c1, w)) + v * block.ways * p**block.ones * (1 - p) ** block.zeros
        for c1 in np.linspace(0.7, 0.85, 21)
        for w in np.linspace(0.35, 0.6, 26)
        for v, p in third
    ]
    nearest = min(float((predicted * np.log(predicted / rival)).sum()) for rival in rivals)
    assert growth <= nearest
    assert growth == pytest.approx(nearest, rel=0.05)


def test_a_prediction_inside_the_null_bets_nothing() -> None:
    block = Block.fixed(5)
    test = project(block, law(block, world(0.7, 0.8)), 0.8, np.array([1600]))
    assert (test.log_e == 0).all()


def run(
    rng: np.random.Generator, c: tuple[float, float], prior: float, delta: float, belief: Belief
) -> ConfidenceSequence:
    sequence = ConfidenceSequence(delta)
    for size in (30, 60, 120):
        label = rng.random(size) < prior
        ones = rng.binomial(6, np.where(label, c[1], 1 - c[0]))
        sequence.add(Block.fixed(6), 6 - ones, ones, belief)
    return sequence


@pytest.mark.parametrize(
    ("c", "prior", "believed"),
    [
        ((0.9, 0.75), 0.5, (0.92, 0.8)),
        ((0.6, 0.6), 0.5, (0.9, 0.9)),
        ((0.7, 0.9), 0.9, (0.75, 0.95)),
        ((0.55, 0.8), 1.0, (0.95, 0.85)),  # no item of label 0 at all: nothing may be proved about c(0)
    ],
)
def test_coverage(c: tuple[float, float], prior: float, believed: tuple[float, float]) -> None:
    delta, runs = 0.1, 80
    rng = np.random.default_rng(11)
    wrong = np.zeros(2)
    for _ in range(runs):
        b0, b1 = run(rng, c, prior, delta, world(*believed)).bounds
        wrong += [b0 / CELLS >= c[0], b1 / CELLS >= c[1]]
    assert (wrong <= binom.ppf(0.999, runs, delta)).all()


def test_bounds_rise_with_data_and_the_forecast_is_about_right() -> None:
    rng = np.random.default_rng(2)
    sequence = run(rng, (0.92, 0.76), 0.5, 0.0025, world())
    b0, b1 = sequence.bounds
    assert 0.8 < b0 / CELLS < 0.92
    assert 0.6 < b1 / CELLS < 0.76
    ahead = sequence.forecast(2000)
    assert b0 < ahead[0] < 0.92 * CELLS
    assert b1 < ahead[1] < 0.76 * CELLS
    assert sequence.forecast(0) == (b0, b1)


def test_exchanging_the_labels_names_exchanges_the_bounds() -> None:
    rng = np.random.default_rng(4)
    ones = rng.binomial(5, np.where(rng.random(300) < 0.4, 0.8, 0.1))
    there, back = ConfidenceSequence(0.01), ConfidenceSequence(0.01)
    there.add(Block.fixed(5), 5 - ones, ones, world(0.9, 0.8, 0.4))
    back.add(Block.fixed(5), ones, 5 - ones, world(0.8, 0.9, 0.6))
    assert there.bounds == back.bounds[::-1]
    assert there.bounds[0] > FLOOR


def test_unfinished_items_never_help() -> None:
    ones = np.random.default_rng(4).binomial(5, np.where(np.arange(200) < 90, 0.8, 0.1))
    clean, spoilt = ConfidenceSequence(0.01), ConfidenceSequence(0.01)
    clean.add(Block.fixed(5), 5 - ones, ones, world(0.9, 0.8))
    zeros, more = np.append(5 - ones, np.zeros(20, int)), np.append(ones, np.ones(20, int))
    spoilt.add(Block.fixed(5), zeros, more, world(0.9, 0.8))
    assert spoilt.bounds[0] < clean.bounds[0]
    assert spoilt.bounds[1] < clean.bounds[1]


def test_no_data_proves_one_half() -> None:
    assert ConfidenceSequence(0.01).bounds == (FLOOR, FLOOR)
