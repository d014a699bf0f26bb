"""The possible outcomes of an item that one frozen plan asks one class about.

Given its true label the item ends with ``zeros`` and ``ones`` with probability ways × p^ones (1−p)^zeros, p being the
class's chance to answer 1.  The numbers of ways come from the plan alone: that is all the projection needs to know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import binom

from quorate.core.certified.lookup import ASK, Table, ways
from quorate.model import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Outcomes, as columns; ``ways`` is averaged over the items' uniforms.

    >>> Block.fixed(2).swapped().ones
    array([2, 1, 0])
    """

    zeros: IntArray  # (D,)
    ones: IntArray  # (D,)
    ways: FloatArray  # (D,)

    @classmethod
    def fixed(cls, answers: int) -> Block:
        """Every item gets the same number of answers."""
        ones = np.arange(answers + 1)
        return cls(answers - ones, ones, np.asarray(binom(answers, ones), np.float64))

    @classmethod
    def of(cls, table: Table) -> Block:
        """Where the table does not ask on."""
        ended = np.zeros(table.action.shape[1:])
        for weight, asks in zip(table.weight, table.action == ASK, strict=True):
            ended += weight * np.where(asks, 0.0, ways(asks))
        t, ones = np.nonzero(ended)
        return cls(t - ones, ones, ended[t, ones])

    def swapped(self) -> Block:
        """The same with the labels' names exchanged."""
        return Block(self.ones, self.zeros, self.ways)

    def index(self, zeros: IntArray, ones: IntArray) -> IntArray:
        """The outcome that each pair of counts is, −1 where it is none (an item that was left unfinished)."""
        size = int(max(self.zeros.max(), self.ones.max())) + 1
        place = np.full((size + 1, size + 1), -1)
        place[self.zeros, self.ones] = np.arange(len(self.ways))
        return np.asarray(place[np.minimum(zeros, size), np.minimum(ones, size)])
