"""Labels from answers that you already have: ``quorate.aggregate(frame)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.core.estimators.table import Answers
from quorate.errors import InputError, SpecError

_ITEM: Final = ("item", "task")  # ours, crowd-kit's
_WHO: Final = ("class", "worker", "worker_class")
DIGITS: Final = 300  # of a label that is a number; what is longer is a text
METHODS: Final = ("dawid-skene", "one-coin", "majority")

Frame = TypeVar("Frame")


def aggregate(frame: Frame, method: str = "dawid-skene") -> Frame:
    """The label of each item, how sure it is, and from how many answers.

    ``frame`` is a pandas or polars frame or a mapping of columns ``item, class, label`` or ``task, worker, label``;
    what comes back is of the same kind, with the columns item (or task), label, confidence and answers, items in the
    order in which they first occur.  Any number of labels of any type.  Answers without a label are left out; an item
    that has no other gets the label None and the confidence nan.

    ``method`` is ``dawid-skene`` (a confusion matrix per class; the confidence is the probability of the label),
    ``one-coin`` (one accuracy per class), or ``majority`` (the confidence is the share of the votes).  Ties go to the
    smallest label.

    >>> votes = {"task": ["a", "a", "a", "b"], "worker": [1, 2, 3, 1], "label": ["yes", "yes", "no", "no"]}
    >>> aggregate(votes, "majority")["label"]
    ['yes', 'no']
    """
    if method not in METHODS:
        raise SpecError(f"There is no method {method!r}.", hint=f"Choose one of: {', '.join(METHODS)}.")
    item_name, item, who, label = columns(frame)
    answers, names = answer_table(item, who, label)
    posterior = _majority(answers) if method == "majority" or answers.labels < 2 else _fitted(answers, method)
    best = posterior.argmax(axis=1)
    asked = np.bincount(answers.item, minlength=answers.items)
    confidence = np.where(asked > 0, posterior[np.arange(answers.items), best], np.nan)
    result = {
        item_name: names.items,
        "label": [names.labels[one] if n else None for one, n in zip(best.tolist(), asked.tolist(), strict=True)],
        "confidence": confidence.tolist(),
        "answers": asked.tolist(),
    }
    labelled: Frame = _like(frame, result)
    return labelled


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """What the numbers of an answer table stand for."""

    items: list[Any]
    classes: list[Any]
    labels: list[Any]


def columns(frame: Any) -> tuple[str, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The item column's name, and the columns item, class and label."""
    present = list(frame.columns) if hasattr(frame, "columns") else list(frame)
    found = []
    for wanted in (_ITEM, _WHO, ("label",)):
        name = next((one for one in wanted if one in present), None)
        if name is None:
            names = " or ".join(map(repr, wanted))
            raise InputError(
                f"There is no column {names}; the columns are {', '.join(map(str, present))}.",
                hint="Name the columns item, class, label or task, worker, label.",
            )
        found.append(name)
    arrays = [_array(frame[name]) for name in found]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        said = ", ".join(f"{name} has {len(array)}" for name, array in zip(found, arrays, strict=True))
        raise InputError(f"The columns differ in length: {said}.", hint="One row an answer.")
    return found[0], arrays[0], arrays[1], arrays[2]


def answer_table(item: NDArray[Any], who: NDArray[Any], label: NDArray[Any]) -> tuple[Answers, Names]:
    """Columns as numbers: items and classes in order of appearance, labels in their own order."""
    for name, column in (("item", item), ("class", who), ("label", label)):
        _single(name, column)
        if name != "label" and missing(column).any():
            row = int(missing(column).argmax()) + 1
            raise InputError(f"Row {row} has no {name}.", hint="Every answer is about an item and from a class.")
    usable = ~missing(label)
    items, item_names = _coded(item)
    classes, class_names = _coded(who[usable])
    labels, label_names = _coded(label[usable])
    order = sorted(range(len(label_names)), key=lambda at: _sort_key(label_names[at]))
    place = np.argsort(np.array(order, np.int64)) if order else np.zeros(0, np.int64)
    table = Answers(
        items[usable], classes, place[labels], len(item_names), len(class_names), max(len(label_names), 1)
    )
    names = Names(item_names, class_names, [label_names[at] for at in order] or [None])
    return table, names


def missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where there is no value: None, nan, NA, or an empty text, as CSV has it."""
    if column.dtype.kind == "f":
        empty: NDArray[np.bool_] = np.isnan(column)
        return empty
    if column.dtype.kind in "OU":
        return np.fromiter(map(_is_missing, column.tolist()), np.bool_, len(column))
    return np.zeros(len(column), np.bool_)


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, str) and not value)


def _array(column: Any) -> NDArray[Any]:
    """A column's values; polars would turn whole numbers with gaps into floats.

    Texts stay Python's own: as numpy's, each would take the room of the longest.
    """
    if hasattr(column, "null_count") and column.null_count():
        return _objects(column.to_list())
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy())
    if isinstance(column, np.ndarray):
        return column
    values = list(column)
    return np.asarray(values) if all(isinstance(one, (bool, int, float)) for one in values) else _objects(values)


def _objects(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, object, len(values))


def _single(name: str, column: NDArray[Any]) -> None:
    """An item, a class or a label is one value, not a list of them."""
    if column.dtype.kind != "O":
        return
    for row, value in enumerate(column.tolist(), 1):
        if isinstance(value, (Mapping, list, set, np.ndarray)):
            raise InputError(
                f"Row {row}: its {name} is a {type(value).__name__}, {str(value)[:60]}.",
                hint="Items, classes and labels are texts or numbers: one answer with one label a row.",
            )


def _coded(column: NDArray[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Numbers in order of first appearance, and what they stand for."""
    if column.dtype.kind in "biuf":  # by sorting
        unique, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place[inverse], unique[order].tolist()
    seen: dict[Any, int] = {}
    code = np.fromiter((seen.setdefault(one, len(seen)) for one in column.tolist()), np.int64, len(column))
    return code, list(seen)


def _sort_key(label: Any) -> tuple[str, Any]:
    """Numbers by size, even when written as text, then texts."""
    if isinstance(label, (bool, int, float)):
        return ("", label)
    text = str(label)
    return ("", int(text)) if text.isdecimal() and len(text) <= DIGITS else ("text", text)


def _majority(answers: Answers) -> NDArray[np.float64]:
    votes = answers.votes().astype(np.float64)
    cast = votes.sum(axis=1, keepdims=True)
    even = np.full_like(votes, 1 / answers.labels)
    share: NDArray[np.float64] = np.divide(votes, cast, out=even, where=cast > 0)
    return share


def _fitted(answers: Answers, method: str) -> NDArray[np.float64]:
    from quorate.core.estimators.dawid_skene import dawid_skene, full, one_coin

    rows = answers.rows()
    shape = full if method == "dawid-skene" else one_coin
    found = dawid_skene(rows.x, answers.labels, weight=rows.weight, shape=shape)
    posterior: NDArray[np.float64] = found.posterior[rows.inverse]
    return posterior


def _like(frame: Any, result: Mapping[str, list[Any]]) -> Any:
    """The result as the kind of table that was handed in."""
    module = type(frame).__module__.split(".")[0]
    if module == "pandas":
        import pandas

        return pandas.DataFrame(result)
    if module == "polars":
        import polars

        return polars.DataFrame(result, strict=False)
    return result
