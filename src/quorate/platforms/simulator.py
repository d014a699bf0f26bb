"""Simulated annotators with known matrices, a taste for trouble, and no state: any process answers the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.core import hashing
from quorate.core.worlds import FAULTS, World, symmetric_errors
from quorate.errors import PlatformError, SpecError
from quorate.model import Answer, Ask, Receipt
from quorate.ports import Platform

_LOSS, _ABSTAIN, _REFUSE, _TWICE, _DELAY, _CHARGE = range(FAULTS, FAULTS + 6)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong, as shares of the asks, each decided by a hash of the ask.

    ``losses`` are never answered; ``duplicates`` come back twice; ``charge`` is what is really charged as a share of
    the asked price, drawn between its two ends; ``latency`` is the mean delay (exponential) by the platform's clock.
    """

    losses: float = 0.0
    abstentions: float = 0.0
    refusals: float = 0.0
    duplicates: float = 0.0
    charge: tuple[float, float] = (1.0, 1.0)
    latency: float = 0.0


class PollClock:
    """Time as the number of polls so far: the clock of a simulation that nobody watches."""

    def __init__(self) -> None:
        self.polls = 0

    def __call__(self) -> float:
        return float(self.polls)


@dataclass(slots=True)
class Simulator:
    """Answers drawn from a `World`; ``classes`` are its classes by name, ``labels`` its labels.

    >>> from quorate.model import Ask
    >>> simulator = Simulator.of({"crowd": (0.9, 0.8), "expert": (0.99, 0.99)}, seed=7)
    >>> receipts = simulator.post([Ask("k-1", "item-17", "crowd", ordinal=0, price=50_000)])
    >>> [(one.key, one.label, one.price) for one in simulator.poll(receipts)]
    [('k-1', '0', 50000)]
    """

    world: World
    classes: tuple[str, ...]
    labels: tuple[str, ...] = ("0", "1")
    faults: Faults = field(default_factory=Faults)
    clock: Callable[[], float] = field(default_factory=PollClock)
    name: str = "simulator"
    cancelled: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        accuracy: Mapping[str, Sequence[float]],
        *,
        seed: int,
        labels: Sequence[str] = ("0", "1"),
        prior: Sequence[float] | float = 0.5,
        faults: Faults | None = None,
        clock: Callable[[], float] | None = None,
        **departures: float,
    ) -> Simulator:
        """Classes by their accuracies c_k(i); ``departures`` are `World`'s: hard, copied, source, drift."""
        shares = [1 - prior, prior] if isinstance(prior, int | float) else list(prior)
        _check(accuracy, shares, labels)
        world = World(symmetric_errors(list(accuracy.values())), np.array(shares, np.float64), seed, **departures)
        return cls(world, tuple(accuracy), tuple(labels), faults or Faults(), clock or PollClock())

    def post(self, asks: Sequence[Ask]) -> list[Receipt]:
        """Accept the asks; a receipt holds all that any process needs to answer it."""
        return [
            Receipt(one.key, self.name, {"item": one.item, "class": one.worker_class, "ordinal": one.ordinal,
                                         "price": one.price, "due": self.clock() + self._delay(one)})
            for one in asks
        ]  # fmt: skip

    def poll(self, receipts: Sequence[Receipt]) -> list[Answer]:
        """The answers that are due by the clock."""
        if isinstance(self.clock, PollClock):
            self.clock.polls += 1
        now = self.clock()
        due = [one for one in receipts if one.data["due"] <= now]
        return self._answers(due) if due else []

    def cancel(self, receipts: Sequence[Receipt]) -> None:
        """What is not answered yet will come back as expired."""
        self.cancelled.update(one.key for one in receipts)

    def answer_columns(self, item_hash: ArrayLike, ordinal: ArrayLike, worker_class: ArrayLike) -> NDArray[np.int8]:
        """The same answers for columns of asks, without faults: what the engine's fast path calls."""
        return self.world.answers(item_hash, ordinal, worker_class)

    @property
    def columnar(self) -> bool:
        """Whether `answer_columns` says all there is to say: nothing is late, lost, abstained or overcharged."""
        return self.faults == Faults()

    def _answers(self, receipts: Sequence[Receipt]) -> list[Answer]:
        item = np.array([_hash(one.data["item"]) for one in receipts], np.uint64)
        ordinal = np.array([one.data["ordinal"] for one in receipts], np.int64)
        k = np.array([self._index(one.data["class"]) for one in receipts], np.int64)
        asked = np.array([one.data["price"] for one in receipts], np.int64)
        low, high = self.faults.charge
        price = np.rint(asked * (low + (high - low) * self.world.dice(item, ordinal, k, _CHARGE)))
        label = self.world.answers(item, ordinal, k)

        def rolls(stream: int, share: float) -> list[bool]:
            return list(self.world.dice(item, ordinal, k, stream) < share)

        lost, refused = rolls(_LOSS, self.faults.losses), rolls(_REFUSE, self.faults.refusals)
        silent, twice = rolls(_ABSTAIN, self.faults.abstentions), rolls(_TWICE, self.faults.duplicates)
        answers = []
        for row, one in enumerate(receipts):
            if one.key in self.cancelled:
                answers.append(Answer(one.key, None, failure="expired"))
            elif refused[row]:
                answers.append(Answer(one.key, None, failure="refused"))
            elif not lost[row]:
                text = None if silent[row] else self.labels[label[row]]
                answers += [Answer(one.key, text, price=int(price[row]))] * (1 + twice[row])
        return answers

    def _index(self, worker_class: str) -> int:
        if worker_class not in self.classes:
            raise PlatformError(
                f"The simulator has no class {worker_class!r}.", hint=f"Its classes are {', '.join(self.classes)}."
            )
        return self.classes.index(worker_class)

    def _delay(self, ask: Ask) -> float:
        if not self.faults.latency:
            return 0.0
        item = np.uint64(_hash(ask.item))
        u = self.world.dice(item, ask.ordinal, self._index(ask.worker_class), _DELAY)
        return -self.faults.latency * float(np.log1p(-u))


