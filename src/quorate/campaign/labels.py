"""What a campaign has concluded: one row an item, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import REASONS
from quorate.facts import FAILURES
from quorate.model import OPEN, UNDECIDED, FloatArray

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

STATUS: Final = ("open", "labelled", "undecided", "gold")
_CHUNK: Final = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Columns over the items, in the order in which they were added.  Iterating gives rows as dicts.

    ``label`` is the concluded label; of an item left undecided it is the likelier one so far, with its honest
    ``confidence``, where the policy can tell.  ``promise`` says what holds of a concluded label, ``reason`` why
    there is none.  ``evidence`` is the number the plan decided by.
    """

    item: list[str]
    label: list[str | None]
    confidence: FloatArray  # P(the label is right), nan where the policy cannot tell
    promise: list[str]
    answers: NDArray[np.int64]
    cost: NDArray[np.int64]  # micros
    status: list[str]
    reason: list[str]
    evidence: FloatArray

    def __len__(self) -> int:
        return len(self.item)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self.columns()
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def columns(self) -> dict[str, list[Any]]:
        """Plain lists by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in values.items()}

    def to_pandas(self) -> Any:
        """The same as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.columns())


def labels(campaign: Campaign) -> Labels:
    """The verdicts as they stand now."""
    fold = campaign.fold
    verdict = fold.column("verdict", OPEN)
    confidence = fold.column("confidence", np.nan)
    gold = fold.gold >= 0
    status = np.where(gold, 3, np.where(verdict >= 0, 1, np.where(verdict == UNDECIDED, 2, 0)))
    likelier = np.where(np.isnan(confidence), OPEN, confidence >= 0.5).astype(np.int64)
    label = np.where(gold, fold.gold, np.where(verdict >= 0, verdict, np.where(status == 2, likelier, OPEN)))
    right = np.where(label == 1, confidence, np.where(label == 0, 1 - confidence, np.nan))
    names = np.array([*campaign.spec.labels, None], dtype=object)
    promise = np.array(["", campaign.promise, "", "given"], dtype=object)
    answers, cost = spent_on(campaign)
    return Labels(
        item=item_ids(campaign),
        label=names[label].tolist(),
        confidence=np.where(gold, 1.0, right),
        promise=promise[status].tolist(),
        answers=answers,
        cost=cost,
        status=np.array(STATUS, dtype=object)[status].tolist(),
        reason=np.array(REASONS, dtype=object)[fold.column("reason", 0).astype(np.int64)].tolist(),
        evidence=fold.column("evidence", np.nan),
    )


def item_ids(campaign: Campaign) -> list[str]:
    """The ids of all items."""
    ids: list[str] = []
    for first in range(0, campaign.fold.items, _CHUNK):
        rows = range(first, min(first + _CHUNK, campaign.fold.items))
        ids += [one.id for one in campaign.ledger.items(rows)]
    return ids


def spent_on(campaign: Campaign) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Answers with a label, and micros charged, for each item."""
    changes = campaign.ledger.changes()
    log, items = changes.answers, campaign.fold.items
    answers = np.bincount(log.item[log.label >= 0], minlength=items)
    cost = np.zeros(items, np.int64)
    np.add.at(cost, log.item, log.charged)
    for one in changes.conflicts:  # money that is gone, though the answer does not count
        cost[one.item] += one.charged
    return answers, cost


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decision log: every ask with its answer, in the order (item, ordinal), and every verdict.

    Two campaigns that decided alike have the same `digest`, however they came there.
    """

    asks: dict[str, NDArray[np.int64]]  # item, ordinal, class, price, charged, label, failure, stage
    verdicts: dict[str, NDArray[np.int64]]  # verdict, reason, stage, by item

    @property
    def digest(self) -> str:
        """SHA-256 of all columns."""
        whole = sha256()
        for table in (self.asks, self.verdicts):
            for name, column in table.items():
                whole.update(f"{name}:{len(column)}:".encode())
                whole.update(np.ascontiguousarray(column, np.dtype("<i8")).tobytes())
        return whole.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The asks as rows."""
        for row in zip(*(one.tolist() for one in self.asks.values()), strict=True):
            one = dict(zip(self.asks, row, strict=True))
            yield {**one, "failure": FAILURES[one["failure"]]}


def decisions(campaign: Campaign) -> Decisions:
    """The decision log as it stands now."""
    asks, answers = campaign.ledger.asks(), campaign.ledger.changes().answers
    by_seq = np.argsort(asks.seq)
    at = by_seq[np.searchsorted(asks.seq, answers.ask, sorter=by_seq)]
    order = np.lexsort((answers.ordinal, answers.item))
    columns = {
        "item": answers.item, "ordinal": answers.ordinal, "class": answers.worker_class, "price": asks.price[at],
        "charged": answers.charged, "label": answers.label, "failure": answers.failure, "stage": asks.stage[at],
    }  # fmt: skip
    fold = campaign.fold
    return Decisions(
        {name: np.asarray(one[order], np.int64) for name, one in columns.items()},
        {
            "verdict": fold.column("verdict", OPEN).astype(np.int64),
            "reason": fold.column("reason", 0).astype(np.int64),
            "stage": fold.column("concluded_in", -1).astype(np.int64),
        },
    )
