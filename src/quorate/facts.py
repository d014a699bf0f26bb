"""What a ledger is made of: codes, keys and columns of facts.  What they mean is said in `quorate.ports_store`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.errors import AnswerError

Int = NDArray[np.int64]
Clock = Callable[[], float]  # seconds since 1970; only leases and timestamps read it, decisions never

# ------------------------------------------------------------------------------------------------- codes

OURS, TAKEN, OVER_BUDGET = range(3)  # what became of a claimed ask

RECORDED, KNOWN, CONFLICT, LATE, REPEATED, STRAY = range(6)  # what became of an answer that was told
OUTCOMES: Final = (
    "recorded",  # it is the ask's answer now
    "known",  # the same answer again: nothing to do
    "conflict",  # a different one: the first value stands, this one is kept and reported
    "late",  # a real answer after the ask had been closed by a failure: kept, its price booked
    "repeated",  # this worker had answered the item already: paid, kept, counted as an abstention
    "stray",  # nobody asked this: kept in quarantine
)

FAILURES: Final = ("", "exhausted", "refused", "expired", "parked", "same worker")
ANSWERED, EXHAUSTED, REFUSED, EXPIRED, PARKED, SAME_WORKER = range(6)

AS_ASKED: Final = -1  # charged: the price that was asked (0 for a failure)
DEAREST: Final = 2**40  # micros: beyond a million for one answer, sums of a batch could overflow

State = Literal["running", "paused", "closed"]

# ------------------------------------------------------------------------------------------------- keys


def key_of(uid: str, epoch: int, item: int, ordinal: int) -> str:
    """The key of an ask: a function of columns that never change, at most 64 ASCII characters, and readable.

    >>> key_of("k3v9x2ab", 1, 17, 2)
    'k3v9x2ab-1-17-2'
    """
    return f"{uid}-{epoch}-{item}-{ordinal}"


_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


class KeyParts(NamedTuple):
    uid: str
    epoch: int
    item: int
    ordinal: int


def parse_key(key: str) -> KeyParts:
    """What a key says: the inverse of `key_of`.

    >>> parse_key("k3v9x2ab-1-17-2")
    KeyParts(uid='k3v9x2ab', epoch=1, item=17, ordinal=2)
    """
    parts = key.split("-")
    if len(parts) != 4 or not all(_NUMBER.fullmatch(one) for one in parts[1:]):
        raise AnswerError(
            f"{key[:80]!r} is not the key of an ask.", hint="Hand back the key that came with the ask, unchanged."
        )
    return KeyParts(parts[0], int(parts[1]), int(parts[2]), int(parts[3]))


# ------------------------------------------------------------------------------------- what is written


@dataclass(frozen=True, slots=True, eq=False)
class NewItems:
    """Items to add, as columns.  ``payload`` holds JSON texts; ``hash`` is `core.hashing.item_hash` of the ids."""

    id: Sequence[str]
    payload: Sequence[str]
    hash: NDArray[np.uint64]
    gold: Int  # the known label, or −1

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class NewAsks:
    """Asks to claim, in the order in which money is given out.  ``price`` is what to reserve: an upper bound."""

    item: Int
    ordinal: Int
    worker_class: Int
    price: Int

    def __len__(self) -> int:
        return len(self.item)


@dataclass(frozen=True, slots=True, eq=False)
class NewAnswers:
    """Answers to record.  ``label`` −1: an abstention, or none because of ``failure`` (index into `FAILURES`).

    ``charged`` is what it really cost, `AS_ASKED` when the asked price stands.  ``worker`` and ``raw`` (JSON texts)
    may be None altogether, or None row by row.
    """

    item: Int
    ordinal: Int
    label: Int
    charged: Int
    failure: Int
    worker: Sequence[str | None] | None = None
    raw: Sequence[str | None] | None = None
    epoch: Int | None = None  # from the key: an answer to an ask of another epoch is a stray

    def __len__(self) -> int:
        return len(self.item)


# ---------------------------------------------------------------------------------------- what is read


class Money(NamedTuple):
    """``spent + reserved <= budget`` at every commit, whatever the number of processes."""

    budget: int
    spent: int
    reserved: int


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """The one row of a campaign that changes: money, state, and where its ledger stands."""

    name: str
    uid: str  # the first part of every key
    spec: Mapping[str, Any]
    spec_version: int  # 1, then one more at each `change_spec`
    epoch: int  # 1, then one more each time a backup was restored
    state: State
    money: Money
    items: int
    head: int  # the seq of the last fact
    digest: int  # over all facts up to head


class Wrote(NamedTuple):
    """The seqs of the facts that a call wrote: ``first`` … ``head``; none if ``first`` is greater."""

    first: int
    head: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """What became of each ask: `OURS`, `TAKEN` (claimed before: somebody has it), or `OVER_BUDGET`.

    ``head`` is the seq of the last fact after this call, ``first`` of the first fact that it wrote (``first <= head``
    only if it wrote any): a caller that had read up to ``first - 1`` has missed nothing.
    """

    outcome: NDArray[np.int8]
    first: int
    head: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of each answer (index into `OUTCOMES`), and whether it cost more than had been reserved.

    Only `RECORDED` and `REPEATED` close an ask and are to be folded: the latter as an abstention.
    """

    outcome: NDArray[np.int8]
    overcharged: NDArray[np.bool_]
    first: int
    head: int


