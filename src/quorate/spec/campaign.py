"""What a campaign is to do: a frozen value, checked when it is made, kept as JSON in its store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final

from quorate.errors import SpecError
from quorate.model import NO_CAP, WorkerClass
from quorate.money import currency_of, micros

NAME: Final = re.compile(r"[\w.-]{1,100}")  # of a campaign or a class: letters, digits, - _ .
REPEATABLE: Final = ("per_worker", "false", "true")


@dataclass(frozen=True, slots=True)
class Spec:
    """What is asked for, who may be asked, and what may be spent.

    ``accuracy`` is the promise, 1 − alpha.  ``budget`` is in micros of ``currency``.  ``item_cap`` bounds the answers
    per item, ``in_flight`` the asks out at once, ``parallel`` the asks about one item out at once.  ``lease`` is how
    long, in seconds, a claimed ask belongs to the process that claimed it; after ``patience`` seconds a posted ask
    is given up as expired (None: never).

    >>> spec = Spec("spam", ("ham", "spam"), (WorkerClass("crowd", price="0.05"),), budget="20 EUR")
    >>> spec.budget, spec.currency, spec.alpha
    (20000000, 'EUR', 0.05)
    """

    name: str
    labels: tuple[str, ...]
    classes: tuple[WorkerClass, ...]
    budget: int
    currency: str = "USD"
    accuracy: float = 0.95
    policy: str = "calibrated"
    seed: int = 0
    average: bool = False
    safety: float = 0.95
    item_cap: int = 200
    in_flight: int = 1000
    parallel: int = 1
    lease: float = 600.0
    patience: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.budget, int):
            put(self, "currency", currency_of(self.budget, self.currency))
            put(self, "budget", micros(self.budget))
        put(self, "labels", tuple(self.labels))
        put(self, "classes", tuple(self.classes))
        _check_words(self)
        _check_numbers(self)

    @property
    def alpha(self) -> float:
        """The promise from the other side; as the user wrote it: 1 − 0.95 is 0.05."""
        return float(1 - Decimal(repr(self.accuracy)))

    @property
    def prices(self) -> tuple[int, ...]:
        """Micros per answer of each class."""
        return tuple(one.price for one in self.classes)

    @property
    def caps(self) -> tuple[int, ...]:
        """Answers per item of each class; one that repeats itself is asked once."""
        return tuple(
            1 if one.repeatable == "false" else NO_CAP if one.answers_per_item is None else one.answers_per_item
            for one in self.classes
        )

    def class_named(self, name: str) -> int:
        """The index of a class, or an error that names the classes there are."""
        for k, one in enumerate(self.classes):
            if one.name == name:
                return k
        raise SpecError(
            f"There is no worker class {name!r} in campaign {self.name!r}.",
            hint=f"Its classes are: {', '.join(one.name for one in self.classes)}.",
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON; the inverse of `from_dict`."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        classes = [{one.name: getattr(worker, one.name) for one in fields(worker)} for worker in self.classes]
        return {**plain, "labels": list(self.labels), "classes": classes}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Spec:
        """The spec that a store has kept.

        >>> spec = Spec("spam", ("ham", "spam"), (WorkerClass("crowd", price=50000),), budget=10**6)
        >>> Spec.from_dict(spec.as_dict()) == spec
        True
        """
        known = {one.name for one in fields(cls)}
        classes = tuple(WorkerClass(**{**one, "belief": _pairs(one.get("belief"))}) for one in plain["classes"])
        return cls(**{**{key: plain[key] for key in known & set(plain)}, "classes": classes})


def _pairs(belief: Sequence[Sequence[float]] | None) -> tuple[tuple[float, float], tuple[float, float]] | None:
    if belief is None:
        return None
    (a, b), (c, d) = belief
    return ((a, b), (c, d))


def _check_words(spec: Spec) -> None:
    if not NAME.fullmatch(spec.name):
        raise SpecError(
            f"{spec.name!r} cannot be the name of a campaign.",
            hint="Use up to 100 letters, digits, and - _ . without spaces.",
        )
    if any(not isinstance(one, str) or not one for one in spec.labels):
        raise SpecError(f"Labels are non-empty words, got {list(spec.labels)}.", hint='Write 0 and 1 as "0" and "1".')
    if len(spec.labels) < 2 or len(set(spec.labels)) < len(spec.labels):
        raise SpecError(
            f"A campaign needs two different labels, got {list(spec.labels)}.", hint='Write labels = ["no", "yes"].'
        )
    names = [one.name for one in spec.classes]
    if not names:
        raise SpecError("A campaign needs a worker class to ask.", hint="Add one with a name and a price.")
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise SpecError(f"Two worker classes are called {twice[0]!r}.", hint="Give each class its own name.")
    for one in spec.classes:
        if not NAME.fullmatch(one.name):
            raise SpecError(
                f"{one.name!r} cannot be the name of a worker class.",
                hint="Use up to 100 letters, digits, and - _ . without spaces.",
            )
        if one.repeatable not in REPEATABLE:
            raise SpecError(
                f"Class {one.name!r} has repeatable = {one.repeatable!r}.", hint=f"Choose one of {REPEATABLE}."
            )


def _check_numbers(spec: Spec) -> None:
    bounds: list[tuple[str, Any, bool, str]] = [
        ("accuracy", spec.accuracy, 0.5 < spec.accuracy < 1, "above 0.5 and below 1, like 0.95"),
        ("safety", spec.safety, 0 < spec.safety <= 1, "above 0 and at most 1"),
        ("budget", spec.budget, 0 <= spec.budget < 2**62, "0 or more"),
        ("item_cap", spec.item_cap, 1 <= spec.item_cap < NO_CAP, f"from 1 to {NO_CAP - 1}"),
        ("in_flight", spec.in_flight, spec.in_flight >= 1, "1 or more"),
        ("parallel", spec.parallel, 1 <= spec.parallel <= spec.item_cap, "from 1 to item_cap"),
        ("lease", spec.lease, spec.lease > 0, "above 0 seconds"),
        ("patience", spec.patience, spec.patience is None or spec.patience > 0, "above 0 seconds, or left out"),
        ("seed", spec.seed, 0 <= spec.seed < 2**63, "a whole number, 0 or more"),
    ]
    for one in spec.classes:
        most = one.answers_per_item
        bounds.append(
            (f"answers_per_item of class {one.name!r}", most, most is None or 1 <= most <= NO_CAP, "1 or more")
        )
        bounds.append((f"price of class {one.name!r}", one.price, 0 <= one.price < 2**62, "0 or more"))
    for what, value, right, rule in bounds:
        if not right:
            raise SpecError(f"{what} is {value!r}.", hint=f"It must be {rule}.")
