"""Whole campaigns on a known world, vectorised over items.  The policy code is the engine's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import Decider
from quorate.core.hashing import uniform
from quorate.core.worlds import PLAN, World, symmetric_errors
from quorate.model import FloatArray, Task
from quorate.ports import Policy
from quorate.studies.instances import Instance


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
        uniform=uniform(seed, PLAN, np.arange(items)),
        seed=seed,
        **changes,
    )


def world_of(instance: Instance, seed: int) -> World:
    """The simulated workers of an instance: each answer is a hash of (seed, item, class, ordinal).

    >>> from quorate.studies.instances import BUILT_IN
    >>> world = world_of(BUILT_IN["p1-asym"], seed=7)
    >>> bool((world.answers([0, 1], 0, 2) == world.answers([0, 1], 0, 2)).all())
    True
    """
    prior = np.array([1 - instance.prior, instance.prior])
    return World(symmetric_errors(instance.accuracy), prior, seed)


def run_one(instance: Instance, policy: Policy, task: Task, *, parallel: int = 1) -> Outcome:
    """One campaign from the first ask to the last verdict."""
    world = world_of(instance, task.seed)
    truth = world.truth(np.arange(task.items))
    decider = Decider(policy, task, parallel=parallel)
    stage_cost: dict[str, float] = {}
    while not decider.done:
        name = decider.stage.name
        asks = decider.wants()
        labels = world.answers(asks.item, asks.ordinal, asks.worker_class, truth[asks.item])
        stage_cost[name] = stage_cost.get(name, 0.0) + float(instance.price[asks.worker_class].sum())
        decider.tell(asks.item, asks.ordinal, asks.worker_class, labels)
    return Outcome(decider, truth, decider.used @ instance.price, stage_cost)
