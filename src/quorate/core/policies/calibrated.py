"""The default: explore little, learn from everything, plan at the believed matrices, and make good at the end.

1. *Explore*: a few items get one answer of each class that may still turn out to be worth its price.
2. *Batches* of growing size play the cheapest plan at the current estimate (`quorate.core.planning`), at a slightly
   loose level: an item that stopped too early can go on later from where it stopped, at no loss, while an answer too
   many cannot be given back.
3. *Re-open*: with everything learned, one plan for all items where they now stand, such that both conditional errors,
   averaged over the posterior of matrices and prior, are at most ``safety * alpha``; until the prediction keeps it.

After every stage the matrices are estimated from all answers; that is right under adaptive stopping, since the
sampling depended on answers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.em import BELIEF
from quorate.core.hashing import generator, uniform
from quorate.core.planning.learned import Learned, learn
from quorate.core.planning.lookup import compiled
from quorate.core.planning.oracle import oracle
from quorate.core.planning.exploring import ExplorePlan, still_worth_exploring
from quorate.errors import SpecError
from quorate.model import OPEN, FloatArray, Stage, Task, View

FIRST: Final = 10  # items of the first exploring round
FIRST_BATCH: Final = 40
GROWTH: Final = 1.7
LOOSE: Final = 1.25  # batches aim at this many times the level
PASSES: Final = 5
TOLERANCE: Final = 1.01
DRAWS: Final = 40
_ORDER, _DRAWS = 11, 12  # separate streams of dice


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Section by section in the module's own words; the promise is Bayesian, without a proof."""

    name: str = "calibrated"
    promise: str = (
        "calibrated (Bayes, plug-in): if the model holds, each label's conditional error — wrong given the true "
        "label — is at most alpha; no proof"
    )
    average: bool = False

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

    def learn(self) -> Learned:
        """What all answers so far say, drawn with this barrier's own dice."""
        self.barrier += 1
        return learn(self.task, self.view, self.belief, DRAWS, generator(self.task.seed, _DRAWS, self.barrier))

    def stages(self) -> Iterator[Stage]:
        learned = self.learn()
        round_ = 0
        alive = self.view.alive.copy()
        while True:
            size = min(max(FIRST, self.begun // 2), len(self.order) // 4 - self.begun)
            left = len(self.order) - self.begun
            alive &= still_worth_exploring(learned, self.task, size, left, alive)
            if size < 1 or not alive.any():
                break
            round_ += 1
            yield Stage(
                f"explore {round_}", self.take(size), ExplorePlan.of(alive, self.task), fixed=True,
                estimate=learned.estimate,
            )  # fmt: skip
            learned = self.learn()
        yield from self.batches(learned)

    def take(self, size: int) -> NDArray[np.int64]:
        items = self.order[self.begun : self.begun + size]
        self.begun += len(items)
        return items

    def batches(self, learned: Learned) -> Iterator[Stage]:
        held = self.order[: self.begun]
        size, number = max(FIRST_BATCH, self.begun), 0
        while self.begun < len(self.order) or len(held):
            left = len(self.order) - self.begun
            items = np.concatenate([held, self.take(left if left < 1.5 * size else int(size))])
            held = held[:0]
            number += 1
            plan = oracle(
                learned.fit.accuracy_hat,
                self.task.price,
                alpha=min(LOOSE * self.level, 0.49),
                prior=learned.fit.prior_hat,
                average=self.average,
                cap=self.cap,
                start=learned.start(self.view, items, self.cap, self.task.price, worlds=False),
                longest=self.task.item_cap,
                gap=0.003,
            )
            yield Stage(f"batch {number}", items, compiled(plan), estimate=learned.estimate)
            learned = self.learn()
            size *= GROWTH
        yield from self.reopen(learned)

    @property
    def cap(self) -> NDArray[np.int64]:
        """Classes that are paused or dry count as capped at 0."""
        return np.where(self.view.alive, self.task.answers_per_item, 0)

    def reopen(self, learned: Learned) -> Iterator[Stage]:
        level = np.full(2, self.level)
        for number in range(1, PASSES + 1):
            predicted = learned.errors(self.view, self.order)
            if self.kept(predicted, learned):
                return
            plan = oracle(
                learned.fit.accuracy_hat,
                self.task.price,
                alpha=(float(level[0]), float(level[1])),
                prior=learned.fit.prior_hat,
                average=self.average,
                cap=self.cap,
                start=learned.start(self.view, self.order, self.cap, self.task.price, worlds=True),
                worlds=learned.worlds(self.view, self.order),
                longest=self.task.item_cap,
                gap=0.003,
            )
            yield Stage(f"re-open {number}", self.order, compiled(plan), estimate=learned.estimate)
            learned = self.learn()

    def kept(self, predicted: FloatArray, learned: Learned) -> bool:
        """Do the labels as they are keep the level, as far as can be told?"""
        if self.average:
            w = learned.fit.prior_hat
            return bool((1 - w) * predicted[0] + w * predicted[1] <= TOLERANCE * self.level)
        return bool((predicted <= TOLERANCE * self.level).all())