SUM_SLACK: Final = 1e-6  # of shares typed by people


@lru_cache(maxsize=1 << 16)
def _hash(item: str) -> int:
    return hashing.item_hash(item)


def _check(accuracy: Mapping[str, Sequence[float]], prior: Sequence[float], labels: Sequence[str]) -> None:
    for name, row in accuracy.items():
        if len(row) != len(labels) or not all(0 <= c <= 1 for c in row):
            raise SpecError(
                f"The simulator's class {name!r} has the accuracies {list(row)}.",
                hint=f"Give one number from 0 to 1 for each of the {len(labels)} labels.",
            )
    if len(prior) != len(labels) or not all(p >= 0 for p in prior) or abs(sum(prior) - 1) > SUM_SLACK:
        raise SpecError(f"The simulator's prior is {list(prior)}.", hint="Give one share per label, summing to 1.")


_OPTIONS: Final = {"accuracy", "prior", *Faults.__dataclass_fields__, "hard", "copied", "source", "drift", "seed"}


def build(
    classes: Mapping[str, Mapping[str, Any]], *, seed: int, labels: Sequence[str], folder: Path
) -> Mapping[str, Platform]:
    """One simulator for all classes whose ``[class.platform]`` table says ``kind = "simulator"``.

    Each class gives its ``accuracy``; what concerns the whole world (prior, hard, copied, source, drift, seed and the
    faults) may stand with any of them, and must not be said twice differently.
    """
    accuracy: dict[str, Sequence[float]] = {}
    shared: dict[str, Any] = {}
    for name, options in classes.items():
        unknown = set(options) - _OPTIONS - {"kind"}
        if unknown or "accuracy" not in options:
            what = f"does not know {sorted(unknown)}" if unknown else "needs 'accuracy'"
            raise SpecError(
                f"The simulator of class {name!r} {what}.", hint=f"It takes {', '.join(sorted(_OPTIONS))}."
            )
        given = options["accuracy"]
        accuracy[name] = [given] * len(labels) if isinstance(given, int | float) else list(given)
        for key, value in options.items():
            if key not in ("kind", "accuracy") and shared.setdefault(key, value) != value:
                raise SpecError(
                    f"The simulator is told {key} = {shared[key]!r} and {key} = {value!r} (class {name!r}).",
                    hint="It describes one world: say it once.",
                )
    faults = {key: shared.pop(key) for key in list(shared) if key in Faults.__dataclass_fields__}
    if "charge" in faults:
        faults["charge"] = tuple(faults["charge"])
    simulator = Simulator.of(
        accuracy, labels=labels, seed=shared.pop("seed", seed), faults=Faults(**faults),
        prior=shared.pop("prior", [1 / len(labels)] * len(labels)), **shared,
    )  # fmt: skip
    return dict.fromkeys(classes, simulator)
