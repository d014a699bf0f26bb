"""Ways to break the product, each of which a bar must notice.  They are put in from outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from _harness import Answer, Ask, Client, Receipt

NAMES = ("keys-ignored", "new-key-on-retry", "new-key-on-resume", "dice-redrawn", "intents-forgotten", "no-search",
         "answers-dropped")  # fmt: skip


def breaker(mutant: str | None) -> Callable[[Client], None] | None:
    """What breaks the product so; "keys-ignored" is for the platform to do."""
    ways: dict[str, Callable[[Client], None]] = {
        "new-key-on-retry": lambda client: _rename(client, lambda: os.urandom(3).hex()),
        "new-key-on-resume": lambda client: _rename(client, lambda: str(os.getpid())),
        "dice-redrawn": _redraw,
        "intents-forgotten": _forget,
        "no-search": _resend,
        "answers-dropped": _drop,
    }
    return ways.get(mutant or "")


def _rename(client: Client, tag: Callable[[], str]) -> None:
    post, poll = client.post, client.poll

    def renamed(asks: Any) -> list[Receipt]:
        wire = [Ask(f"{one.key}~{tag()}", one.item, one.worker_class, one.ordinal, one.price) for one in asks]
        return [Receipt(one.key.split("~")[0], one.platform, one.data) for one in post(wire)]

    def answers(receipts: Any) -> list[Answer]:
        return [Answer(one.key.split("~")[0], one.label, price=one.price) for one in poll(receipts)]

    client.post, client.poll = renamed, answers  # type: ignore[method-assign]


def _redraw(client: Client) -> None:
    """Roll each item's dice anew in every life."""
    from quorate.campaign import fold

    roll = fold.uniform
    fold.uniform = lambda *parts: roll(os.getpid(), *parts)


def _forget(client: Client) -> None:
    from quorate.campaign.runner import _Runner

    _Runner._adopt = lambda self: None  # type: ignore[method-assign]


def _resend(client: Client) -> None:
    """Send what may have been bought again, without looking for it first."""
    client.find_delay = 0.0
    client.find = lambda keys: []  # type: ignore[method-assign]


def _drop(client: Client) -> None:
    """Forget now and then to record what came back."""
    poll, seen = client.poll, [0]

    def forgetful(receipts: Any) -> list[Answer]:
        seen[0] += 1
        answers = poll(receipts)
        return [Answer(one.key, one.label, price=0) for one in answers] if seen[0] % 7 == 0 else answers

    client.poll = forgetful  # type: ignore[method-assign]
