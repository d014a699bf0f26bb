"""The spectral estimator: confusion matrices of any classes from second and third moments of their answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.bootstrap import with_intervals
from quorate.core.estimators.one_coin import need_three, not_identifiable, one_coin
from quorate.core.estimators.patterns import Patterns, patterns
from quorate.core.estimators.tensor import eigenpairs, symmetrised
from quorate.model import Estimate, FloatArray


@dataclass(frozen=True, slots=True)
class Spectral:
    """Zhang, Chen, Zhou, Jordan (2016), Algorithm 1, for any number of labels.  Paper: Appendix A, Asym-IMCW.

    Classes are dealt into three groups; Z_g is the mean one-hot answer of a group.  For each rotation (a, b, c):
    Z'_a = E[Z_c Z_bᵀ] E[Z_a Z_bᵀ]⁻¹ Z_a and Z'_b alike, M₂ = E[Z'_a Z'_bᵀ], M₃ = E[Z'_a ⊗ Z'_b ⊗ Z_c]; whitened by
    Qᵀ M₂ Q = I, the tensor's eigenpairs (e_h, v_h) give w_h = e_h⁻² and the columns (Qᵀ)⁻¹ e_h v_h of group c, each
    put where its largest entry is.  Then C_k ∝ E[z_k Z_aᵀ] (C_aᵀ)⁻¹ for each class k of c, its columns normalised
    (which drops the prior from the inverse).

    It is total: where a moment is singular the one-coin estimate (two labels) or the agreement with the plurality
    (more) stands in, negative entries are clipped, and the estimate's notes say so.

    >>> rng = np.random.default_rng(1)
    >>> label = rng.random(200_000) < 0.5
    >>> c = np.array([[0.9, 0.8], [0.7, 0.8], [0.8, 0.7]])
    >>> answers = np.where(rng.random((3, 200_000)) < np.where(label, c[:, 1:], c[:, :1]), label, ~label)
    >>> Spectral().estimate(answers.astype(np.int8), rng=rng).accuracy_hat.round(1)
    array([[0.9, 0.8],
           [0.7, 0.8],
           [0.8, 0.7]])
    """

    labels: int = 2
    draws: int = 0  # bootstrap samples for intervals

    def estimate(self, answers: NDArray[np.int8], *, rng: np.random.Generator) -> Estimate:
        data = patterns(answers, self.labels)
        return with_intervals(lambda one: spectral(one, self.labels, rng), data, self.draws, rng)


def spectral(data: Patterns, labels: int, rng: np.random.Generator) -> Estimate:
    """The estimate from compressed answers: the diagonals of the confusion matrices, and the prior of label 1."""
    need_three(data, "Spectral")
    try:
        confusion, prior, notes = confusion_matrices(data, labels, rng)
    except np.linalg.LinAlgError as singular:
        note = f"spectral: {singular}; fell back to the "
        if labels == 2:
            simple = one_coin(data)
            return Estimate(simple.accuracy_hat, simple.prior_hat, notes=(note + "one-coin estimate", *simple.notes))
        confusion, prior = _by_plurality(data, labels)
        notes = [note + "agreement with the plurality"]
    accuracy = np.ascontiguousarray(np.diagonal(confusion, axis1=1, axis2=2))
    if labels == 2:
        notes += not_identifiable(accuracy)
    return Estimate(accuracy, float(prior[1]), notes=tuple(notes))


def confusion_matrices(
    data: Patterns, labels: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, list[str]]:
    """``confusion[k, answer, label]`` with columns that sum to 1, the prior, notes; LinAlgError where singular."""
    group = np.arange(len(data.answers)) % 3
    one_hot = (data.answers[:, None, :] == np.arange(labels)[None, :, None]).astype(np.float64)  # (M, K, P)
    means = [_group_mean(one_hot[group == g]) for g in range(3)]
    columns, priors = [], []
    for c in range(3):
        mu, weight = _group_columns(means[(c + 1) % 3], means[(c + 2) % 3], means[c], data.weight, rng)
        columns.append(mu)
        priors.append(weight)
    confusion = np.empty((len(group), labels, labels))
    notes = []
    for k in range(len(group)):
        a = (k + 1) % 3
        raw = _moment(_group_mean(one_hot[k][None]), means[a], data.weight) @ _inverse(columns[a].T)
        raw /= np.abs(raw).sum()
        kept = np.maximum(raw, 0.0)
        total = kept.sum(axis=0)
        if (raw < 0).any():
            notes.append(f"class {k + 1}: negative entries of its confusion matrix clipped to 0")
        if (total == 0).any():
            notes.append(f"class {k + 1}: an empty column of its confusion matrix set to even chances")
        confusion[k] = np.divide(kept, total, out=np.full_like(kept, 1 / labels), where=total > 0)
    prior = np.mean(priors, axis=0)
    return confusion, prior / prior.sum(), notes


def _group_mean(one_hot: FloatArray) -> FloatArray:
    """Mean one-hot answer (K, P) over those of a group who answered; zeros where none did."""
    total = one_hot.sum(axis=0)
    asked = total.sum(axis=0)
    mean: FloatArray = np.divide(total, asked, out=np.zeros_like(total), where=asked > 0)
    return mean


def _share(weight: NDArray[np.int64], *means: FloatArray) -> FloatArray:
    """The weights of the patterns in which all of these answered, summing to 1."""
    met = weight * np.prod([mean.any(axis=0) for mean in means], axis=0)
    if not met.sum():
        raise np.linalg.LinAlgError("classes that never answered the same item")
    return np.asarray(met / met.sum())


def _moment(a: FloatArray, b: FloatArray, weight: NDArray[np.int64]) -> FloatArray:
    """E[a bᵀ] over the items that both answered."""
    return (a * _share(weight, a, b)) @ b.T


def _group_columns(
    a: FloatArray, b: FloatArray, c: FloatArray, weight: NDArray[np.int64], rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Columns E[Z_c | label] of group c, in the order of the labels, and the prior, from one rotation (a, b, c)."""
    ab, ca, cb = _moment(a, b, weight), _moment(c, a, weight), _moment(c, b, weight)
    to_a, to_b = cb @ _inverse(ab), ca @ _inverse(ab.T)
    m2 = to_a @ ab @ to_b.T
    share = _share(weight, a, b, c)
    m3 = np.einsum("ip,jp,lp->ijl", (to_a @ a) * share, to_b @ b, c)
    size, axes = map(np.asarray, np.linalg.eigh((m2 + m2.T) / 2))
    if size[0] <= 0 or _is_singular(size):
        raise np.linalg.LinAlgError("the second moment is not positive")
    whiten = axes / np.sqrt(size)  # Q
    white = np.einsum("ijl,ix,jy,lz->xyz", symmetrised(m3), whiten, whiten, whiten, optimize=True)
    e, v = eigenpairs(white, rng)
    if e.min() <= 0:
        raise np.linalg.LinAlgError("an eigenvalue of the third moment is not positive")
    mu = (axes * np.sqrt(size)) @ (v * e)  # (Qᵀ)⁻¹ = axes · diag(√size)
    order = _assign(mu)
    return mu[:, order], e[order] ** -2.0


