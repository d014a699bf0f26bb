"""One class's asks on their way out and back: posted under a key that never changes, doubted, polled, parked.

A desk only talks to its platform; every fact goes to the ledger through `quorate.campaign.runner`.  What it needs of
a platform beyond `quorate.ports.Platform` it looks for by name:

``keyless``      True if the platform ignores keys: a send that failed may have been bought, and is not repeated;
``find``         ``find(keys) -> receipts`` says what it knows of them, ``find_delay`` seconds after the fact;
``key_memory``   how many seconds it remembers a key;
``batch``        how many asks it takes at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from quorate.campaign.answers import storable
from quorate.errors import AnswerError, PlatformError
from quorate.facts import key_of, parse_key
from quorate.model import Answer, Ask, Receipt
from quorate.ports import Platform

TRIES: Final = 8  # per purchase
STRIKES: Final = 4  # asks in a row that fail for good, and nothing more is sent; one item alone comes to three
FIRST_PAUSE: Final = 0.5  # seconds, doubled at each try
LONGEST_PAUSE: Final = 60.0
BATCH: Final = 50
FRESH: Final = 0.8  # of a platform's memory for keys: an older ask is looked for before it is sent again
REASONS: Final = 4  # kept by name of why there was no answer


@dataclass(slots=True)
class Parcel:
    """An ask that is on its way to the platform."""

    ask: Ask
    tries: int = 0
    due: float = 0.0  # not to be sent before
    doubtful: bool = False  # it may have been bought already
    sent: float | None = None  # when its key was first shown to the platform


@dataclass(slots=True)
class Posted:
    """A receipt, and since when it has been waiting for its answer."""

    receipt: Receipt
    ask: Ask
    since: float


@dataclass(slots=True)
class Desk:
    """All asks of one class that are out, and how its platform has behaved."""

    name: str
    platform: Platform
    parcels: dict[str, Parcel] = field(default_factory=dict)
    posted: dict[str, Posted] = field(default_factory=dict)
    parked: dict[str, Ask] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)  # keys that a buyer has in hand
    polling: bool = False
    poll_due: float = 0.0
    poll_failures: int = 0
    empty_polls: int = 0
    succeeded: bool = False  # in this run
    strikes: int = 0  # asks that failed for good since the last success
    broken: str = ""  # why nothing more is sent in this run
    trouble: dict[str, int] = field(default_factory=dict)  # what went wrong, and how often

    @property
    def keyless(self) -> bool:
        return bool(getattr(self.platform, "keyless", False))

    @property
    def _may_poll(self) -> bool:
        return bool(self.posted) and not self.polling and self.poll_failures < TRIES

    @property
    def out(self) -> int:
        """Asks that this run waits for; those that a broken desk cannot send it does not wait for."""
        return len(self.posted) + (0 if self.broken else len(self.parcels))

    def add(self, ask: Ask, now: float, *, doubtful: bool = False) -> None:
        """An ask to be sent; a doubtful one is looked for first.

        After a backup was restored the ledger may have lost purchases, so whatever the platform can be asked about
        is looked for under the keys of the epochs before.
        """
        delay = float(getattr(self.platform, "find_delay", 0.0)) if doubtful else 0.0
        lost = parse_key(ask.key).epoch > 1 and hasattr(self.platform, "find")
        self.parcels[ask.key] = Parcel(ask, due=now + delay, doubtful=doubtful or lost)

    def resume(self, ask: Ask, receipt: Receipt, now: float) -> None:
        """An ask that another process had posted."""
        if ask.key not in self.posted:
            self.posted[ask.key] = Posted(receipt, ask, now)

    def note(self, what: str, times: int = 1) -> None:
        """Count something that went wrong."""
        self.trouble[what] = self.trouble.get(what, 0) + times

    def failed(self, why: str) -> None:
        """Count an ask without an answer; the first few reasons are kept, each might name its own item."""
        what = f"no answer: {why[:120]}"
        self.note(what if what in self.trouble or len(self.trouble) < REASONS else "no answer: other reasons")

    # ------------------------------------------------------------------------------------------ jobs

    def jobs(self, now: float) -> list[Callable[[], Outcome]]:
        """What a buyer could do for this desk now."""
        jobs: list[Callable[[], Outcome]] = []
        self._doubt_the_old(now)
        due = [one for key, one in self.parcels.items() if one.due <= now and key not in self.busy]
        if due and not self.broken:
            jobs += self._sends([one for one in due if not one.doubtful], now)
            jobs += self._searches([one for one in due if one.doubtful])
        if self._may_poll and self.poll_due <= now:
            self.polling = True
            receipts = [one.receipt for one in self.posted.values()]
            jobs.append(lambda: _attempt("poll", [one.key for one in receipts], lambda: self.platform.poll(receipts)))
        return jobs

    def _doubt_the_old(self, now: float) -> None:
        """A key that the platform may have forgotten protects nothing: such an ask is looked for first."""
        memory = getattr(self.platform, "key_memory", None)
        if memory is None:
            return
        for key, one in self.parcels.items():
            if one.sent is not None and now - one.sent > FRESH * memory and not one.doubtful and key not in self.busy:
                one.doubtful = True
                one.due = max(one.due, now + float(getattr(self.platform, "find_delay", 0.0)))

    def _sends(self, due: Sequence[Parcel], now: float) -> list[Callable[[], Outcome]]:
        fresh = [one for one in due if not one.tries]
        size = 1 if self.keyless else int(getattr(self.platform, "batch", BATCH))
        chunks = [fresh[at : at + size] for at in range(0, len(fresh), size)]
        chunks += [[one] for one in due if one.tries]  # what failed together is tried alone
        return [self._send(chunk, now) for chunk in chunks]

    def _send(self, chunk: Sequence[Parcel], now: float) -> Callable[[], Outcome]:
        for one in chunk:
            one.sent = now if one.sent is None else one.sent
        asks = [one.ask for one in chunk]
        keys = [one.key for one in asks]
        self.busy.update(keys)
        return lambda: _attempt("post", keys, lambda: self.platform.post(asks))

    def _searches(self, due: Sequence[Parcel]) -> list[Callable[[], Outcome]]:
        find = getattr(self.platform, "find", None)
        if not due:
            return []
        if find is None:
            for one in due:
                self.park(one.ask.key, "sent and not acknowledged, and the platform cannot be asked")
            return []
        keys = [one.ask.key for one in due]
        self.busy.update(keys)
        names = {name: key for key in keys for name in _names(key)}
        return [
            lambda: _attempt("find", keys, lambda: [replace(one, key=names[one.key]) for one in find(list(names))])
        ]

    def park(self, key: str, why: str) -> None:
        """Set an ask aside: it may have been bought, and will not be sent again."""
        self.parked[key] = self.parcels.pop(key).ask
        self.note(f"parked: {why}")

    # -------------------------------------------------------------------------------------- outcomes

    def settle(self, outcome: Outcome, now: float) -> None:
        """Take note of what a buyer brings back, answers apart."""
        if outcome.job == "poll":
            self._polled(outcome, now)
            return
        self.busy.difference_update(outcome.keys)
        if outcome.spoilt:
            self.note(f"{outcome.job}: not a receipt", outcome.spoilt)
        if outcome.error is not None:
            for key in outcome.keys:
                self._failed(key, outcome, now)
            return
        self.succeeded, self.strikes = True, 0
        for receipt in outcome.got:
            if receipt.key in self.parcels:
                self.posted[receipt.key] = Posted(receipt, self.parcels.pop(receipt.key).ask, now)
                self.poll_due = now
        for key in outcome.keys:
            parcel = self.parcels.get(key)
            if parcel is None:
                continue
            if outcome.job == "find":
                parcel.doubtful, parcel.sent = False, None  # never arrived: safe to send
            else:
                self.note("post: no receipt")
                self._try_again(parcel, now, PlatformError("it acknowledged nothing"))

    def _failed(self, key: str, outcome: Outcome, now: float) -> None:
        parcel = self.parcels.get(key)
        if parcel is None:
            return
        assert outcome.error is not None
        self.note(f"{outcome.job}: {type(outcome.error).__name__}")
        self._try_again(parcel, now, outcome.error)

    def _try_again(self, parcel: Parcel, now: float, error: BaseException) -> None:
        parcel.tries += 1
        pause = min(FIRST_PAUSE * 2 ** (parcel.tries - 1), LONGEST_PAUSE)
        parcel.due = now + max(pause, _retry_after(error))
        if self.keyless:
            parcel.doubtful = True
            parcel.due = max(parcel.due, now + float(getattr(self.platform, "find_delay", 0.0)))
        if parcel.tries >= TRIES:
            self.strikes += 1
            if self.succeeded and self.strikes < STRIKES:
                self.park(parcel.ask.key, f"{TRIES} tries failed")
            else:
                self.broken = f"{TRIES} tries failed, the last with {type(error).__name__}: {str(error)[:200]}"

    def _polled(self, outcome: Outcome, now: float) -> None:
        self.polling = False
        if outcome.error is not None:
            self.poll_failures += 1
            self.note(f"poll: {type(outcome.error).__name__}")
            self.poll_due = now + min(FIRST_PAUSE * 2 ** (self.poll_failures - 1), LONGEST_PAUSE)
            if self.poll_failures >= TRIES:
                self.broken = f"{TRIES} polls failed, the last with {outcome.error}"
            return
        self.poll_failures = 0
        self.empty_polls = 0 if outcome.got else self.empty_polls + 1
        self.poll_due = now + min(0.05 * 2 ** min(self.empty_polls, 8), 5.0) * (self.empty_polls > 0)

    def own_key(self, key: str, epoch: int) -> str:
        """The key that we ask under; the platform may know the ask by one from before a backup was restored."""
        try:
            uid, first, item, ordinal = parse_key(key)
        except AnswerError:
            return key
        names = (key_of(uid, one, item, ordinal) for one in range(max(first, 1), epoch + 1))
        return next((name for name in names if name in self.posted), key)

    def answered(self, key: str) -> None:
        """The answer is in the ledger."""
        self.posted.pop(key, None)

    def late(self, now: float, patience: float | None) -> list[Posted]:
        """What has waited too long for its answer."""
        if patience is None:
            return []
        return [one for one in self.posted.values() if now - one.since > patience]

    def next_due(self) -> float:
        """When there will be something to do again."""
        times = [] if self.broken else [one.due for key, one in self.parcels.items() if key not in self.busy]
        if self._may_poll:
            times.append(self.poll_due)
        return min(times, default=float("inf"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call to a platform."""

    job: str
    keys: Sequence[str]
    got: Sequence[Any] = ()
    error: BaseException | None = None
    spoilt: int = 0  # receipts that are none

    @property
    def answers(self) -> list[Answer]:
        """What a poll brought, as far as it is answers at all."""
        return [one for one in self.got if isinstance(one, Answer)] if self.job == "poll" else []


