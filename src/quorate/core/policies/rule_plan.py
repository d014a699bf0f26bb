"""A stopping rule on one class, as a plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.core.stopping.tables import table
from quorate.model import NO_CAP, UNDECIDED, FloatArray, Items, say
from quorate.ports import StoppingRule

_TABLE: Final = 256  # answers of each kind that are looked up; the few items beyond ask the rule itself


@dataclass(frozen=True, slots=True)
class RulePlan:
    """Ask ``worker_class`` until ``rule`` says a label; undecided after ``cap`` answers without one.

    It goes on naming its class when that class is not open any more: the decider then gives the item up and says
    why (exhausted, or at the item's cap), which the plan cannot know.

    >>> from quorate.core.stopping.direction import DirectionTest
    >>> plan = RulePlan(DirectionTest(alpha=0.05), worker_class=0, cap=9)
    >>> counts = np.array([[[0, 8]], [[0, 9]], [[4, 5]]])
    >>> plan.act(Items(counts, counts.sum(axis=2), np.ones((3, 1), bool), np.zeros(3)))    # ask, say 1, undecided
    array([ 0, -4, -2], dtype=int16)
    """

    rule: StoppingRule
    worker_class: int
    cap: int = NO_CAP
    evidence_name: str = "answers for 1 less answers for 0"

    def act(self, items: Items) -> NDArray[np.int16]:
        zeros = items.counts[:, self.worker_class, 0]
        ones = items.counts[:, self.worker_class, 1]
        actions = _actions(self.rule, self.worker_class)
        beyond = np.maximum(zeros, ones) > _TABLE
        if beyond.any():
            action = actions[np.where(beyond, 0, zeros), np.where(beyond, 0, ones)]
            action[beyond] = _as_action(self.rule.verdict(zeros[beyond], ones[beyond]), self.worker_class)
        else:
            action = actions[zeros, ones]
        if self.cap < NO_CAP:
            used_up = (action >= 0) & (zeros.astype(np.int64) + ones >= self.cap)
            action[used_up] = UNDECIDED
        return action

    def evidence(self, items: Items) -> FloatArray:
        votes = items.counts[:, self.worker_class].astype(np.float64)
        return np.asarray(votes[:, 1] - votes[:, 0])

    def confidence(self, items: Items) -> FloatArray:
        """nan: the rule promises an error over all items of a label and gives no probability for one item."""
        return np.full(len(items.uniform), np.nan)


def _as_action(verdict: NDArray[np.int8], worker_class: int) -> NDArray[np.int16]:
    return np.where(verdict < 0, worker_class, say(0) - verdict.astype(np.int16)).astype(np.int16)


@lru_cache(maxsize=32)
def _actions(rule: StoppingRule, worker_class: int) -> NDArray[np.int16]:
    """The action for each (zeros, ones), read-only."""
    actions = _as_action(table(rule, _TABLE), worker_class)
    actions.flags.writeable = False
    return actions
