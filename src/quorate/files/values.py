"""One value of an item's payload: what JSON, every store and every export can hold, or an error with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from quorate.errors import FileError
from quorate.files import limits

NESTED: Final = {b"quorate": b"json"}  # marks the Parquet columns of ours that hold JSON


def payload_of(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A row as a payload of plain JSON values.

    >>> payload_of({"text": "héllo", "score": float("nan"), "tags": ("a", 1)}, "row 1")
    {'text': 'héllo', 'score': None, 'tags': ['a', 1]}
    """
    if len(row) > limits.COLUMNS:
        raise FileError(
            f"{place} has {len(row)} columns.", hint=f"At most {limits.COLUMNS} are taken: keep what annotators need."
        )
    return {column_name(key, place): plain(value, f"{place}, column {shown(key)}") for key, value in row.items()}


def column_name(name: Any, place: str) -> str:
    """A usable name of a column, or an error."""
    if not isinstance(name, str) or not name.strip():
        raise FileError(f"{place}: a column has the name {shown(name)}.", hint="Give every column a name.")
    return text(name, f"{place}, name of column {shown(name)}")


def plain(value: Any, place: str, depth: int = 0) -> Any:
    """The value as JSON knows it; nan is a missing value, infinity an error."""
    if isinstance(value, str):
        return text(value, place)
    if hasattr(value, "tolist") and not isinstance(value, (bool, int, float)):  # numpy scalars and arrays
        value = value.tolist()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise FileError(f"{place}: the number is infinite.", hint="Write a finite number, or leave it empty.")
        return None if math.isnan(value) else value
    if isinstance(value, (datetime, date, time)):
        return None if _is_missing(value) else value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (Mapping, list, tuple)):
        if depth >= limits.DEPTH:
            raise FileError(f"{place}: more than {limits.DEPTH} levels deep.", hint="Flatten the value.")
        if isinstance(value, Mapping):
            return {column_name(k, place): plain(v, place, depth + 1) for k, v in value.items()}
        return [plain(one, place, depth + 1) for one in value]
    if _is_missing(value):
        return None
    raise FileError(
        f"{place}: a value of the type {type(value).__name__} cannot be kept.",
        hint="Use text, numbers, booleans, or lists and objects of these (bytes: as base64 text, or a link).",
    )


def text(value: str, place: str) -> str:
    """Text that every store and export can hold."""
    if len(value) > limits.FIELD:
        raise FileError(
            f"{place}: a text of {len(value):,} characters.",
            hint=f"At most {limits.FIELD:,} are taken: give a link to long documents. Is a closing quote missing?",
        )
    if "\x00" in value:
        raise FileError(f"{place}: {shown(value)} contains a NUL character.", hint="Remove it, or mend the encoding.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise FileError(
                f"{place}: {shown(value)} contains half of a character (a lone surrogate).", hint="Mend the encoding."
            ) from None
    return value


def id_of(value: Any, place: str) -> str:
    """An item's id: text or a whole number, not empty."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise FileError(
            f"{place}: the id is {shown(value)}.", hint="Ids are texts or whole numbers; each row needs its own."
        )
    if not value.strip():
        raise FileError(f"{place}: the id is empty.", hint="Each row needs its own id; or name another id column.")
    if len(value) > limits.ID or not value.isprintable():
        raise FileError(
            f"{place}: {shown(value)} cannot be an id.",
            hint=f"An id is at most {limits.ID} printable characters. Is the right column named as the id?",
        )
    return text(value, place)


def shown(value: Any) -> str:
    """A value in an error message: quoted, and not longer than a line."""
    said = repr(value[:80] if isinstance(value, str) else value)
    return said if len(said) <= 100 else said[:97] + "..."


def _is_missing(value: Any) -> bool:
    """pandas' NA and NaT, without pandas: what is not itself."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except Exception:  # whatever the value's own comparison does
        return False
