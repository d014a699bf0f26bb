"""Dawid and Skene's model for two labels, fitted by EM to any number of answers per class and item.

Item j has label 1 with probability w; class k answers i to an item of label i with probability c_k(i), each time
anew.  An item's counts are then all that matters, and log P(counts | 1) − log P(counts | 0) is linear in them.

The likelihood is the right one for items that were stopped adaptively: whom to ask next depended only on answers that
are in the counts, so the sampling rule cancels.  The same holds for classes mixed on one item, for caps, and for
classes that were asked about different items.

Label switching cannot happen: accuracies stay above 1/2, as the paper assumes of every class.
How sure the fit is: `quorate.core.estimators.posterior`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log1p, logit

from quorate.core.estimators.histogram import Histogram, Rows, compress
from quorate.errors import SpecError
from quorate.model import OPEN, Estimate, FloatArray, IntArray

__all__ = ["BELIEF", "LIMITS", "Fit", "Histogram", "Rows", "compress", "fit_counts"]

BELIEF: Final = (5.0, 2.0)  # Beta pseudo-counts (right, wrong) of a class nothing is known of
LIMITS: Final = (0.505, 0.995)  # where its accuracies are looked for


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The most probable parameters, and what follows for each row.

    ``belief`` and ``prior_belief`` are the pseudo-counts the fit started from, gold items included; ``lower`` and
    ``upper`` are the limits of each accuracy.
    """

    accuracy_hat: FloatArray  # (M, 2)
    prior_hat: float  # P(label 1)
    posterior: FloatArray  # (n,) P(label 1) of each row that was handed in
    loglik: float  # log-likelihood of the answers on items that are not gold
    iterations: int
    notes: tuple[str, ...]
    belief: FloatArray  # (M, 2, 2)
    prior_belief: FloatArray  # (2,)
    lower: FloatArray  # (M, 2)
    upper: FloatArray  # (M, 2)


def fit_counts(
    counts: IntArray,
    *,
    belief: ArrayLike | None = None,
    prior_belief: ArrayLike = (2.0, 2.0),
    gold: IntArray | None = None,
    weight: IntArray | None = None,
    start: Fit | Estimate | None = None,
    limits: tuple[float, float] = LIMITS,
    tol: float = 1e-6,
    max_iter: int = 2000,
) -> Fit:
    """The most probable accuracies and prior, given ``counts[j, k, label]``.

    ``belief[k, i]`` are Beta pseudo-counts (right, wrong) of class k on label i and ``prior_belief`` those of
    (label 0, label 1).  The mode is taken on the log-odds scale, where a Beta(a, b) belief simply counts as a right
    and b wrong answers, so it exists for every a, b > 0:

        c_k(i) = (right + a) / (asked + a + b),   within ``limits``, which give way to a belief beyond them.

    ``gold[j]`` is the known label of row j or −1: gold rows teach about the classes, not about the prior, since
    nobody draws gold items at random.  ``weight[j]`` is how many items row j stands for.  ``start`` continues from an
    earlier fit.  EM ends when no parameter moves by more than ``tol``.

    >>> answers = np.array([[[0, 3], [0, 1]], [[3, 0], [1, 0]], [[2, 1], [0, 1]]])
    >>> fit = fit_counts(answers, weight=np.array([40, 40, 10]))
    >>> fit.accuracy_hat.round(2), round(fit.prior_hat, 2), fit.posterior.round(2)
    (array([[0.98, 0.86],
           [0.95, 0.96]]), 0.55, array([1.  , 0.  , 0.95]))
    """
    counts = np.asarray(counts)
    n, classes = counts.shape[:2]
    known = np.full(n, OPEN, np.int8) if gold is None else np.asarray(gold)
    many = np.ones(n, np.int64) if weight is None else np.asarray(weight, np.int64)
    believed = _positive("belief", np.tile(BELIEF, (classes, 2, 1)) if belief is None else belief)
    prior_believed = _positive("prior_belief", prior_belief)
    learned = believed + _gold_counts(counts, known, many)
    unknown = known == OPEN
    rows = compress(counts[unknown], many[unknown])

    lower, upper = _limits(believed, limits)
    x = rows.unique.reshape(-1, 2 * classes).astype(np.float64)  # columns: class 0 says 0, class 0 says 1, …
    row_weight = rows.weight.astype(np.float64)
    if start is None:
        accuracy, prior = believed[..., 0] / believed.sum(axis=2), prior_believed[1] / prior_believed.sum()
    else:
        accuracy, prior = start.accuracy_hat, start.prior_hat
    accuracy, prior, iterations, moved = _em(
        x, row_weight, learned, prior_believed, np.clip(accuracy, lower, upper), prior, lower, upper, tol, max_iter
    )
    log_odds = row_log_odds(x, accuracy, prior)
    posterior = known.astype(np.float64)
    posterior[unknown] = expit(log_odds)[rows.inverse]
    notes = _notes(rows, known, accuracy, lower, upper, classes)
    if moved > tol:
        notes = (*notes, f"EM stopped after {iterations} rounds with parameters still moving by {moved:.1g}")
    loglik = float(row_weight @ (np.logaddexp(0, log_odds) + row_log0(x, accuracy) + log1p(-prior)))
    return Fit(accuracy, prior, posterior, loglik, iterations, notes, learned, prior_believed, lower, upper)


