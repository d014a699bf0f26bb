"""The master programme of column generation: mix known policies at the least cost under error bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate.model import FloatArray


def mix_policies(cost: FloatArray, error: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """min cost·q subject to error'q <= level, sum q = 1, q >= 0: weights q, multipliers, value.

    ``cost[0]`` must belong to a policy without errors, so that q = (1, 0, …) is a start.  A revised simplex with as
    many rows as there are bounds, plus one; a basis is therefore a mixture of at most that many policies.

    >>> q, multiplier, value = mix_policies(np.array([10.0, 0.0]), np.array([[0.0], [1.0]]), np.array([0.05]))
    >>> q.round(3), multiplier.round(3), round(value, 3)
    (array([0.95, 0.05]), array([10.]), 9.5)
    """
    n, m = error.shape
    columns = np.zeros((m + 1, m + n))
    columns[:m, :m] = np.eye(m)  # slacks first: ties go to them
    columns[:m, m:] = error.T
    columns[m, m:] = 1.0
    price = np.concatenate([np.zeros(m), cost])
    basis = np.arange(m + 1)
    goal = np.concatenate([level, [1.0]])
    tolerance = 1e-12 * float(np.abs(cost).max() + 1)
    for pivot in range(50 * (m + n)):
        inverse = np.linalg.inv(columns[:, basis])
        dual = price[basis] @ inverse
        reduced = price - dual @ columns
        reduced[basis] = 0.0
        entering = _entering(reduced, tolerance, careful=pivot > 10 * (m + n))
        if entering < 0:
            break
        direction = inverse @ columns[:, entering]
        amount = np.maximum(inverse @ goal, 0.0)
        usable = direction > 1e-12
        if not usable.any():
            break
        ratio = np.where(usable, amount / np.where(usable, direction, 1.0), np.inf)
        ties = np.flatnonzero(ratio <= ratio.min() + 1e-15)
        basis[ties[np.argmin(basis[ties])]] = entering
    inverse = np.linalg.inv(columns[:, basis])
    weights = np.zeros(m + n)
    weights[basis] = np.maximum(inverse @ goal, 0.0)
    dual = price[basis] @ inverse
    return weights[m:], np.maximum(-dual[:m], 0.0), float(weights @ price)


def _entering(reduced: NDArray[np.float64], tolerance: float, *, careful: bool) -> int:
    """The steepest column, or the first (Bland's rule, which cannot cycle); -1 at the optimum."""
    if reduced.min() >= -tolerance:
        return -1
    return int(np.flatnonzero(reduced < -tolerance)[0]) if careful else int(reduced.argmin())
