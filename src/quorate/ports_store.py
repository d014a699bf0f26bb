"""What a store keeps and how it is spoken to: facts in columns, one ledger per campaign.

A `Store` is one file, one server database or the memory of a process; it holds campaigns by name.  A `Ledger` is
one campaign in it.  A ledger keeps facts and guards money; it draws no conclusions.

**Numbers.**  Items are 0 … N−1 in the order in which they were added; classes and labels are indices into the
spec's lists; money is integer micros; an ask is named by (item, ordinal), or by its `key`.

**The order of facts.**  Every fact of a campaign (item, ask, receipt, answer, conflict, stray, event) carries a
number ``seq``: 1, 2, 3, … without gaps, given out in the transaction that commits it.  So "what is new after seq s"
is exact for every reader, and a missing row shows.  Every row carries a checksum; the campaign's ``digest`` is the
sum over rows of a hash of (seq, checksum): a flipped bit, a lost row or a swapped file does not go unnoticed.

**Durability.**  When a call returns, what it wrote is on disk (SQLite: WAL with synchronous=FULL; PostgreSQL:
commit).  Every call that writes is one transaction: all of it or nothing.  Ledgers may be called from several
threads; calls that meet are committed together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from quorate.errors import AnswerError
from quorate.model import Receipt

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


# ------------------------------------------------------------------------------------------- protocols


@runtime_checkable
class Ledger(Protocol):
    """One campaign's facts and money.

    Calls from several threads are safe.  Columns that are handed in are not modified; columns handed out are the
    caller's.
    """

    name: str

    # -- the campaign's own row

    def campaign(self) -> CampaignRow:
        """The row as it is committed now."""
        ...

    def money(self) -> Money:
        """Budget, spent and reserved, as committed now."""
        ...

    def set_budget(self, budget: int) -> Event:
        """Change the budget (an event ``budget``).  Below what is spent and reserved already: `SpecError`."""
        ...

    def set_state(self, state: State) -> Event:
        """Pause, resume or close (an event ``state``).  `claim` refuses (`LifecycleError`) unless running."""
        ...

    def change_spec(self, spec: Mapping[str, Any]) -> Event:
        """Put a new spec in force (an event ``spec`` with the spec and its version)."""
        ...

    # -- items

    def add_items(self, items: NewItems) -> int:
        """Append items, all or none; the index of the first.  An id that exists already: `InputError` naming it."""
        ...

    def item_columns(self, start: int = 0) -> tuple[NDArray[np.uint64], Int]:
        """Hash and gold of the items from ``start`` on: all that a decision may depend on."""
        ...

    def items(self, rows: Int | Sequence[int]) -> list[ItemRow]:
        """Ids and payloads of these items, in this order, read from disk and checked."""
        ...

    def find(self, ids: Sequence[str]) -> Int:
        """The indices of these ids, −1 where there is no such item."""
        ...

    # -- buying

    def claim(self, asks: NewAsks, *, stage: int = 0, lease: float = 600.0) -> Claimed:
        """Reserve the price of each ask and insert it under its (item, ordinal), in one transaction.

        Money is given out in the order of the rows: an ask that no longer fits is `OVER_BUDGET` and is skipped, a
        cheaper one after it may still fit.  An (item, ordinal) that exists is `TAKEN`, costs nothing and changes
        nothing.  Before money is spent the store makes sure that there is room to record what it buys (`StoreFull`).
        The asks are this process's for ``lease`` seconds by the store's clock.
        """
        ...

    def keep(self, receipts: Sequence[Receipt]) -> Wrote:
        """Keep what the platform returned for posted asks.  A second receipt for the same ask changes nothing."""
        ...

    def record(self, answers: NewAnswers) -> Recorded:
        """Record answers and settle their price, in one transaction: the first value stands.

        ``reserved`` falls by what was asked, ``spent`` grows by what was charged, even beyond what was reserved:
        money that is gone is booked, and reported as ``overcharged``.  A failure is charged 0 unless it says
        otherwise.  An ask that gets a second answer (`CONFLICT`, `LATE`) is booked at the dearest of them.
        """
        ...

    def record_stray(self, key: str, payload: Mapping[str, Any]) -> int:
        """Keep an answer whose key is not of this campaign; its seq.  The same one again changes nothing."""
        ...

    def append(self, kind: str, payload: Mapping[str, Any], *, number: int | None = None) -> Event:
        """Add an event.  Of events with the same kind and ``number`` the first stands, and is what is returned.

        So two processes that close the same barrier agree on how it was closed.  Without ``number`` every event is
        new (its number is its seq).
        """
        ...

    # -- asks in flight

    def in_flight(self) -> InFlight:
        """All asks without an answer."""
        ...

    def adopt(self, limit: int | None = None, *, lease: float = 600.0) -> InFlight:
        """Take over asks in flight whose holder is gone (its lease ran out), oldest first; they are ours now.

        Post the unposted ones again under their own keys, poll the posted ones.  On SQLite and in memory there is
        one buying process at a time, so everything that a predecessor left is adopted at once.
        """
        ...

    def renew(self, *, lease: float = 600.0) -> int:
        """Extend the lease of all asks in flight that this process holds; how many they are."""
        ...

    def receipts(self, asks: Int | Sequence[int]) -> list[Receipt]:
        """The receipts kept for the asks with these seqs, in this order; an ask without one is left out."""
        ...

    def planner(self) -> AbstractContextManager[bool]:
        """Whether this process may plan now: one at a time per campaign.  Never waits."""
        ...

    # -- reading

    def changes(self, after: int = 0) -> Changes:
        """What was committed after seq ``after``.  ``after=0`` is everything: how a campaign is opened."""
        ...

    def asks(self, after: int = 0) -> AskLog:
        """The asks claimed after a seq, answered or not."""
        ...

    def history(self, item: int) -> list[Fact]:
        """Every ask, receipt, answer and conflict about an item, in the order of seq."""
        ...

    def conflicts(self) -> list[Conflict]:
        """Answers that are kept and do not count."""
        ...

    def strays(self) -> list[Stray]:
        """Answers that nobody had asked for."""
        ...

    def facts(self, after: int = 0) -> Iterator[Fact]:
        """Every row after a seq, in the order of seq, streamed: for export and for people."""
        ...

    def verify(self) -> int:
        """Read every row, check its checksum, the digest and the money; how many.  Damage: `StoreDamaged`."""
        ...


@runtime_checkable
class Store(Protocol):
    """Campaigns by name, in one place.  A context manager; `close` waits for what is under way."""

    url: str
    read_only: bool

    def create(
        self,
        name: str,
        *,
        uid: str,
        spec: Mapping[str, Any],
        budget: int,
        items: NewItems | Iterable[NewItems] | None = None,
    ) -> Ledger:
        """A new campaign, with its first items, in one transaction.  They may come in pieces, and are all in or none.

        ``uid`` is 1 to 24 lower-case letters and digits, the first part of every key: two campaigns that buy from the
        same platform must differ in it.  A name or uid that exists already: `SpecError`.
        """
        ...

    def open(self, name: str) -> Ledger:
        """The ledger of a campaign; checked against its digest.  No such campaign: `SpecError` naming those there.

        On SQLite and in memory, opening for buying says that the former holder is gone: `Ledger.adopt` will hand out
        everything in flight.  Open once per process.
        """
        ...

    def campaigns(self) -> list[CampaignRow]:
        """All campaigns, by name."""
        ...

    def backup(self, path: str | Path) -> None:
        """Copy everything to a new file while buying goes on.  Opening the copy for buying calls `restored`."""
        ...

    def restored(self) -> None:
        """This store came from a backup: every campaign's epoch grows by one, with an event ``restored``.

        The platforms may know of asks that this ledger has lost: reconcile before buying.
        """
        ...

    def import_campaign(self, lines: Iterable[str], *, name: str | None = None) -> Ledger:
        """A campaign from the lines that `quorate.stores.export_campaign` wrote, all or nothing, verified."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Store: ...

    def __exit__(self, *_: object) -> None: ...
