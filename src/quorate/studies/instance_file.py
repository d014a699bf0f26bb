"""Instance files: a world to simulate, as a person writes it down.

::

    prior = 0.5            # the probability that an item's true label is 1
    alpha = 0.05           # the error that is promised, per true label

    [[class]]
    name = "crowd"
    price = 0.05           # a number, or "p1" for the paper's price of these accuracies
    accuracy = [0.88, 0.82]    # P(right) on items of true label 0 and 1
    answers_per_item = 5   # optional: no more than this many answers of the class on one item

For `quorate plan`, ``between = [0.6, 0.9]`` may stand instead of ``accuracy`` where no more is known than that;
elsewhere it counts as its middle.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import numpy as np

from quorate.errors import FileError
from quorate.model import NO_CAP
from quorate.studies.instances import BUILT_IN, Instance, p1_price

_TOP: Final = ("prior", "alpha", "class")
_CLASS: Final = ("name", "price", "accuracy", "between", "answers_per_item")
_EDGE: Final = 1e-9  # closer to 0 or 1 than this nothing changes but the rounding
_DEAREST: Final = 10**9


def load_instance(name_or_path: str | Path) -> Instance:
    """A built-in instance by name, or the instance written in a TOML file.

    >>> load_instance("p1-asym").price.round(2)
    array([6.3 , 2.16, 2.03, 3.03, 1.22])
    """
    if str(name_or_path) in BUILT_IN:
        return BUILT_IN[str(name_or_path)]
    path = Path(name_or_path)
    if not _is_file(path):
        near = get_close_matches(str(name_or_path), BUILT_IN, n=1)
        raise FileError(
            f"There is no instance {str(name_or_path)!r}: neither a built-in name nor a file.",
            hint=f"Did you mean {near[0]!r}?"
            if near
            else f"Built in are {', '.join(BUILT_IN)}; anything else is the path of a TOML file.",
        )
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8 text.", hint="Save the file as UTF-8.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from None
    return parse_instance(text, str(path))


def parse_instance(text: str, file: str = "instance") -> Instance:
    """The instance that TOML text describes; ``file`` is what errors call it.

    >>> parse_instance('[[class]]\\nname = "coin"\\nprice = "p1"\\naccuracy = [0.8, 0.8]').price.round(3)
    array([2.621])
    """
    try:
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:  # also for a number of too many digits, and for too deep a nest
        raise FileError(
            f"{file} is not TOML: {error}.", hint="See 'quorate simulate --help' for an example."
        ) from None
    _known(table, _TOP, file)
    rows = table.get("class", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise FileError(f"{file} has no [[class]] table.", hint="Write one [[class]] table for each worker class.")
    prior = _number(table.get("prior", 0.5), f"{file}: key 'prior'", 0, 1)
    alpha = _number(table.get("alpha", 0.05), f"{file}: key 'alpha'", 0, 0.5)
    names: list[str] = []
    for at, row in enumerate(rows, 1):
        _known(row, _CLASS, f"{file}: [[class]] number {at}")
        names.append(_name(row, names, f"{file}: [[class]] number {at}"))
    places = [f"{file}: [[class]] number {at} ({name!r})" for at, name in enumerate(names, 1)]
    accuracy = np.array([_accuracy(row, place) for row, place in zip(rows, places, strict=True)])
    price = np.array([_price(row, c, place) for row, c, place in zip(rows, accuracy, places, strict=True)])
    caps = np.array([_cap(row, place) for row, place in zip(rows, places, strict=True)])
    between = np.array([_between(row, place) or (np.nan, np.nan) for row, place in zip(rows, places, strict=True)])
    return Instance(Path(file).stem, tuple(names), accuracy, price, prior, alpha, caps, between)


def _known(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            raise FileError(
                f"{place}: there is no key {key!r}.",
                hint=f"Did you mean {near[0]!r}?" if near else f"The keys are {', '.join(known)}.",
            )


def _number(value: object, place: str, low: float, high: float) -> float:
    """A number between two bounds, at least a billionth away from either."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low + _EDGE <= value <= high - _EDGE:
        between = f"between {low} and {high}" if high <= 1 else f"above {low} and below {high:,}"
        raise FileError(
            f"{place} is {_brief(value)}.",
            hint=f"It must be a number {between}, at least {_EDGE:g} away from either.",
        )
    return float(value)


def _brief(value: object) -> str:
    """A value in an error: a number of a thousand digits is not printed."""
    if isinstance(value, int) and abs(value) > 10**18:
        return f"a number of more than {10**18:,}"
    return repr(value)


def _wrong(row: Mapping[str, Any], key: str, place: str, hint: str) -> FileError:
    """A key of a class that is missing or is not what it should be."""
    said = f"key {key!r} is {row[key]!r}" if key in row else f"there is no key {key!r}"
    return FileError(f"{place}: {said}.", hint=hint)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that may not be read
        return False


def _name(row: Mapping[str, Any], before: list[str], place: str) -> str:
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _wrong(row, "name", place, "Give each class a name, in quotes.")
    if name in before:
        raise FileError(
            f"{place}: key 'name' is {name!r}, as in number {before.index(name) + 1}.", hint="Names must differ."
        )
    return name


def _accuracy(row: Mapping[str, Any], place: str) -> tuple[float, float]:
    if span := _between(row, place):
        return (sum(span) / 2, sum(span) / 2)
    pair = row.get("accuracy")
    if not isinstance(pair, list) or len(pair) != 2:
        hint = "Write two probabilities of a right answer, on true label 0 and 1: accuracy = [0.9, 0.8]."
        raise _wrong(row, "accuracy", place, hint)
    return (_number(pair[0], f"{place}: key 'accuracy', first", 0, 1),
            _number(pair[1], f"{place}: key 'accuracy', second", 0, 1))  # fmt: skip


def _between(row: Mapping[str, Any], place: str) -> tuple[float, float] | None:
    if "between" not in row:
        return None
    if "accuracy" in row:
        raise FileError(f"{place} has both 'accuracy' and 'between'.", hint="Keep the one that you know.")
    pair = row["between"]
    if not isinstance(pair, list) or len(pair) != 2:
        raise FileError(f"{place}: key 'between' is {pair!r}.", hint="Write two probabilities: between = [0.6, 0.9].")
    low = _number(pair[0], f"{place}: key 'between', first", 0, 1)
    return low, _number(pair[1], f"{place}: key 'between', second", low, 1)


def _price(row: Mapping[str, Any], accuracy: np.ndarray[Any, np.dtype[np.float64]], place: str) -> float:
    price = row.get("price")
    if price == "p1":
        return float(p1_price(accuracy))
    if isinstance(price, str) or price is None:
        raise _wrong(row, "price", place, 'Write a number, or "p1" for the paper\'s price.')
    return _number(price, f"{place}: key 'price'", 0, _DEAREST)


def _cap(row: Mapping[str, Any], place: str) -> int:
    cap = row.get("answers_per_item", NO_CAP)
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= NO_CAP:
        raise FileError(
            f"{place}: key 'answers_per_item' is {cap!r}.",
            hint=f"It must be a whole number from 1 to {NO_CAP}; leave it out for no cap.",
        )
    return cap