def _assign(mu: FloatArray) -> NDArray[np.int64]:
    """``order[i]``: the column for label i, each where it is largest; the best sum where two want the same place."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(mu, maximize=True)[1], np.int64)


def _inverse(matrix: FloatArray) -> FloatArray:
    if _is_singular(np.asarray(np.linalg.svd(matrix, compute_uv=False), np.float64)):
        raise np.linalg.LinAlgError("a moment is singular")
    return np.asarray(np.linalg.inv(matrix))


def _is_singular(size: FloatArray) -> bool:
    """No more than rounding away from rank deficiency, the rule of `numpy.linalg.matrix_rank`."""
    return bool(size.min() <= size.max() * len(size) * np.finfo(np.float64).eps)


def _by_plurality(data: Patterns, labels: int) -> tuple[FloatArray, FloatArray]:
    """Each class against what most answered, with one answer of each kind added."""
    votes = (data.answers[:, :, None] == np.arange(labels)).sum(axis=0)
    leader = votes.argmax(axis=1)
    told = votes.any(axis=1)
    confusion = np.full((len(data.answers), labels, labels), 1.0)
    for k, row in enumerate(data.answers):
        seen = row >= 0
        np.add.at(confusion[k], (row[seen], leader[seen]), data.weight[seen])
    prior = 1.0 + np.bincount(leader[told], weights=data.weight[told], minlength=labels)
    return confusion / confusion.sum(axis=1, keepdims=True), prior / prior.sum()
