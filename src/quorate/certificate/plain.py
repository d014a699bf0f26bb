"""The certificate as Markdown, for people and version control, and as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from quorate.certificate.facts import REASONS, Certificate, ClassRow


def json_text(found: Certificate) -> str:
    """Every fact, under the names of `Certificate`."""
    return json.dumps(asdict(found), indent=2, ensure_ascii=False) + "\n"


def markdown(found: Certificate) -> str:
    """The same page as text."""
    lines = [f"# Certificate: {_safe(found.name)}", "", f"**{headline(found)}**", "", f"As of {found.as_of}.", ""]
    lines += [
        "## The promise",
        "",
        f"{found.promise[:1].upper()}{found.promise[1:]}. {level_sentence(found)}",
        "",
        "It rests on these:",
        "",
    ]
    lines += [f"- {one}" for one in found.assumptions]
    if found.error is not None:
        lines += ["", error_sentence(found)]
    lines += ["", "## Labels", "", "| label | items |", "|---|---:|"]
    lines += [f"| {_safe(name)} | {n:,} |" for name, n in found.by_label.items()]
    lines += [f"| *undecided* | {found.undecided:,} |"] if found.undecided else []
    lines += [
        "",
        "## Who answered",
        "",
        "| class | price | answers | cost | right, by label |",
        "|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {_safe(one.name)} | {money(one.price)} | {one.answers:,} | {money(one.cost)} | {_accuracy(one)} |"
        for one in found.classes
    ]
    lines += ["", money_sentence(found), "", "## What speaks for and against it", ""]
    lines += [f"- {one}" for one in found.diagnostics]
    lines += ["", "## Undecided", "", *undecided_sentences(found)]
    if found.check is not None:
        lines += ["", "## Beside a standard that the campaign never saw", "", check_sentence(found)]
    lines += ["", "## How to repeat it", "", repeat_sentence(found), ""]
    lines += [f"- decision log, SHA-256: `{found.decisions}`", f"- ledger digest: `{found.ledger}`", ""]
    return "\n".join(lines)


def headline(found: Certificate) -> str:
    """The campaign in one sentence."""
    done = "labelled" if found.finished else "labelled so far"
    return f"{found.labelled:,} of {found.items:,} items {done} for {money(found.spent)} {found.currency}."


def level_sentence(found: Certificate) -> str:
    """What alpha is, and how much of it the rules were allowed to use."""
    return (
        f"Here alpha is {1 - found.accuracy:.4g}; to leave room for what the model does not know, the rules aimed at"
        f" {found.safety:g} of that."
    )


def error_sentence(found: Certificate) -> str:
    """What the model expects of the labels."""
    assert found.error is not None
    return (
        f"By the model, {found.error['expected']:.1%} of the labels are wrong"
        f" (95% interval {found.error['low']:.1%} to {found.error['high']:.1%});"
        f" {1 - found.accuracy:.1%} were allowed."
    )


def money_sentence(found: Certificate) -> str:
    """What was paid, beside what had been forecast and allowed."""
    per_item = f", {money(found.spent / found.items)} per item" if found.items else ""
    said = (
        f"{found.answers:,} answers cost {money(found.spent)} {found.currency}{per_item};"
        f" the budget was {money(found.budget)}."
    )
    if found.forecast is None:
        return said
    low, high = found.forecast["low"], found.forecast["high"]
    place = "inside" if low <= found.spent <= high else "outside"
    return (
        f"{said} Before anything was bought, {money(found.forecast['mean'])} were forecast,"
        f" between {money(low)} and {money(high)} with probability 90%: the bill is {place} that range."
    )


def undecided_sentences(found: Certificate) -> list[str]:
    """Why items have no label."""
    if not found.undecided:
        return ["Every item has its label." if not found.open else f"{found.open:,} items are still open."]
    return [
        f"{n:,} {'item' if n == 1 else 'items'} without a label ({reason}): {REASONS.get(reason, reason)}."
        for reason, n in found.reasons.items()
    ]


def check_sentence(found: Certificate) -> str:
    """The labels beside the standard."""
    check = found.check
    assert check is not None
    if not check.of:
        return f"No labelled item is in {check.source}."
    low, high = check.error_interval
    split = "; ".join(f"{right:,} of {of:,} on “{name}”" for name, (right, of) in check.by_label.items())
    return (
        f"{check.right:,} of {check.of:,} labels ({check.right / check.of:.1%}) agree with {check.source}: {split}."
        f" {1 - check.right / check.of:.1%} do not (95% interval {low:.1%} to {high:.1%}).{_beyond(found, low)}"
    )


def _beyond(found: Certificate, low: float) -> str:
    if found.error is None or low <= found.error["high"]:
        return ""
    return (
        f" That is more than the model expected ({found.error['expected']:.1%}): its assumptions do not hold exactly"
        " here, or the standard differs from what these annotators agree on."
    )


def repeat_sentence(found: Certificate) -> str:
    """What makes it repeatable."""
    return (
        f"{found.software}, policy {found.policy}, seed {found.seed}. The decisions are a function of the campaign's"
        " file and the recorded answers: export it with “quorate export”, import it elsewhere, and the decision log"
        " has the same SHA-256."
    )


def money(amount: float) -> str:
    """An amount with as many decimals as it needs, two at least."""
    if amount >= 1 or not amount:
        return f"{amount:,.2f}"
    whole, _, decimals = f"{amount:.3g}".partition(".")
    return f"{whole}.{decimals.ljust(2, '0')}" if "e" not in decimals else f"{amount:.6f}"


def _accuracy(one: ClassRow) -> str:
    pairs = zip(one.accuracy, one.interval, strict=True)
    return ", ".join(f"{c:.2f} ({low:.2f}–{high:.2f})" for c, (low, high) in pairs) or one.note or "–"


def _safe(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;").replace("*", "\\*")
