"""What a campaign has concluded and bought, as tables for people and programs; money in units of the currency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from quorate.facts import FAILURES, OUTCOMES
from quorate.files import Column

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

LABELS: Final = (
    Column("item", "text"),
    Column("label", "text"),
    Column("confidence", "number"),
    Column("status", "text"),
    Column("reason", "text"),
    Column("answers", "integer"),
    Column("cost", "number"),
    Column("currency", "text"),
    Column("evidence", "number"),
    Column("promise", "text"),
)
PAYLOAD: Final = Column("payload", "json")
ANSWERS: Final = (
    Column("item", "text"),
    Column("ordinal", "integer"),
    Column("class", "text"),
    Column("label", "text"),
    Column("worker", "text"),
    Column("price", "number"),
    Column("currency", "text"),
    Column("counts", "boolean"),
    Column("kept_as", "text"),
    Column("failure", "text"),
    Column("asked_price", "number"),
    Column("asked_at", "text"),
    Column("answered_at", "text"),
)
_CHUNK: Final = 10_000
_MICROS: Final = 1e6


def label_rows(campaign: Campaign, *, payload: bool = False) -> Iterator[dict[str, Any]]:
    """One row an item, in the order of the items; with ``payload``, what annotators were shown."""
    shown: Iterator[Any] = _payloads(campaign) if payload else iter(())
    for row in campaign.labels():
        row |= {"cost": row["cost"] / _MICROS, "currency": campaign.spec.currency}
        yield {**row, "payload": next(shown)} if payload else row


def answer_rows(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """One row an answer, in the order of arrival; those that are kept and do not count are there too."""
    from quorate.campaign.labels import item_ids

    spec = campaign.spec
    ids = item_ids(campaign)
    asked: dict[tuple[int, int], tuple[float, str]] = {}
    for fact in campaign.ledger.facts():
        row = fact.row
        if fact.table == "ask":
            asked[row["item"], row["ordinal"]] = (row["price"] / _MICROS, _time(row["at"]))
        elif fact.table in ("answer", "conflict"):
            price, at = asked[row["item"], row["ordinal"]]
            kept = "answer" if fact.table == "answer" else OUTCOMES[row["outcome"]]
            yield {
                "item": ids[row["item"]], "ordinal": row["ordinal"], "class": spec.classes[row["worker_class"]].name,
                "label": spec.labels[row["label"]] if row["label"] >= 0 else None, "worker": row["worker"],
                "price": row["charged"] / _MICROS, "currency": spec.currency,
                "counts": fact.table == "answer" and row["label"] >= 0, "kept_as": kept,
                "failure": FAILURES[row["failure"]] or None, "asked_price": price, "asked_at": at,
                "answered_at": _time(row["at"]),
            }  # fmt: skip


def _payloads(campaign: Campaign) -> Iterator[Any]:
    for first in range(0, campaign.fold.items, _CHUNK):
        rows = range(first, min(first + _CHUNK, campaign.fold.items))
        yield from (dict(one.payload) for one in campaign.ledger.items(rows))


def _time(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
