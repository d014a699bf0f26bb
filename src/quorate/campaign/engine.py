"""A campaign as its users hold it: create, open, ask and tell, run, change, explain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from quorate.campaign.answers import raw_text, refuse_wrong, storable, told
from quorate.campaign.book import ask_code
from quorate.campaign.decider import Asks, Decider
from quorate.campaign.fold import task_of
from quorate.campaign.items import first_items, new_items
from quorate.campaign.machine import Machine
from quorate.campaign.states import PAUSED, RUNNING
from quorate.errors import AnswerError, InputError, LifecycleError, SpecError
from quorate.facts import AS_ASKED, FAILURES, OUTCOMES, KeyParts, NewAnswers, parse_key
from quorate.model import NO_LABEL, OPEN, Answer, Ask, WorkerClass
from quorate.money import currency_of, micros
from quorate.ports import Platform, Policy
from quorate.ports_store import Ledger, Store
from quorate.registry import lookup
from quorate.spec import Spec

if TYPE_CHECKING:
    from quorate.campaign.labels import Decisions, Labels
    from quorate.campaign.outlook import Outlook
    from quorate.campaign.progress import Report


class Campaign(Machine):
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
        super().__init__(ledger, policy=policy)
        self._store = store  # closed with the campaign, if it was opened for it
        self._label_of = {label: index for index, label in enumerate(self.spec.labels)}

    # ------------------------------------------------------------------------------------- birth and death

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
        Decider(policy, task_of(spec, np.zeros(1, np.uint64), np.full(1, OPEN)))  # a policy that cannot begin says so
        columns = None
        if items is not None:
            columns = first_items(items, labels=spec.labels, id_column=id_column, gold=gold)
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

    # --------------------------------------------------------------------------------------------- changes

    def add_items(
        self, items: Any, *, id_column: str | None = None, gold: str | Mapping[str, str] | None = None
    ) -> int:
        """Add items, all or none; how many.  While a policy is at work they wait for the next cohort."""
        with self._lock:
            self._changeable()
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

    def set_budget(self, budget: int | float | str) -> None:
        """Change what may be spent: micros, or an amount like "500 USD".  More re-opens what was left for money."""
        with self._lock:
            self._changeable()
            self._note(self.ledger.set_budget(_micros(budget, self.spec.currency)))

    def change(self, *, prices: Mapping[str, int | str] | None = None, **fields: Any) -> None:
        """Change the price of classes or fields of the spec; in force from the next cohort of items on."""
        with self._lock:
            self._changeable()
            unknown = sorted(set(fields) - set(Spec.__dataclass_fields__))
            if unknown:
                raise SpecError(
                    f"A spec has no {unknown[0]!r}.", hint=f"It has {', '.join(Spec.__dataclass_fields__)}."
                )
            fixed = sorted({"name", "labels", "classes", "policy", "seed", "budget", "currency"} & set(fields))
            if fixed:
                raise SpecError(
                    f"{fixed[0]!r} cannot be changed while a campaign runs.",
                    hint="Use set_budget for the budget; for anything else create another campaign.",
                )
            new = {self.spec.class_named(name): price for name, price in (prices or {}).items()}
            classes = tuple(
                replace(one, price=_micros(new.get(k, one.price), self.spec.currency))
                for k, one in enumerate(self.spec.classes)
            )
            try:
                spec = replace(self.spec, classes=classes, **fields)
            except TypeError as error:
                raise SpecError(f"{fields} cannot be put into a spec: {error}.", hint="Give numbers.") from None
            self._note(self.ledger.change_spec(spec.as_dict()))

    def finish(self) -> None:
        """Close the campaign for good: nothing will be bought any more; everything can still be read."""
        with self._lock:
            self._usable()
            self._note(self.ledger.set_state("closed"))

    def _changeable(self) -> None:
        self._usable()
        if self.ledger.campaign().state == "closed":
            raise LifecycleError(f"Campaign {self.name!r} is closed.", hint="A closed campaign can only be read.")

    # ---------------------------------------------------------------------------------------- ask and tell

    def ask(self, n: int = 1) -> list[Ask]:
        """Claim up to ``n`` asks, first items first; empty when nothing can be asked now."""
        with self._lock:
            self._open_for_buying()
            if n < 0:
                raise InputError(f"{n} asks cannot be handed out.", hint="Ask for one or more.")
            columns, log = self.claim(n), None
            if not len(columns) and n and len(found := self.adopt(n)):
                log = found.asks
                columns = Asks(log.item, log.ordinal, log.worker_class)
            elif not len(columns):  # passing over what was adopted may have made something new to ask
                columns = self.claim(n)
            self.left_over.update(ask_code(columns.item, columns.ordinal).tolist())
            return self.asks(columns, log)

    def _open_for_buying(self) -> None:
        self._usable()
        state = self.ledger.campaign().state
        if state != "running":
            raise LifecycleError(
                f"Campaign {self.name!r} is {state}.",
                hint="Resume it first." if state == "paused" else "A closed campaign can only be read.",
            )

    def tell(self, answer: Answer) -> bool:
        """Record an answer; False if it does not count: known already, in conflict with the first, or never asked."""
        return self.tell_many([answer])[0]

    def tell_many(self, answers: Iterable[Answer]) -> list[bool]:
        """Record answers in one transaction; see `tell`.  With a label that does not exist, none is recorded."""
        return [outcome in ("recorded", "repeated") for outcome in self.outcomes(list(answers))]

    def outcomes(self, answers: Sequence[Answer]) -> list[str]:
        """Record answers, and say of each what became of it (`quorate.facts.OUTCOMES`)."""
        with self._lock:
            self._usable()
            for one in answers:
                refuse_wrong(one)
            keys = [self._place(one) for one in answers]
            ours = [at for at, key in enumerate(keys) if key is not None]
            known = [answers[at] for at in ours]
            places = np.array([key[1:] for key in keys if key is not None], np.int64).reshape(-1, 3)
            columns = NewAnswers(
                places[:, 1],
                places[:, 2],
                np.array([self._label(one) for one in known], np.int64),
                np.array([AS_ASKED if one.price is None else one.price for one in known], np.int64),
                np.array([FAILURES.index(one.failure or "") for one in known], np.int64),
                [one.worker for one in known],
                [raw_text(one) for one in known],
                epoch=places[:, 0],
            )
            for one, key in zip(answers, keys, strict=True):
                if key is None:
                    self.ledger.record_stray(storable(one.key, 200), told(one))
            out = ["stray"] * len(answers)
            if ours:
                for at, outcome in zip(ours, self.record(columns).outcome.tolist(), strict=True):
                    out[at] = OUTCOMES[outcome]
            return out

    def _place(self, answer: Answer) -> KeyParts | None:
        """Which ask an answer is for, None if it cannot be one of ours."""
        try:
            key = parse_key(answer.key)
        except AnswerError:
            return None
        return key if key.uid == self.uid and key.item < self.fold.items and key.ordinal < 2**15 else None

    def _label(self, answer: Answer) -> int:
        if answer.label is None or answer.failure is not None:
            return NO_LABEL
        if answer.label not in self._label_of:
            raise AnswerError(
                f"The answer to {answer.key!r} says {str(answer.label)[:80]!r}, which is no label of this campaign.",
                hint=f"The labels are: {', '.join(self.spec.labels)}.  None is an abstention.",
            )
        return self._label_of[answer.label]

    # --------------------------------------------------------------------------------------- what is known

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

    def plan(self, policies: Sequence[str] = (), *, seed: int = 0) -> Outlook:
        """Forecast the bill by playing the campaign in worlds that are possible; ``print`` it.

        ``policies`` are others to compare with.  See `quorate.campaign.forecast` for what its interval means.
        """
        from quorate.campaign.outlook import outlook_of

        with self._lock:
            return outlook_of(self, policies, seed=seed)

    def run(self, platforms: Mapping[str, Platform], **options: Any) -> Report:
        """Buy through these platforms (by class) until the campaign is done; see `quorate.campaign.runner.run`."""
        from quorate.campaign.runner import run

        return run(self, platforms, **options)


def _micros(amount: int | float | str, currency: str) -> int:
    if isinstance(amount, int):
        return amount
    if currency_of(amount, currency) != currency:
        raise SpecError(f"{amount!r} is not in this campaign's currency.", hint=f"Give an amount in {currency}.")
    return micros(amount)


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
