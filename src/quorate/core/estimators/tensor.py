"""The robust tensor power method: eigenpairs of a symmetric, nearly orthogonally decomposable third-order tensor."""

from __future__ import annotations

from itertools import permutations
from typing import Final

import numpy as np

from quorate.model import FloatArray

_STARTS: Final = 12  # per eigenpair
_ROUNDS: Final = 30  # quadratic convergence: all but unlucky starts need less than ten
_STILL: Final = 4 * float(np.finfo(np.float64).eps)


def symmetrised(tensor: FloatArray) -> FloatArray:
    """The mean over all orders of the three modes: what sampling noise made unequal."""
    return np.asarray(sum(np.transpose(tensor, order) for order in permutations(range(3))) / 6)


def apply(tensor: FloatArray, theta: FloatArray) -> FloatArray:
    """T(I, θ, θ) for each column of ``theta``."""
    k = len(tensor)
    once = (tensor.reshape(k * k, k) @ theta).reshape(k, k, -1)
    return np.asarray((once * theta[None]).sum(axis=1))


def eigenpairs(tensor: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """(e_h), (v_h as columns) of T = Σ e_h v_h ⊗ v_h ⊗ v_h by power iteration and deflation, all e_h ≥ 0.

    Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Algorithm 1: from several random starts iterate θ ← T(I,θ,θ)/‖·‖,
    keep the one with the largest T(θ,θ,θ), subtract, go on.

    >>> v = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> tensor = np.einsum("h,ih,jh,kh->ijk", [3.0, 2.0], v, v, v)
    >>> e, found = eigenpairs(tensor, np.random.default_rng(1))
    >>> e.round(3), found.round(3)
    (array([3., 2.]), array([[ 0.6, -0.8],
           [ 0.8,  0.6]]))
    """
    left = tensor.copy()
    size = len(tensor)
    value, vector = np.zeros(size), np.zeros((size, size))
    for h in range(size):
        theta = _unit(rng.standard_normal((size, _STARTS)))
        for _ in range(_ROUNDS):
            before, theta = theta, _unit(apply(left, theta))
            if np.abs(theta - before).max() <= _STILL:
                break
        score = (apply(left, theta) * theta).sum(axis=0)
        best = int(score.argmax())
        value[h], vector[:, h] = score[best], theta[:, best]
        left -= value[h] * np.einsum("i,j,k->ijk", vector[:, h], vector[:, h], vector[:, h])
    return value, vector


def _unit(theta: FloatArray) -> FloatArray:
    """Columns of length one; a column of zeros stays."""
    length = np.linalg.norm(theta, axis=0)
    return theta / np.where(length > 0, length, 1.0)
