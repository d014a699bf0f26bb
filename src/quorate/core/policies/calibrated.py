"""The default: explore little, learn from everything, plan at the believed matrices, and make good at the end.

1. *Explore*: a few items get one answer of each class that may turn out to be worth its price.  Later batches let
   such classes keep pace: some fresh items get one answer of one of them first, and go on from there, so that most of
   what is paid for knowing a class also labels an item.
2. *Batches* of growing size play the cheapest plan at the current estimate (`quorate.core.planning`), at a slightly
   loose level: an item that stopped too early can go on later from where it stopped, at no loss, while an answer too
   many cannot be given back.
3. *Re-open*: one plan for all items from where they now stand, such that both conditional errors, averaged over the
   posterior of matrices and prior, are at most ``safety * alpha``; bought in portions, so that each is bought on what
   the ones before taught; until the predicted errors of all labels keep the level.

After every stage the matrices are estimated from all answers; that is right under adaptive stopping, since the
sampling depended on answers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.em import BELIEF
from quorate.core.hashing import generator, uniform
from quorate.core.planning.caution import careful_level
from quorate.core.planning.exploring import ExplorePlan, ScoutPlan, still_worth_exploring
from quorate.core.planning.forward import Start, Worlds
from quorate.core.planning.learned import Learned, Predicted, learn
from quorate.core.planning.lookup import compiled
from quorate.core.planning.oracle import OraclePlan, oracle
from quorate.errors import SpecError
from quorate.model import OPEN, Stage, Task, View

FIRST: Final = 10  # items of the first exploring round
FIRST_BATCH: Final = 40
GROWTH: Final = 1.7
LOOSE: Final = 1.25  # batches aim at this many times the level
PASSES: Final = 12
PORTION: Final = 0.3  # of all that was spent, a re-opening pass may spend at most
PACE: Final = 0.5  # answers per item begun that a class gets while it may still pay
TOLERANCE: Final = 1.05  # re-open when a predicted error exceeds this many times the level, or alpha
DRAWS: Final = 40
WORLDS: Final = 16  # draws that a plan is judged by
GIVEN_UP: Final = 0.01  # a plan that gives up more items than it must is one that cannot know yet
SLACK: Final = (1.5, 2.25, 3.4, 5.0)  # how much looser it is planned then
_ORDER, _DRAWS = 11, 12  # separate streams of dice
FOR_EACH_LABEL: Final = (
    "calibrated (Bayes, plug-in): if the model holds, each label's conditional error — wrong given the true "
    "label — is at most alpha; no proof"
)
ON_AVERAGE: Final = (
    "calibrated on average (Bayes, plug-in): if the model holds, the share of wrong labels is at most alpha, "
    "though more of one true label may be wrong than of the other; no proof"
)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Explore, batches, re-open; ``average`` (or the task's) promises the average error instead."""

    name: str = "calibrated"
    average: bool = False

    @property
    def promise(self) -> str:
        """What holds of a label, unless the task asks for the average."""
        return ON_AVERAGE if self.average else FOR_EACH_LABEL

    @property
    def average_promise(self) -> str:
        """What holds of a label where the task asks for the average."""
        return ON_AVERAGE

    def stages(self, task: Task, view: View) -> Iterator[Stage]:
        """Explore, batches, re-open."""
        if task.labels != 2:
            raise SpecError(
                f"Policy '{self.name}' decides between two labels, this campaign has {task.labels}.",
                hint="Use a policy for several labels, or one campaign per pair of labels.",
            )
        yield from _Run(task, view, self.average or task.average).stages()


