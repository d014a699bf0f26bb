"""Whole campaigns on a known world, vectorised over items.  The policy code is the engine's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import Decider
from quorate.core.hashing import uniform
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


def task_of(instance: Instance, items: int, seed: int, *, alpha: float | None = None, **changes: object) -> Task:
    """The task that a policy sees of an instance."""
    return Task(
        price=instance.price,
        answers_per_item=instance.caps,
        alpha=instance.alpha if alpha is None else alpha,
        uniform=uniform(seed, _PLAN, np.arange(items)),
        seed=seed,
        **changes,  # type: ignore[arg-type]
    )


def answer(
    instance: Instance, truth: IntArray, seed: int, item: IntArray, ordinal: IntArray, k: IntArray
) -> IntArray:
    """Class k's answer to the ordinal-th question about an item: a hash of (seed, item, ordinal, class)."""
    right = uniform(seed, _ANSWER, item, ordinal, k) < instance.accuracy[k, truth[item]]
    return np.where(right, truth[item], 1 - truth[item])


def run_one(instance: Instance, policy: Policy, task: Task, *, parallel: int = 1) -> Outcome:
    """One campaign from the first ask to the last verdict."""
    n = task.items
    truth = (uniform(task.seed, _TRUTH, np.arange(n)) < instance.prior).astype(np.int8)
    decider = Decider(policy, task, parallel=parallel)
    stage_cost: dict[str, float] = {}
    while not decider.done:
        name = decider.stage.name
        asks = decider.wants()
        labels = answer(instance, truth, task.seed, asks.item, asks.ordinal, asks.worker_class)
        stage_cost[name] = stage_cost.get(name, 0.0) + float(instance.price[asks.worker_class].sum())
        decider.tell(asks.item, asks.ordinal, asks.worker_class, labels)
    return Outcome(decider, truth, decider.used @ instance.price, stage_cost)