@dataclass(frozen=True, slots=True, eq=False)
class AskLog:
    """Asks as columns, in the order of seq."""

    seq: Int
    item: Int
    ordinal: Int
    worker_class: Int
    price: Int
    stage: Int
    epoch: Int
    at: Int  # milliseconds since 1970, by the store's clock

    def __len__(self) -> int:
        return len(self.seq)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerLog:
    """The answers that stand, as columns, in the order of seq.  ``ask`` is the seq of the ask that was answered."""

    seq: Int
    ask: Int
    item: Int
    ordinal: Int
    worker_class: Int
    label: Int
    charged: Int
    failure: Int
    at: Int

    def __len__(self) -> int:
        return len(self.seq)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the whole campaign: a barrier, a change of budget, a pause, an audit's freeze."""

    seq: int
    kind: str
    number: int
    payload: Mapping[str, Any]
    at: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """An answer that is kept and does not count: a different second value, a late one, a repeated worker's."""

    seq: int
    outcome: Literal["conflict", "late", "repeated"]
    item: int
    ordinal: int
    worker_class: int
    label: int
    charged: int  # what it added to the money spent
    worker: str | None
    raw: str | None
    at: int


@dataclass(frozen=True, slots=True)
class Stray:
    """An answer under a key that no ask of this campaign carries."""

    seq: int
    key: str
    payload: Mapping[str, Any]
    at: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything decisions depend on that was committed after a seq, up to ``head``, in one consistent look.

    To replay: walk ``answers`` and ``events`` in the order of seq (``conflicts`` hold the late answers).  Asks are
    not here: those with an answer are told by it, the others by `Ledger.in_flight`; see also `Ledger.asks`.
    """

    answers: AnswerLog
    events: tuple[Event, ...]
    conflicts: tuple[Conflict, ...]
    items: int
    head: int


@dataclass(frozen=True, slots=True, eq=False)
class InFlight:
    """Asks without an answer.  ``posted`` where a receipt is kept."""

    asks: AskLog
    posted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.asks)

    def only(self, rows: NDArray[np.bool_]) -> InFlight:
        """Those of these rows."""
        columns = (getattr(self.asks, one.name)[rows] for one in fields(AskLog))
        return InFlight(AskLog(*columns), self.posted[rows])


@dataclass(frozen=True, slots=True)
class ItemRow:
    index: int
    id: str
    payload: Mapping[str, Any]
    gold: int


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of any table, for people and for export."""

    table: Literal["item", "ask", "receipt", "answer", "conflict", "stray", "event"]
    seq: int
    row: Mapping[str, Any] = field(default_factory=dict)
