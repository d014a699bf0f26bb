"""The story of one item: each question with its reason, its answer and its price, and why the asking stopped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.campaign.decider import ENDED, LABEL, REASONS, TOO_HARD
from quorate.campaign.fold import STAGES_OF_A_COHORT, Cohort
from quorate.errors import InputError
from quorate.facts import FAILURES
from quorate.model import OPEN
from quorate.money import show

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

_WHY_NOT = {
    "too hard": "no label could be promised: the answers disagree too much for these classes",
    "cap": "the item had used up its answers (item_cap)",
    "exhausted": "nobody was left whom the plan could have asked",
    "budget": "there was no money left for the next question",
    "policy ended": "the policy had nothing more to do",
}


def explain(campaign: Campaign, item: str) -> dict[str, Any]:
    """Why each question about an item was asked, what came, and when and why it stopped; ``words`` tells it."""
    row = int(campaign.ledger.find([item])[0])
    if row < 0:
        raise InputError(
            f"There is no item {item!r} in campaign {campaign.name!r}.", hint="Ids are written as in the items' file."
        )
    fold, spec = campaign.fold, campaign.spec
    number = int(fold.cohort_of[row])
    asks = [_ask(campaign, one) for one in _asks_about(campaign, row)]
    story: dict[str, Any] = {
        "item": item, "status": "open", "label": None, "confidence": None, "reason": "", "promise": "",
        "policy": campaign.policy.name, "level": spec.alpha, "evidence": None, "evidence_name": None,
        "detail": "", "stage": None, "version": None, "counts": {}, "asks": asks,
        "cost": sum((one["charged"] or 0) + one["charged_apart"] for one in asks),
    }  # fmt: skip
    if fold.gold[row] >= 0:
        story |= {"status": "gold", "label": spec.labels[fold.gold[row]], "confidence": 1.0, "promise": "given"}
    elif number >= 0:
        story |= _verdict(campaign, fold.cohorts[number], row)
    story["words"] = _words(campaign, story)
    return story


def _asks_about(campaign: Campaign, row: int) -> list[dict[str, Any]]:
    """The ledger's facts about an item, one dict an ask."""
    asks: dict[int, dict[str, Any]] = {}
    for fact in campaign.ledger.history(row):
        value = dict(fact.row)
        if fact.table == "ask":
            asks[value["ordinal"]] = {**value, "answer": None, "kept": []}
        elif fact.table == "answer":
            asks[value["ordinal"]]["answer"] = value
        elif fact.table == "conflict":
            asks[value["ordinal"]]["kept"].append(value)
    return [asks[ordinal] for ordinal in sorted(asks)]


def _ask(campaign: Campaign, ask: dict[str, Any]) -> dict[str, Any]:
    spec = campaign.spec
    answer = ask["answer"]
    number, at = divmod(ask["stage"], STAGES_OF_A_COHORT)
    stages = campaign.fold.cohorts[number].decider.stages if number < len(campaign.fold.cohorts) else []
    stage = stages[at] if at < len(stages) else None
    one = spec.classes[ask["worker_class"]]
    told: dict[str, Any] = {
        "ordinal": ask["ordinal"], "class": one.name, "price": ask["price"], "stage": stage.name if stage else None,
        "version": at, "label": None, "charged": None, "worker": None, "failure": None, "error": None,
        "why": _why(campaign, one.name, ask["worker_class"], stage), "kept_apart": len(ask["kept"]),
        "charged_apart": sum(one["charged"] for one in ask["kept"]),
    }  # fmt: skip
    if answer is not None:
        label = answer["label"]
        told |= {
            "label": spec.labels[label] if label >= 0 else None, "charged": answer["charged"],
            "worker": answer["worker"], "failure": FAILURES[answer["failure"]] or None,
            "error": _error(answer["raw"]) if answer["failure"] else None,
        }  # fmt: skip
    return told


def _error(raw: str | None) -> str | None:
    """What the platform said when it failed."""
    kept = json.loads(raw) if raw else {}
    return str(kept["error"]) if isinstance(kept, dict) and kept.get("error") else None


def _why(campaign: Campaign, name: str, k: int, stage: Any) -> str:
    if stage is None:
        return "asked by another process whose barrier has not been read yet"
    notes = f" ({'; '.join(stage.notes)})" if stage.notes else ""
    if stage.fixed:
        return f"stage {stage.name!r} asks every one of its items the same number of times{notes}"
    if stage.estimate is not None and k < len(stage.estimate.accuracy_hat):
        c0, c1 = stage.estimate.accuracy_hat[k]
        return (
            f"stage {stage.name!r} held {name} to be right {c0:.0%} / {c1:.0%} of the time on"
            f" {campaign.spec.labels[0]!r} / {campaign.spec.labels[1]!r}, and for this item's answers so far its plan"
            f" asks {name} next{notes}"
        )
    return f"for this item's answers so far, the plan of stage {stage.name!r} asks {name} next{notes}"


