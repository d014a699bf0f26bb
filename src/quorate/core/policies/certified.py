"""The certified policy: a finite-sample guarantee for every true label, at costs near the limit.

1. *Explore*: a few items get answers of several classes. They only choose the class k_hat that works from
   then on.
2. *Learn*: a few items get some answers of k_hat each.
3. *Batches*: fresh items are asked until the bounds proven so far allow a verdict, or until the bounds that
   are expected in the end will; then they are held. All of them, learned or batched, sharpen the bounds.
4. *Finish*: held items at the last bounds; explored items, with fresh answers, at the same.

If another class turns out to be better, k_hat is left for it, once.  For every sequence of true labels and every
item, P(wrong) <= level + delta = alpha, if answers are independent given the labels and all c > 1/2.  The proof,
step by step in the names used here, is in the docs, *Certified*.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.certified.block import Block
from quorate.core.certified.boundary import Boundary
from quorate.core.certified.evidence import EvidencePlan, FixedPlan
from quorate.core.certified.knowledge import Knowledge, Ranking
from quorate.core.certified.lookup import LookUpPlan, Rules
from quorate.core.certified.sequence import ConfidenceSequence
from quorate.core.certified.units import CELLS, FLOOR
from quorate.core.hashing import generator
from quorate.model import OPEN, BoolArray, Stage, Task, View
from quorate.ports import Plan

_ORDER, _DRAW = 11, 12  # streams of dice
_CLEARLY: Final = 0.8  # a class is left for one whose items cost less than this part of its own
_EXPLORED: Final = 0.25  # of the items at most
_FIRST: Final = 20  # items of the first exploring round,
_ROUND: Final = 10  # and of a later one, at least
_LEAST_CAP: Final = 5  # answers per item that a class must give to work alone
_ANSWERS: Final = (5, 20)  # of a learned item, within these limits,
_WALD: Final = 1.5  # so many times those that Wald's test would take: then they tell most per price
_RECOMPILE: Final = 8  # rules are shaped anew when there are so many times the items
_HORIZON: Final = (60, 400)  # answers per item that the rules look ahead: at least, at most
_AHEAD: Final = 20  # times the answers that Wald's test would take
_STEPS: Final = 40  # bounds that the rules are made for
_STEP: Final = 0.9  # how each of them approaches the believed accuracy
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Certified:
    """The knobs, none of which the proof depends on.

    ``delta`` is the part of alpha that pays for the bounds, ``spare`` the part of that kept for a second class.
    ``worth`` is how many times its price an exploring round must promise to save, ``growth`` what a batch adds.
    """

    delta: float = 0.06
    spare: float = 0.2
    worth: float = 6.0
    growth: float = 0.6
    name: str = "certified"
    promise: str = (
        "certified: each item, whatever its true label, is wrong with probability at most alpha; proven for any "
        "number of items, if answers are independent given the true labels and every class is right more often "
        "than not on either label"
    )

    def stages(self, task: Task, view: View) -> Iterator[Stage]:
        """The campaign, stage by stage."""
        yield from _Campaign(self, task, view).stages()


@dataclass(slots=True, eq=False)
class _Work:
    """One class at work: its bounds, and its items with the rules that were made before their first answers."""

    k: int
    sequence: ConfidenceSequence
    learned: list[tuple[Rules, Rows]] = field(default_factory=list)  # not yet under any rule
    batched: list[tuple[Rules, Rows]] = field(default_factory=list)
    items: int = 0


class _Campaign:
    """The state of one run of the generator."""

    def __init__(self, policy: Certified, task: Task, view: View) -> None:
        self.policy, self.task, self.view = policy, task, view
        items = np.arange(task.items) if task.gold is None else np.flatnonzero(task.gold == OPEN)
        self.left: Rows = generator(task.seed, _ORDER).permutation(items)  # fresh items, in the order of their use
        self.cap = np.minimum(task.answers_per_item, task.item_cap)
        self.candidate: BoolArray = self.cap >= _LEAST_CAP
        self.barrier = 0
        self.look()

    # ----------------------------------------------------------------------------------------- helpers

    def take(self, size: int) -> Rows:
        """The next fresh items; all of them where few would be left over."""
        size = size if len(self.left) > 1.5 * size else len(self.left)
        taken, self.left = self.left[:size], self.left[size:]
        return np.sort(taken)

    def look(self) -> None:
        """Form a belief from all answers, at a barrier."""
        self.barrier += 1
        self.known = Knowledge.of(self.task, self.view, generator(self.task.seed, _DRAW, self.barrier))

    def stage(self, name: str, items: Rows, plan: Plan, *, fixed: bool = False) -> Iterator[Stage]:
        if len(items):
            yield Stage(name, np.sort(items), plan, fixed=fixed, estimate=self.known.estimate)

    def ranking(self) -> Ranking:
        return Ranking.of(self.known.cost(self.task), self.candidate)

    def order(self, first: int | None = None) -> tuple[int, ...]:
        """Classes by what an item costs with them, after ``first``."""
        ranked = np.argsort(self.known.cost(self.task).mean(axis=0), kind="stable")
        return (() if first is None else (first,)) + tuple(int(k) for k in ranked if k != first)

    # ------------------------------------------------------------------------------------ the campaign

    def stages(self) -> Iterator[Stage]:
        explored = yield from self.explore()
        if not self.candidate.any():
            rest = np.concatenate([explored, self.left])
            yield from self.stage("all classes", rest, EvidencePlan(self.order(), self.task.alpha))
            return
        delta = self.policy.delta * self.task.alpha
        spare = self.policy.spare * delta if self.candidate.sum() > 1 else 0.0
        self.level = self.task.alpha - delta
        first = _Work(self.ranking().best, ConfidenceSequence(delta - spare))
        yield from self.work(first, may_leave=spare > 0)
        last = first
        if len(self.left):
            last = _Work(self.ranking().best, ConfidenceSequence(spare))
            yield from self.work(last, may_leave=False)
            yield from self.finish(first.k, first.batched, first.sequence.bounds)
            explored = np.concatenate([explored, *(items for _, items in first.learned)])
        yield from self.finish(last.k, last.learned + last.batched, last.sequence.bounds)
        yield from self.finish_explored(last, explored)

    def explore(self) -> Generator[Stage, None, Rows]:
        """Answers of the classes that may be best, until knowing better is not worth its price."""
        explored: Rows = np.zeros(0, np.int64)
        most = int(_EXPLORED * len(self.left))
        while self.candidate.sum() > 1:
            ranking = self.ranking()
            alive = ranking.alive
            answers = -(-3 // len(alive))
            size = max(_ROUND, len(explored) // 4) if len(explored) else _FIRST
            size = min(size, most - len(explored))
            price = size * answers * self.task.price[alive].sum()
            worth = self.policy.worth if len(explored) else 1.0  # of the first round every class learns most
            if size <= 0 or len(self.left) * ranking.regret <= worth * price:
                break
            items, self.left = self.left[:size], self.left[size:]
            plan = FixedPlan(tuple(alive.tolist()), answers)
            yield from self.stage(f"explore {self.barrier}", items, plan, fixed=True)
            explored = np.concatenate([explored, items])
            self.look()
        return explored

    def work(self, work: _Work, *, may_leave: bool) -> Iterator[Stage]:
        """Learn, then batches, until no fresh item is left or the class is better left."""
        k = work.k
        answers = int(np.clip(np.ceil(_WALD * self.wald(k, 0.5)), _ANSWERS[0], min(_ANSWERS[1], self.cap[k])))
        rules = self.rules(work)
        learn = max(2 * _FIRST, int(3 * np.sqrt(len(self.left))))
        shaped = 0
        while len(self.left) and not (may_leave and self.better_left(work, answers)):
            belief = self.known.belief(k)
            if work.items < learn:
                items = self.take(min(max(_FIRST, work.items), learn - work.items))
                yield from self.stage(f"learn {self.barrier}", items, FixedPlan((k,), answers), fixed=True)
                block = Block.fixed(answers)
                work.learned.append((rules, items))
            else:
                if work.items >= _RECOMPILE * shaped:
                    rules, shaped = self.rules(work), work.items
                items = self.take(int(self.policy.growth * work.items))
                table = rules.table(work.sequence.bounds, work.sequence.forecast(len(items) + len(self.left)))
                yield from self.stage(f"batch {self.barrier}", items, LookUpPlan(k, table, belief))
                block = Block.of(table)
                work.batched.append((rules, items))
            work.items += len(items)
            counts = self.view.counts[items, k]
            work.sequence.add(block, counts[:, 0], counts[:, 1], belief)
            self.look()

    def better_left(self, work: _Work, answers: int) -> bool:
        """Another class would save what learning it costs, and more."""
        cost = self.known.cost(self.task).mean(axis=0)
        best = self.ranking().best
        learning = _FIRST * answers * self.task.price[best]
        return best != work.k and len(self.left) * (_CLEARLY * cost[work.k] - cost[best]) > learning

    def wald(self, k: int, quantile: float) -> float:
        """The answers that Wald's test would take of a class, not more than that in so many of the worlds."""
        return float(np.quantile(self.known.cost(self.task)[:, k], quantile) / self.task.price[k])

    def rules(self, work: _Work) -> Rules:
        """Boundaries for every bound, shaped by the belief, for items whose first answer is still to come."""
        belief = self.known.belief(work.k)
        horizon = int(min(self.cap[work.k], np.clip(_AHEAD * self.wald(work.k, 0.95), *_HORIZON)))
        _, c0, c1 = belief.mean
        say_1 = Boundary.calibrated(belief.sequences(1, horizon), _towards(c0), self.level)
        say_0 = Boundary.calibrated(belief.sequences(0, horizon), _towards(c1), self.level)
        return Rules(say_1, say_0)

    # ------------------------------------------------------------------------------------------ finish

    def finish(self, k: int, groups: list[tuple[Rules, Rows]], bounds: tuple[int, int]) -> Iterator[Stage]:
        """Held items at the last bounds, those together that share their rules."""
        for shared in dict.fromkeys(rules for rules, _ in groups):
            items = np.concatenate([items for rules, items in groups if rules is shared])
            plan = LookUpPlan(k, shared.table(bounds), self.known.belief(k))
            yield from self.stage("finish", items[self.view.verdict[items] == OPEN], plan)

    def finish_explored(self, work: _Work, explored: Rows) -> Iterator[Stage]:
        """Items whose first answers chose the class: only later ones count."""
        if len(explored):
            table = self.rules(work).table(work.sequence.bounds)
            plan = LookUpPlan(work.k, table, self.known.belief(work.k))
            yield Stage("finish explored", np.sort(explored), plan, fresh=True, estimate=self.known.estimate)


def _towards(believed: float) -> NDArray[np.int64]:
    """Bounds from 1/2, ever closer to the believed accuracy."""
    steps = np.asarray(believed) - (believed - 0.5) * _STEP ** np.arange(_STEPS)
    return np.unique(np.concatenate([[FLOOR], np.floor(steps * CELLS).astype(np.int64)]))
