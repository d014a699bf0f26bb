"""What a CSV cannot say — types, missing against empty, which cells were defused — in a small file beside it.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``.  So a text that begins like that, also after
blanks, quotes or a byte-order mark, gets an apostrophe in front (`defused`); so does a text that begins with an
apostrophe, and the empty text, so that taking one apostrophe away (`fused`) gives back exactly what was there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from quorate.errors import FileError
from quorate.files.values import shown

KIND: Final = "quorate-csv-1"
KINDS: Final = ("text", "integer", "number", "boolean", "json")
_RISKY: Final = "=+-@＝＋－＠\t\r\n|%"
_PASSED_OVER: Final = " \ufeff\u200b\u00a0\"'`\u3000\x0b\x0c"


def defused(text: str) -> str:
    """Text that no spreadsheet takes for a formula.

    >>> defused("=1+1"), defused("fine"), defused(""), defused("'tis")
    ("'=1+1", 'fine', "'", "''tis")
    """
    bare = text.lstrip(_PASSED_OVER)
    risky = not text or text[0] == "'" or text[0] in _RISKY or (bare and bare[0] in _RISKY)
    return f"'{text}" if risky else text


def fused(cell: str) -> str | None:
    """The inverse of `defused`; an empty cell is a missing value."""
    if not cell:
        return None
    return cell.removeprefix("'")


def sidecar_path(path: Path) -> Path:
    """Where a CSV file's sidecar stands."""
    return path.with_name(f"{path.name}.meta.json")


def sidecar(path: Path) -> dict[str, Any] | None:
    """The sidecar of a CSV file that Quorate wrote, if it has one."""
    beside = sidecar_path(path)
    if not beside.is_file():
        return None
    try:
        meta = json.loads(beside.read_text("utf-8"))
        if meta["kind"] != KIND or set(meta["columns"].values()) - set(KINDS):
            raise ValueError("of another kind")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{beside.name} is not the sidecar of an export: {type(error).__name__}.",
            hint=f"Take it away to read {path.name} as any other CSV file.",
        ) from None
    return dict(meta)


def restored(row: Mapping[str, str], meta: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A row of an export as it was before it became CSV."""
    kinds = meta["columns"]
    return {
        name.removeprefix("'"): _typed(cell, kinds.get(name, "text"), f"{place}, column {name}")
        for name, cell in row.items()
    }


def _typed(cell: str, kind: Any, place: str) -> Any:
    if kind == "text":
        return fused(cell)
    if not cell:
        return None
    try:
        if kind == "boolean":
            return {"true": True, "false": False}[cell]
        if kind == "json":
            return json.loads(cell.removeprefix("'"))
        return int(cell) if kind == "integer" else float(cell)
    except (ValueError, KeyError, RecursionError):
        raise FileError(
            f"{place}: {shown(cell)} is not {kind}.", hint="Was the file changed after the export?"
        ) from None
