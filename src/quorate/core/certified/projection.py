"""E-values against "c(0) <= b", whatever the prior and c(1): the reverse information projection, certified.

Under the null the outcome D of an item, whatever its label, has a law in the hull of {k_p : p in [1−b, 1]}, with
k_p(D) = ways(D) p^ones (1−p)^zeros: P(answer 1 | label 0) = 1 − c(0) >= 1 − b, and P(answer 1 | label 1) > 1/2.
Let q be the predicted law of D and p* any law.  Then

    e(D) = q(D) / (R p*(D)),        R >= max over p in [1−b, 1] of Σ_D k_p(D) q(D) / p*(D),

has mean at most 1 under every law in the hull, thus under the null: a certified e-value whatever p* was.  It grows
fastest under q when p* is the hull's nearest point to q in KL, and then R = 1.  That point has a handful of atoms:
1 − b itself, one near c(1), one near 1; EM over three atoms finds it.  Where it promises no growth, e = 1.

*The certificate R.*  S(p) = Σ_D k_p(D) e(D) is a polynomial.  On a cell [l, h] of a grid that has 1 − b among its
nodes, S <= max(S(l), S(h)) + (h−l)²/8 · max(−S''), and −S'' <= Σ_D e(D) ways 2 ones zeros p^(ones−1) (1−p)^(zeros−1),
whose terms are at most their values with p = h and 1 − p = 1 − l.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from quorate.core.certified.block import Block
from quorate.core.certified.units import CELLS
from quorate.model import FloatArray

_ROUNDS: Final = 40
_THIRD: Final = 0.005  # what EM starts the third atom with


@dataclass(frozen=True, slots=True, eq=False)
class EValues:
    """``log_e[g, d]``: the evidence of outcome d against c(0) <= null[g] / CELLS."""

    null: NDArray[np.int64]  # (G,) ascending
    log_e: FloatArray  # (G, D)


def project(block: Block, predicted: FloatArray, c1: float, null: NDArray[np.int64]) -> EValues:
    """E-values against "c(0) <= null / CELLS" that grow fast where ``predicted`` (D,) is the law of an outcome.

    ``c1`` is where the search for the second atom starts.

    >>> five = Block.fixed(5)
    >>> law = five.ways * (0.5 * 0.8**five.ones * 0.2**five.zeros + 0.5 * 0.1**five.ones * 0.9**five.zeros)
    >>> test = project(five, law, 0.8, np.array([1600]))          # c(0) <= .8, when it is .9
    >>> test.log_e.round(2)
    array([[ 0.5 , -0.3 , -0.72,  0.04,  0.1 , -0.08]])
    """
    nearest = _nearest(block, predicted, c1, 1 - null / CELLS)
    ratio = predicted / nearest
    log_e = np.log(ratio / largest_mean(block, ratio, null)[:, None])
    return EValues(null, np.where((log_e @ predicted > 0)[:, None], log_e, 0.0))


def _nearest(block: Block, predicted: FloatArray, c1: float, low: FloatArray) -> FloatArray:
    """The law (G, D) in the hull over [low, 1] that is nearest to ``predicted``, by EM over three atoms."""
    t = block.zeros + block.ones
    atom = np.stack([low, np.full(len(low), c1), np.full(len(low), (1 + c1) / 2 + 0.49 * (1 - c1))], axis=1)
    weight = np.tile([0.5, 0.5 - _THIRD, _THIRD], (len(low), 1))
    for _ in range(_ROUNDS):
        part = weight[..., None] * _kernel(block, atom)
        part *= (predicted / part.sum(axis=1))[:, None]
        weight = part.sum(axis=2)
        mean = (part @ block.ones) / (part @ t)
        atom[:, 1:] = np.maximum(mean[:, 1:], low[:, None])
        weight /= weight.sum(axis=1, keepdims=True)
    law: FloatArray = np.einsum("ga,gad->gd", weight, _kernel(block, atom))
    return law


def _kernel(block: Block, p: FloatArray) -> FloatArray:
    p = p[..., None]
    return np.asarray(block.ways * np.exp(xlogy(block.ones, p) + xlog1py(block.zeros, -p)))


def largest_mean(block: Block, ratio: FloatArray, null: NDArray[np.int64]) -> FloatArray:
    """R: an upper bound on Σ_D k_p(D) ratio(D) over p in [1 − null / CELLS, 1], for each row of ``ratio`` (G, D)."""
    first = CELLS - int(null.max())
    power = _powers(int(max(block.zeros.max(), block.ones.max())))
    p, rest = power[:, first:], power[:, CELLS - first :: -1]  # p^a and (1−p)^a on the nodes
    mean = (ratio * block.ways) @ (p[block.ones] * rest[block.zeros])  # (G, nodes)
    bends = (block.ones > 0) & (block.zeros > 0)
    ones, zeros, ways = block.ones[bends], block.zeros[bends], block.ways[bends]
    bend = (ratio[:, bends] * (2 * ones * zeros * ways)) @ (p[ones - 1, 1:] * rest[zeros - 1, :-1])
    cell = np.maximum(mean[:, 1:], mean[:, :-1]) + bend / (8 * CELLS**2)
    inside = np.arange(first, CELLS) >= (CELLS - null)[:, None]
    largest: FloatArray = np.where(inside, cell, 0.0).max(axis=1)
    return largest


@lru_cache(maxsize=4)
def _powers(highest: int) -> FloatArray:
    """[a, i] = (i / CELLS)^a."""
    power: FloatArray = (np.arange(CELLS + 1) / CELLS) ** np.arange(highest + 1)[:, None]
    power.flags.writeable = False
    return power
