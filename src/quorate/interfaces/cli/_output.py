"""What every command prints with: JSON for programs, plain tables for people, progress for the patient."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


SHORT = 24  # cells up to this long are never wrapped
GUTTER = 3  # columns of nothing between two cells
PIPED_WIDTH = 120  # nobody's window is narrower than a file
_ASTRONOMIC = 1e12  # from here on nobody counts the digits


def console(*, stderr: bool = False) -> Console:
    """A console that is plain when its stream is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=width)


def say(sentence: str, *, hang: int = 0) -> None:
    """A line of text on stdout; a terminal gets it with words whole, a file or another program as one line.

    What does not fit into a terminal's line goes on below its first word, ``hang`` columns further in.
    """
    from rich.text import Text

    screen = console()
    if not screen.is_terminal:
        screen.print(sentence, markup=False, soft_wrap=True)
        return
    words = sentence.lstrip(" ")
    indent = len(sentence) - len(words)
    for at, line in enumerate(Text(words).wrap(screen, max(screen.width - indent - hang, 1))):
        screen.print(" " * (indent + hang * (at > 0)) + line.plain.rstrip(), markup=False)


def print_json(data: Any) -> None:
    """One JSON document on stdout; numpy values as numbers, infinities and nan as null."""
    sys.stdout.write(json.dumps(plain(data), indent=2, ensure_ascii=False) + "\n")


def plain(value: Any) -> Any:
    """JSON knows no numpy, no inf and no nan.

    >>> import numpy as np
    >>> plain({"cost": np.float64(1.5), "gap": np.inf, "who": np.array([1, 2])})
    {'cost': 1.5, 'gap': None, 'who': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):  # numpy, which this module need not import for it
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table with numbers to the right, words to the left; columns that do not fit follow below, never cut off.

    Cells, names of columns and the title are shown as they are: nobody's "[/b]" is taken for a style.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    screen = console()
    longest = [max(map(len, (name, *(row[at] for row in rows)))) for at, name in enumerate(columns)]
    short = [max((len(row[at]) for row in rows), default=0) <= SHORT for at in range(len(columns))]
    widths = [length if brief else min(length, SHORT) for length, brief in zip(longest, short, strict=True)]
    for part in fitting(widths, screen.width):
        heading = None if title is None else Text(title)
        table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for at in part:
            numeric = all(_is_number(row[at]) for row in rows)
            table.add_column(
                Text(columns[at]),
                justify="right" if numeric else "left",
                no_wrap=numeric or short[at],
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(Text(row[at]) for at in part))
        screen.print(table)
        title = None


def fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns parted so that each part fits into ``room``; every part begins with the first column.

    >>> fitting([10, 5, 5, 5], 37), fitting([10, 5, 5, 5], 25)
    ([[0, 1, 2, 3]], [[0, 1], [0, 2], [0, 3]])
    """
    parts, left = [[0]], room - widths[0] - GUTTER
    for at in range(1, len(widths)):
        if widths[at] + GUTTER > left and len(parts[-1]) > 1:
            parts.append([0])
            left = room - widths[0] - GUTTER
        parts[-1].append(at)
        left -= widths[at] + GUTTER
    return parts


def number(value: Any, digits: int = 4) -> str:
    """A number as people read it.

    >>> number(12.34567), number(1200), number(0.00001234), number(5e19), number(float("inf")), number(None)
    ('12.35', '1,200', '1.234e-05', '5.000e+19', '∞', '–')
    """
    value = plain_number(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0 or 1e-3 <= abs(value) < 10 ** (digits - 1):
        return f"{value:.{digits}g}"
    return f"{value:,.0f}" if 1 <= abs(value) < _ASTRONOMIC else f"{value:.{digits - 1}e}"


def plain_number(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_number(text: str) -> bool:
    return not text or text in "–∞" or text.lstrip("-±~<≤")[:1].isdigit()
