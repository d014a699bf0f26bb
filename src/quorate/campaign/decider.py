"""``decide(spec, ledger)``: the pure state machine that turns answers into the next asks and into verdicts.

No clock, no store, no platform.  The engine drives it with real answers, `quorate.studies.simulate` with simulated
ones: the same code decides in both.  Answers of one item are folded in the order of their ordinals, so the outcome
does not depend on the order of arrival; plans change only at barriers, which are defined by items, never by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.campaign.purse import Purse
from quorate.campaign.waiting import Waiting
from quorate.model import HOLD, NO_LABEL, OPEN, UNDECIDED, BoolArray, IntArray, Items, Stage, Task, View, said
from quorate.ports import Policy

NOBODY: Final = -1  # no class is to be asked about the item now
NOBODY_LEFT: Final = -2  # told instead of a label: the class has nobody left for the item
MISSES: Final = 3  # so many times in a row without a label, and the class is not asked about the item again

REASONS: Final = ("", "label", "too hard", "cap", "exhausted", "budget", "policy ended")
LABEL, TOO_HARD, CAP, EXHAUSTED, BUDGET, ENDED = range(1, 7)


@dataclass(frozen=True, slots=True, eq=False)
class Asks:
    """Columns of asks: which class to ask about which item, as the item's ordinal-th question."""

    item: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    worker_class: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.item)

    def __getitem__(self, rows: Any) -> Asks:
        return Asks(self.item[rows], self.ordinal[rows], self.worker_class[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What is in hand before a policy begins: the answers that its items have from an earlier run."""

    counts: IntArray
    used: IntArray
    asked: IntArray
    closed: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Money:
    """The price of each class and what may be spent, in micros."""

    price: NDArray[np.int64]  # (M,) what is reserved for one answer
    budget: int
    spent: int = 0  # before this policy began


class Decider:
    """Fold answers, hand out asks, conclude verdicts, for one policy on one task.

    With ``by_hand`` the decider stops at each barrier (`at_barrier`), the one before the first stage included, until
    `cross` is called: what holds from there on (which classes are alive, the budget) is set in between.  With
    ``witness`` it keeps the evidence and the confidence by which each item left its stage.

    >>> from quorate.core.policies.votes import Votes
    >>> task = Task(price=np.array([1.0]), answers_per_item=np.array([5]), alpha=0.05, uniform=np.zeros(2), seed=1)
    >>> decider = Decider(Votes(answers=1), task)
    >>> asks = decider.wants()
    >>> asks.item, asks.worker_class
    (array([0, 1]), array([0, 0]))
    >>> decider.tell(asks.item, asks.ordinal, asks.worker_class, [1, 0])
    >>> decider.verdict, decider.done
    (array([1, 0], dtype=int8), True)
    """

    def __init__(
        self,
        policy: Policy,
        task: Task,
        *,
        parallel: int = 1,
        money: Money | None = None,
        start: Start | None = None,
        by_hand: bool = False,
        witness: bool = False,
    ) -> None:
        n, m = task.items, task.classes
        self.task = task
        self.policy = policy
        self.parallel = parallel  # answers of one item in flight at once
        self.by_hand = by_hand
        self.counts = np.zeros((n, m, task.labels), np.int16) if start is None else start.counts.astype(np.int16)
        self.used = np.zeros((n, m), np.int16) if start is None else start.used.astype(np.int16)
        self.closed = np.zeros((n, m), np.bool_) if start is None else start.closed.copy()  # nobody left for the item
        self.asked = np.zeros(n, np.int64) if start is None else start.asked.astype(np.int64)  # ordinals given out
        self.folded = self.asked.copy()  # ordinals whose outcome is known and counted
        self.alive = np.asarray(task.answers_per_item) > 0
        self.verdict = np.full(n, OPEN, np.int8)
        self.reason = np.zeros(n, np.int8)  # index into REASONS
        self.concluded_in = np.full(n, -1, np.int16)  # the stage that gave the verdict
        self.evidence = np.full(n, np.nan) if witness else None
        self.confidence = np.full(n, np.nan) if witness else None  # P(label 1) when the item left its stage
        self.stages: list[Stage] = []
        self.done = False
        self.why_ended = ""  # why the policy could not go on, if it said so
        self.money = money
        self.purse = None if money is None else Purse(n, money.budget, spent=money.spent)
        self._misses: NDArray[np.int8] | None = None  # in a row without a label; most campaigns have none
        self._ready = Waiting()  # items that may be asked about
        self._unpaid = Waiting()  # items that wait for money
        self._next = np.full(n, NOBODY, np.int16)
        self._stage_row = np.full(n, -1, np.int64)  # the item's row in the current stage, −1 outside
        self._base: NDArray[np.int16] | None = None  # counts at the start of a fresh stage
        self._later = np.zeros(0, np.int64)  # items of the stage that have not entered it: money is short
        self._active = 0  # items that have entered the stage, and that the plan has not done with
        self._in_flight = 0
        self._early = np.zeros((4, 0), np.int64)  # told before its turn
        self._cap = np.minimum(task.answers_per_item, task.item_cap).astype(np.int16)
        self._view = View(_frozen(self.counts), _frozen(self.used), _frozen(self.verdict), _frozen(self.alive))
        self._plans: Iterator[Stage] = policy.stages(task, self._view)
        self._go_on()

    @property
    def stage(self) -> Stage:
        """The stage that is under way, or the last one."""
        return self.stages[-1]

    # ---------------------------------------------------------------------------------------- asking

    def wants(self, limit: int | None = None) -> Asks:
        """Hand out up to ``limit`` asks, first items first; each is in flight until it is told.

        The asks that one item is given at once are not torn apart: with several in flight there may be a few more.
        """
        self._go_on()
        while self._unpaid and self._pay():
            pass
        ready = self._ready.take(limit)
        classes = self._next[ready].astype(np.int64)
        self._next[ready] = NOBODY
        first = self.asked[ready]
        if self.parallel == 1:
            self.asked[ready] += 1
            self._in_flight += len(ready)
            return Asks(ready, first, classes)
        copies = self._copies(ready, classes)
        self.asked[ready] += copies
        self._in_flight += int(copies.sum())
        rank = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        return Asks(np.repeat(ready, copies), np.repeat(first, copies) + rank, np.repeat(classes, copies))

    @property
    def waiting(self) -> int:
        """Items that could be asked about now, were there money."""
        return len(self._ready) + len(self._unpaid)

    @property
    def in_flight(self) -> int:
        """Asks that have been handed out and not been told of."""
        return self._in_flight

    def _copies(self, rows: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many answers to ask for at once; nothing is in flight for these items.

        One in a fixed stage: its plan has said how many answers of which class, and a surplus is money lost.
        """
        if self.parallel == 1 or self.stage.fixed:
            return np.ones(len(rows), np.int64)
        spare = self._cap[classes] - self.used[rows, classes]
        spare = np.minimum(spare, self.task.item_cap - self.used[rows].sum(axis=1))
        copies: NDArray[np.int64] = np.clip(spare, 1, self.parallel).astype(np.int64)
        return copies

    def _pay(self) -> bool:
        """Give money to those who wait for it; whether some were refused, so that it pays to look again."""
        assert self.purse is not None
        assert self.money is not None
        rows = self._unpaid.take()
        classes = self._next[rows].astype(np.int64)
        cost = self.money.price[classes] * self._copies(rows, classes)
        quiet = self._in_flight == 0 and not self._ready and len(rows) == self._active
        granted, refused = self.purse.grant(rows, cost, quiet=quiet)
        self._ready.join(granted)
        if len(granted) + len(refused) < len(rows):
            self._unpaid.join(np.setdiff1d(rows, np.concatenate([granted, refused]), assume_unique=True))
        if len(refused):
            self.give_up(refused, BUDGET)
        return bool(len(refused))

    # ---------------------------------------------------------------------------------------- telling

    def tell(
        self,
        item: ArrayLike,
        ordinal: ArrayLike,
        worker_class: ArrayLike,
        label: ArrayLike,
        charged: ArrayLike | None = None,
    ) -> None:
        """Fold outcomes of asks that were handed out, each once.

        ``label`` is `NO_LABEL` for an abstention or a failure, `NOBODY_LEFT` if the class cannot be asked about this
        item again; ``charged`` is what each really cost, the asked price if not given.
        """
        columns = [np.asarray(column, np.int64) for column in (item, ordinal, worker_class, label)]
        if self.purse is not None and self.money is not None:
            reserved = int(self.money.price[columns[2]].sum())
            self.purse.settle(reserved, reserved if charged is None else int(np.asarray(charged).sum()))
        if self.parallel == 1:
            self._fold(columns[0], columns[2], columns[3])
        else:
            self._fold_in_turn(np.stack(columns))
        self._go_on()

    def _fold_in_turn(self, told: NDArray[np.int64]) -> None:
        """Fold what has its turn, keep the rest until it has."""
        early = np.concatenate([self._early, told], axis=1)
        while True:
            due = early[1] == self.folded[early[0]]
            if not due.any():
                break
            item, _, worker_class, label = early[:, due]
            early = early[:, ~due]
            self._fold(item, worker_class, label)
        self._early = early

    def _fold(self, item: NDArray[np.int64], worker_class: NDArray[np.int64], label: NDArray[np.int64]) -> None:
        """Count one outcome for each of these distinct items and decide again about those still open."""
        usable = label >= 0
        if usable.all():
            self.counts[item, worker_class, label] += 1
        else:
            self.counts[item[usable], worker_class[usable], label[usable]] += 1
            self._miss(item[~usable], worker_class[~usable], label[~usable])
        if self._misses is not None:
            self._misses[item[usable], worker_class[usable]] = 0
        self.used[item, worker_class] += 1
        self.folded[item] += 1
        self._in_flight -= len(item)
        undone = item[(self._stage_row[item] >= 0) & (self._next[item] == NOBODY)]
        self._decide(undone)

    def _miss(self, item: NDArray[np.int64], worker_class: NDArray[np.int64], label: NDArray[np.int64]) -> None:
        if self._misses is None:
            self._misses = np.zeros(self.closed.shape, np.int8)
        missed = self._misses[item, worker_class] + 1
        self._misses[item, worker_class] = np.minimum(missed, MISSES)
        self.closed[item, worker_class] |= (label != NO_LABEL) | (missed >= MISSES)

    def admit(self, item: IntArray, worker_class: IntArray, label: IntArray) -> None:
        """Count answers that were not asked for in this campaign's turn: imported, or later than their lease.

        Only at a barrier (or before the first ask), and recorded as such: plans must not change within a stage.
        """
        np.add.at(self.counts, (np.asarray(item), np.asarray(worker_class), np.asarray(label)), 1)

    def give_up(self, item: ArrayLike, reason: int) -> None:
        """These items will not be asked about any more in this stage (say: the budget is spent): undecided."""
        rows = np.asarray(item, np.int64)
        rows = rows[self._stage_row[rows] >= 0]
        for queue in (self._ready, self._unpaid):
            if queue:
                queue.drop(rows)
        self._next[rows] = NOBODY
        self._finish(rows, np.full(len(rows), UNDECIDED, np.int16), reason)
        self._go_on()

    def withdraw(self, item: ArrayLike, ordinal: ArrayLike, worker_class: ArrayLike) -> None:
        """These asks were handed out and will never be made, nor any later one of the same turn: no money."""
        assert self.money is not None
        assert self.purse is not None
        rows, where = np.unique(np.asarray(item, np.int64), return_inverse=True)
        first = np.full(len(rows), np.iinfo(np.int64).max)
        np.minimum.at(first, where, np.asarray(ordinal, np.int64))
        classes = np.zeros(len(rows), np.int64)
        classes[where] = np.asarray(worker_class, np.int64)
        taken = self.asked[rows] - first
        self.asked[rows] = first
        self._in_flight -= int(taken.sum())
        self.purse.settle(int((self.money.price[classes] * taken).sum()), 0)
        self.give_up(rows, BUDGET)

    # --------------------------------------------------------------------------------------- deciding

    def items(self, rows: NDArray[np.int64]) -> Items:
        """What the plan may see of these items."""
        counts = self.counts[rows]
        if self._base is not None:
            counts = counts - self._base[self._stage_row[rows]]
        return Items(counts, self.used[rows], self._open(rows), self.task.uniform[rows])

    def _open(self, rows: NDArray[np.int64]) -> BoolArray:
        open_: BoolArray = (self.used[rows] < self._cap) & ~self.closed[rows] & self.alive
        return open_

    def _decide(self, rows: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        items = self.items(rows)
        action = self.stage.plan.act(items)
        asks = action >= 0
        if asks.any():
            can = np.zeros(len(rows), np.bool_)
            can[asks] = items.open[asks, action[asks]]
            full = asks & (items.used.sum(axis=1) >= self.task.item_cap)
            self._finish(rows[asks & ~can & ~full], np.full((asks & ~can & ~full).sum(), UNDECIDED), EXHAUSTED)
            self._finish(rows[full], np.full(full.sum(), UNDECIDED), CAP)
            go = can & ~full
            idle = go & (self.asked[rows] == self.folded[rows])  # with several in flight, wait for the others
            self._next[rows[idle]] = action[idle]
            (self._ready if self.purse is None else self._unpaid).join(rows[idle])
            rows, action = rows[~asks], action[~asks]
        self._finish(rows, action, None)

    def _finish(self, rows: NDArray[np.int64], action: NDArray[Any], reason: int | None) -> None:
        """The stage's plan has done with these items."""
        if not len(rows):
            return
        if self.evidence is not None and self.confidence is not None:
            items = self.items(rows)
            self.evidence[rows] = self.stage.plan.evidence(items)
            self.confidence[rows] = self.stage.plan.confidence(items)
        label = said(action)
        undecided = action == UNDECIDED
        self.verdict[rows] = np.where(undecided, UNDECIDED, label)
        self.reason[rows] = np.where(
            undecided, TOO_HARD if reason is None else reason, np.where(label >= 0, LABEL, 0)
        )
        self.concluded_in[rows] = np.where(action == HOLD, -1, len(self.stages) - 1)
        if self.purse is not None:
            self.purse.leave(rows)
        self._stage_row[rows] = -1
        self._active -= len(rows)

    # --------------------------------------------------------------------------------------- barriers

    @property
    def at_barrier(self) -> bool:
        """Every item of the stage is done with, and nothing is in flight."""
        return not self.done and self._active == 0 and self._in_flight == 0 and not len(self._later)

    def cross(self) -> None:
        """Begin the policy's next stage; without one the policy has ended."""
        assert self.at_barrier
        stage = next(self._plans, None)
        if stage is None:
            self._end()
            return
        self.stages.append(stage)
        rows = np.asarray(stage.items, np.int64)
        self._stage_row[:] = -1
        self._stage_row[rows] = np.arange(len(rows))
        self._base = self.counts[rows].copy() if stage.fresh else None
        self.verdict[rows] = OPEN
        self.reason[rows] = 0
        self._later = rows
        if self.purse is not None and self.money is not None:
            price = self.money.price[self.alive] if self.alive.any() else np.zeros(1, np.int64)
            self.purse.begin_stage(int(price.min()), int(price.max()) * self.parallel)
        self._enter()

    def end(self, why: str) -> None:
        """The policy cannot go on: what is open stays without a label."""
        self.why_ended = why
        self._end()

    def _enter(self) -> None:
        """Let items into the stage, in order: all of them, or as many as there is money for."""
        waiting = len(self._later)
        several = waiting if self.purse is None else self.purse.tranche(waiting)
        rows, self._later = self._later[:several], self._later[several:]
        self._active = len(rows)
        if self.purse is not None:
            self.purse.enter(len(rows))
        self._decide(rows)

    def _go_on(self) -> None:
        while self._active == 0 and self._in_flight == 0:
            if len(self._later):
                self._enter()
            elif self.by_hand or self.done:
                return
            else:
                self.cross()

    def _end(self) -> None:
        self.done = True
        left = self.verdict == OPEN
        if self.task.gold is not None:
            left &= self.task.gold == OPEN
        self.verdict[left] = UNDECIDED
        self.reason[left] = ENDED


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only window on an array that its owner goes on changing."""
    window = array.view()
    window.flags.writeable = False
    return window
