"""The words of Quorate as frozen values without behaviour; what they mean is in the docs, *Words*.

Two layers.  ``WorkerClass``, ``Ask``, ``Answer``, ``Receipt`` are single facts, as users, platforms and
stores see them.  ``Task``, ``Items``, ``Stage``, ``Estimate`` are columns over many items, as formulas,
rules and policies see them: item j is row j, class k is column k, in the order of the campaign's spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from quorate.money import micros

if TYPE_CHECKING:
    from quorate.ports import Plan

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

# What a plan says of an item: a class to ask (0, 1, …), or one of these; see also `say`.
HOLD: Final = -1  # this stage is done with the item and concludes nothing yet
UNDECIDED: Final = -2  # no label can be promised: too hard for the classes, or no certified plan
_SAY: Final = -3  # label l is coded as _SAY - l

OPEN: Final = -1  # the verdict of an item that is still being asked
NO_LABEL: Final = -1  # an answer without a usable label: an abstention
NO_CAP: Final = 2**15 - 1  # answers per item of a class that may be asked again and again


def say(label: int) -> int:
    """The action that concludes ``label``.

    >>> say(0), say(1)
    (-3, -4)
    """
    return _SAY - label


def said(action: NDArray[Any]) -> NDArray[np.int8]:
    """The label that each action concludes, ``OPEN`` where it concludes none; the inverse of `say`.

    >>> said(np.array([-4, -3, -1, 2]))
    array([ 1,  0, -1, -1], dtype=int8)
    """
    return np.where(action <= _SAY, _SAY - action, OPEN).astype(np.int8)


# ------------------------------------------------------------------------------------------ single facts


@dataclass(frozen=True, slots=True)
class WorkerClass:
    """A priced pool of annotators with one unknown confusion matrix.

    ``price`` is what one answer costs, in micros; ``"0.05"`` or ``0.05`` is converted.  ``answers_per_item`` caps how
    often the class may be asked about one item.  ``repeatable`` says what asking again gives: ``"per_worker"``
    (people: each person once per item), ``"false"`` (a deterministic model gives the same answer again, so the cap is
    1), ``"true"``.
    ``belief`` holds what is known beforehand as pseudo-counts ``((right_0, wrong_0), (right_1, wrong_1))``.
    """

    name: str
    price: int
    answers_per_item: int | None = None
    repeatable: Literal["per_worker", "false", "true"] = "per_worker"
    trusted: bool = False
    belief: tuple[tuple[float, float], tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.price, (str, float, Decimal)):
            object.__setattr__(self, "price", micros(self.price))


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to one class about one item.  ``key`` never changes and travels all the way out.

    ``repeat`` counts the item's earlier asks of this class: 0 for the first, whatever other classes were asked.
    """

    key: str
    item: str
    worker_class: str
    ordinal: int
    price: int
    payload: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a platform returned for a posted ask: plain JSON, enough for any process to poll it."""

    key: str
    platform: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for an ask.  ``label`` is None for an abstention or a failure.

    ``price`` is what was really charged, None when the asked price stands.  ``failure`` is None, or why there is
    no answer and none will come: ``"exhausted"`` (the class has nobody left for this item), ``"refused"``,
    ``"expired"``; a failure is charged ``price or 0``.
    """

    key: str
    label: str | None
    worker: str | None = None
    price: int | None = None
    failure: Literal["exhausted", "refused", "expired"] | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------- columns over many items


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """All that a policy may know before it has bought anything.

    ``belief[k, i]`` holds Beta pseudo-counts (right, wrong) of class k on items of true label i: weak by default,
    strong where a matrix is known from before.  ``gold[j]`` is the known label of item j, or ``OPEN``; gold items
    are never asked about by a policy, but answers that exist for them sharpen its estimates.
    """

    price: FloatArray  # (M,) in units of the currency
    answers_per_item: IntArray  # (M,) NO_CAP where the class has no cap, 0 where it is not to be asked at all
    alpha: float
    uniform: FloatArray  # (N,) item j's own hash-uniform: all the randomness its plan may use
    seed: int
    labels: int = 2
    item_cap: int = 200  # answers per item over all classes; beyond it the item is undecided
    safety: float = 0.95
    average: bool = False  # promise the average error instead of both conditional errors
    belief: FloatArray | None = None  # (M, 2, 2)
    prior_belief: tuple[float, float] = (2.0, 2.0)  # Beta pseudo-counts of (label 0, label 1)
    gold: IntArray | None = None  # (N,)

    @property
    def items(self) -> int:
        return len(self.uniform)

    @property
    def classes(self) -> int:
        return len(self.price)


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The rows that a plan is asked about, and nothing else: decisions depend on these columns only."""

    counts: IntArray  # (n, M, K) labels received, since the stage began if the stage is fresh
    used: IntArray  # (n, M) asks spent on the item so far, usable label or not
    open: BoolArray  # (n, M) this class may still be asked about this item
    uniform: FloatArray  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A policy's window on the ledger, live: read it at a barrier, that is, when a stage has ended."""

    counts: IntArray  # (N, M, K)
    used: IntArray  # (N, M)
    verdict: IntArray  # (N,) a label, OPEN, or UNDECIDED
    alive: BoolArray  # (M,) False while a class is paused or its pool is dry


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What is believed of the classes and the prior, with its doubts.

    ``accuracy_hat[k, i]`` is c_k(i) = P(class k answers i | true label i); ``prior_hat`` is P(true label = 1);
    ``interval`` holds the same numbers' lower and upper ends (M, 2, 2) where the estimator knows them.
    """

    accuracy_hat: FloatArray
    prior_hat: float
    interval: FloatArray | None = None
    prior_interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A batch of items under one plan.  It ends — the barrier — when the plan has done with each of them.

    ``fresh`` hides the answers from before the stage from the plan.  ``fixed`` marks stages whose number of answers
    per item does not depend on the answers: only such items may test how well the model fits.
    """

    name: str
    items: IntArray
    plan: Plan
    fresh: bool = False
    fixed: bool = False
    estimate: Estimate | None = None
    notes: tuple[str, ...] = ()
