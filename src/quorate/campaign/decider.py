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
from numpy.typing import NDArray

from quorate.model import HOLD, NO_LABEL, OPEN, UNDECIDED, BoolArray, IntArray, Items, Stage, Task, View, said
from quorate.ports import Policy

NOBODY: Final = -1  # no class is to be asked about the item now

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


class Decider:
    """Fold answers, hand out asks, conclude verdicts, for one policy on one task.

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

    def __init__(self, policy: Policy, task: Task, *, parallel: int = 1) -> None:
        n, m = task.items, task.classes
        self.task = task
        self.policy = policy
        self.parallel = parallel  # answers of one item in flight at once
        self.counts = np.zeros((n, m, task.labels), np.int16)
        self.used = np.zeros((n, m), np.int16)
        self.closed = np.zeros((n, m), np.bool_)  # a class with nobody left for the item
        self.alive = np.ones(m, np.bool_)
        self.verdict = np.full(n, OPEN, np.int8)
        self.reason = np.zeros(n, np.int8)  # index into REASONS
        self.concluded_in = np.full(n, -1, np.int16)  # the stage that gave the verdict
        self.asked = np.zeros(n, np.int64)  # ordinals given out
        self.folded = np.zeros(n, np.int64)  # ordinals whose outcome is known and counted
        self.stages: list[Stage] = []
        self._ready: list[NDArray[np.int64]] = []  # items that wait to be asked about, in chunks
        self._next = np.full(n, NOBODY, np.int16)
        self._stage_row = np.full(n, -1, np.int64)  # the item's row in the current stage, −1 outside
        self._base: NDArray[np.int16] | None = None  # counts at the start of a fresh stage
        self._active = 0  # items of the current stage that the plan has not done with
        self._early: dict[tuple[int, int], tuple[int, int]] = {}  # told before its turn
        self._cap = np.minimum(task.answers_per_item, task.item_cap).astype(np.int16)
        self._view = View(_frozen(self.counts), _frozen(self.used), _frozen(self.verdict), _frozen(self.alive))
        self._plans: Iterator[Stage] = policy.stages(task, self._view)
        self.done = False
        self._next_stage()

    @property
    def stage(self) -> Stage:
        """The stage that is under way, or the last one."""
        return self.stages[-1]

    # ---------------------------------------------------------------------------------------- asking

    def wants(self, limit: int | None = None) -> Asks:
        """Hand out up to ``limit`` asks, first items first; each is in flight until it is told."""
        ready = self._take(limit)
        classes = self._next[ready].astype(np.int64)
        self._next[ready] = NOBODY
        if self.parallel > 1:
            spare = self._cap[classes] - self.used[ready, classes]
            copies = np.clip(spare, 1, self.parallel)
            first = self.asked[ready]
            self.asked[ready] += copies
            rank = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
            return Asks(np.repeat(ready, copies), np.repeat(first, copies) + rank, np.repeat(classes, copies))
        ordinal = self.asked[ready].copy()
        self.asked[ready] += 1
        return Asks(ready, ordinal, classes)

    @property
    def waiting(self) -> int:
        """Items that could be asked about now."""
        return sum(map(len, self._ready))

    def _take(self, limit: int | None) -> NDArray[np.int64]:
        if not self._ready:
            return np.zeros(0, np.int64)
        ready = np.sort(np.concatenate(self._ready)) if len(self._ready) > 1 else self._ready[0]
        cut = len(ready) if limit is None else min(limit, len(ready))
        self._ready = [ready[cut:]] if cut < len(ready) else []
        return ready[:cut]

    # ---------------------------------------------------------------------------------------- telling

    def tell(self, item: IntArray, ordinal: IntArray, worker_class: IntArray, label: IntArray) -> None:
        """Fold outcomes: a label, or `NO_LABEL` for an abstention or a failure.  Each ordinal once."""
        columns = [np.asarray(column, np.int64) for column in (item, ordinal, worker_class, label)]
        if self.parallel == 1:
            self._fold(columns[0], columns[2], columns[3])
        else:
            self._fold_in_turn(*columns)
        if self._active == 0:
            self._next_stage()

    def _fold_in_turn(self, item: IntArray, ordinal: IntArray, worker_class: IntArray, label: IntArray) -> None:
        rows = zip(item.tolist(), ordinal.tolist(), worker_class.tolist(), label.tolist(), strict=True)
        for one, turn, k, value in rows:
            self._early[one, turn] = (k, value)
        pending = np.unique(item)
        while len(pending):
            due = [(j, self._early.pop((j, int(self.folded[j])), None)) for j in pending.tolist()]
            told = [(j, *outcome) for j, outcome in due if outcome is not None]
            if not told:
                return
            columns = np.array(told, np.int64)
            pending = columns[:, 0]
            self._fold(pending, columns[:, 1], columns[:, 2])

    def _fold(self, item: NDArray[np.int64], worker_class: NDArray[np.int64], label: NDArray[np.int64]) -> None:
        """Count one outcome for each of these distinct items and decide again about those still open."""
        usable = label != NO_LABEL
        if usable.all():
            self.counts[item, worker_class, label] += 1
        else:
            self.counts[item[usable], worker_class[usable], label[usable]] += 1
        self.used[item, worker_class] += 1
        self.folded[item] += 1
        undone = item[(self._stage_row[item] >= 0) & (self._next[item] == NOBODY)]
        self._decide(undone)

    def close(self, item: IntArray, worker_class: IntArray) -> None:
        """Nobody of these classes is left for these items; call it before telling the failed asks."""
        self.closed[item, worker_class] = True

    def admit(self, item: IntArray, worker_class: IntArray, label: IntArray) -> None:
        """Count answers that were not asked for in this campaign's turn: imported, or later than their lease.

        Only at a barrier (or before the first ask), and recorded as such: plans must not change within a stage.
        """
        np.add.at(self.counts, (np.asarray(item), np.asarray(worker_class), np.asarray(label)), 1)

    def give_up(self, item: IntArray, reason: int) -> None:
        """These items will not be asked about any more (say: the budget is spent): undecided."""
        rows = np.asarray(item, np.int64)
        rows = rows[self._stage_row[rows] >= 0]
        self._ready = [np.setdiff1d(chunk, rows) for chunk in self._ready]
        self._next[rows] = NOBODY
        self._finish(rows, np.full(len(rows), UNDECIDED, np.int16), reason)
        if self._active == 0:
            self._next_stage()

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
            go = rows[can & ~full]
            self._next[go] = action[can & ~full]
            idle = go[self.asked[go] == self.folded[go]]  # with several in flight, wait for the others
            if len(idle):
                self._ready.append(idle)
            busy = go[self.asked[go] != self.folded[go]]
            self._next[busy] = NOBODY
            rows, action = rows[~asks], action[~asks]
        self._finish(rows, action, None)

    def _finish(self, rows: NDArray[np.int64], action: NDArray[np.integer], reason: int | None) -> None:
        """The stage's plan has done with these items."""
        if not len(rows):
            return
        label = said(action)
        undecided = action == UNDECIDED
        self.verdict[rows] = np.where(undecided, UNDECIDED, label)
        self.reason[rows] = np.where(
            undecided, TOO_HARD if reason is None else reason, np.where(label >= 0, LABEL, 0)
        )
        self.concluded_in[rows] = np.where(action == HOLD, -1, len(self.stages) - 1)
        self._stage_row[rows] = -1
        self._active -= len(rows)

    def _next_stage(self) -> None:
        while self._active == 0 and not self.done:
            stage = next(self._plans, None)
            if stage is None:
                self.done = True
                left = self.verdict == OPEN
                if self.task.gold is not None:
                    left &= self.task.gold == OPEN
                self.verdict[left] = UNDECIDED
                self.reason[left] = ENDED
                return
            self.stages.append(stage)
            rows = np.asarray(stage.items, np.int64)
            self._stage_row[:] = -1
            self._stage_row[rows] = np.arange(len(rows))
            self._base = self.counts[rows].copy() if stage.fresh else None
            self.verdict[rows] = OPEN
            self.reason[rows] = 0
            self._active = len(rows)
            self._ready = []
            self._decide(rows)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only window on an array that its owner goes on changing."""
    window = array.view()
    window.flags.writeable = False
    return window
