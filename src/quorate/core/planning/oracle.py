"""The limit: the cheapest plan under bounds on its errors, when the matrices are known.

    minimise expected cost   subject to   P(say 1 | 0) <= a_0,  P(say 0 | 1) <= a_1      (or their average <= a)

over all policies, randomised ones included, that may ask any class at any step; where the classes or their caps
cannot decide all items, the bounds are on the decided ones.

Column generation: the master mixes the policies found so far, its multipliers price a Bayes problem (`bellman`),
whose solution is the next policy; its exact figures come from `forward`.  The Bayes values give a lower bound for
*every* policy, so the result carries its own proof of optimality: ``gap``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core.planning.bellman import Bayes, Losses, Table
from quorate.core.planning.forward import EXACT, Column, Precision, Start, Worlds, follow
from quorate.core.planning.master import mix_policies
from quorate.core.planning.pool import UNITS, Pool, log_odds_of
from quorate.errors import InputError
from quorate.model import FloatArray

SHIFT: Final = 19  # a cell is 2**19 / 2**24 = 1/32 nat wide …
FINEST: Final = 15  # … or finer, down to 1/512 nat, where the answers say little
ROUNDS: Final = 40
GAP: Final = 5e-4
_NOTHING: Final = 1e-12  # a weight below is rounding: no item will use that policy
DEAR: Final = 20.0  # giving up costs this many times the price of concluding with one class
HURRY: Final = (0.25, 1.0, 4.0, 16.0)  # times that price shared out among the answers an item may have, as surcharges
HARDLY: Final = 1e-4  # of the items: fewer undecided ones are no reason to hurry


@dataclass(frozen=True, slots=True, eq=False)
class OraclePlan:
    """A mixture of at most three deterministic policies, and how far it may be from the best there is.

    ``lower_bound`` holds for every policy if there is one world (matrices known); ``gap`` is relative to it.
    """

    cost: float  # per item, answers bought from here on
    lower_bound: float  # on cost + give_up * undecided
    error: FloatArray  # (2,) P(wrong | label 0), P(wrong | label 1)
    undecided: float  # share of items without a label: 0 unless the classes or caps cannot do it
    asks: FloatArray  # (M,) answers per item of each class
    weight: FloatArray  # (P,) P <= 3
    table: tuple[Table | None, ...]  # (P,) None: give up at once
    pool: Pool
    log_odds: float  # of an item without answers
    multiplier: FloatArray  # (2,) what one unit of each error bound is worth
    give_up: float  # what an undecided item counts: far above the price of concluding

    @property
    def gap(self) -> float:
        """(total - lower bound) / total, where total = cost + give_up * undecided: 0 is optimal."""
        total = self.cost + self.give_up * self.undecided
        return (total - self.lower_bound) / total if total else 0.0


def oracle(
    accuracy: ArrayLike,
    price: ArrayLike,
    *,
    alpha: float | tuple[float, float],
    prior: float = 0.5,
    average: bool = False,
    cap: ArrayLike | None = None,
    start: Start | None = None,
    worlds: Worlds | None = None,
    longest: int | None = None,
    gap: float = GAP,
) -> OraclePlan:
    """The cheapest plan for classes ``accuracy[k, i]`` at ``price[k]``.

    ``alpha`` bounds both conditional errors (a pair: each its own), or, with ``average``, the average error.
    ``cap`` limits the answers per item of each class.  ``start`` says where the items stand already.  ``worlds``
    judges costs and errors by the average over several possible truths instead of by ``accuracy`` alone.

    >>> plan = oracle([(.94, .90), (.77, .87), (.92, .76), (.88, .82), (.64, .66)], [6.30, 2.16, 2.03, 3.03, 1.22],
    ...               alpha=0.05)
    >>> round(plan.cost, 2), plan.gap < 0.005
    (4.9, True)
    """
    pool = Pool.of(accuracy, price, cap)
    _check(pool, prior, alpha)
    log_odds = float(log_odds_of(prior))
    believed = Worlds(pool.accuracy[None], np.array([prior]))
    judged = believed if worlds is None else worlds
    full = int(pool.limit @ pool.stride)
    start = Start.fresh(log_odds, full, len(judged.label_weight)) if start is None else start
    level = np.array([alpha, alpha] if isinstance(alpha, float | int) else alpha, np.float64)
    bounds = level[:1] if average else level
    return _Search(pool, judged, start, prior, log_odds, bounds, average, longest).run(gap)


class _Search:
    """One run of the column generation."""

    def __init__(
        self, pool: Pool, worlds: Worlds, start: Start, prior: float, log_odds: float,
        level: FloatArray, average: bool, longest: int | None,
    ) -> None:  # fmt: skip
        self.pool, self.worlds, self.start = pool, worlds, start
        self.prior, self.log_odds, self.level, self.average, self.longest = prior, log_odds, level, average, longest
        share = worlds.label_weight.reshape(2, -1).sum(axis=1)
        self.share = share
        once = typical_cost(pool, float(level.min()))
        self.give_up = DEAR * once
        self.guess = once / max(np.log(1 / level.min()), 1.0)
        self.surcharges = [] if longest is None else [hurry * once / longest for hurry in HURRY]
        self.columns = [Column(None, self.give_up, np.zeros(2), np.ones(2), np.zeros(pool.classes))]
        self.shift = cell_shift(pool)
        self.floor = -np.inf
        little = 1e-3 * float(level.min())
        self.precision = EXACT if longest is None else Precision(little, 1e-3 * little, 600, 2)
        self.proving = len(worlds.prior) == 1  # with several worlds the Bayes values bound nothing

    def errors(self) -> FloatArray:
        return np.array([self.charged(one) for one in self.columns])

    def charged(self, column: Column) -> FloatArray:
        """What counts against the bounds: P(wrong) <= a P(decided) is P(wrong) + a P(undecided) <= a."""
        error: FloatArray = column.error + self.level * column.undecided
        return self.share[None] @ error if self.average else error

    def price_out(self, multiplier: FloatArray, surcharge: float = 0.0) -> tuple[Column, float]:
        """The best policy at these multipliers, and the lower bound that its value gives."""
        losses = self.losses(multiplier)
        bayes = Bayes(self.pool, losses, self.shift, surcharge)
        table = bayes.solve()
        column = follow(table, self.pool, self.worlds, self.start, self.longest, self.precision)
        column = Column(table, column.cost + self.give_up * float(column.undecided @ self.share), *_rest(column))
        value = self.value(bayes, table)
        return column, value - float(multiplier @ self.level)

    def losses(self, multiplier: FloatArray) -> Losses:
        charge = np.broadcast_to(multiplier, 2)
        if not self.average:
            charge = charge / np.maximum([1 - self.prior, self.prior], 1e-300)
        lost = self.give_up + charge * self.level
        return Losses(float(charge[0]), float(charge[1]), float(lost[0]), float(lost[1]))

    def value(self, bayes: Bayes, table: Table) -> float:
        """The Bayes value of the start, interpolated from below."""
        half = self.start.mass.shape[1] // 2
        weight = self.start.mass[:, :half] @ self.worlds.label_weight[:half]
        x = self.start.units / UNITS / table.step
        cell = np.floor(x).astype(np.int64)
        part = np.expm1((x - cell) * table.step) / np.expm1(table.step)
        return float(weight @ ((1 - part) * _value_at(bayes, table, self.start.state, cell)
                               + part * _value_at(bayes, table, self.start.state, cell + 1)))  # fmt: skip

    def run(self, gap: float) -> OraclePlan:
        guess = self.guess / self.level
        for scale in (0.5, 1.5, 5.0):
            self.add(scale * guess)
        weight, multiplier, value = self.mix()
        for _ in range(ROUNDS):
            if value - self.floor <= gap * value:
                break
            if self.add(multiplier) >= -0.1 * gap * value:
                if not self.proving or self.shift <= FINEST or self.runs_out(weight):
                    break
                self.shift -= 1  # the grid is too coarse for the bound
            weight, multiplier, value = self.mix()
        return self.result(weight, multiplier)

    def runs_out(self, weight: FloatArray) -> bool:
        """Whether answers run out: then the bound, which does not know of that, is never met."""
        return self.longest is not None and self.undecided(weight) > HARDLY

    def undecided(self, weight: FloatArray) -> float:
        """The share of items that a mixture of the first columns leaves undecided."""
        return float(weight @ np.array([one.undecided for one in self.columns[: len(weight)]]) @ self.share)

    def mix(self) -> tuple[FloatArray, FloatArray, float]:
        return mix_policies(np.array([one.cost for one in self.columns]), self.errors(), self.level)

    def add(self, multiplier: FloatArray) -> float:
        """Price new policies in; the least reduced cost at these multipliers against the master's value.

        The Bayes problem does not see that an item may have `longest` answers only.  Where its policy runs into that,
        it is solved again with a surcharge on each answer: that leads to classes which say more an answer.
        """
        held = self.columns
        column, floor = self.price_out(multiplier)
        if self.proving:
            self.floor = max(self.floor, floor)
        new = [column]
        for surcharge in self.surcharges:
            if new[-1].undecided @ self.share <= HARDLY:
                break
            new.append(self.price_out(multiplier, surcharge)[0])
        self.columns = held + new
        return min(self.reduced(one, multiplier) for one in new) - min(self.reduced(one, multiplier) for one in held)

    def reduced(self, column: Column, multiplier: FloatArray) -> float:
        """Its cost, errors above the level charged."""
        return column.cost + float((self.charged(column) - self.level) @ multiplier)

    def result(self, weight: FloatArray, multiplier: FloatArray) -> OraclePlan:
        used = np.flatnonzero(weight > _NOTHING)
        chosen, share = [self.columns[c] for c in used], weight[used] / weight[used].sum()
        undecided = self.undecided(weight / weight.sum())
        cost = float(share @ [one.cost for one in chosen]) - self.give_up * undecided
        return OraclePlan(
            cost=cost,
            lower_bound=max(self.floor, 0.0),
            error=share @ np.array([one.error for one in chosen]),
            undecided=undecided,
            asks=share @ np.array([one.asks for one in chosen]),
            weight=share,
            table=tuple(one.table for one in chosen),
            pool=self.pool,
            log_odds=self.log_odds,
            multiplier=np.broadcast_to(multiplier, 2),
            give_up=self.give_up,
        )


def _rest(column: Column) -> tuple[FloatArray, FloatArray, FloatArray]:
    return column.error, column.undecided, column.asks


def _value_at(bayes: Bayes, table: Table, state: NDArray[np.int64], cell: NDArray[np.int64]) -> FloatArray:
    inside = (cell >= table.first) & (cell < table.first + table.value.shape[1])
    held = table.value[state, np.clip(cell - table.first, 0, table.value.shape[1] - 1)]
    odds = np.exp(cell * table.step)
    outside = np.minimum(bayes.losses.say_0 * odds, bayes.losses.say_1)
    return np.where(inside, held, np.minimum(outside, bayes.losses.give_up_0 + bayes.losses.give_up_1 * odds))


def typical_cost(pool: Pool, alpha: float) -> float:
    """About what concluding one item costs with the best class, the scale of everything here."""
    with np.errstate(divide="ignore"):
        one = pool.price * (1 + 2 * np.log(1 / alpha) / pool.information)
    return float(np.minimum(one, pool.price * np.maximum(pool.cap, 1)).min() + pool.price.max())


def cell_shift(pool: Pool) -> int:
    """Cells a quarter as wide as the smallest step of the most informative class, between 1/512 and 1/32 nat."""
    step = np.abs(pool.evidence).min(axis=1)[pool.information.argmax()]
    return int(np.clip(np.floor(np.log2(max(step, 2.0**-20) * UNITS / 4)), FINEST, SHIFT))


def _check(pool: Pool, prior: float, alpha: float | tuple[float, float]) -> None:
    c = pool.accuracy
    if c.ndim != 2 or c.shape[1] != 2 or len(c) != len(pool.price) or not ((c >= 0) & (c <= 1)).all():
        raise InputError(
            f"The accuracies must be one pair (c(0), c(1)) in [0, 1] a class, got {c.tolist()}.",
            hint="Give as many pairs as prices.",
        )
    if not 0 <= prior <= 1:
        raise InputError(f"The prior P(label = 1) must lie in [0, 1], got {prior}.", hint="Use 0.5 if unsure.")
    if not (np.asarray(alpha) > 0).all() or not (np.asarray(alpha) < 1).all():
        raise InputError(f"alpha must lie strictly between 0 and 1, got {alpha}.", hint="0.05 is common.")
