"""The goodness-of-fit test: its level where the model holds, its power where it does not."""

import numpy as np
import pytest
from scipy.stats import binomtest

from quorate.core.diagnostics import LEAST_ITEMS, binomial_mixture, fixed_counts

C0, C1 = 0.82, 0.88


def draw(rng, items, answers, concentration=None):
    label = rng.random(items) < 0.5
    right = np.where(label, C1, C0)
    if concentration is not None:
        right = rng.beta(concentration * right, concentration * (1 - right))
    return rng.binomial(answers, np.where(label, right, 1 - right))


def rejected(seed, campaigns, concentration=None, *, items=1000, answers=5):
    rng = np.random.default_rng(seed)
    fits = [binomial_mixture(draw(rng, items, answers, concentration), answers) for _ in range(campaigns)]
    return sum(fit.p_value < 0.05 for fit in fits)


def test_it_keeps_its_level_where_the_model_holds():
    campaigns = 300
    assert binomtest(rejected(71, campaigns), campaigns, 0.05).pvalue > 1e-3


@pytest.mark.parametrize(("concentration", "power"), [(20, 0.71), (10, 0.98), (5, 1.0)])
def test_it_finds_items_of_different_difficulty(concentration, power):
    campaigns = 60
    found = rejected(72, campaigns, concentration)
    assert binomtest(found, campaigns, min(power, 1 - 1e-9), alternative="less").pvalue > 1e-3


def test_the_mixture_is_found():
    fit = binomial_mixture(draw(np.random.default_rng(3), 20_000, 6), 6)
    assert (fit.share, fit.high, fit.low) == pytest.approx((0.5, C1, 1 - C0), abs=0.02)
    assert (fit.items, fit.answers, fit.freedom) == (20_000, 6, 3)


@pytest.mark.parametrize("ones", [[0], [5] * 500, [0] * 500, [0, 5] * 300, list(range(6)) * 100, []])
def test_it_is_total(ones):
    fit = binomial_mixture(ones, 5)
    assert fit is None or (np.isfinite(fit.statistic) and 0 <= fit.p_value <= 1)


def test_too_little_is_not_tested():
    assert binomial_mixture([1] * (LEAST_ITEMS - 1), 5) is None
    assert binomial_mixture([0, 1, 2, 3] * 100, 3) is None


def test_only_items_with_the_usual_number_of_answers_count():
    item = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3])
    label = np.array([1, 1, 0, 1, 1, 1, 1, -1, 0])
    ones, answers = fixed_counts(item, np.zeros(9, int), label, 0)
    assert (ones.tolist(), answers) == ([2, 3], 3)
    assert fixed_counts(item, np.zeros(9, int), label, 1)[1] == 0
