"""Answers as they come from outside: what is wrong with one, and what of it can be kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quorate.errors import AnswerError
from quorate.facts import DEAREST
from quorate.model import Answer

_FAILURES = (None, "exhausted", "refused", "expired")


def wrong_with(answer: Any) -> str:
    """Why something can be nobody's answer; empty if it can be one.

    >>> wrong_with(Answer("k-1-0-0", "yes")), wrong_with(Answer("k-1-0-0", "yes", price=0.05))
    ('', 'a price that is no amount')
    """
    if not isinstance(answer, Answer) or not isinstance(answer.key, str):
        return "not an answer"
    price = answer.price
    if price is not None and (not isinstance(price, int) or isinstance(price, bool) or not 0 <= price < DEAREST):
        return "a price that is no amount"
    if answer.label is not None and not isinstance(answer.label, str):
        return "a label that is no text"
    worker = answer.worker
    if worker is not None and (not isinstance(worker, str) or storable(worker, len(worker)) != worker):
        return "a worker that is no text"
    if answer.failure not in _FAILURES:
        return "an unknown failure"
    return ""


def refuse_wrong(answer: Any) -> None:
    """`AnswerError` if something that was told can be nobody's answer."""
    wrong = wrong_with(answer)
    if wrong:
        raise AnswerError(
            f"{storable(repr(answer), 200)} cannot be recorded: {wrong}.",
            hint="Tell a quorate.Answer: key, label and worker are texts, price is in micros (1 USD = 1,000,000).",
        )


def raw_text(answer: Answer) -> str | None:
    """What else came with an answer, as JSON; None if nothing did."""
    if not answer.raw:
        return None
    try:
        text = json.dumps(dict(answer.raw), ensure_ascii=False, default=str)
        return text if storable(text, len(text)) == text else json.dumps(dict(answer.raw), default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise AnswerError(
            f"The raw part of the answer to {answer.key!r} cannot be kept as JSON: {error}.",
            hint="Give a dict with texts as keys, or leave it out.",
        ) from None


def told(answer: Answer) -> Mapping[str, Any]:
    """An answer to nothing that was asked, as it is kept in quarantine."""
    label, worker = (one if one is None else storable(one, 2000) for one in (answer.label, answer.worker))
    return {"label": label, "worker": worker, "price": answer.price}


def storable(text: str, longest: int = 2000) -> str:
    """A foreign text as every database keeps it: cut, with half characters and NULs as escapes.

    >>> storable("naïve"), storable("half \\ud800"), storable("x" * 9, longest=3)
    ('naïve', 'half \\\\ud800', 'xxx')
    """
    text = text[:longest]
    try:
        text.encode()
    except UnicodeEncodeError:
        return ascii(text)[1:-1]
    return ascii(text)[1:-1] if "\0" in text else text
