"""Dawid and Skene's model for any number of labels, by maximum likelihood from the majority's labels.

This is what offline aggregation means by the name: classes (or single workers) may be worse than chance, nothing is
believed beforehand unless ``pseudo`` says so, and it makes the rounds that others make.  For buying answers use
`quorate.core.estimators.em`, which believes that accuracies are above 1/2 and cannot switch labels.

Dawid and Skene (1979); the one-coin model as in Zhang, Chen, Zhou and Jordan (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from quorate.core.estimators.patterns import patterns
from quorate.model import Estimate, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TINY: Final = float(np.finfo(np.float64).tiny)  # what a probability of zero is where its logarithm is needed


@dataclass(frozen=True, slots=True, eq=False)
class Confusions:
    """The most likely confusion matrices and what they say of each row."""

    confusion: FloatArray  # (M, K, K): confusion[k, answer, label], columns sum to 1
    prior: FloatArray  # (K,)
    posterior: FloatArray  # (n, K)
    loglik: float  # the bound that EM raises; the log-likelihood once it has converged
    iterations: int
    converged: bool


MStep = Callable[[FloatArray], FloatArray]


def dawid_skene(
    x: FloatArray | csr_array,
    labels: int,
    *,
    weight: FloatArray | None = None,
    shape: MStep | None = None,
    pseudo: FloatArray | float = 0.0,
    tol: float = 1e-5,
    max_iter: int = 100,
) -> Confusions:
    """EM on rows of counts ``x[j, k·labels + answer]``, dense or sparse; row j stands for ``weight[j]`` items.

    ``shape`` turns expected counts (M, answer, label) into confusion matrices: `full`, unless told `one_coin`.
    ``pseudo`` answers are added to each cell.  EM ends when the bound grows by less than ``tol`` per answer.

    >>> x = np.array([[1, 0, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]], float)
    >>> found = dawid_skene(x, 2, weight=np.array([10.0, 40.0, 30.0]))
    >>> found.confusion[2].round(2)              # the third class says 1 on a quarter of the zeros
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """
    shape = full if shape is None else shape
    items = np.ones(x.shape[0]) if weight is None else np.asarray(weight, np.float64)
    classes = x.shape[1] // labels
    answers = max(float((items @ x).sum()), 1.0)
    votes = x @ np.tile(np.eye(labels), (classes, 1))
    cast = votes.sum(axis=1, keepdims=True)
    posterior = np.divide(votes, cast, out=np.full_like(votes, 1 / labels), where=cast > 0)
    confusion, prior = _maximise(x, posterior * items[:, None], shape, pseudo)[:2]
    bound, iterations, converged = -np.inf, 0, False
    while not converged and iterations < max_iter:
        posterior = posterior_of(x, confusion, prior)
        confusion, prior, expected = _maximise(x, posterior * items[:, None], shape, pseudo)
        new = _bound(expected, confusion, prior, posterior, items)
        converged = new - bound < tol * answers
        bound = new
        iterations += 1
    return Confusions(confusion, prior, posterior, bound, iterations, converged)


def full(expected: FloatArray) -> FloatArray:
    """Any matrix: each column is the answers on items of that label; a label never seen answers anything."""
    column = expected.sum(axis=1, keepdims=True)
    even = np.full_like(expected, 1 / expected.shape[1])
    confusion: FloatArray = np.divide(expected, column, out=even, where=column > 0)
    return confusion


def one_coin(expected: FloatArray) -> FloatArray:
    """One accuracy a class, whatever the label; wrong answers are spread evenly."""
    labels = expected.shape[1]
    right = np.trace(expected, axis1=1, axis2=2)
    asked = expected.sum(axis=(1, 2))
    skill = np.divide(right, asked, out=np.full_like(right, 1 / labels), where=asked > 0)[:, None, None]
    confusion: FloatArray = np.where(np.eye(labels, dtype=bool), skill, (1 - skill) / (labels - 1))
    return confusion


def posterior_of(x: FloatArray | csr_array, confusion: FloatArray, prior: FloatArray) -> FloatArray:
    """P(label | counts) of each row (n, K)."""
    labels = len(prior)
    log_joint = x @ np.log(np.maximum(confusion, _TINY)).reshape(-1, labels) + np.log(np.maximum(prior, _TINY))
    log_joint -= log_joint.max(axis=1, keepdims=True)
    joint = np.exp(log_joint)
    posterior: FloatArray = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def _maximise(
    x: FloatArray | csr_array, weighted: FloatArray, shape: MStep, pseudo: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Confusion matrices and prior that fit the labels best, and the expected counts (M, answer, label)."""
    labels = weighted.shape[1]
    expected = (x.T @ weighted).reshape(-1, labels, labels) + pseudo
    mass = weighted.sum(axis=0)
    total = mass.sum()
    return shape(expected), mass / total if total > 0 else np.full(labels, 1 / labels), expected


def _bound(
    expected: FloatArray, confusion: FloatArray, prior: FloatArray, posterior: FloatArray, items: FloatArray
) -> float:
    """E log P(answers, labels) + entropy: what each round raises.  Unlike crowd-kit's, the prior counts per item."""
    on_prior = xlogy(items @ posterior, np.maximum(prior, _TINY)).sum()
    entropy = -(items @ xlogy(posterior, posterior)).sum()
    return float(xlogy(expected, np.maximum(confusion, _TINY)).sum() + on_prior + entropy)


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """The maximum-likelihood estimator for two labels, on one answer per class and item.

    >>> answers = np.array([[1, 0, 1, 0, 1, 0], [1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 0]], np.int8)
    >>> DawidSkene().estimate(answers, rng=np.random.default_rng(1)).accuracy_hat.round(2)
    array([[1.  , 1.  ],
           [0.67, 1.  ],
           [1.  , 0.67]])
    """

    tol: float = 1e-5
    max_iter: int = 100

    def estimate(self, answers: NDArray[np.int8], *, rng: np.random.Generator) -> Estimate:
        """EM on the pattern histogram; no dice are needed."""
        rows, weight = pattern_rows(answers)
        found = dawid_skene(rows, 2, weight=weight, tol=self.tol, max_iter=self.max_iter)
        notes = () if found.converged else (f"EM stopped after {found.iterations} rounds, still rising",)
        return Estimate(found.confusion[:, [0, 1], [0, 1]], float(found.prior[1]), notes=notes)


def pattern_rows(answers: NDArray[np.int8], labels: int = 2) -> tuple[FloatArray, FloatArray]:
    """One answer per class and item as different rows of counts, and how many items show each."""
    found = patterns(answers, labels)
    return one_hot(found.answers, labels), found.weight.astype(np.float64)


def one_hot(answers: IntArray, labels: int) -> FloatArray:
    """Answers (M, n) as rows of counts (n, M·labels).

    >>> one_hot(np.array([[1], [-1]]), 2)
    array([[0., 1., 0., 0.]])
    """
    hot = answers.T[:, :, None] == np.arange(labels)
    rows: FloatArray = hot.reshape(-1, len(answers) * labels).astype(np.float64)
    return rows