def _names(key: str) -> list[str]:
    """The keys under which an ask may have been sent: its own, and before a backup was restored that of each epoch.

    >>> _names("k3v9x2ab-2-17-0")
    ['k3v9x2ab-1-17-0', 'k3v9x2ab-2-17-0']
    """
    uid, last, item, ordinal = parse_key(key)
    return [key_of(uid, epoch, item, ordinal) for epoch in range(1, last + 1)]


def _attempt(job: str, keys: Sequence[str], call: Callable[[], Sequence[Any]]) -> Outcome:
    try:
        got = list(call())
        good = got if job == "poll" else [one for one in got if _is_receipt(one)]
        return Outcome(job, keys, good, spoilt=len(got) - len(good))
    except Exception as error:  # whatever a platform may raise
        return Outcome(job, keys, error=error)


def _is_receipt(one: Any) -> bool:
    """Whether it can be kept: a key, a platform's name, and plain JSON."""
    if not (isinstance(one, Receipt) and isinstance(one.key, str) and isinstance(one.platform, str)):
        return False
    try:
        json.dumps(one.data)
    except (TypeError, ValueError, RecursionError):
        return False
    return storable(one.platform) == one.platform


def _retry_after(error: BaseException) -> float:
    """The seconds after which a platform wants to be asked again; 0 if it does not say."""
    try:
        seconds = float(getattr(error, "retry_after", None) or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
