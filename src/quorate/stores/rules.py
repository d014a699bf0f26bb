"""The rules of the ledger as pure functions: who gets the money, and what a second answer is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quorate.facts import CONFLICT, KNOWN, LATE, OURS, OVER_BUDGET, SAME_WORKER, TAKEN

Int = NDArray[np.int64]
Value = tuple[int, int, str | None]  # label, failure, worker


def grant(price: Int, taken: NDArray[np.bool_], left: int) -> NDArray[np.int8]:
    """Give out the money that is left, in the order of the rows; what no longer fits is skipped.

    >>> grant(np.array([4, 4, 9, 1]), np.array([False, True, False, False]), left=6)
    array([0, 1, 2, 0], dtype=int8)
    """
    outcome = np.where(taken, TAKEN, OURS).astype(np.int8)
    rows = np.flatnonzero(~taken)
    while len(rows):
        total = np.cumsum(price[rows])
        fits = int(np.searchsorted(total, left, side="right"))
        if fits == len(rows):
            break
        outcome[rows[fits]] = OVER_BUDGET
        left -= int(total[fits - 1]) if fits else 0
        rest = rows[fits + 1 :]
        outcome[rest[price[rest] > left]] = OVER_BUDGET
        rows = rest[price[rest] <= left]
    return outcome


@dataclass(slots=True)
class Standing:
    """The answer that an ask has already, and what else was told about it."""

    ask: int  # its seq
    epoch: int
    worker_class: int
    price: int
    value: Value
    booked: int  # all that was charged for the ask
    others: set[Value] = field(default_factory=set)


def second(standing: Standing, value: Value, charged: int) -> tuple[int, int]:
    """What a further answer to an answered ask is, and what it adds to the money spent.

    An ask is booked at the dearest price that any answer to it named.

    >>> first = Standing(ask=1, epoch=1, worker_class=0, price=50, value=(1, 0, None), booked=50)
    >>> second(first, (1, 0, None), 50) == (KNOWN, 0), second(first, (0, 0, None), 60) == (CONFLICT, 10)
    (True, True)
    """
    more = max(0, charged - standing.booked)
    failed = value[1] != 0
    if more == 0 and (failed or value == standing.value or value in standing.others):
        return KNOWN, 0
    if standing.value[1] not in (0, SAME_WORKER) and not failed:
        return LATE, more
    return CONFLICT, more
