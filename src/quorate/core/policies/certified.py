"""The certified policy: a finite-sample guarantee for every true label, at costs near the limit.

1. *Explore*: a few items get answers of several classes.  They only choose the class k_hat that works from then on.
2. *Learn*: a few items get some answers of k_hat each and are held, until plans at the proven bounds are good.
3. *Batches* of fresh items, each under the plan that is cheapest among those whose errors are at most a' at the bounds
   proven by the items before.  Learned and batched items alike go on to sharpen the bounds.
4. *Finish*: held and explored items, under the e-rule at the last bounds.

For every sequence of true labels, every item: P(wrong) <= a' + delta = alpha, if answers are independent given the labels and
all c > 1/2.  The proof, step by step in the names used here, is in the docs, *Certified*.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.belief import Belief
from quorate.core.certified.block import Block
from quorate.core.certified.evidence import EvidencePlan, FixedPlan
from quorate.core.certified.knowledge import Knowledge, Ranking
from quorate.core.certified.lattice import LatticePlan, Randomised, lattice_plan
from quorate.core.certified.sequence import ConfidenceSequence
from quorate.core.hashing import generator
from quorate.model import OPEN, BoolArray, Stage, Task, View
from quorate.ports import Plan

_ORDER, _DRAW = 11, 12  # streams of dice
_FIRST: Final = 20  # items of the first exploring round
_EXPLORED: Final = 0.25  # of the items at most
_WORTH: Final = 4.0  # a round is bought while what it may save is worth so many times its price
_ROUND: Final = 10  # items of a later one, at least
_LEARNED: Final = 20  # items of the first learning block
_LEAST_CAP: Final = 5  # answers per item that a class must give to work alone
_FIRST_LOOK: Final = 1.6  # a held item gets so many times the answers that an item needs when the class is known,
_FEWEST, _MOST = 4, 20  # within these limits
_HORIZON: Final = 60  # answers per item that a plan looks ahead, more where
_UNDECIDED: Final = 1e-3  # it would leave more items than this undecided
_GIVE_UP: Final = 2.0  # an undecided item is as bad as so many times the item's cap of answers
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Certified:
    """``delta`` is the part of alpha that pays for the bounds, ``growth`` how much each batch adds to those before."""

    delta: float = 0.05
    growth: float = 0.6
    hold: float = 1.3  # hold items while a plan at the bounds costs more than this times a held item's answers
    name: str = "certified"
    promise: str = (
        "certified: each item, whatever its true label, is wrong with probability at most alpha, proven for any number of "
        "items, if answers are independent given the true labels and every class is right more often than not on either label"
    )

    def stages(self, task: Task, view: View) -> Iterator[Stage]:
        """The campaign, stage by stage."""
        yield from _Campaign(self, task, view).stages()


class _Campaign:
    """The state of one run of the generator."""

    def __init__(self, policy: Certified, task: Task, view: View) -> None:
        self.policy, self.task, self.view = policy, task, view
        items = np.arange(task.items) if task.gold is None else np.flatnonzero(task.gold == OPEN)
        self.left: Rows = generator(task.seed, _ORDER).permutation(items)  # fresh items, in the order of their use
        self.delta = policy.delta * task.alpha
        self.level = task.alpha - self.delta
        self.sequence = ConfidenceSequence(self.delta)
        self.barrier = 0
        self.look()

    def take(self, size: int) -> Rows:
        taken, self.left = self.left[:size], self.left[size:]
        return np.sort(taken)

    def look(self) -> None:
        """Form a belief from all answers, at a barrier."""
        self.barrier += 1
        self.known = Knowledge.of(self.task, self.view, generator(self.task.seed, _DRAW, self.barrier))

    def stages(self) -> Iterator[Stage]:
        candidate = np.minimum(self.task.answers_per_item, self.task.item_cap) >= _LEAST_CAP
        explored = yield from self.explore(candidate)
        if candidate.any():
            self.k_hat = Ranking.of(self.known.cost(self.task), candidate).best
            held = yield from self.work()
            yield from self.finish(held)
            yield from self.finish_explored(explored)
        else:
            rest = np.sort(np.concatenate([explored, self.left]))
            yield from self.stage("all classes", rest, EvidencePlan(self.order(), self.task.alpha))

    def stage(self, name: str, items: Rows, plan: Plan, *, fixed: bool = False) -> Iterator[Stage]:
        if len(items):
            yield Stage(name, items, plan, fixed=fixed, estimate=self.known.estimate)

    def order(self, first: int | None = None) -> tuple[int, ...]:
        """Classes by what an item costs with them, after ``first``."""
        ranked = np.argsort(self.known.cost(self.task).mean(axis=0), kind="stable")
        return (() if first is None else (first,)) + tuple(int(k) for k in ranked if k != first)

    # ----------------------------------------------------------------------------------------- explore

    def explore(self, candidate: BoolArray) -> Generator[Stage, None, Rows]:
        """Answers of the classes that may be best, until knowing better is not worth its price."""
        explored: Rows = np.zeros(0, np.int64)
        most = int(_EXPLORED * len(self.left))
        while candidate.sum() > 1:
            ranking = Ranking.of(self.known.cost(self.task), candidate)
            alive = ranking.alive if len(explored) else np.arange(self.task.classes)
            answers = -(-3 // len(alive))
            size = min(max(_ROUND, len(explored) // 4) if len(explored) else _FIRST, most - len(explored))
            price = size * answers * self.task.price[alive].sum()
            if size <= 0 or (len(explored) and len(self.left) * ranking.regret <= _WORTH * price):
                break
            items = self.take(size)
            name = f"explore {self.barrier}"
            yield from self.stage(name, items, FixedPlan(tuple(alive.tolist()), answers), fixed=True)
            explored = np.concatenate([explored, items])
            self.look()
        return explored

    # -------------------------------------------------------------------------------------------- work

    def work(self) -> Generator[Stage, None, Rows]:
        """Learning blocks until plans are good, then batches; returns the items that are held."""
        k = self.k_hat
        held: Rows = np.zeros(0, np.int64)
        cap = int(min(self.task.answers_per_item[k], self.task.item_cap))
        worked, learning = 0, True
        while len(self.left):
            belief = self.known.belief(k)
            plan = self.plan(belief, self.sequence.bounds, cap)
            if learning:
                ideal = self.plan(belief, belief.mean[1:], cap).answers
                answers = int(np.clip(np.ceil(_FIRST_LOOK * ideal), _FEWEST, min(_MOST, cap)))
                learning = plan.answers > self.policy.hold * max(answers, ideal) + 1
            size = max(_LEARNED, int(self.policy.growth * worked))
            items = self.take(size if len(self.left) > 1.5 * size else len(self.left))
            if learning:
                yield from self.stage(f"learn {self.barrier}", items, FixedPlan((k,), answers), fixed=True)
                held = np.concatenate([held, items])
                block = Block.fixed(answers)
            else:
                yield from self.stage(f"batch {self.barrier}", items, LatticePlan.compiled(k, plan, belief))
                block = Block.of(plan)
            worked += len(items)
            counts = self.view.counts[items, k]
            self.sequence.add(block, counts[:, 0], counts[:, 1], belief)
            self.look()
        return held

    def plan(self, belief: Belief, bounds: tuple[float, float], cap: int) -> Randomised:
        """The cheapest plan whose errors at the bounds are at most a'; without bounds it may use all of alpha."""
        level = self.task.alpha if bounds == (0.5, 0.5) else self.level
        horizon = min(_HORIZON, cap)
        while True:
            plan = lattice_plan(belief, bounds, level, horizon=horizon, give_up=_GIVE_UP * self.task.item_cap)
            if plan.undecided <= _UNDECIDED or horizon == cap:
                return plan
            horizon = min(2 * horizon, cap)

    # ------------------------------------------------------------------------------------------ finish

    def finish(self, held: Rows) -> Iterator[Stage]:
        """Items that were learned from: all their answers count under the bounds."""
        plan = EvidencePlan(self.order(self.k_hat), self.level, self.sequence.bounds)
        yield from self.stage("finish learned", np.sort(held), plan)

    def finish_explored(self, explored: Rows) -> Iterator[Stage]:
        """Items whose first answers chose k_hat: those count by themselves, later ones under the bounds."""
        told = self.view.counts[explored, self.k_hat]
        for zeros, ones in np.unique(told, axis=0).tolist():
            items = np.sort(explored[(told == (zeros, ones)).all(axis=1)])
            plan = EvidencePlan(self.order(self.k_hat), self.level, self.sequence.bounds, (zeros, ones))
            yield from self.stage(f"finish explored {zeros}-{ones}", items, plan)
