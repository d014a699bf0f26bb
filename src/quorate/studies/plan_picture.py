"""The forecast as a picture: cost against accuracy, one line a policy, the least possible cost below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from quorate.campaign.outlook import Outlook
from quorate.errors import InputError, MissingExtra

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "quorate",
}
_LOOK: Final = (("#1f4e79", "o", "-"), ("#7a3b00", "s", "--"), ("#5f5f5f", "^", "-."), ("#2f7d32", "D", ":"))


def check_drawing(path: Path, curves: Sequence[str]) -> None:
    """Tell before minutes of simulation what cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("Drawing a picture", "plots") from None
    if path.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InputError(f"{path} has the ending {path.suffix!r}.", hint="Name a .png, .svg or .pdf file.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}.", hint="Make it first.")
    if not curves:
        raise InputError(
            "There is no curve to draw: the picture compares accuracies.",
            hint="Leave out --quick, and compare a policy that promises one, such as calibrated.",
        )


def draw(answer: Outlook, currency: str, path: Path) -> None:
    """Write the picture; the file's ending says how (``.png``, ``.svg``, ``.pdf``)."""
    check_drawing(path, tuple(answer.ladder))
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        canvas = Figure(figsize=(6.4, 4.2), layout="constrained")
        ax = canvas.subplots()
        for (name, rungs), (colour, marker, line) in zip(answer.ladder.items(), _LOOK, strict=False):
            alphas = [rung.alpha for rung in rungs]
            ax.plot(alphas, [rung.per_item for rung in rungs], line, marker=marker, ms=4.5, color=colour, label=name)
        rungs = next(iter(answer.ladder.values()))
        alphas = [rung.alpha for rung in rungs]
        least = [rung.oracle for rung in rungs]
        ax.plot(alphas, least, color="0.35", lw=1, label="least possible (oracle)")
        _habits(ax, answer)
        ax.set_xscale("log")
        ax.invert_xaxis()
        ax.set_xticks(alphas, [f"{100 * (1 - alpha):g} %" for alpha in alphas])
        _costs(ax)
        ax.fill_between(alphas, ax.get_ylim()[0], least, color="0.9", zorder=0, linewidth=0)
        ax.minorticks_off()
        ax.set_xlabel("each label right with probability")
        ax.set_ylabel(f"cost per item{f' in {currency}' if currency else ''}")
        ax.set_title(f"{answer.items:,} items", loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=8)
        canvas.savefig(path, dpi=200)


def _costs(ax: Any) -> None:
    """Logarithmic, with ticks at 1, 2, 5 times a power of ten: what costs ten times as much hides nothing below."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    ax.set_yscale("log")
    ax.margins(y=0.12)
    ax.set_ylim(*ax.get_ylim())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda cost, _: f"{cost:,g}"))
    ax.grid(axis="y", color="0.92", linewidth=0.5)


def _habits(ax: Any, answer: Outlook) -> None:
    """Policies without a promise, at the accuracy of their worse true label."""
    for one in answer.forecasts:
        if one.policy in answer.ladder:
            continue
        worst = float(np.clip(one.wrong.mean(axis=0).max(), 1e-4, 0.5))
        ax.plot(worst, one.mean / answer.items, "x", ms=7, mew=1.6, color="0.2")
        ax.annotate(
            one.policy, (worst, one.mean / answer.items), xytext=(6, 4), textcoords="offset points", fontsize=8
        )
