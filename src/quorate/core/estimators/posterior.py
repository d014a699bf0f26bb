"""How sure the estimate is: draws from the posterior of the accuracies and the prior.

Each accuracy has its Beta belief cut to (1/2, 1), which is what keeps the labels from switching.  In the coordinates
φ = logit(2c − 1) the cut is at −∞ and a large campaign's posterior is close to normal, so three steps do:

1. the mode of φ by EM and the observed information there (Louis 1982): a Student proposal around it;
2. candidates from the proposal, resampled by exact posterior / proposal;
3. a few Gibbs sweeps (labels given parameters, parameters given labels) from each, which leave the posterior as it
   is, part the duplicates, and put right what a small sample's proposal missed.

Where the data leave a direction open (two answers an item: then only a curve in the parameters is known, the thinner
the more items), the proposal misses, and `quorate.core.estimators.growing` takes the place of steps 1 and 2.

Step 2 is exact where the campaign is large and sweeps are dear, step 3 where it is small and sweeps are cheap.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit, logit

from quorate.core.estimators.em import Fit, right_wrong, row_log0, row_log_odds
from quorate.core.estimators.growing import effective, grown, resampled
from quorate.core.estimators.sweeps import Data, sweep
from quorate.model import Estimate, FloatArray, IntArray

_MISSED: Final = 0.25  # share of effective candidates below which the posterior is not like the proposal
_STICKY: Final = 200  # items beyond which Gibbs sweeps alone are slow to put that right
_FREEDOM: Final = 6.0  # of the Student proposal: its tails are heavier than the posterior's
_CANDIDATES: Final = 600  # at least this many, and twice as many as draws
_SWEEPS: Final = (3, 30)  # at least, at most
_ALLOCATIONS: Final = 3_000_000  # rows x draws x sweeps that are worth their time
_BLOCK: Final = 1_000_000  # rows x draws held in memory at once


def posterior_draws(
    unique: IntArray, weight: IntArray, fit: Fit, *, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """``draws`` parameters from the posterior under the fit's own beliefs: accuracies (D, M, 2) and priors (D,).

    ``unique`` and ``weight`` are the different rows of the items that are not gold, and how many items each stands
    for (gold is part of the fit's belief already).

    >>> from quorate.core.estimators.em import fit_counts
    >>> rows, weight = np.array([[[0, 3]], [[3, 0]], [[2, 1]], [[1, 2]]]), np.array([30, 30, 20, 20])
    >>> fit = fit_counts(rows, weight=weight)
    >>> accuracy, prior = posterior_draws(rows, weight, fit, draws=2000, rng=np.random.default_rng(1))
    >>> accuracy.mean(axis=0).round(1), prior.mean().round(1)
    (array([[0.8, 0.8]]), np.float64(0.5))
    """
    data = Data(
        np.asarray(unique, np.float64).reshape(-1, 2 * len(fit.belief)),
        np.asarray(weight, np.int64),
        fit,
    )
    accuracy, prior = _resampled(data, draws, rng)
    cells = max(len(data.x), 1)
    sweeps = int(np.clip(_ALLOCATIONS // (cells * draws), *_SWEEPS))
    for chains in np.array_split(np.arange(draws), -(-cells * draws // _BLOCK)):
        for _ in range(sweeps):
            accuracy[chains], prior[chains] = sweep(data, accuracy[chains], prior[chains], rng)
    return accuracy, prior


def estimate_of(fit: Fit, accuracy: FloatArray, prior: FloatArray, *, level: float = 0.95) -> Estimate:
    """The fit with the central interval of its draws at ``level`` around each number."""
    ends = ((1 - level) / 2, (1 + level) / 2)
    interval = np.moveaxis(np.quantile(accuracy, ends, axis=0), 0, -1)
    low, high = np.quantile(prior, ends)
    return Estimate(fit.accuracy_hat, fit.prior_hat, interval, (float(low), float(high)), fit.notes)


# ------------------------------------------------------------------------------------------- coordinates


def _accuracy(phi: FloatArray, floor: FloatArray) -> FloatArray:
    return floor + (1 - floor) * expit(phi)


def _phi(accuracy: FloatArray, floor: FloatArray) -> FloatArray:
    return logit((accuracy - floor) / (1 - floor))


def _log_posterior(data: Data, phi: FloatArray, omega: FloatArray) -> FloatArray:
    """The log density (D,) of (φ, ω = logit w) given the answers, up to a constant."""
    fit, floor = data.fit, data.floor
    accuracy, prior = _accuracy(phi, floor), expit(omega)
    marginal = row_log0(data.total, accuracy) + data.weight.sum() * np.log1p(-prior)
    for chains in np.array_split(np.arange(len(phi)), -(-max(len(data.x), 1) * len(phi) // _BLOCK)):
        marginal[chains] += data.weight @ np.logaddexp(0, row_log_odds(data.x, accuracy[chains], prior[chains]))
    right, wrong = fit.belief[..., 0], fit.belief[..., 1]
    believed = (right - 1) * np.log(accuracy) + wrong * np.log1p(-accuracy) + np.log(accuracy - floor)
    on_prior = fit.prior_belief[1] * np.log(prior) + fit.prior_belief[0] * np.log1p(-prior)
    density: FloatArray = marginal + believed.sum(axis=(1, 2)) + on_prior
    return density


# ---------------------------------------------------------------------------------------------- proposal


def _mode(data: Data) -> tuple[FloatArray, float]:
    """The mode of φ, by EM from the fit."""
    floor, prior = data.floor, data.fit.prior_hat
    items = data.weight.sum() + data.fit.prior_belief.sum()
    accuracy, moved = np.maximum(data.fit.accuracy_hat, floor + 0.005), np.inf
    for _ in range(200):
        q = data.weight * expit(row_log_odds(data.x, accuracy, prior))
        expected = right_wrong(q @ data.x, data.total, data.fit.belief)
        new, new_prior = _best_phi(expected, floor), float((q.sum() + data.fit.prior_belief[1]) / items)
        moved = max(float(np.abs(new - accuracy).max()), abs(new_prior - prior))
        accuracy, prior = new, new_prior
        if moved < 1e-5:
            break
    return accuracy, prior


def _best_phi(expected: FloatArray, floor: FloatArray) -> FloatArray:
    """The maximum over c in (l, 1) of (R − 1) log c + W log(1 − c) + log(c − l), a root of a quadratic."""
    right, wrong = expected[..., 0] - 1, expected[..., 1]
    a = right + wrong + 1
    b = right * (1 + floor) + wrong * floor + 1
    c = right * floor
    return (b + np.sqrt(b * b - 4 * a * c)) / (2 * a)


def _information(data: Data, accuracy: FloatArray, prior: float) -> FloatArray:
    """Observed information about (φ, ω): of the completed data, less what the unknown labels hide."""
    floor = data.floor
    q = expit(row_log_odds(data.x, accuracy, prior))
    expected = right_wrong((data.weight * q) @ data.x, data.total, data.fit.belief)
    slope = (accuracy - floor) * (1 - accuracy) / (1 - floor)  # dc / dφ
    curvature = (
        (expected[..., 0] - 1) / accuracy**2 + expected[..., 1] / (1 - accuracy) ** 2 + 1 / (accuracy - floor) ** 2
    )
    items = data.weight.sum() + data.fit.prior_belief.sum()
    complete = np.append((slope**2 * curvature).ravel(), items * prior * (1 - prior))
    says = data.x.reshape(-1, len(accuracy), 2)
    score_0 = slope[:, 0] * (says[..., 0] / accuracy[:, 0] - says[..., 1] / (1 - accuracy[:, 0]))
    score_1 = slope[:, 1] * (says[..., 1] / accuracy[:, 1] - says[..., 0] / (1 - accuracy[:, 1]))
    apart = np.stack([-score_0, score_1], axis=-1).reshape(-1, accuracy.size)
    apart = np.column_stack([apart, np.ones(len(apart))])
    hidden = (apart * (data.weight * q * (1 - q))[:, None]).T @ apart
    information: FloatArray = np.diag(complete) - hidden
    return information


def _open(data: Data) -> bool:
    """Two answers an item leave a direction open; many such items make what is left a thin curve."""
    three = data.weight[data.x.sum(axis=1) > 2].sum()
    return bool(three <= _STICKY < data.weight.sum())


def _resampled(data: Data, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draws by importance resampling from a Student distribution around the mode."""
    accuracy, prior = _mode(data)
    values, vectors = np.linalg.eigh(_information(data, accuracy, prior))
    spread = vectors / np.sqrt(np.maximum(values, 0.1))  # where the data are flat, the proposal is merely wide
    candidates = max(2 * draws, _CANDIDATES)
    normal = rng.standard_normal((candidates, len(values)))
    scale = _FREEDOM / rng.chisquare(_FREEDOM, candidates)
    theta = (
        np.append(_phi(accuracy, data.floor).ravel(), logit(prior)) + (normal * np.sqrt(scale)[:, None]) @ spread.T
    )
    within = np.abs(theta).max(axis=1) < 30  # beyond, an accuracy is no longer told from its limit in floats
    theta, normal, scale = theta[within], normal[within], scale[within]
    phi, omega = theta[:, :-1].reshape(-1, *accuracy.shape), theta[:, -1]
    log_proposal = -(_FREEDOM + len(values)) / 2 * np.log1p((normal**2).sum(axis=1) * scale / _FREEDOM)
    log_ratio = _log_posterior(data, phi, omega) - log_proposal
    if _open(data) and effective(log_ratio) < candidates * _MISSED:
        return grown(data, draws, rng)
    chosen = rng.permutation(resampled(log_ratio, draws, rng))
    return _accuracy(phi[chosen], data.floor), expit(omega[chosen])
