"""The engine of a campaign: what its fold wants is claimed before it is asked, and recorded before it is folded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from threading import RLock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.book import ask_code, code_parts
from quorate.campaign.decider import BUDGET, ENDED, NOBODY_LEFT, Asks
from quorate.campaign.fold import COHORT, GAVE_UP, STAGE, Fold, stage_number
from quorate.campaign.states import CLASS, HALTED, PAUSED, RUNNING
from quorate.campaign.waiting import Waiting
from quorate.errors import LifecycleError
from quorate.facts import (
    AS_ASKED,
    EXHAUSTED,
    OVER_BUDGET,
    RECORDED,
    STRAY,
    TAKEN,
    AnswerLog,
    AskLog,
    Conflict,
    Event,
    InFlight,
    Money,
    NewAnswers,
    NewAsks,
    Recorded,
    key_of,
)
from quorate.model import NO_LABEL, Ask, Receipt
from quorate.money import show
from quorate.ports import Policy
from quorate.ports_store import Ledger
from quorate.registry import lookup
from quorate.spec import Spec

Int = NDArray[np.int64]


def promise_of(policy: Policy, *, average: bool) -> str:
    """The words of a policy's guarantee; ``average`` weakens it where the policy has an ``average_promise``.

    >>> "share of wrong labels" in promise_of(lookup("policies", "calibrated"), average=True)
    True
    >>> policy = lookup("policies", "certified")
    >>> promise_of(policy, average=True) == policy.promise
    True
    """
    return str(getattr(policy, "average_promise", policy.promise)) if average else policy.promise


class Machine:
    """The part of a `quorate.campaign.engine.Campaign` that turns in columns: fold, barriers, claims, records.

    Whoever writes to the ledger may find that others have written before; then what they wrote is folded first
    (`sync`).  So any number of processes agree, and one process alone never reads what it has just written.
    """

    def __init__(self, ledger: Ledger, *, policy: Policy | None = None) -> None:
        row = ledger.campaign()
        self.ledger = ledger
        self.spec = Spec.from_dict(row.spec)
        self.uid, self.epoch = row.uid, row.epoch
        self.fold = Fold(lookup("policies", self.spec.policy) if policy is None else policy)
        self.class_state = [RUNNING] * len(self.spec.classes)
        self.why_halted: dict[int, str] = {}
        self._lock = RLock()
        self._closed = False
        self._seen = 0  # the seq up to which the ledger has been folded
        self._held = Waiting()  # asks of halted classes
        self.left_over: set[int] = set()  # asks that were claimed here and that no run looks after (codes)
        self._late: list[Conflict] = []  # answers that came after their ask had been given up
        self.sync()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def policy(self) -> Policy:
        return self.fold.policy

    @property
    def promise(self) -> str:
        """What holds of every label: the weaker words as soon as some items are labelled to keep the average only."""
        average = self.spec.average or any(one.decider.task.average for one in self.fold.cohorts)
        return promise_of(self.policy, average=average)

    def _usable(self) -> None:
        if self._closed:
            raise LifecycleError(
                f"Campaign {self.name!r} has been closed here.", hint="Open it again with Campaign.open."
            )

    # ----------------------------------------------------------------------------------------------- facts

    def halt(self, worker_class: str, why: str) -> None:
        """Buy nothing from a class until a human resumes or pauses it; its items wait."""
        self._set(worker_class, HALTED, why)

    def _set(self, worker_class: str | None, state: str, why: str = "") -> None:
        with self._lock:
            self._usable()
            if worker_class is None:
                self._note(self.ledger.set_state("paused" if state == PAUSED else "running"))
            else:
                payload = {"class": self.spec.class_named(worker_class), "state": state, "why": why}
                self._note(self.ledger.append(CLASS, payload))

    def _note(self, event: Event) -> None:
        """Fold an event of our own; what others did meanwhile is read with it."""
        if event.seq == self._seen + 1:
            self._seen = event.seq
            self._apply(event)
        elif event.seq > self._seen:
            self.sync()
        else:  # somebody else's stood, and we know it
            self._apply(event)
        self.fold.advance()

    def _apply(self, event: Event) -> None:
        if event.kind == "spec":
            self.spec = Spec.from_dict(event.payload)
        elif event.kind == "budget":
            self.spec = replace(self.spec, budget=int(event.payload["to"]))
        elif event.kind == CLASS:
            k = int(event.payload["class"])
            self.class_state[k] = event.payload["state"]
            self.why_halted.pop(k, None)
            if self.class_state[k] == HALTED:
                self.why_halted[k] = event.payload["why"]
        self.fold.add_event(event.seq, event.kind, event.number, event.payload)

    @property
    def behind(self) -> bool:
        """Whether others have committed what has not been folded here."""
        return self.ledger.campaign().head > self._seen

    def sync(self) -> None:
        """Fold what others have committed to the ledger."""
        with self._lock:
            changes = self.ledger.changes(self._seen)
            if changes.items > self.fold.items:
                self.fold.add_items(*self.ledger.item_columns(self.fold.items))
            self._late += [one for one in changes.conflicts if one.outcome == "late" and one.label >= 0]
            self._seen = changes.head
            log, done = changes.answers, 0
            for event in changes.events:
                if event.kind == GAVE_UP:  # what was answered before it was in time
                    until = int(np.searchsorted(log.seq, event.seq))
                    self._learn(log, slice(done, until))
                    done = until
                self._apply(event)
            self._learn(log, slice(done, None))

    def _learn(self, log: AnswerLog, rows: slice) -> None:
        failure, label = log.failure[rows], log.label[rows]
        label = np.where(failure == EXHAUSTED, NOBODY_LEFT, np.where(failure > 0, NO_LABEL, label))
        self.fold.learn(log.item[rows], log.ordinal[rows], label, log.charged[rows])

    # -------------------------------------------------------------------------------------------- barriers

    def go_on(self) -> None:
        """Close the barriers that the answers so far have reached, begin cohorts, until somebody must be asked."""
        with self._lock:
            self.fold.advance()
            while (event := self._next_event()) is not None:
                self._note(event)

    def _next_event(self) -> Event | None:
        cohort = self.fold.cohort
        if cohort is not None and not cohort.decider.done and not cohort.decider.at_barrier:
            return None
        money = self.ledger.money()
        if cohort is None or cohort.decider.done:
            first = 0 if cohort is None else int(max(one.rows[-1] for one in self.fold.cohorts)) + 1
            again = self._worth_another_try(money)
            if first == self.fold.items and not len(self.fold.undecided_for(again)):
                return None
            belief, prior_belief = self.fold.beliefs(self.spec)
            payload = {
                "items": [first, self.fold.items], "again": again, "budget": money.budget, "spent": money.spent,
                "belief": belief, "prior_belief": prior_belief, "spec": self.spec.as_dict(),
            }  # fmt: skip
            return self.ledger.append(COHORT, payload, number=len(self.fold.cohorts))
        late = [one for one in self._late if one.seq > self.fold.late_after]
        payload = {
            "alive": self._alive,
            "budget": money.budget, "spent": money.spent,
            "admitted": [[one.item, one.worker_class, one.label] for one in late], "late_after": self._seen,
        }  # fmt: skip
        return self.ledger.append(STAGE, payload, number=stage_number(cohort.number, len(cohort.decider.stages)))

    @property
    def _alive(self) -> list[bool]:
        """Which classes plans may ask from the next barrier on."""
        classes = zip(self.spec.classes, self.class_state, strict=True)
        return [state != PAUSED and not one.trusted for one, state in classes]

    def _worth_another_try(self, money: Money) -> list[int]:
        """The reasons for which items were left without a label, and that hold no more."""
        if self.fold.cohort is None:
            return []
        last = self.fold.cohort.decider
        assert last.purse is not None
        again = [BUDGET] if money.budget > last.purse.budget else []
        back = any(now and not then for now, then in zip(self._alive, last.alive.tolist(), strict=True))
        return [*again, ENDED] if last.why_ended and back else again

    @property
    def done(self) -> bool:
        """Every item has its verdict, and there is nothing left to do."""
        with self._lock:
            self.go_on()
            return self.fold.cohort is None or self.fold.cohort.decider.done

    # ----------------------------------------------------------------------------------------- asks go out

    def claim(self, n: int, *, without: Collection[int] = ()) -> Asks:
        """Claim up to ``n`` of the asks that are wanted now, as columns, ``without`` those of some classes."""
        with self._lock:
            if n < 1:
                return _NO_ASKS
            self.go_on()
            self.fold.pending.join(self._held.take())
            while len(self.fold.pending):
                code = self.fold.pending.take(n)
                try:
                    asks = self._claim_some(code, without)
                except BaseException:
                    self._not_claimed(code)
                    raise
                if len(asks):
                    return asks
                self.go_on()
            return _NO_ASKS

    def _not_claimed(self, code: Int) -> None:
        """A claim failed: these asks are wanted still; or the error came after the commit, and they are out."""
        self._held.drop(code)
        self.fold.pending.join(code[self.fold.is_out(*code_parts(code))])
        self.left_over.update(code.tolist())

    def _claim_some(self, code: Int, without: Collection[int]) -> Asks:
        wanted = self._may_be_asked(code, without)
        if not len(wanted):
            return wanted
        stage = self.fold.stage
        claimed = self.ledger.claim(
            NewAsks(wanted.item, wanted.ordinal, wanted.worker_class, self._price[wanted.worker_class]),
            stage=stage,
            lease=self.spec.lease,
        )
        self._wrote(claimed.first, claimed.head)
        over = claimed.outcome == OVER_BUDGET
        if over.any():
            codes = ask_code(wanted.item[over], wanted.ordinal[over])
            self._note(self.ledger.append(GAVE_UP, {"asks": codes.tolist(), "stage": stage}))
        return wanted[~over & (claimed.outcome != TAKEN)]

    def _may_be_asked(self, code: Int, without: Collection[int]) -> Asks:
        """Those of these asks whose class may be asked now."""
        item, ordinal = code_parts(code)
        asks = Asks(item, ordinal, self.fold.want_class[item].astype(np.int64))
        states = [HALTED if k in without else state for k, state in enumerate(self.class_state)]
        if all(state == RUNNING for state in states):
            return asks
        state = np.array(states)[asks.worker_class]
        self._held.join(code[state == HALTED])
        self._pass_over(asks[state == PAUSED])
        return asks[state == RUNNING]

    def _pass_over(self, asks: Asks) -> None:
        """A paused class is asked for nothing and answers nothing: a fact like any other."""
        if not len(asks):
            return
        none = np.zeros(len(asks), np.int64)
        claimed = self.ledger.claim(NewAsks(asks.item, asks.ordinal, asks.worker_class, none))
        self._wrote(claimed.first, claimed.head)
        self._close_passed_over(asks.item, asks.ordinal)

    def _close_passed_over(self, item: Int, ordinal: Int) -> None:
        none = np.zeros(len(item), np.int64)
        self.record(NewAnswers(item, ordinal, none + NO_LABEL, none + AS_ASKED, none + EXHAUSTED))

    def adopt(self, n: int | None = None) -> InFlight:
        """Take over asks that were claimed by a process that is gone; they keep their keys."""
        with self._lock:
            while len(found := self.ledger.adopt(n, lease=self.spec.lease)):
                self.sync()
                found = self._without_passed_over(found)
                if len(found):
                    break
            return found

    def find_left_over(self) -> InFlight:
        """The asks in flight that were claimed here and that nobody looks after; from now on the caller does."""
        with self._lock:
            if not self.left_over:
                return _NOTHING_OUT
            found = self.ledger.in_flight()
            ours = np.isin(ask_code(found.asks.item, found.asks.ordinal), list(self.left_over))
            self.left_over.clear()
            self.sync()
            return self._without_passed_over(found.only(ours))

    def _without_passed_over(self, found: InFlight) -> InFlight:
        """A process may die while it passes over a paused class: what it claimed for nothing is never to be sent."""
        asks = found.asks
        passed = (asks.price == 0) & (self._price[asks.worker_class] > 0) & ~found.posted
        if passed.any():
            self._close_passed_over(asks.item[passed], asks.ordinal[passed])
        return found.only(~passed)

    def keep(self, receipts: Sequence[Receipt]) -> None:
        """Keep what a platform returned for posted asks."""
        with self._lock:
            if receipts:
                self._wrote(*self.ledger.keep(receipts))

    def _wrote(self, first: int, head: int) -> bool:
        """Whether we know of everything up to what we have just written."""
        if first == self._seen + 1:
            self._seen = max(self._seen, head)
            return True
        if head > self._seen:
            self.sync()
        return False

    # ------------------------------------------------------------------------------------- answers come in

    def record(self, columns: NewAnswers) -> Recorded:
        """Record answers as columns, fold them, and halt a class that charged more than it had asked for."""
        with self._lock:
            classes = self.fold.want_class[np.minimum(columns.item, self.fold.items - 1)]
            recorded = self.ledger.record(columns)
            if self.left_over:
                self.left_over.difference_update(ask_code(columns.item, columns.ordinal).tolist())
            plain = bool((recorded.outcome == RECORDED).all()) and not recorded.overcharged.any()
            missed_nothing = recorded.first == self._seen + 1
            if missed_nothing and plain and self._plain(columns):
                self._seen = recorded.head
                charged = columns.charged
                if (charged == AS_ASKED).any():
                    charged = np.where(charged == AS_ASKED, self._price[classes], charged)
                self.fold.learn(columns.item, columns.ordinal, columns.label, charged)
            else:
                self.sync()
            for row in np.flatnonzero(recorded.overcharged & (recorded.outcome != STRAY)).tolist():
                self._halt_for_charge(int(classes[row]), int(columns.charged[row]))
            return recorded

    def _plain(self, columns: NewAnswers) -> bool:
        """Whether the columns say by themselves all that the fold needs: labels for asks that we know of."""
        return not columns.failure.any() and bool(self.fold.is_out(columns.item, columns.ordinal).all())

    def _halt_for_charge(self, k: int, charged: int) -> None:
        if self.class_state[k] != HALTED:
            paid, asked = show(charged, self.spec.currency), show(int(self._price[k]), self.spec.currency)
            self.halt(self.spec.classes[k].name, f"charged {paid} for an answer that was asked at {asked}")

    @property
    def _price(self) -> Int:
        """What each class's answers are asked at, in this cohort."""
        cohort = self.fold.cohort
        if cohort is None or cohort.decider.money is None:
            return np.array(self.spec.prices, np.int64)
        return cohort.decider.money.price

    def asks(self, columns: Asks, log: AskLog | None = None) -> list[Ask]:
        """Asks as platforms see them, with their payloads; ``log`` where they were claimed by another process."""
        rows = self.ledger.items(columns.item)
        price = self._price[columns.worker_class] if log is None else log.price
        epoch = np.full(len(columns), self.epoch) if log is None else log.epoch
        return [
            Ask(
                key_of(self.uid, first, item, ordinal),
                row.id,
                self.spec.classes[k].name,
                ordinal,
                cost,
                row.payload,
                repeat,
            )
            for row, first, item, ordinal, k, cost, repeat in zip(
                rows,
                epoch.tolist(),
                columns.item.tolist(),
                columns.ordinal.tolist(),
                columns.worker_class.tolist(),
                price.tolist(),
                self._repeats(columns),
                strict=True,
            )
        ]

    def _repeats(self, columns: Asks) -> list[int]:
        """How often each class was asked about its item before; an item's asks in flight go to one class."""
        cohort = self.fold.cohort
        if cohort is None:
            return []
        row, k = cohort.local(columns.item), columns.worker_class
        decider = cohort.decider
        earlier: list[int] = (decider.used[row, k] + columns.ordinal - decider.folded[row]).tolist()
        return earlier


_NO_ASKS: Final = Asks(*(np.zeros(0, np.int64) for _ in range(3)))
_NOTHING_OUT: Final = InFlight(AskLog(*(np.zeros(0, np.int64) for _ in range(8))), np.zeros(0, np.bool_))
