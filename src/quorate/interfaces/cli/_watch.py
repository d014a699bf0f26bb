"""The line that a running campaign shows on a terminal: labelled, spent, rate, forecast."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quorate.money import show

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign
    from quorate.campaign.progress import Progress

BETWEEN = 0.2  # seconds


@contextmanager
def watching(campaign: Campaign, *, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yields what to call with the progress, or None where nobody is watching."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from quorate.interfaces.cli._output import console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[money]}"),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("labelling", total=campaign.fold.items, money="")
        last, stage = 0.0, ""

        def update(one: Progress) -> None:
            nonlocal last, stage
            if one.done or one.stage != stage or time.monotonic() - last >= BETWEEN:
                last, stage = time.monotonic(), one.stage
                bar.update(
                    task, completed=one.labelled + one.undecided, total=one.items, description=one.stage,
                    money=sentence(one, campaign.spec.currency),
                )  # fmt: skip

        yield update


def sentence(one: Progress, currency: str) -> str:
    """Money and speed in a few words.

    >>> from quorate.campaign.progress import Progress
    >>> sentence(Progress(10, 4, 1, 2_000_000, 0, 9_000_000, 40, 40, 8.0, "explore", False, 1_500_000), "USD")
    '2.00 of 9.00 USD, about 3.00 in the end, 5 answers/s, 1 undecided'
    """
    forecast = "" if one.forecast is None else f", about {show(round(one.forecast / 10_000) * 10_000)} in the end"
    undecided = f", {one.undecided:,} undecided" if one.undecided else ""
    return f"{show(one.spent)} of {show(one.budget, currency)}{forecast}, {one.rate:,.0f} answers/s{undecided}"
