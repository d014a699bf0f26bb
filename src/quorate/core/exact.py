"""What a stopping rule really does on a class that is known: exact, by pushing probability over the lattice.

State: (zeros, ones).  The mass of all open states with t answers is one vector; one more answer moves each state's
mass to two neighbours; what falls on a stopped state leaves.  No sampling, no bounds: the sums are the values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorate.core.information import expected
from quorate.model import FloatArray
from quorate.ports import StoppingRule


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """A rule on a class, by true label i = 0, 1.

    ``answers[i]`` = E min(τ, cap); ``error[i]`` = P(a wrong label); ``undecided[i]`` = P(still asking at the cap);
    ``stopped[t, i]`` = P(a label after exactly t answers).
    """

    answers: FloatArray
    error: FloatArray
    undecided: FloatArray
    stopped: FloatArray
    cap: int

    def mean_answers(self, prior: float = 0.5) -> float:
        return float(expected(self.answers, prior))

    def mean_undecided(self, prior: float) -> float:
        """The share of items that reach the cap, under the prior P(label = 1)."""
        return float(expected(self.undecided, prior))

    def mean_error(self, prior: float = 0.5) -> float:
        return float(expected(self.error, prior))

    def cost(self, price: float, prior: float = 0.5) -> float:
        """Price of the expected number of answers per item."""
        return price * self.mean_answers(prior)


def performance(
    rule: StoppingRule, accuracy: ArrayLike, *, cap: int = 20_000, leftover: float = 1e-15
) -> Performance:
    """Enumerate ``rule`` on a class with c(0), c(1) = ``accuracy``.

    It ends when less than ``leftover`` is still open under either label, or at ``cap`` answers; what is open then is
    reported as ``undecided``, and counts ``cap`` answers.

    >>> from quorate.core.stopping.direction import DirectionTest
    >>> exact = performance(DirectionTest(alpha=0.05), (0.88, 0.82))
    >>> exact.answers.round(1), bool(exact.undecided.max() < 1e-14)
    (array([19.1, 29.6]), True)
    """
    c0, c1 = np.asarray(accuracy, np.float64)
    p_one = np.array([[1 - c0], [c1]])  # P(answer 1 | label i), a row a label
    mass = np.ones((2, 1))
    first = 0  # the number of ones of the first state in the window
    error, stopped = np.zeros(2), []
    t = 0
    while True:
        ones = np.arange(first, first + mass.shape[1])
        verdict = rule.verdict(t - ones, ones)
        open_ = verdict < 0
        stopped.append(mass[:, ~open_].sum(axis=1))
        error += (mass[0, verdict == 1].sum(), mass[1, verdict == 0].sum())
        mass = np.where(open_, mass, 0.0)
        alive = np.flatnonzero(mass.any(axis=0))
        undecided = mass.sum(axis=1)
        if t == cap or not len(alive) or undecided.max() < leftover:
            break
        first, mass = first + int(alive[0]), mass[:, alive[0] : alive[-1] + 1]
        grown = np.zeros((2, mass.shape[1] + 1))
        grown[:, :-1] = mass * (1 - p_one)
        grown[:, 1:] += mass * p_one
        mass, t = grown, t + 1
    by_t = np.array(stopped)
    answers = np.minimum(np.arange(len(by_t)) @ by_t + t * undecided, t)  # a mean of numbers up to t, rounding or not
    return Performance(answers, error, undecided, by_t, cap)
