"""Items as users hand them over — a frame, a list, a dict — as columns for the ledger."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from quorate.core.hashing import item_hash
from quorate.errors import InputError
from quorate.facts import NewItems
from quorate.model import OPEN

ID_COLUMNS: Final = ("id", "item", "item_id")
PIECE: Final = 5_000  # items that are in memory at a time

Pair = tuple[str, Mapping[str, Any]]


def new_items(
    items: Any, *, labels: Sequence[str], id_column: str | None = None, gold: str | Mapping[str, str] | None = None,
    first: int = 0,
) -> NewItems:  # fmt: skip
    """Ids, payloads and gold labels of items in any of the usual shapes.

    A dict maps ids to payloads; a list holds texts (numbered from ``first``), or records with an id in ``id_column``
    or in a column called id, item or item_id; a pandas or polars frame or an Arrow table is a list of records.  A
    payload that is not a record becomes ``{"text": …}``.  ``gold`` names the column of known labels, or maps ids to
    them.

    >>> new_items({"a": "good film", "b": {"text": "bad film"}}, labels=["no", "yes"], gold={"b": "no"}).gold
    array([-1,  0])
    """
    return _columns(list(_pairs(items, id_column, first)), labels, gold)


def first_items(
    items: Any, *, labels: Sequence[str], id_column: str | None = None, gold: str | Mapping[str, str] | None = None
) -> NewItems | Iterator[NewItems]:
    """The items that a campaign begins with; many of them come in pieces, so that a file of gigabytes may stream.

    >>> pieces = first_items([f"text {n}" for n in range(PIECE + 1)], labels=["no", "yes"])
    >>> [len(one) for one in pieces], len(first_items(["a text"], labels=["no", "yes"]))
    ([5000, 1], 1)
    """
    if not hasattr(items, "__len__") or len(items) <= PIECE:
        return new_items(items, labels=labels, id_column=id_column, gold=gold)
    return _pieces(iter(_pairs(items, id_column, 0)), labels, gold)


def _pieces(pairs: Iterator[Pair], labels: Sequence[str], gold: str | Mapping[str, str] | None) -> Iterator[NewItems]:
    before = 0
    while piece := list(islice(pairs, PIECE)):
        yield _columns(piece, labels, gold, before)
        before += len(piece)


def _columns(
    pairs: Sequence[Pair], labels: Sequence[str], gold: str | Mapping[str, str] | None, before: int = 0
) -> NewItems:
    ids = [one for one, _ in pairs]
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        for row, one in enumerate(ids):
            if one in seen:
                raise InputError(
                    f"The id {one!r} comes twice: again in row {before + row + 1}.",
                    hint="Give every item its own id.",
                )
            seen.add(one)
    known = {label: index for index, label in enumerate(labels)}
    gold_of = {one: payload.get(gold) for one, payload in pairs} if isinstance(gold, str) else gold or {}
    return NewItems(
        ids,
        [_text(payload, one) for one, payload in pairs],
        np.array([item_hash(one) for one in ids], np.uint64),
        np.array([_gold(gold_of.get(one), known, one) for one in ids], np.int64),
    )


def _pairs(items: Any, id_column: str | None, first: int) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for shape in ("to_dicts", "to_pylist"):  # polars, Arrow
        if hasattr(items, shape):
            items = getattr(items, shape)()
            break
    else:
        if hasattr(items, "to_dict") and hasattr(items, "columns"):  # pandas
            items = items.to_dict("records")
    if isinstance(items, Mapping):
        return ((str(one), _record(payload)) for one, payload in items.items())
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise InputError(
            f"Items cannot be read from {type(items).__name__}.",
            hint="Hand over a frame, a list of texts or records, or a dict of id → payload.",
        )
    return _numbered(items, id_column, first)


def _numbered(items: Iterable[Any], id_column: str | None, first: int) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for row, one in enumerate(items):
        if hasattr(one, "payload"):  # an item read from a file
            yield one.id, one.payload
            continue
        if not isinstance(one, Mapping):
            yield str(first + row), _record(one)
            continue
        column = id_column or next((name for name in ID_COLUMNS if name in one), None)
        if column is None:
            yield str(first + row), one
            continue
        if one.get(column) in (None, ""):
            raise InputError(f"Row {row + 1} has no {column!r}.", hint="Every item needs an id.")
        yield str(one[column]), one


def _record(payload: Any) -> Mapping[str, Any]:
    return payload if isinstance(payload, Mapping) else {"text": payload}


def _gold(label: Any, known: Mapping[str, int], item: str) -> int:
    if label is None or label == "" or (isinstance(label, float) and math.isnan(label)):
        return OPEN
    if str(label) not in known:
        raise InputError(
            f"Item {item!r} has the gold label {str(label)[:80]!r}.", hint=f"The labels are: {', '.join(known)}."
        )
    return known[str(label)]


def _text(payload: Mapping[str, Any], item: str) -> str:
    try:
        return json.dumps(_plain(payload), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The payload of item {item!r} cannot be kept as JSON: {error}.",
            hint="Use texts, numbers, lists and dicts.",
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    if hasattr(value, "isoformat"):  # dates
        return value.isoformat()
    return None if isinstance(value, float) and math.isnan(value) else value
