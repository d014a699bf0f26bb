"""How far a run has come: what a progress bar shows and what a run returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from quorate.model import OPEN, UNDECIDED

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended."""

    done: bool
    interrupted: bool
    items: int
    labelled: int
    undecided: int
    bought: int  # answers in this run
    answers: int  # answers in the ledger
    spent: int  # micros
    seconds: float
    trouble: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by class: what went wrong, how often


@dataclass(frozen=True, slots=True)
class Progress:
    """A campaign in a few numbers; money in micros."""

    items: int
    labelled: int
    undecided: int
    spent: int
    reserved: int
    budget: int
    answers: int
    bought: int
    seconds: float
    stage: str
    done: bool
    on_concluded: int = 0  # of what was spent

    @property
    def rate(self) -> float:
        """Answers per second in this run."""
        return self.bought / self.seconds if self.seconds > 0 else 0.0

    @property
    def forecast(self) -> float | None:
        """Micros at the end, if what is open costs what the items concluded so far did on average.

        None where that is refuted: the dear items are open, and more has been spent already.
        """
        concluded = self.labelled + self.undecided
        expected = self.on_concluded * self.items / max(concluded, 1)
        return expected if expected >= self.spent and concluded else None

    def report(self, *, interrupted: bool, trouble: Mapping[str, Mapping[str, int]]) -> Report:
        """The same as a run's last word."""
        return Report(
            self.done, interrupted, self.items, self.labelled, self.undecided, self.bought, self.answers, self.spent,
            self.seconds, trouble,
        )  # fmt: skip


def progress_of(campaign: Campaign, began: float, now: float, bought: int) -> Progress:
    """Where a campaign is now; cheap enough to call after every batch."""
    fold = campaign.fold
    money = campaign.ledger.money()
    used = np.zeros(len(campaign.spec.classes), np.int64)
    labelled = undecided = 0
    for one in fold.cohorts:
        here = fold.cohort_of[one.rows] == one.number
        verdict = one.decider.verdict[here]
        labelled += int(np.count_nonzero(verdict > OPEN))
        undecided += int(np.count_nonzero(verdict == UNDECIDED))
        used += one.decider.used[here][verdict != OPEN].sum(axis=0, dtype=np.int64)
    cohort = fold.cohort
    return Progress(
        items=int(np.count_nonzero(fold.gold < 0)), labelled=labelled, undecided=undecided, spent=money.spent,
        reserved=money.reserved, budget=money.budget, answers=fold.folded, bought=bought, seconds=now - began,
        stage=cohort.decider.stage.name if cohort is not None and cohort.decider.stages else "",
        done=cohort is not None and cohort.decider.done and not fold.items > int(cohort.rows[-1]) + 1,
        on_concluded=int(used @ np.array(campaign.spec.prices)),
    )  # fmt: skip
