"""The keys of a campaign file: what each may say, in a form that checks a value and in words that mend it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from quorate.errors import FileError


@dataclass(frozen=True, slots=True)
class Key:
    """What a key may say: ``right`` tells whether a value is such, ``words`` say what to write."""

    right: Callable[[Any], bool]
    words: str


def is_number(value: Any) -> bool:
    """A number as TOML has it; true and false are none, and inf and nan are not what anybody means."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _is_repeatable(value: Any) -> bool:
    return isinstance(value, bool) or value in ("per_worker", "true", "false")


def _shares(value: Any) -> bool:
    return _is_share(value) or (isinstance(value, list) and len(value) > 0 and all(map(_is_share, value)))


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_amount(value: Any) -> bool:
    return value.__class__ in (int, float) or (isinstance(value, str) and len(value.split()) in (1, 2))


def _range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and 0 <= value[0] <= value[1]


def _whole(low: int, high: int, words: str) -> Key:
    return Key(lambda value: _is_whole(value) and low <= value <= high, words)


TEXT: Final = Key(lambda value: isinstance(value, str), "a text in quotes")
PLACE: Final = Key(_is_place, "a path in quotes")
WHOLE: Final = Key(_is_whole, "a whole number")
NUMBER: Final = Key(is_number, "a number")
YES: Final = Key(lambda value: isinstance(value, bool), "true or false")
MONEY: Final = Key(_is_amount, 'an amount like "0.05" or "300 USD"')
LIST: Final = Key(lambda value: isinstance(value, list), "a list in brackets")
TABLE: Final = Key(lambda value: isinstance(value, dict), "a table")
SHARE: Final = Key(_is_share, "a number from 0 to 1")
SHARES: Final = Key(_shares, "a number from 0 to 1, or a list of such numbers, one for each label")
POSITIVE: Final = Key(lambda value: is_number(value) and value > 0, "a number above 0")
SEED: Final = _whole(0, 2**63 - 1, "a whole number, 0 or more")

TOP: Final[Mapping[str, Key]] = {
    "name": TEXT, "labels": LIST, "accuracy": NUMBER, "budget": MONEY, "policy": TEXT, "seed": WHOLE,
    "safety": NUMBER, "average": YES, "store": PLACE, "items": TABLE, "class": LIST, "limits": TABLE,
}  # fmt: skip
ITEMS: Final[Mapping[str, Key]] = {"file": PLACE, "id": TEXT, "gold": TEXT, "encoding": TEXT}
LIMITS: Final[Mapping[str, Key]] = {
    "item_cap": WHOLE, "in_flight": _whole(1, 2**31 - 1, "a whole number, 1 or more"), "parallel": WHOLE,
    "lease": POSITIVE, "patience": POSITIVE,
}  # fmt: skip
CLASS: Final[Mapping[str, Key]] = {
    "name": TEXT, "price": MONEY, "answers_per_item": WHOLE,
    "repeatable": Key(_is_repeatable, '"per_worker", true or false'),
    "trusted": YES, "belief": LIST, "platform": TABLE,
}  # fmt: skip
PLATFORMS: Final[Mapping[str, Mapping[str, Key]]] = {  # by kind; a plug-in checks its own options
    "simulator": {
        "accuracy": SHARES, "prior": SHARES, "seed": SEED, "hard": POSITIVE, "copied": SHARE, "source": SHARE,
        "drift": SHARE, "losses": SHARE, "abstentions": SHARE, "refusals": SHARE, "duplicates": SHARE,
        "charge": Key(_range, "[lowest, highest], two numbers of 0 or more"),
        "latency": Key(lambda value: is_number(value) and value >= 0, "a number of 0 or more"),
    },
    "replay": {"dataset": PLACE, "source": TEXT, "seed": SEED},
    "callable": {
        "function": Key(lambda value: isinstance(value, str) and ":" in value, '"module:name"'),
        "column": TEXT, "batched": YES, "retries": _whole(0, 100, "a whole number from 0 to 100"),
        "timeout": POSITIVE, "threads": _whole(1, 256, "a whole number from 1 to 256"),
    },
}  # fmt: skip


def check(table: Mapping[str, Any], known: Mapping[str, Key], where: str) -> None:
    """Refuse a key that means nothing, and a value that its key cannot have.

    >>> check({"seed": 1.5}, TOP, "campaign.toml")
    Traceback (most recent call last):
    quorate.errors.FileError: campaign.toml: seed = 1.5 is not a whole number.
    """
    for key, value in table.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It may say: {', '.join(known)}."
            raise FileError(f"{where}: {shown(key)} means nothing here.", hint=hint)
        if not known[key].right(value):
            words = known[key].words
            raise FileError(f"{where}: {key} = {shown(value)} is not {words}.", hint=f"Write {words}.")


def shown(value: Any) -> str:
    """A value in an error message, no longer than a line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
