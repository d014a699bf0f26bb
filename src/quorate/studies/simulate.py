"""Whole campaigns on a known world, vectorised over items.  The policy code is the engine's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import Decider
from quorate.core.hashing import mix, uniform
from quorate.model import FloatArray, IntArray, Task
from quorate.ports import Policy
from quorate.studies.instances import Instance

_TRUTH, _PLAN, _ANSWER = 1, 2, 3  # separate streams of dice


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One simulated campaign, judged against the truth."""

    decider: Decider
    truth: NDArray[np.int8]
    cost: FloatArray  # (N,) what each item's answers cost
    stage_cost: dict[str, float]  # stage name -> cost of the answers that it bought

    @property
    def decided(self) -> NDArray[np.bool_]:
        return self.decider.verdict >= 0

    def error(self, label: int | None = None) -> float:
        """The share of wrong labels among decided items (of one true label)."""
        among = self.decided if label is None else self.decided & (self.truth == label)
        return float((self.decider.verdict[among] != self.truth[among]).mean()) if among.any() else np.nan


def task_of(instance: Instance, items: int, seed: int, *, alpha: float | None = None, **changes: Any) -> Task:
    """The task that a policy sees of an instance."""
    return Task(
        price=instance.price,
        answers_per_item=instance.caps,
        alpha=instance.alpha if alpha is None else alpha,
        uniform=uniform(seed, _PLAN, np.arange(items)),
        seed=seed,
        **changes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Simulated workers: each answer is a hash of (seed, item, class, ordinal), whoever asks and whenever.

    >>> from quorate.studies.instances import BUILT_IN
    >>> crowd = Crowd.of(BUILT_IN["p1-asym"], items=4, seed=7)
    >>> item, first, k = np.arange(4), np.zeros(4, int), np.full(4, 2)
    >>> bool((crowd.answer(item, first, k) == crowd.answer(item, first, k)).all())
    True
    """

    truth: NDArray[np.int8]  # (N,)
    said: NDArray[np.uint64]  # (M, 2) the chance that class k says 1 of an item of true label i, times 2^64
    dice: NDArray[np.uint64]  # (N,) each item's own

    @classmethod
    def of(cls, instance: Instance, items: int, seed: int) -> Crowd:
        """The workers of an instance, facing ``items`` items drawn from its prior."""
        item = np.arange(items)
        chance = np.stack([1 - instance.accuracy[:, 0], instance.accuracy[:, 1]], axis=1)
        whole = np.minimum(np.ldexp(chance, 64), np.nextafter(2.0**64, 0))
        return cls(
            truth=(uniform(seed, _TRUTH, item) < instance.prior).astype(np.int8),
            said=whole.astype(np.uint64),
            dice=mix(seed, _ANSWER, item),
        )

    def answer(self, item: IntArray, ordinal: IntArray, k: IntArray) -> NDArray[np.int8]:
        """Class k's answer to the ordinal-th question about an item."""
        turn = np.asarray(ordinal, np.int64) * len(self.said) + k
        return (mix(self.dice[item], turn) < self.said[k, self.truth[item]]).astype(np.int8)


def run_one(instance: Instance, policy: Policy, task: Task, *, parallel: int = 1) -> Outcome:
    """One campaign from the first ask to the last verdict."""
    crowd = Crowd.of(instance, task.items, task.seed)
    decider = Decider(policy, task, parallel=parallel)
    stage_cost: dict[str, float] = {}
    while not decider.done:
        name = decider.stage.name
        asks = decider.wants()
        labels = crowd.answer(asks.item, asks.ordinal, asks.worker_class)
        stage_cost[name] = stage_cost.get(name, 0.0) + float(instance.price[asks.worker_class].sum())
        decider.tell(asks.item, asks.ordinal, asks.worker_class, labels)
    return Outcome(decider, crowd.truth, decider.used @ instance.price, stage_cost)
