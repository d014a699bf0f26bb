"""Any Python function or scikit-learn-like classifier as annotators; what goes wrong in it is a failed ask."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, Final

from quorate.errors import PlatformError, SpecError
from quorate.model import Answer, Ask, Receipt
from quorate.money import micros
from quorate.ports import Platform

FIRST_PAUSE: Final = 0.1  # seconds; doubled at each retry
BATCH: Final = 50  # questions for a function that takes a list


@dataclass(frozen=True, slots=True)
class Reply:
    """What a function may return when a bare label does not say enough.

    ``price`` is what this answer really cost, in the currency; None when the asked price stands.
    """

    label: Any
    price: str | float | None = None
    worker: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class CallablePlatform:
    """Ask a function.  It is called when an ask is posted, and the receipt carries what it said.

    ``function`` is called with an item's payload (or with its ``column``) and returns a label, None to abstain, or a
    `Reply`.  With ``batched`` it gets a list and returns a list.  A call that raises is tried ``retries`` more times;
    a batch that keeps raising is halved, so one bad item does not cost the others their answers.  ``timeout`` bounds
    a call in seconds; a call that is too late is given up, not tried again.  Labels outside ``labels`` are failures.

    >>> from quorate.model import Ask
    >>> shouting = CallablePlatform(lambda text: "loud" if text.isupper() else "calm", column="text")
    >>> [one.label for one in shouting.poll(shouting.post([Ask("k-1", "a", "rule", 0, 0, {"text": "HEY"})]))]
    ['loud']
    """

    function: Callable[[Any], Any]
    column: str | None = None
    batched: bool = False
    labels: Sequence[str] | None = None
    retries: int = 2
    timeout: float | None = None
    threads: int = 1
    sleep: Callable[[float], None] = time.sleep
    name: str = "callable"

    @property
    def batch(self) -> int:
        """Asks in one call of `post`.  Answers are safe when it returns: so no more than are answered at a time."""
        return BATCH if self.batched else self.threads

    def post(self, asks: Sequence[Ask]) -> list[Receipt]:
        """Call the function and keep what it said."""
        if not asks:
            return []
        if self.batched:
            outcomes = self._batch([self._input(one) for one in asks])
        elif self.threads > 1 and self.timeout is None:
            with ThreadPoolExecutor(self.threads) as pool:
                outcomes = list(pool.map(self._one, (self._input(one) for one in asks)))
        else:
            outcomes = [self._one(self._input(one)) for one in asks]
        return [
            Receipt(ask.key, self.name, {"price": ask.price, **outcome})
            for ask, outcome in zip(asks, outcomes, strict=True)
        ]

    def poll(self, receipts: Sequence[Receipt]) -> list[Answer]:
        """What the receipts say."""
        return [_answer(one) for one in receipts]

    def cancel(self, receipts: Sequence[Receipt]) -> None:
        """It has been answered already."""

    def _input(self, ask: Ask) -> Any:
        if self.column is None:
            return ask.payload
        if self.column not in ask.payload:
            held = ", ".join(map(repr, ask.payload)) or "none"
            raise PlatformError(
                f"Item {ask.item} has no column {self.column!r}; it has: {held}.",
                hint="Name the column that the function is to see, or leave it out: then it sees the whole item.",
            )
        return ask.payload[self.column]

    def _one(self, question: Any) -> dict[str, Any]:
        said, error = self._attempt(lambda: self.function(question))
        return error or self._outcome(said)

    def _batch(self, questions: list[Any]) -> list[dict[str, Any]]:
        said, error = self._attempt(lambda: list(self.function(questions)))
        if error is None and len(said) != len(questions):
            error = _failed(f"returned {len(said)} answers to {len(questions)} questions")
        if error is None:
            return [self._outcome(one) for one in said]
        if len(questions) == 1 or error["failure"] == "expired":
            return [error] * len(questions)
        middle = len(questions) // 2
        return self._batch(questions[:middle]) + self._batch(questions[middle:])

    def _attempt(self, call: Callable[[], Any]) -> tuple[Any, dict[str, Any] | None]:
        """What the call returned, or why there will be no answer."""
        last: Exception | None = None
        for attempt in range(self.retries + 1):
            if attempt:
                self.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                return _within(self.timeout, call), None
            except TooLate:
                return None, {"label": None, "failure": "expired", "raw": {"error": f"no answer in {self.timeout} s"}}
            except Exception as error:  # whatever a user's function may raise
                last = error
        return None, _failed(f"{type(last).__name__}: {last}"[:500])

    def _outcome(self, said: Any) -> dict[str, Any]:
        try:
            reply = said if isinstance(said, Reply) else Reply(said)
            label = None if reply.label is None else _text(reply.label)
            raw = json.loads(json.dumps(dict(reply.raw)))
            price = {} if reply.price is None else {"price": micros(reply.price)}
        except Exception as error:  # a price that is none, a label that will not be text, …
            return _failed(f"{type(error).__name__}: {error}"[:500])
        if label is not None and self.labels is not None and label not in self.labels:
            return _failed(f"returned the label {label[:80]!r}; the labels are {', '.join(self.labels)}")
        return {"label": label, "worker": reply.worker, "raw": raw, **price}


class _Late(Exception):
    """The function's own TimeoutError, which is an error like any other and not ours."""