def _verdict(campaign: Campaign, cohort: Cohort, row: int) -> dict[str, Any]:
    decider, spec = cohort.decider, campaign.spec
    at = int(cohort.local(np.array([row]))[0])
    counts = {
        one.name: dict(zip(spec.labels, decider.counts[at, k].tolist(), strict=True))
        for k, one in enumerate(spec.classes)
        if decider.used[at, k]
    }
    verdict, stage = int(decider.verdict[at]), int(decider.concluded_in[at])
    if verdict == OPEN:
        return {"counts": counts}
    assert decider.confidence is not None
    assert decider.evidence is not None
    one, evidence = float(decider.confidence[at]), float(decider.evidence[at])
    label = verdict if verdict >= 0 else (None if np.isnan(one) else int(one >= 0.5))
    return {
        "counts": counts,
        "status": "labelled" if verdict >= 0 else "undecided",
        "reason": REASONS[decider.reason[at]],
        "detail": decider.why_ended if decider.reason[at] == ENDED else "",
        "label": None if label is None else spec.labels[label],
        "confidence": None if np.isnan(one) or label is None else (one if label == 1 else 1 - one),
        "promise": campaign.promise if verdict >= 0 else "",
        "evidence": None if np.isnan(evidence) else evidence,
        "evidence_name": decider.stages[stage].plan.evidence_name if stage >= 0 else None,
        "stage": decider.stages[stage].name if stage >= 0 else None,
        "version": stage if stage >= 0 else None,
    }


def _words(campaign: Campaign, story: dict[str, Any]) -> list[str]:
    """The same for people: each reason, and below it what came of the questions that were asked for it."""
    currency = campaign.spec.currency
    lines = [f"Item {story['item']} of campaign {campaign.name}: {_outcome(story)}"]
    before = None
    for one in story["asks"]:
        if (one["class"], one["why"]) != before:
            lines.append(f"Asked {one['class']}: {one['why']}.")
            before = one["class"], one["why"]
        lines.append(f"  {one['ordinal'] + 1}. {_came(one, currency)}")
    if story["status"] in ("labelled", "undecided"):
        lines.append(_stop(campaign, story))
    return lines


def _came(ask: dict[str, Any], currency: str) -> str:
    if ask["failure"]:
        why = f": {ask['error']}" if ask["error"] else ""
        return f"no answer ({ask['failure']}{why}), {show(ask['charged'] or 0, currency)}"
    if ask["charged"] is None:
        return f"not answered yet, {show(ask['price'], currency)} reserved"
    said = f"said {ask['label']!r}" if ask["label"] is not None else "abstained"
    who = f" ({ask['worker']})" if ask["worker"] else ""
    return f"{said}{who}, {show(ask['charged'], currency)}"


def _outcome(story: dict[str, Any]) -> str:
    sure = "" if story["confidence"] is None else f", confidence {story['confidence']:.4f}"
    if story["status"] == "labelled":
        return f"labelled {story['label']!r}{sure}."
    if story["status"] == "undecided":
        best = "" if story["label"] is None else f"; so far {story['label']!r} is likelier{sure}"
        return f"undecided, because {_why_not(story)}{best}."
    return "gold: its label was given." if story["status"] == "gold" else "still open."


def _stop(campaign: Campaign, story: dict[str, Any]) -> str:
    shown = (
        f"{story['evidence_name']} {story['evidence']:.4g}" if story["evidence"] is not None else "the answers so far"
    )
    if story["reason"] == REASONS[LABEL]:
        return (
            f"Stopped in stage {story['stage']!r} (estimate version {story['version']}) with {shown}: enough for the"
            f" level {story['level']:.3g}. Promise: {story['promise']}."
        )
    return f"Stopped with {shown}: {_why_not(story)}."


def _why_not(story: dict[str, Any]) -> str:
    why = _WHY_NOT.get(story["reason"], story["reason"])
    if story["reason"] == REASONS[TOO_HARD] and all(one["label"] is None for one in story["asks"]):
        why = "no label could be promised: no question about it brought one"
    return f"{why} ({story['detail'].rstrip('.')})" if story.get("detail") else why
