"""The fast way round: platforms that answer whole columns at once, as the simulator does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from quorate.campaign.book import ask_code
from quorate.campaign.decider import Asks
from quorate.campaign.progress import Progress, Report, progress_of
from quorate.campaign.states import RUNNING
from quorate.facts import AS_ASKED, NewAnswers
from quorate.ports import Platform

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

LEAST: Final = 100_000  # asks claimed at once where nobody waits


def columnar(campaign: Campaign, platforms: Mapping[str, Platform]) -> bool:
    """Whether one platform serves all classes, in their order, and answers columns."""
    names = tuple(one.name for one in campaign.spec.classes)
    first = platforms.get(names[0])
    return (
        first is not None
        and all(platforms.get(name) is first for name in names)
        and bool(getattr(first, "columnar", False))
        and tuple(getattr(first, "classes", ())) == names
        and tuple(getattr(first, "labels", ())) == campaign.spec.labels
        and all(state == RUNNING for state in campaign.class_state)
        and not campaign.left_over
        and campaign.ledger.campaign().state == "running"
    )


def run_columns(
    campaign: Campaign, platforms: Mapping[str, Platform], *, limit: int,
    progress: Callable[[Progress], None] | None, now: Callable[[], float], pressed: Callable[[], bool],
) -> Report:  # fmt: skip
    """Claim, answer and record columns until there is nothing left to ask."""
    platform = next(iter(platforms.values()))
    began, bought = now(), 0
    log = campaign.adopt().asks
    asks = Asks(log.item, log.ordinal, log.worker_class)
    while not pressed() and (len(asks) or len(asks := campaign.claim(max(limit, LEAST)))):
        try:
            label = platform.answer_columns(campaign.fold.hash[asks.item], asks.ordinal, asks.worker_class)  # type: ignore[attr-defined]
            none = np.zeros(len(asks), np.int64)
            campaign.record(NewAnswers(asks.item, asks.ordinal, label.astype(np.int64), none + AS_ASKED, none))
        except BaseException:
            campaign.left_over.update(ask_code(asks.item, asks.ordinal).tolist())
            raise
        bought += len(asks)
        asks = _NONE
        if progress is not None:
            progress(progress_of(campaign, began, now(), bought))
    return progress_of(campaign, began, now(), bought).report(interrupted=pressed(), trouble={})


_NONE: Final = Asks(*(np.zeros(0, np.int64) for _ in range(3)))
