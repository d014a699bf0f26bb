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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from quorate.facts import (
    AskLog,
    CampaignRow,
    Changes,
    Claimed,
    Conflict,
    Event,
    Fact,
    InFlight,
    Int,
    ItemRow,
    Money,
    NewAnswers,
    NewAsks,
    NewItems,
    Recorded,
    State,
    Stray,
    Wrote,
)
from quorate.model import Receipt


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
