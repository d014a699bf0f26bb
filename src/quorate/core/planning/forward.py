"""What a plan really costs and errs: probability pushed forward over the log-odds that can be reached.

Grid values will not do here: the boundaries of an optimal plan coincide with reachable log-odds.  So every reachable
log-odds is its own atom, with its mass under each label in each *world* (a world is one possible set of true
matrices; the plan itself only ever sees the believed one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.core.planning.bellman import Bayes, Table
from quorate.core.planning.pool import UNITS, Pool
from quorate.model import UNDECIDED, FloatArray, say

LONGEST: Final = 400  # answers of one item that are followed


class Precision(NamedTuple):
    """When probability is let go or lumped together."""

    wave: float  # a wave of less mass than this is no longer followed
    atom: float  # nor is an atom
    most: int  # more atoms than this in one wave are merged within a part of a cell …
    part: int  # … of 2**-part


EXACT: Final = Precision(1e-9, 1e-9, 3000, 4)


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Possible truths of equal weight: ``accuracy[d, k, i]``, and the prior of label 1 in each."""

    accuracy: FloatArray  # (D, M, 2)
    prior: FloatArray  # (D,)

    @property
    def label_weight(self) -> FloatArray:
        """P(label, world) of the columns (label 0 in each world, then label 1)."""
        return np.concatenate([1 - self.prior, self.prior]) / len(self.prior)

    @property
    def answer(self) -> FloatArray:
        """``out[k, a, column]`` = P(class k answers a)."""
        c = self.accuracy.transpose(1, 2, 0)  # (M, 2, D)
        one = np.concatenate([1 - c[:, 0], c[:, 1]], axis=1)
        return np.stack([1 - one, one], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where the items stand before the plan begins: log-odds, state of the caps, share of each column there."""

    units: NDArray[np.int64]  # (S,) log-odds in whole units
    state: NDArray[np.int64]  # (S,)
    mass: FloatArray  # (S, columns), each column sums to 1

    @classmethod
    def fresh(cls, log_odds: float, state: int, columns: int) -> Start:
        """All items without evidence."""
        return cls(np.array([round(log_odds * UNITS)]), np.array([state]), np.ones((1, columns)))


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One deterministic policy with its exact figures; those of the worlds averaged."""

    table: Table | None  # None: give up at once
    cost: float
    error: FloatArray  # (2,) P(wrong | label)
    undecided: FloatArray  # (2,) P(undecided | label)
    asks: FloatArray  # (M,) answers per item of each class


def follow(
    table: Table, pool: Pool, worlds: Worlds, start: Start, longest: int | None = None, precision: Precision = EXACT
) -> Column:
    """Push the start through a table of actions until all mass is concluded.

    With ``longest``, items are undecided after so many answers, as in a campaign with a cap.  Without it, and with
    one world, what is left after `LONGEST` answers is finished on the grid (a very poor class takes thousands, so
    small steps that the grid blurs little).
    """
    weight = worlds.label_weight
    columns = len(weight)
    half = columns // 2
    units, state, mass = start.units, start.state, start.mass
    wrong = np.zeros(columns)
    undecided = np.zeros(columns)
    asks = np.zeros((pool.classes, columns))
    move = np.round(pool.evidence * UNITS).astype(np.int64)
    like = worlds.answer
    for _ in range(longest or LONGEST):
        action = table.at(state, units)
        asking = action >= 0
        if not asking.all():
            wrong[:half] += mass[action == say(1), :half].sum(axis=0)
            wrong[half:] += mass[action == say(0), half:].sum(axis=0)
            undecided += mass[action == UNDECIDED].sum(axis=0)
            asking &= mass.max(axis=1) > precision.atom
            units, state, mass, action = units[asking], state[asking], mass[asking], action[asking]
        if not len(units):
            break
        order = np.argsort(action, kind="stable")
        units, state, mass, action = units[order], state[order], mass[order], action[order]
        present, begin = np.unique(action, return_index=True)
        asks[present] += np.add.reduceat(mass, begin, axis=0)
        state = pool.child[state, action]
        units = np.concatenate([units + move[action, 0], units + move[action, 1]])
        mass = np.concatenate([mass * like[action, 0], mass * like[action, 1]])
        units, state, mass = _merged(units, np.concatenate([state, state]), mass, pool.states, table.shift, precision)
        if (mass.sum(axis=0) < precision.wave).all():
            break
    else:
        if longest is None and columns == 2:
            tail = _tail(table, pool, Start(units, state, mass), weight)
            wrong += tail.error
            undecided += tail.undecided
            asks += tail.asks[:, None]
        else:
            undecided += mass.sum(axis=0)
    asked = asks @ weight
    return Column(table, float(asked @ pool.price), _by_label(wrong), _by_label(undecided), asked)


def _by_label(of_column: FloatArray) -> FloatArray:
    return np.asarray(of_column.reshape(2, -1).mean(axis=1), np.float64)


def _tail(table: Table, pool: Pool, start: Start, weight: FloatArray) -> Column:
    """What becomes of leftover mass, by one linear system on the table's grid; totals are per mass of label 0."""
    bayes = Bayes(pool, table.losses, table.shift)
    odds = bayes.odds
    action = bayes.stop_action
    ending = np.zeros((len(odds), 4 + pool.classes))
    ending[:, 0] = action == say(1)
    ending[:, 1] = odds * (action == say(0))
    ending[:, 2] = action == UNDECIDED
    ending[:, 3] = odds * (action == UNDECIDED)
    asking = [np.zeros_like(ending) for _ in range(pool.classes)]
    for k, one in enumerate(asking):
        one[:, 4 + k] = 1 + odds
    totals = bayes.to_the_end(table.action, ending, asking)
    total = start.mass[:, 0] @ totals[start.state, table.column(start.units)] * weight[0]
    return Column(table, 0.0, total[:2] / weight, total[2:4] / weight, total[4:])


def _merged(
    units: NDArray[np.int64],
    state: NDArray[np.int64],
    mass: FloatArray,
    states: int,
    shift: int,
    precision: Precision,
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Atoms at the same place made one; if they are very many, atoms close to each other too."""
    key = units * states + state
    order = np.argsort(key, kind="stable")
    key = key[order]
    begin = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    if len(begin) > precision.most:
        fine = shift - precision.part
        rounded = (units + (1 << (fine - 1)) >> fine) << fine
        if (rounded != units).any():
            return _merged(rounded, state, mass, states, shift, precision)
    first = order[begin]
    return units[first], state[first], np.add.reduceat(mass[order], begin, axis=0)
