"""Dice that are a function of what they decide: the same on every machine, in every order.

An item's plan is randomised by a hash of (campaign seed, item id); a simulated answer by a hash of
(seed, item, ordinal).  So a campaign that is killed and resumed rolls the same dice.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def item_hash(item_id: str) -> int:
    """64 bits of an item's id.

    >>> item_hash("item-17") == item_hash("item-17"), item_hash("a") == item_hash("b")
    (True, False)
    """
    return int.from_bytes(blake2b(item_id.encode(), digest_size=8).digest(), "little")


def mix(*parts: ArrayLike) -> NDArray[np.uint64]:
    """Hash integers (broadcast against each other) to 64 well-mixed bits: SplitMix64, one round a part."""
    with np.errstate(over="ignore"):
        state = np.zeros((), np.uint64)
        for part in parts:
            value = np.asarray(part)
            value = value.astype(np.uint64) if value.dtype != np.uint64 else value
            state = (state ^ value) + _GOLDEN
            state = (state ^ (state >> np.uint64(30))) * _MIX_1
            state = (state ^ (state >> np.uint64(27))) * _MIX_2
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state, dtype=np.uint64)


def uniform(*parts: ArrayLike) -> NDArray[np.float64]:
    """Hash integers to uniforms in [0, 1).

    >>> uniform(7, [0, 1, 2]).round(3)
    array([...])
    """
    return (mix(*parts) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def generator(*parts: int) -> np.random.Generator:
    """A numpy generator whose whole stream is a function of ``parts`` (say: campaign seed, stage number)."""
    return np.random.default_rng([part & 0xFFFFFFFFFFFFFFFF for part in parts])