def row_log_odds(x: FloatArray, accuracy: FloatArray, prior: FloatArray | float) -> FloatArray:
    """log P(1 | counts) − log P(0 | counts), with the counts as columns (class 0 says 0, class 0 says 1, …).

    Shape (n,), or (n, D) for D sets of parameters at once.
    """
    c0, c1 = accuracy[..., 0], accuracy[..., 1]
    weights = np.stack([log1p(-c1) - np.log(c0), np.log(c1) - log1p(-c0)], axis=-1)
    log_odds: FloatArray = x @ _flat(weights).T + logit(prior)
    return log_odds


def row_log0(x: FloatArray, accuracy: FloatArray) -> FloatArray:
    """log P(counts | 0), without the number of orders, which no parameter touches."""
    c0 = accuracy[..., 0]
    log0: FloatArray = x @ _flat(np.stack([np.log(c0), log1p(-c0)], axis=-1)).T
    return log0


def _flat(per_class: FloatArray) -> FloatArray:
    return per_class.reshape(*per_class.shape[:-2], -1)


def _em(
    x: FloatArray,
    weight: FloatArray,
    belief: FloatArray,
    prior_belief: FloatArray,
    accuracy: FloatArray,
    prior: float,
    lower: FloatArray,
    upper: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, float, int, float]:
    """Rounds of EM until nothing moves by more than ``tol``; also the number of rounds and the last move."""
    total = weight @ x  # how often each class said each label
    items = weight.sum() + prior_belief.sum()
    moved = np.inf
    iterations = 0
    while moved > tol and iterations < max_iter:
        q = weight * expit(row_log_odds(x, accuracy, prior))
        said = q @ x
        new = m_step(said, total, belief, lower, upper)
        new_prior = float((q.sum() + prior_belief[1]) / items)
        moved = max(float(np.abs(new - accuracy).max(initial=0.0)), abs(new_prior - prior))
        accuracy, prior = new, new_prior
        iterations += 1
    return accuracy, prior, iterations, moved


def right_wrong(said: FloatArray, total: FloatArray, belief: FloatArray) -> FloatArray:
    """Right and wrong answers (…, M, 2, 2) of each class on each label, pseudo-counts included.

    ``said`` counts the answers on items of label 1, ``total`` those on all, in the columns' order.
    """
    on_1 = said.reshape(*said.shape[:-1], -1, 2)
    on_0 = (total - said).reshape(on_1.shape)
    return belief + np.stack([on_0, on_1[..., ::-1]], axis=-2)


def m_step(
    said: FloatArray, total: FloatArray, belief: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The best accuracies given who was right: the objective has one hump, so its best within limits is the clip."""
    expected = right_wrong(said, total, belief)
    accuracy: FloatArray = np.clip(expected[..., 0] / expected.sum(axis=2), lower, upper)
    return accuracy


def _positive(name: str, pseudo_counts: ArrayLike) -> FloatArray:
    array = np.asarray(pseudo_counts, np.float64)
    if not (array > 0).all():
        raise SpecError(
            f"The pseudo-counts of {name} must be above 0, got {array[~(array > 0)][0]:g}.",
            hint="Say (1, 1) for a class or prior that nothing is known of; certainty is a large count, not a zero.",
        )
    return array


def _limits(belief: FloatArray, limits: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """The limits of each accuracy: a class known to be better (or worse) than them is believed."""
    mean = belief[..., 0] / belief.sum(axis=2)
    return np.minimum(limits[0], mean), np.maximum(limits[1], mean)


def _gold_counts(counts: IntArray, known: IntArray, weight: IntArray) -> FloatArray:
    """Right and wrong answers (M, 2, 2) on gold rows."""
    zero, one = known == 0, known == 1
    on_0 = np.tensordot(weight[zero], counts[zero], 1)
    on_1 = np.tensordot(weight[one], counts[one], 1)
    return np.stack([on_0, on_1[:, ::-1]], axis=1).astype(np.float64)


def _notes(
    rows: Rows, known: IntArray, accuracy: FloatArray, lower: FloatArray, upper: FloatArray, classes: int
) -> tuple[str, ...]:
    """What a reader should know before trusting the estimate."""
    notes = []
    total = np.tensordot(rows.weight, rows.unique, 1)  # (M, 2)
    if not (known >= 0).any():
        if not total.any():
            return ("no answers: the estimate is the belief",)
        if rows.weight.sum() == 1:
            notes.append("a single item: the estimate is hardly more than the belief")
    for k in range(classes):
        answers = int(total[k].sum())
        if answers == 0:
            notes.append(f"class {k} has no answers on items of unknown label")
        elif answers > 1 and not total[k].all():
            notes.append(f"class {k} always answers {int(total[k].argmax())}")
        low = accuracy[k] <= lower[k]
        if low.any():
            where = " and ".join(str(label) for label in np.flatnonzero(low))
            notes.append(f"class {k} looks no better than chance on items of label {where}")
        if (accuracy[k] >= upper[k]).any():
            notes.append(f"class {k} is held at the upper limit")
    most = rows.unique.sum(axis=(1, 2)).max(initial=0)
    if most == 1:
        notes.append("no item has two answers: nothing but the belief tells right from wrong")
    elif most == 2 and not (known >= 0).any():
        notes.append("no item has three answers: the belief decides between accuracies that fit equally well")
    return tuple(notes)
