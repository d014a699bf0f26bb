"""How low to plan an error so that campaigns keep alpha one by one, and not only on average over campaigns.

A plan whose error is alpha on average over the posterior leaves some campaigns far above it, and more of them the
less is known.  Their labels would then show more errors than an error of alpha explains.  So the level is lowered
until that is predicted to be rare.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import bdtrc, bdtrik

from quorate.model import FloatArray

RARE: Final = 0.035  # of the campaigns may show too many wrong labels of either true label,
TOO_MANY: Final = 0.025  # that is, so many that an error of alpha would show them less often than this
_HALVINGS: Final = 20


def beyond_noise(error: FloatArray, size: float, alpha: float) -> float:
    """P(more wrong labels than alpha explains), over worlds where each of ``size`` items errs with error[d].

    >>> round(beyond_noise(np.array([0.05]), 500, 0.05), 3), round(beyond_noise(np.array([0.03, 0.07]), 500, 0.05), 3)
    (0.02, 0.228)
    """
    n = max(round(size), 1)
    most = np.ceil(bdtrik(1 - TOO_MANY, n, alpha))  # so many are explained
    return float(bdtrc(np.minimum(most, n), n, np.clip(error, 0.0, 1.0)).mean())


def careful_level(level: float, alpha: float, error: FloatArray, size: float) -> float:
    """The highest level up to ``level`` at which too many wrong labels are `RARE`.

    ``error[d]`` is the error of the labels as they are in the d-th world; at another level all are taken to change
    in proportion.

    >>> careful_level(0.0475, 0.05, np.full(3, 0.06), 1000)
    0.0475
    >>> round(careful_level(0.0475, 0.05, np.array([0.03, 0.05, 0.07]), 1000), 3)
    0.04
    """
    mean = float(error.mean())
    if mean <= 0 or beyond_noise(error * (level / mean), size, alpha) <= RARE:
        return level
    low, high = 0.0, level
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rare = beyond_noise(error * (middle / mean), size, alpha) <= RARE
        low, high = (middle, high) if rare else (low, middle)
    return low
