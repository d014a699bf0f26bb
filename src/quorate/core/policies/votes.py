"""The habit that Quorate replaces: the same number of answers for every item, and the majority."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorate.model import UNDECIDED, FloatArray, Items, Stage, Task, View, say


@dataclass(frozen=True, slots=True)
class MajorityPlan:
    """Ask one class ``answers`` times, then say what most said; a tie goes to the smallest label.

    >>> plan = MajorityPlan(worker_class=0, answers=3)
    >>> items = Items(np.array([[[2, 1]], [[1, 0]]]), np.array([[3], [1]]), np.ones((2, 1), bool), np.zeros(2))
    >>> plan.act(items)          # the first item has its three answers and is a 0; the second goes on
    array([-3,  0], dtype=int16)
    """

    worker_class: int
    answers: int
    evidence_name: str = "vote share"

    def act(self, items: Items) -> NDArray[np.int16]:
        k = self.worker_class
        votes = items.counts[:, k]
        enough = (items.used[:, k] >= self.answers) | ~items.open[:, k]
        action = np.where(enough, say(0) - votes.argmax(axis=1), k)
        return np.where(enough & (votes.sum(axis=1) == 0), UNDECIDED, action).astype(np.int16)

    def evidence(self, items: Items) -> FloatArray:
        votes = items.counts[:, self.worker_class].astype(np.float64)
        share: FloatArray = votes.max(axis=1) / np.maximum(votes.sum(axis=1), 1)
        return share

    def confidence(self, items: Items) -> FloatArray:
        return np.full(len(items.uniform), np.nan)


@dataclass(frozen=True, slots=True)
class Votes:
    """k votes each: ``answers`` answers of one class (the first, unless told otherwise) and the majority."""

    answers: int = 3
    worker_class: int = 0
    name: str = "votes"
    promise: str = "none: a number of votes is a habit, not a guarantee"

    def stages(self, task: Task, view: View) -> Iterator[Stage]:
        """One stage over all items."""
        items = np.arange(task.items)
        if task.gold is not None:
            items = items[task.gold < 0]
        yield Stage("votes", items, MajorityPlan(self.worker_class, self.answers), fixed=True)


votes_3 = Votes(answers=3, name="votes-3")
votes_5 = Votes(answers=5, name="votes-5")
