"""How sure the estimate is: draws from the posterior of the accuracies and the prior.

Each accuracy has its Beta belief cut to (1/2, 1), which is what keeps the labels from switching.  In the coordinates
φ = logit(2c − 1) the cut is at −∞ and a large campaign's posterior is close to normal, so three steps do:

1. the mode of φ by EM and the observed information there (Louis 1982): a Student proposal around it;
2. candidates from the proposal, resampled by exact posterior / proposal;
3. a few Gibbs sweeps (labels given parameters, parameters given labels) from each, which leave the posterior as it
   is, part the duplicates, and put right what a small sample's proposal missed.

Step 2 is exact where the campaign is large and sweeps are dear, step 3 where it is small and sweeps are cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincc, betainccinv, expit, logit

from quorate.core.estimators.em import Fit, right_wrong, row_log0, row_log_odds
from quorate.model import Estimate, FloatArray, IntArray

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
    data = _Data(
        np.asarray(unique, np.float64).reshape(-1, 2 * len(fit.belief)),
        np.asarray(weight, np.int64),
        fit,
    )
    accuracy, prior = _resampled(data, draws, rng)
    cells = max(len(data.x), 1)
    sweeps = int(np.clip(_ALLOCATIONS // (cells * draws), *_SWEEPS))
    for chains in np.array_split(np.arange(draws), -(-cells * draws // _BLOCK)):
        for _ in range(sweeps):
            accuracy[chains], prior[chains] = _sweep(data, accuracy[chains], prior[chains], rng)
    return accuracy, prior


def estimate_of(fit: Fit, accuracy: FloatArray, prior: FloatArray, *, level: float = 0.95) -> Estimate:
    """The fit with the central interval of its draws at ``level`` around each number."""
    ends = ((1 - level) / 2, (1 + level) / 2)
    interval = np.moveaxis(np.quantile(accuracy, ends, axis=0), 0, -1)
    low, high = np.quantile(prior, ends)
    return Estimate(fit.accuracy_hat, fit.prior_hat, interval, (float(low), float(high)), fit.notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """Rows as columns (class 0 says 0, class 0 says 1, …), their weights, and the fit whose beliefs they update."""

    x: FloatArray
    weight: IntArray
    fit: Fit

    @property
    def total(self) -> FloatArray:
        return self.weight @ self.x

    @property
    def floor(self) -> FloatArray:
        """Where each belief is cut: at 1/2, or nowhere for a class that is known or allowed to be worse."""
        return np.where(self.fit.lower >= 0.5, 0.5, 0.0)


# ------------------------------------------------------------------------------------------- coordinates


def _accuracy(phi: FloatArray, floor: FloatArray) -> FloatArray:
    return floor + (1 - floor) * expit(phi)


def _phi(accuracy: FloatArray, floor: FloatArray) -> FloatArray:
    return logit((accuracy - floor) / (1 - floor))


def _log_posterior(data: _Data, phi: FloatArray, omega: FloatArray) -> FloatArray:
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


def _mode(data: _Data) -> tuple[FloatArray, float]:
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


def _information(data: _Data, accuracy: FloatArray, prior: float) -> FloatArray:
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


def _resampled(data: _Data, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
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
    share = np.cumsum(np.exp(log_ratio - log_ratio.max()))
    chosen = np.searchsorted(share / share[-1], (np.arange(draws) + rng.random()) / draws)
    chosen = rng.permutation(chosen)
    return _accuracy(phi[chosen], data.floor), expit(omega[chosen])


# ------------------------------------------------------------------------------------------------- Gibbs


def _sweep(
    data: _Data, accuracy: FloatArray, prior: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """One Gibbs sweep of each chain: how many items of each row have label 1, then the parameters."""
    q = expit(row_log_odds(data.x, accuracy, prior))
    ones = np.empty(q.shape)
    single = data.weight == 1
    ones[single] = rng.random((single.sum(), q.shape[1])) < q[single]
    ones[~single] = rng.binomial(data.weight[~single, None], q[~single])
    expected = right_wrong(ones.T @ data.x, data.total, data.fit.belief)
    of_label_1 = ones.sum(axis=0)
    new_prior = rng.beta(
        data.fit.prior_belief[1] + of_label_1, data.fit.prior_belief[0] + data.weight.sum() - of_label_1
    )
    return cut_beta(expected[..., 0], expected[..., 1], data.floor, rng), new_prior


def cut_beta(right: FloatArray, wrong: FloatArray, floor: FloatArray | float, rng: np.random.Generator) -> FloatArray:
    """Draws from Beta(right, wrong) cut to (floor, 1): those that fall below are drawn again, from the tail.

    >>> cut_beta(np.array([2.0, 2.0]), np.array([2.0, 5000.0]), 0.5, np.random.default_rng(1)).round(3)
    array([0.503, 0.5  ])
    """
    drawn = rng.beta(right, wrong)
    below = drawn <= floor
    if below.any():
        a, b = right[below], wrong[below]
        low = np.broadcast_to(floor, drawn.shape)[below]
        tail = betaincc(a, b, low)
        again = betainccinv(a, b, rng.random(len(a)) * tail)
        steep = (
            tail < np.finfo(float).tiny
        )  # above the floor the density is exp(−rate c), too steep for a tail in floats
        rate = (b - 1) / (1 - low) - np.divide(a - 1, low, out=np.zeros_like(low), where=low > 0)
        again[steep] = low[steep] + rng.exponential(size=steep.sum()) / rate[steep]
        drawn[below] = again
    return np.minimum(drawn, np.nextafter(1.0, 0.0))
