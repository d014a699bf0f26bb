"""A campaign: what its fold wants is claimed in the ledger before it is asked, and recorded before it is folded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.book import ask_code, code_parts
from quorate.campaign.decider import BUDGET, NOBODY_LEFT, Asks
from quorate.campaign.fold import COHORT, GAVE_UP, STAGE, Fold, stage_number
from quorate.campaign.items import new_items
from quorate.campaign.states import CLASS, HALTED, PAUSED, RUNNING
from quorate.campaign.waiting import Waiting
from quorate.errors import AnswerError, LifecycleError, SpecError
from quorate.model import NO_LABEL, Answer, Ask, Receipt, WorkerClass
from quorate.money import micros, show
from quorate.ports import Platform, Policy
from quorate.ports_store import (
    AS_ASKED,
    EXHAUSTED,
    FAILURES,
    OUTCOMES,
    OVER_BUDGET,
    RECORDED,
    REPEATED,
    STRAY,
    TAKEN,
    Conflict,
    Event,
    Ledger,
    NewAnswers,
    NewAsks,
    Recorded,
    Store,
    key_of,
    parse_key,
)
from quorate.registry import lookup
from quorate.spec import Spec

if TYPE_CHECKING:
    from quorate.campaign.labels import Decisions, Labels
    from quorate.campaign.progress import Report

Int = NDArray[np.int64]


class Campaign:
    """Buy answers until every item is labelled or the money is spent; see `create` and `open`.

    Everything that it decides follows from the ledger: a campaign that is closed, killed, or shared by several
    processes goes on as if nothing had happened.  Calls from several threads are safe.

    >>> from quorate.model import Answer, WorkerClass
    >>> campaign = Campaign.create(
    ...     "memory:", name="spam", items=["win a prize", "see you at noon"], labels=["ham", "spam"],
    ...     budget="1 USD", classes=[WorkerClass("crowd", price="0.05")], policy="votes-3")
    >>> while asks := campaign.ask(10):
    ...     for ask in asks:
    ...         _ = campaign.tell(Answer(ask.key, "spam" if "prize" in ask.payload["text"] else "ham"))
    >>> [(row["item"], row["label"], row["answers"]) for row in campaign.labels()]
    [('0', 'spam', 3), ('1', 'ham', 3)]
    """

    def __init__(self, ledger: Ledger, *, policy: Policy | None = None, store: Store | None = None) -> None:
        row = ledger.campaign()
        self.ledger = ledger
        self.spec = Spec.from_dict(row.spec)
        self.uid, self.epoch = row.uid, row.epoch
        self.fold = Fold(lookup("policies", self.spec.policy) if policy is None else policy)
        self.class_state = [RUNNING] * len(self.spec.classes)
        self.why_halted: dict[int, str] = {}
        self._store = store
        self._lock = RLock()
        self._closed = False
        self._seen = 0  # the seq up to which the ledger has been folded
        self._held = Waiting()  # asks of halted classes
        self._late: list[Conflict] = []  # answers that came after their ask had been given up
        self._label_of = {label: index for index, label in enumerate(self.spec.labels)}
        self.sync()

    # ------------------------------------------------------------------------------------ birth and death

    @classmethod
    def create(
        cls,
        store: str | Store = "memory:",
        *,
        name: str,
        items: Any = None,
        labels: Sequence[str],
        classes: Sequence[WorkerClass],
        budget: int | float | str,
        accuracy: float = 0.95,
        policy: str | Policy = "calibrated",
        id_column: str | None = None,
        gold: str | Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """A new campaign in a store, with its first items; ``options`` are further fields of `quorate.spec.Spec`."""
        named = policy if isinstance(policy, str) else policy.name
        spec = Spec(
            name=name, labels=tuple(labels), classes=tuple(classes), budget=budget,  # type: ignore[arg-type]
            accuracy=accuracy, policy=named, **options,
        )  # fmt: skip
        return cls.start(
            spec, store, items=items, id_column=id_column, gold=gold,
            policy=None if isinstance(policy, str) else policy,
        )  # fmt: skip

    @classmethod
    def start(
        cls, spec: Spec, store: str | Store = "memory:", *, items: Any = None, id_column: str | None = None,
        gold: str | Mapping[str, str] | None = None, policy: Policy | None = None,
    ) -> Self:  # fmt: skip
        """A new campaign of a ready-made spec."""
        policy = lookup("policies", spec.policy) if policy is None else policy
        columns = None
        if items is not None:
            columns = new_items(items, labels=spec.labels, id_column=id_column, gold=gold)
        place = _store_at(store)
        uid = token_hex(6)  # names asks at platforms; decides nothing
        try:
            ledger = place.create(spec.name, uid=uid, spec=spec.as_dict(), budget=spec.budget, items=columns)
            return cls(ledger, policy=policy, store=place if isinstance(store, str) else None)
        except BaseException:
            if isinstance(store, str):
                place.close()
            raise

    @classmethod
    def open(
        cls, store: str | Store, name: str | None = None, *, policy: Policy | None = None, read_only: bool = False
    ) -> Self:  # fmt: skip
        """A campaign that is there already; the name may be left out where there is one only.

        ``read_only`` looks at a campaign that another process may be buying for, and changes nothing.
        """
        place = _store_at(store, read_only=read_only)
        try:
            return cls(
                place.open(_only_name(place) if name is None else name),
                policy=policy,
                store=place if isinstance(store, str) else None,
            )
        except BaseException:
            if isinstance(store, str):
                place.close()
            raise

    def close(self) -> None:
        """Let go of the store.  Nothing is lost: `open` goes on where this campaign was."""
        with self._lock:
            if not self._closed and self._store is not None:
                self._store.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r}: {self.fold.items} items, {self.fold.folded} answers>"

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def policy(self) -> Policy:
        return self.fold.policy

    def _usable(self) -> None:
        if self._closed:
            raise LifecycleError(
                f"Campaign {self.name!r} has been closed here.", hint="Open it again with Campaign.open."
            )

    # ------------------------------------------------------------------------------------------ changes

    def add_items(
        self, items: Any, *, id_column: str | None = None, gold: str | Mapping[str, str] | None = None
    ) -> int:
        """Add items, all or none; how many.  While a policy is at work they wait for the next cohort."""
        with self._lock:
            self._usable()
            columns = new_items(items, labels=self.spec.labels, id_column=id_column, gold=gold, first=self.fold.items)
            self.ledger.add_items(columns)
            self.sync()
            return len(columns)

    def pause(self, worker_class: str | None = None) -> None:
        """Buy nothing more — from one class, or at all — until `resume`.

        Items that wait for a paused class go on without it; plans leave it out from the next barrier on.
        """
        self._set(worker_class, PAUSED)

    def resume(self, worker_class: str | None = None) -> None:
        """Buy again what was paused, or halted because a platform had broken its word."""
        self._set(worker_class, RUNNING)

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

    def set_budget(self, budget: int | float | str) -> None:
        """Change what may be spent: micros, or an amount like "500 USD".  More of it re-opens items left for money."""
        with self._lock:
            self._usable()
            amount = budget if isinstance(budget, int) else micros(budget)
            self._note(self.ledger.set_budget(amount))

    def change(self, *, prices: Mapping[str, int | str] | None = None, **fields: Any) -> None:
        """Change the price of classes or fields of the spec; in force from the next cohort of items on."""
        with self._lock:
            self._usable()
            fixed = sorted({"name", "labels", "classes", "policy", "seed", "budget", "currency"} & set(fields))
            if fixed:
                raise SpecError(
                    f"{fixed[0]!r} cannot be changed while a campaign runs.",
                    hint="Use set_budget for the budget; for anything else create another campaign.",
                )
            new = {self.spec.class_named(name): price for name, price in (prices or {}).items()}
            classes = tuple(replace(one, price=new.get(k, one.price)) for k, one in enumerate(self.spec.classes))
            self._note(self.ledger.change_spec(replace(self.spec, classes=classes, **fields).as_dict()))

    def finish(self) -> None:
        """Close the campaign for good: nothing will be bought any more; everything can still be read."""
        with self._lock:
            self._usable()
            self._note(self.ledger.set_state("closed"))

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
            else:
                self.fold.pending.join(self._held.take())
        self.fold.add_event(event.seq, event.kind, event.number, event.payload)

    def sync(self) -> None:
        """Fold what others have committed to the ledger."""
        with self._lock:
            changes = self.ledger.changes(self._seen)
            if changes.items > self.fold.items:
                self.fold.add_items(*self.ledger.item_columns(self.fold.items))
            for event in changes.events:
                self._apply(event)
            self._late += [one for one in changes.conflicts if one.outcome == "late" and one.label >= 0]
            log = changes.answers
            self._seen = changes.head
            label = np.where(log.failure == EXHAUSTED, NOBODY_LEFT, np.where(log.failure > 0, NO_LABEL, log.label))
            self.fold.learn(log.item, log.ordinal, label, log.charged)

    # ------------------------------------------------------------------------------------------- barriers

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
            again = [BUDGET] if cohort is not None and money.budget > self._budget_then() else []
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
            "alive": [
                state != PAUSED and not one.trusted
                for one, state in zip(self.spec.classes, self.class_state, strict=True)
            ],
            "budget": money.budget, "spent": money.spent,
            "admitted": [[one.item, one.worker_class, one.label] for one in late], "late_after": self._seen,
        }  # fmt: skip
        return self.ledger.append(STAGE, payload, number=stage_number(cohort.number, len(cohort.decider.stages)))

    def _budget_then(self) -> int:
        """The budget that the last cohort knew of."""
        assert self.fold.cohort is not None
        assert self.fold.cohort.decider.purse is not None
        return self.fold.cohort.decider.purse.budget

    @property
    def done(self) -> bool:
        """Every item has its verdict, and there is nothing left to do."""
        with self._lock:
            self.go_on()
            return self.fold.cohort is None or self.fold.cohort.decider.done

    # --------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1) -> list[Ask]:
        """Claim up to ``n`` asks, first items first; empty when nothing can be asked now."""
        with self._lock:
            self._open_for_buying()
            columns = self.claim(n)
            if not len(columns):
                columns = self.adopt(n)
            return self.asks(columns)

    def asks(self, columns: Asks) -> list[Ask]:
        """Asks as platforms see them, with their payloads."""
        rows = self.ledger.items(columns.item)
        price = self._price
        return [
            Ask(
                key_of(self.uid, self.epoch, item, ordinal), row.id, self.spec.classes[k].name, ordinal,
                int(price[k]), row.payload, repeat,
            )
            for row, item, ordinal, k, repeat in zip(
                rows, columns.item.tolist(), columns.ordinal.tolist(), columns.worker_class.tolist(),
                self._repeats(columns), strict=True
            )
        ]  # fmt: skip

    def _repeats(self, columns: Asks) -> list[int]:
        """How often each class was asked about its item before; an item's asks in flight go to one class."""
        cohort = self.fold.cohort
        if cohort is None:
            return []
        row, k = cohort.local(columns.item), columns.worker_class
        decider = cohort.decider
        earlier: list[int] = (decider.used[row, k] + columns.ordinal - decider.folded[row]).tolist()
        return earlier

    def _open_for_buying(self) -> None:
        self._usable()
        state = self.ledger.campaign().state
        if state != "running":
            raise LifecycleError(
                f"Campaign {self.name!r} is {state}.",
                hint="Resume it first." if state == "paused" else "A closed campaign can only be read.",
            )

    def claim(self, n: int) -> Asks:
        """Claim up to ``n`` of the asks that are wanted now, as columns; `ask` without the payloads."""
        with self._lock:
            self.go_on()
            while len(self.fold.pending):
                asks = self._claim_some(n)
                if len(asks):
                    return asks
                self.go_on()
            return _NO_ASKS

    def _claim_some(self, n: int) -> Asks:
        wanted = self._take(n)
        if not len(wanted):
            return wanted
        assert self.fold.cohort is not None
        claimed = self.ledger.claim(
            NewAsks(wanted.item, wanted.ordinal, wanted.worker_class, self._price[wanted.worker_class]),
            stage=stage_number(self.fold.cohort.number, len(self.fold.cohort.decider.stages) - 1),
            lease=self.spec.lease,
        )
        self._wrote(claimed.first, claimed.head)
        over = claimed.outcome == OVER_BUDGET
        if over.any():
            codes = ask_code(wanted.item[over], wanted.ordinal[over])
            self._note(self.ledger.append(GAVE_UP, {"asks": codes.tolist()}))
        return wanted[~over & (claimed.outcome != TAKEN)]

    def _take(self, n: int) -> Asks:
        """The next asks that are wanted, from classes that may be asked."""
        code = self.fold.pending.take(n)
        item, ordinal = code_parts(code)
        asks = Asks(item, ordinal, self.fold.want_class[item].astype(np.int64))
        if all(state == RUNNING for state in self.class_state):
            return asks
        state = np.array(self.class_state)[asks.worker_class]
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
        self.record(NewAnswers(asks.item, asks.ordinal, none + NO_LABEL, none + AS_ASKED, none + EXHAUSTED))

    def adopt(self, n: int | None = None) -> Asks:
        """Take over asks that were claimed by a process that is gone; they keep their keys."""
        with self._lock:
            log = self.ledger.adopt(n, lease=self.spec.lease).asks
            return Asks(log.item, log.ordinal, log.worker_class)

    def keep(self, receipts: Sequence[Receipt]) -> None:
        """Keep what a platform returned for posted asks."""
        with self._lock:
            if receipts:
                head = self.ledger.keep(receipts)
                self._seen = head if head == self._seen + len(receipts) else self._seen

    def _wrote(self, first: int, head: int) -> bool:
        """Whether we know of everything up to what we have just written."""
        if first == self._seen + 1:
            self._seen = max(self._seen, head)
            return True
        if head > self._seen:
            self.sync()
        return False

    def tell(self, answer: Answer) -> bool:
        """Record an answer; False if it does not count: known already, in conflict with the first, or never asked."""
        return self.tell_many([answer])[0]

    def tell_many(self, answers: Iterable[Answer]) -> list[bool]:
        """Record answers in one transaction; see `tell`.  A label that does not exist: `AnswerError`, none recorded."""
        return [outcome in ("recorded", "repeated") for outcome in self.outcomes(list(answers))]

    def outcomes(self, answers: Sequence[Answer]) -> list[str]:
        """Record answers, and say of each what became of it (`quorate.ports_store.OUTCOMES`)."""
        with self._lock:
            self._usable()
            rows = [(at, *found) for at, one in enumerate(answers) if (found := self._place(one)) is not None]
            labels = [self._label(answers[at]) for at, *_ in rows]
            out = ["stray"] * len(answers)
            for at, one in enumerate(answers):
                if self._place(one) is None:
                    self.ledger.record_stray(one.key, {"label": one.label, "worker": one.worker, "price": one.price})
            if not rows:
                return out
            told = [answers[at] for at, *_ in rows]
            columns = NewAnswers(
                np.array([item for _, item, _ in rows], np.int64),
                np.array([ordinal for *_, ordinal in rows], np.int64),
                np.array(labels, np.int64),
                np.array([AS_ASKED if one.price is None else one.price for one in told], np.int64),
                np.array([FAILURES.index(one.failure or "") for one in told], np.int64),
                [one.worker for one in told],
                [json.dumps(dict(one.raw), ensure_ascii=False, default=str) if one.raw else None for one in told],
            )
            recorded = self.record(columns)
            for (at, *_), outcome in zip(rows, recorded.outcome.tolist(), strict=True):
                out[at] = OUTCOMES[outcome]
            return out

    def _place(self, answer: Answer) -> tuple[int, int] | None:
        """Which ask an answer is for, None if it cannot be one of ours."""
        try:
            key = parse_key(answer.key)
        except AnswerError:
            return None
        ours = key.uid == self.uid and key.item < self.fold.items and key.ordinal < 2**15
        return (key.item, key.ordinal) if ours else None

    def _label(self, answer: Answer) -> int:
        if answer.label is None or answer.failure is not None:
            return NO_LABEL
        if answer.label not in self._label_of:
            raise AnswerError(
                f"The answer to {answer.key!r} says {str(answer.label)[:80]!r}, which is not a label of this campaign.",
                hint=f"The labels are: {', '.join(self.spec.labels)}.  None is an abstention.",
            )
        return self._label_of[answer.label]

    def record(self, columns: NewAnswers) -> Recorded:
        """Record answers as columns, fold them, and halt a class that charged more than it had asked for."""
        with self._lock:
            classes = self.fold.want_class[np.minimum(columns.item, self.fold.items - 1)]
            recorded = self.ledger.record(columns)
            counts = (recorded.outcome == RECORDED) | (recorded.outcome == REPEATED)
            missed_nothing = recorded.first == self._seen + 1
            if missed_nothing and counts.all() and not recorded.overcharged.any() and self._plain(columns):
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

    # ----------------------------------------------------------------------------------------- what is known

    def labels(self) -> Labels:
        """One row an item: label, confidence, promise, answers, cost, status, reason, evidence."""
        from quorate.campaign.labels import labels

        with self._lock:
            return labels(self)

    def decisions(self) -> Decisions:
        """The decision log: every ask with its answer, and every verdict."""
        from quorate.campaign.labels import decisions

        with self._lock:
            return decisions(self)

    def explain(self, item: str) -> dict[str, Any]:
        """Why each question about an item was asked, what came, and when and why it stopped."""
        from quorate.campaign.explain import explain

        with self._lock:
            return explain(self, item)

    def status(self) -> dict[str, Any]:
        """Where the campaign stands: items, money, classes, estimated error, health of the assumptions."""
        from quorate.campaign.status import status

        with self._lock:
            return status(self)

    def run(self, platforms: Mapping[str, Platform], **options: Any) -> Report:
        """Buy through these platforms (by class) until the campaign is done; see `quorate.campaign.runner.run`."""
        from quorate.campaign.runner import run

        return run(self, platforms, **options)


_NO_ASKS: Final = Asks(*(np.zeros(0, np.int64) for _ in range(3)))


def _store_at(store: str | Store, *, read_only: bool = False) -> Store:
    if not isinstance(store, str):
        return store
    url = store if "://" in store or store.startswith("memory:") else f"sqlite:///{store}"
    opened: Store = lookup("stores", url.partition(":")[0])(url, read_only=read_only)
    return opened


def _only_name(store: Store) -> str:
    names = [one.name for one in store.campaigns()]
    if len(names) != 1:
        raise SpecError(
            f"{store.url} holds {len(names)} campaigns.",
            hint=f"Name the one to open: {', '.join(names)}." if names else "Create one first.",
        )
    return names[0]
