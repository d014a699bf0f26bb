"""Who is given the last money: a rule of the ledger's own order, never of the order of threads.

Money is given out step by step: an item's first ask of a stage comes before anybody's second, and within a step
first items come first.  Strictly kept, this *lock-step* would wait for every straggler.  So an ask may be let out
before its turn while money is plentiful, that is, while everybody behind could still catch up at the dearest price::

    dearest · Σ_active (highest + 1 − step_j)  ≤  budget − spent − reserved

Then lock-step would have granted it, too: whatever its predecessors ask, the money is there.  Otherwise it waits
until all active items stand at the same step with nothing in flight; what is left is then given out in the order of
items, and whoever asks for more than is left goes without.  Both ways give every item the same, for any number of
buyers.

Lock-step alone would spend a small budget on the first steps of all items and conclude none of them.  So a stage that
the money may not suffice for is entered by *tranches*, in the order of items: as many at once as half of the free
money pays for, at the stage's cost per item so far.  What runs out of money is then the last few items, not all.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

GUESS: Final = 20  # steps of the dearest class that an item costs, until the stage knows better
HEADROOM: Final = 2


class Purse:
    """The money of one campaign, in micros, and how many steps each item of the stage has taken.

    >>> purse = Purse(items=3, budget=5)
    >>> purse.begin_stage(cheapest=2, dearest=2)
    >>> purse.tranche(waiting=3)   # at 20 steps each, not even one is sure to be paid for
    1
    >>> purse.enter(active=3)
    >>> granted, refused = purse.grant(np.arange(3), np.array([2, 2, 2]), quiet=True)   # 6 are not there
    >>> granted, refused, purse.free
    (array([0, 1]), array([2]), 1)
    """

    def __init__(self, items: int, budget: int, *, spent: int = 0) -> None:
        self.budget = budget
        self.spent = spent
        self.reserved = 0
        self._step = np.zeros(items, np.int32)
        self._highest = 0
        self._active = 0
        self._steps = 0  # the sum of the steps of the active items
        self._dearest = 0
        self._cheapest = 0
        self._entered = 0  # items of the stage so far
        self._spent_before = 0

    @property
    def free(self) -> int:
        """What is neither spent nor reserved."""
        return self.budget - self.spent - self.reserved

    def begin_stage(self, cheapest: int, dearest: int) -> None:
        """A stage begins, in which a step costs at least ``cheapest`` and at most ``dearest``."""
        self._cheapest, self._dearest = cheapest, dearest
        self._entered, self._spent_before = 0, self.spent

    def tranche(self, waiting: int) -> int:
        """How many of the stage's waiting items may enter now; nothing is in flight."""
        if self.free < self._cheapest:
            return waiting  # there is nothing to share out
        known = self._entered > 0
        cost = (self.spent - self._spent_before) / self._entered if known else GUESS * self._dearest
        if cost <= 0:
            return waiting
        return min(waiting, max(1, int(self.free / (HEADROOM * cost))))

    def enter(self, active: int) -> None:
        """So many items of the stage enter; none has taken a step, and those who entered before have left."""
        self._step[:] = 0
        self._highest, self._active, self._steps = 0, active, 0
        self._entered += active

    def leave(self, rows: Rows) -> None:
        """The stage has done with these items."""
        self._active -= len(rows)
        self._steps -= int(self._step[rows].sum())

    def settle(self, reserved: int, charged: int) -> None:
        """Answers have come: what had been reserved for them is now spent, as charged."""
        self.reserved -= reserved
        self.spent += charged

    def grant(self, rows: Rows, cost: Rows, *, quiet: bool) -> tuple[Rows, Rows]:
        """Of these items (sorted), which wait to take a step at this cost, those that may, and those that never will.

        ``quiet``: nothing is in flight, and no other item is active.  The others go on waiting.
        """
        behind = self._step[rows] < self._highest
        self._pay(rows[behind], cost[behind])
        front, price = rows[~behind], cost[~behind]
        nobody = front[:0]
        if not len(front):
            return rows, nobody
        to_catch_up = self._active * (self._highest + 1) - self._steps
        if self._dearest * to_catch_up <= self.free:
            can = np.ones(len(front), np.bool_)
        elif quiet and not behind.any():
            can = _affordable(price, self.free)
        else:
            return rows[behind], nobody
        self._highest += bool(can.any())
        self._pay(front[can], price[can])
        behind[~behind] = can
        return rows[behind], front[~can]

    def _pay(self, rows: Rows, cost: Rows) -> None:
        self._step[rows] += 1
        self._steps += len(rows)
        self.reserved += int(cost.sum())


def _affordable(price: Rows, money: int) -> NDArray[np.bool_]:
    """Who can pay if each pays in turn and those who cannot are passed over.

    >>> _affordable(np.array([3, 4, 1, 2]), 6)
    array([ True, False,  True,  True])
    """
    can = np.zeros(len(price), np.bool_)
    left = np.arange(len(price))
    while len(left):
        total = np.cumsum(price[left])
        first = int(np.searchsorted(total, money, side="right"))  # the first who cannot
        can[left[:first]] = True
        money -= int(total[first - 1]) if first else 0
        left = left[first:]
        left = left[price[left] <= money]
    return can