class _Run:
    """One campaign's way through the three parts."""

    def __init__(self, task: Task, view: View, average: bool) -> None:
        self.task, self.view, self.average = task, view, average
        self.level = task.safety * task.alpha
        self.belief = np.tile(BELIEF, (task.classes, 2, 1)) if task.belief is None else task.belief
        gold = np.full(task.items, OPEN) if task.gold is None else task.gold
        mine = np.flatnonzero(gold == OPEN)
        self.order = mine[np.argsort(uniform(task.seed, _ORDER, mine), kind="stable")]  # files come sorted
        self.begun = 0  # items of the order that were in a stage
        self.barrier = 0
        self.rounds = 0  # of exploring
        self.reopened = 0
        self.learned: Learned

    def learn(self) -> Learned:
        """What all answers so far say, drawn with this barrier's own dice."""
        self.barrier += 1
        return learn(self.task, self.view, self.belief, DRAWS, generator(self.task.seed, _DRAWS, self.barrier))

    def stages(self) -> Iterator[Stage]:
        yield from self.explore()
        yield from self.batches()
        yield from self.reopen()

    def take(self, size: int) -> NDArray[np.int64]:
        items = self.order[self.begun : self.begun + size]
        self.begun += len(items)
        return items

    @property
    def left(self) -> int:
        return len(self.order) - self.begun

    def explore(self) -> Iterator[Stage]:
        """The first items get an answer of every class that may pay."""
        self.learned = self.learn()
        size = min(FIRST, max(self.left // 4, 1), self.left)
        worth = still_worth_exploring(self.learned, self.task, size, self.left, self.view.alive)
        if size and worth.any():
            yield self.exploring(self.take(size), ExplorePlan.of(worth, self.task))
            self.learned = self.learn()

    def exploring(self, items: NDArray[np.int64], plan: ExplorePlan | ScoutPlan) -> Stage:
        self.rounds += 1
        return Stage(f"explore {self.rounds}", items, plan, fixed=True, estimate=self.learned.estimate)

    def batches(self) -> Iterator[Stage]:
        """Growing batches; in each, some items first get an answer of a class that should be known better."""
        held = self.order[: self.begun]
        size, number = float(max(FIRST_BATCH, self.begun)), 0
        while self.left or len(held):
            fresh = self.take(self.left if self.left < 1.5 * size else int(size))
            yield from self.scout(fresh)
            items = np.concatenate([held, fresh])
            held = held[:0]
            number += 1
            start = self.learned.start(self.view, items, self.cap, self.task.price, worlds=False)
            plan = self.plan([min(LOOSE * self.level, 0.49)] * (1 if self.average else 2), start)
            yield Stage(f"batch {number}", items, compiled(plan, self.barrier), estimate=self.learned.estimate)
            self.learned = self.learn()
            size *= GROWTH

    def scout(self, fresh: NDArray[np.int64]) -> Iterator[Stage]:
        """Let classes that may pay keep pace with the items: the batch goes on from their answers."""
        behind = np.maximum(int(PACE * self.begun) - self.view.used.sum(axis=0), 0)
        behind = np.minimum(behind, len(fresh) // self.task.classes)
        worth = still_worth_exploring(self.learned, self.task, behind, self.left + len(fresh), self.view.alive)
        if (worth & (behind > 0)).any():
            yield self.exploring(fresh, ScoutPlan.of(np.where(worth, behind, 0) / len(fresh)))
            self.learned = self.learn()

    def plan(self, level: Sequence[float], start: Start, worlds: Worlds | None = None) -> OraclePlan:
        fit = self.learned.fit
        return oracle(
            fit.accuracy_hat, self.task.price, alpha=(level[0], level[-1]), prior=fit.prior_hat, average=self.average,
            cap=self.cap, start=start, worlds=worlds, longest=self.task.item_cap, gap=0.005,
        )  # fmt: skip

    @property
    def cap(self) -> NDArray[np.int64]:
        """Classes that are paused or dry count as capped at 0."""
        return np.where(self.view.alive, self.task.answers_per_item, 0)

    def reopen(self) -> Iterator[Stage]:
        """Plan for all items from where they stand; buy in portions, each on what is known by then."""
        for number in range(1, PASSES + 1):
            predicted = self.learned.errors(self.view, self.order, average=self.average)
            level = [careful_level(self.level, self.task.alpha, error, size) for error, size in predicted]
            if self.kept(predicted, level):
                return
            plan = self.affordable(level)
            spent = float(self.view.used.sum(axis=0) @ self.task.price)
            share = min(PORTION * spent / max(plan.cost * len(self.order), 1e-300), 1.0)
            if share > 0.7 or number > PASSES - 3:
                items = self.order
            else:
                size = int(np.ceil(share * len(self.order)))
                items = np.roll(self.order, -self.reopened)[:size]
                self.reopened += size
            yield Stage(f"re-open {number}", items, compiled(plan, self.barrier), estimate=self.learned.estimate)
            self.learned = self.learn()

    def kept(self, predicted: Sequence[Predicted], level: Sequence[float]) -> bool:
        """Do the labels as they are keep their levels, as far as can be told?"""
        return all(
            error.mean() <= min(TOLERANCE * most, self.task.alpha)
            for (error, _), most in zip(predicted, level, strict=True)
        )

    def affordable(self, level: Sequence[float]) -> OraclePlan:
        """The cheapest plan for all items, judged in several worlds, that gives up no more items than it must.

        Where little is known of a rare label, no plan may keep the level in all those worlds together, and the
        cheapest would give up all items.  Then a looser level is planned for: what it buys tells which world it is.
        """
        judges = self.learned.thinned(WORLDS)
        start = judges.start(self.view, self.order, self.cap, self.task.price, worlds=True)
        worlds = judges.worlds(self.view, self.order)
        plan = self.plan(level, start, worlds)
        if plan.undecided > GIVEN_UP:
            believed = self.learned.start(self.view, self.order, self.cap, self.task.price, worlds=False)
            sure = self.plan(level, believed)
            for slack in SLACK:
                if plan.undecided <= sure.undecided + GIVEN_UP:
                    return plan
                plan = self.plan([min(slack * most, 0.49) for most in level], start, worlds)
        return plan
