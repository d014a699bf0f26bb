"""How sure confusion matrices are, for any number of labels and classes: a Gibbs sampler on rows of counts.

For two labels and a few classes, as in a campaign, `quorate.core.estimators.posterior` is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from quorate.core.estimators.dawid_skene import Confusions, posterior_of
from quorate.model import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PSEUDO_ITEMS: Final = 2.0  # of each label, believed before the first answer


def believed_cells(labels: int, right: float = 5.0, wrong: float = 2.0) -> FloatArray:
    """Dirichlet pseudo-counts (answer, label): ``right`` on the diagonal, ``wrong`` spread over the other answers.

    >>> believed_cells(3)
    array([[5., 1., 1.],
           [1., 5., 1.],
           [1., 1., 5.]])
    """
    return np.where(np.eye(labels, dtype=bool), right, wrong / max(labels - 1, 1))


def confusion_draws(
    x: FloatArray | csr_array,
    weight: FloatArray,
    start: Confusions,
    *,
    belief: FloatArray,
    draws: int,
    rng: np.random.Generator,
    skip: int = 50,
) -> tuple[FloatArray, FloatArray]:
    """Confusion matrices (D, M, K, K) and priors (D, K) from the posterior: one chain, begun at the fit.

    Its first ``skip`` sweeps are forgotten.  A sweep draws how many items of each row have each label, then each
    matrix column and the prior (Dirichlet, two pseudo-items a label).

    >>> from quorate.core.estimators.dawid_skene import dawid_skene
    >>> x, weight, rng = np.eye(2), np.array([60.0, 40.0]), np.random.default_rng(1)    # one class, one answer
    >>> fit = dawid_skene(x, 2, weight=weight, pseudo=believed_cells(2))
    >>> confusion, prior = confusion_draws(x, weight, fit, belief=believed_cells(2), draws=400, rng=rng)
    >>> np.ptp(confusion[:, 0, 0, 0]) > 0.4                      # next to nothing is known
    np.True_
    """
    labels = len(start.prior)
    items = weight.astype(np.int64)
    confusion, prior = start.confusion, start.prior
    kept = np.empty((draws, *confusion.shape)), np.empty((draws, labels))
    for sweep in range(-skip, draws):
        allotted = rng.multinomial(items, posterior_of(x, confusion, prior)).astype(np.float64)
        gamma = rng.standard_gamma((x.T @ allotted).reshape(confusion.shape) + belief)
        confusion = gamma / gamma.sum(axis=1, keepdims=True)
        prior = rng.dirichlet(allotted.sum(axis=0) + PSEUDO_ITEMS)
        if sweep >= 0:
            kept[0][sweep], kept[1][sweep] = confusion, prior
    return kept