def _within(timeout: float | None, call: Callable[[], Any]) -> Any:
    """The call's result within a time; a call that is too late goes on in its own thread, unheard."""
    if timeout is None:
        return call()
    future: Future[Any] = Future()
    Thread(target=_keep, args=(future, call), daemon=True).start()  # a call that never ends must not keep the process
    return future.result(timeout)


def _keep(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        future.set_result(_own_errors(call))
    except BaseException as error:  # whoever waits for the result is told
        future.set_exception(error)


def _own_errors(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except TimeoutError as error:
        raise _Late(str(error)) from error


def _failed(why: str) -> dict[str, Any]:
    return {"label": None, "failure": "refused", "raw": {"error": why}}


def _text(label: Any) -> str:
    """A label as the spec writes it: numpy scalars as Python's, whole floats as integers."""
    value = label.item() if hasattr(label, "item") else label
    return str(int(value)) if isinstance(value, (bool, float)) and value == int(value) else str(value)


def _answer(receipt: Receipt) -> Answer:
    data = receipt.data
    failure = data.get("failure")
    return Answer(
        receipt.key, data["label"], worker=data.get("worker"),
        price=None if failure else data["price"], failure=failure, raw=data.get("raw", {}),
    )  # fmt: skip


def classifier(
    model: Any,
    *,
    column: str,
    labels: Sequence[str] | None = None,
    abstain_below: float | None = None,
    **options: Any,
) -> CallablePlatform:
    """A fitted classifier with ``predict`` (and ``predict_proba``) as a worker class.

    ``labels`` names the model's classes in the order of ``model.classes_``; left out, the classes name themselves.
    With ``abstain_below``, it abstains where its own largest probability is smaller.
    """

    def predict(questions: list[Any]) -> list[Any]:
        names = list(model.classes_) if labels is None else list(labels)
        if abstain_below is None:
            at = {value: row for row, value in enumerate(model.classes_)}
            return [names[at[one]] for one in model.predict(questions)]
        chance = model.predict_proba(questions)
        return [
            None if max(row) < abstain_below else names[max(range(len(row)), key=list(row).__getitem__)]
            for row in chance
        ]

    return CallablePlatform(predict, column=column, batched=True, labels=labels, **options)


_OPTIONS: Final = ("function", "column", "batched", "retries", "timeout", "threads")


def build(
    classes: Mapping[str, Mapping[str, Any]], *, seed: int, labels: Sequence[str], folder: Path
) -> Mapping[str, Platform]:
    """A platform per class whose platform table says ``kind = "callable"``, with ``function = "module:name"``.

    Python looks for the module where it always does, and then beside the campaign's file.
    """
    beside = str(folder.resolve())
    if beside not in sys.path:
        sys.path.append(beside)
    return {name: _build(name, dict(options), labels) for name, options in classes.items()}


def _build(name: str, options: dict[str, Any], labels: Sequence[str]) -> CallablePlatform:
    options.pop("kind", None)
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise SpecError(
            f"The function of class {name!r} does not know {unknown}.", hint=f"It takes {', '.join(_OPTIONS)}."
        )
    where = str(options.pop("function", ""))
    module, _, attribute = where.partition(":")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SpecError(
            f"Class {name!r} asks the function {where!r}, which cannot be imported: {error}.",
            hint='Write function = "module:name" of a module beside the campaign\'s file, or of an installed one.',
        ) from None
    return CallablePlatform(function, labels=tuple(labels), name=f"callable:{where}", **options)
