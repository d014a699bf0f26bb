"""What a certificate says, gathered from a campaign: plain values, in the order in which a reader asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

MICROS: Final = 1e6
BINS: Final = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 51)  # answers per item, each up to the next; the last is open

ASSUMPTIONS: Final = (
    "The answers about one item are independent of each other once its true label is given.",
    "A class is as good on one item as on another of the same true label, and stays so.",
    "Annotators of the classes relied on are right more often than wrong, on either label.",
    "“Right” means what these annotators would agree on if all were asked; a standard of your own may differ.",
)
REASONS: Final[Mapping[str, str]] = {
    "too hard": "the answers leave it too close to call, and more of them would not be worth their price",
    "cap": "it has had as many answers as one item may have",
    "exhausted": "no annotator is left who has not been asked about it",
    "budget": "the budget was spent",
    "policy ended": "the policy found no label that it could promise",
}


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A worker class: what it was asked, what that cost, how good it is believed to be."""

    name: str
    price: float
    answers: int
    cost: float
    accuracy: tuple[float, ...]  # by label; empty where nothing is believed
    interval: tuple[tuple[float, float], ...]
    note: str


@dataclass(frozen=True, slots=True)
class Check:
    """Labels beside a standard that the campaign never saw; pairs are (right, of) by true label."""

    source: str
    right: int
    of: int
    by_label: Mapping[str, tuple[int, int]]
    error_interval: tuple[float, float]  # 95 %, exact


@dataclass(frozen=True, slots=True)
class Certificate:
    """A campaign in one page; money in ``currency``."""

    name: str
    as_of: str
    finished: bool
    currency: str
    items: int
    labelled: int
    undecided: int
    open: int
    gold: int
    by_label: Mapping[str, int]
    accuracy: float
    safety: float
    policy: str
    promise: str
    assumptions: tuple[str, ...]
    error: Mapping[str, float] | None  # expected, low, high: by the model
    budget: float
    spent: float
    answers: int
    forecast: Mapping[str, float] | None  # mean, low, high: before anything was bought
    classes: tuple[ClassRow, ...]
    per_item: Mapping[str, int]  # answers an item took -> items
    diagnostics: tuple[str, ...]
    reasons: Mapping[str, int]
    check: Check | None
    seed: int
    software: str
    decisions: str
    ledger: str


def certify(
    campaign: Campaign,
    *,
    forecast: Mapping[str, float] | None = None,
    check: Mapping[str, str] | None = None,
    check_source: str = "",
) -> Certificate:
    """Gather everything; ``check`` maps item ids to labels of a standard that the campaign did not use."""
    status, spec = campaign.status(), campaign.spec
    labels = campaign.labels()
    log = campaign.ledger.changes().answers
    last = max((int(log.at[-1]) if len(log) else 0), 0)
    items, money = status["items"], status["money"]
    given = [label for label, state in zip(labels.label, labels.status, strict=True) if state == "labelled"]
    paid = [0] * len(spec.classes)
    for k, charged in zip(log.worker_class.tolist(), log.charged.tolist(), strict=True):
        paid[k] += charged
    asked = [int(n) for n, state in zip(labels.answers.tolist(), labels.status, strict=True) if state != "gold"]
    return Certificate(
        name=campaign.name,
        as_of=datetime.fromtimestamp(last / 1000, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0") if last else "–",
        finished=bool(status["done"]),
        currency=spec.currency,
        items=items["total"],
        labelled=items["labelled"],
        undecided=items["undecided"],
        open=items["open"],
        gold=items["gold"],
        by_label={label: given.count(label) for label in spec.labels},
        accuracy=spec.accuracy,
        safety=spec.safety,
        policy=status["policy"],
        promise=status["promise"],
        assumptions=ASSUMPTIONS,
        error=None if status["error"] is None else {key: status["error"][key] for key in ("expected", "low", "high")},
        budget=money["budget"] / MICROS,
        spent=money["spent"] / MICROS,
        answers=status["answers"],
        forecast=forecast,
        classes=tuple(_class(one, cost) for one, cost in zip(status["classes"], paid, strict=True)),
        per_item=_histogram(asked),
        diagnostics=_diagnostics(status),
        reasons=dict(status["undecided_for"]),
        check=None if check is None else _check(labels, check, spec.labels, check_source),
        seed=spec.seed,
        software=f"Quorate {version('quorate')}",
        decisions=campaign.decisions().digest,
        ledger=str(campaign.ledger.campaign().digest),
    )


def _class(one: Mapping[str, Any], paid: int) -> ClassRow:
    known = one["accuracy"] is not None
    return ClassRow(
        name=one["name"],
        price=one["price"] / MICROS,
        answers=one["answers"],
        cost=paid / MICROS,
        accuracy=tuple(one["accuracy"]) if known else (),
        interval=tuple((low, high) for low, high in one["interval"]) if known else (),
        note=f"{one['state']}: it {one['why']}" if one["why"] else "" if one["state"] == "running" else one["state"],
    )


def _histogram(answers: list[int]) -> dict[str, int]:
    """How many items took how many answers."""
    counted = {"0": sum(n == 0 for n in answers)} if 0 in answers else {}
    for low, stop in zip(BINS, (*BINS[1:], None), strict=True):
        n = sum(low <= one and (stop is None or one < stop) for one in answers)
        if n:
            name = f"{low}+" if stop is None else str(low) if stop == low + 1 else f"{low}–{stop - 1}"
            counted[name] = n
    return counted


def _diagnostics(status: Mapping[str, Any]) -> tuple[str, ...]:
    said = [one["says"] for one in status["health"]]
    if not said:
        said.append(
            "The assumption of independent answers could not be tested: that takes at least 50 items with at least"
            " 4 answers of one class each, their number fixed beforehand."
        )
    said += [f"Class {one['name']} was halted: it {one['why']}." for one in status["classes"] if one["why"]]
    if status["kept_apart"]:
        apart = ", ".join(f"{n:,} {kind}" for kind, n in status["kept_apart"].items())
        said.append(f"Answers that were kept but not counted: {apart}.")
    return tuple(said)


def _check(labels: Any, gold: Mapping[str, str], names: tuple[str, ...], source: str) -> Check:
    from scipy.special import betaincinv

    tally = {name: [0, 0] for name in names}
    for item, label, state in zip(labels.item, labels.label, labels.status, strict=True):
        if state == "labelled" and gold.get(item) in tally:
            tally[gold[item]][0] += label == gold[item]
            tally[gold[item]][1] += 1
    right, of = (sum(one[at] for one in tally.values()) for at in (0, 1))
    wrong = of - right
    low = float(betaincinv(wrong, of - wrong + 1, 0.025)) if wrong else 0.0
    high = float(betaincinv(wrong + 1, of - wrong, 0.975)) if wrong < of else 1.0
    return Check(source, right, of, {name: (one[0], one[1]) for name, one in tally.items()}, (low, high))
