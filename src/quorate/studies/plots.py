"""Figures for a paper's column: legible in grey, error bars on every point, PNG and SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from quorate.errors import MissingExtra
from quorate.studies.figures import Figure, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Records = Mapping[Series, Sequence[Mapping[str, Any]]]  # a record a point, by N

_WIDTH: Final = 3.5  # inches: one column
_PANEL: Final = 2.0
_ASIDE: Final = 1.035
_INTERVAL: Final = 1.96  # bars are 95 % intervals
# Told apart by marker and line first, so that a grey print loses nothing.
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_LINES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_SHADES: Final = ("#000000", "#1f4e79", "#7a3b00", "#5f5f5f", "#2f7d32", "#a0205a", "#b07d00")
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.6,
    "svg.hashsalt": "quorate",
}
_LEVEL: Final[dict[str, Any]] = {"color": "0.3", "linewidth": 0.9, "linestyle": (0, (6, 3)), "zorder": 1}
_Bar = tuple[float, float, float]  # a value, and how far its 95 % interval reaches below and above it


def _scattered(mean: float, se: float) -> _Bar:
    return mean, _INTERVAL * se, _INTERVAL * se


def _right(error: float, se: float) -> _Bar:
    """1 − error; no bar reaches above 1.

    >>> [round(one, 3) for one in _right(error=0.002, se=0.002)]
    [0.998, 0.004, 0.002]
    """
    return 1 - error, _INTERVAL * se, min(_INTERVAL * se, error)


def wilson(share: float, of: int) -> _Bar:
    """A share with Wilson's interval, which has a length also at 0 and 1.

    >>> [round(one, 3) for one in wilson(1.0, of=60)], [round(one, 2) for one in wilson(0.5, of=100)]
    ([1.0, 0.06, 0.0], [0.5, 0.1, 0.1])
    """
    z2 = _INTERVAL**2 / of
    middle = (share + z2 / 2) / (1 + z2)
    half = math.sqrt(z2 * share * (1 - share) + z2**2 / 4) / (1 + z2)
    return share, max(0.0, share - middle + half), max(0.0, middle + half - share)


_VALUE: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], _Bar]]]] = {
    "accuracy": ("accuracy of labels", lambda r: _right(r["error"], r["error_se"])),
    "cost": ("cost per item", lambda r: _scattered(r["cost_per_item"], r["cost_se"])),
    "k_star": (r"$P(\hat{k} = k^*)$", lambda r: wilson(r["k_star_fraction"], r["campaigns"])),
}


def check_drawing() -> None:
    """Tell now, not after minutes of simulation, that nothing can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("Drawing figures", "plots") from None


def draw(figure: Figure, records: Records, folder: Path, *, oracle_cost: float, alpha: float) -> list[Path]:
    """Write ``folder/name.png`` and ``.svg``."""
    check_drawing()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(_STYLE):
        canvas = Canvas(figsize=(_WIDTH, _PANEL * len(figure.panels) + 0.55), layout="constrained")
        axes = canvas.subplots(len(figure.panels), 1, sharex=True, squeeze=False)[:, 0]
        for panel, ax in zip(figure.panels, axes, strict=True):
            _panel(ax, figure, panel, records)
        if "accuracy" in figure.panels:
            axes[0].axhline(1 - alpha, label=rf"promised, $1-\alpha$ = {1 - alpha:g}", **_LEVEL)  # bars may cross it
            low, high = axes[0].get_ylim()
            axes[0].set_ylim(min(low, 1 - 1.25 * alpha), min(high, 1 + 0.1 * alpha))  # nothing is righter than right
        if figure.oracle:
            _oracle(axes[figure.panels.index("cost")], oracle_cost)
        axes[-1].set_xlabel("number of items $N$")
        named = zip(*axes[0].get_legend_handles_labels(), strict=True)
        handles, labels = zip(*sorted(named, key=lambda one: one[1].startswith("promised")), strict=True)  # it last
        canvas.legend(
            handles, labels, loc="outside upper center", ncols=2 if len(labels) > 1 else 1, frameon=False,
            columnspacing=1.2, handlelength=3.2,
        )  # fmt: skip
        paths = [folder / f"{figure.name}.{kind}" for kind in ("png", "svg")]
        canvas.savefig(paths[0], dpi=300, metadata={"Software": None})
        canvas.savefig(paths[1], metadata={"Date": None})
    return paths


def _panel(ax: Axes, figure: Figure, panel: str, records: Records) -> None:
    name, value = _VALUE[panel]
    several = len({one.instance for one in figure.series}) > 1
    for at, series in enumerate(figure.series):
        points = [(one["items"], *value(one)) for one in records[series]]
        items, mean, *reach = np.array(points, np.float64).T
        aside = _ASIDE ** (at - (len(figure.series) - 1) / 2)  # bars side by side, not on top of one another
        ax.errorbar(
            items * aside, mean, yerr=reach, label=series.label(with_instance=several), capsize=1.5,
            elinewidth=0.7, marker=_MARKERS[at], linestyle=_LINES[at], color=_SHADES[at],
            markerfacecolor="white" if at % 2 else _SHADES[at], markeredgewidth=0.8,
        )  # fmt: skip
    ax.set_xscale("log")
    ticks = [10**power for power in range(2, 6) if 10**power <= items[-1]]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_ylabel(name)
    ax.grid(axis="y", color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    if panel == "cost":
        ax.set_ylim(bottom=0)
    if panel == "k_star":
        ax.set_ylim(0, 1.02)


def _oracle(ax: Axes, cost: float) -> None:
    ax.set_yscale("log")
    ax.autoscale(axis="y")
    _line(ax, cost, f"least possible (oracle), {cost:.2f}")
    ax.set_ylim(bottom=cost / 1.4)
    ticks = [tick for tick in (5, 10, 20, 50, 100) if tick > cost / 1.4]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    ax.yaxis.minorticks_off()


def _line(ax: Axes, height: float, words: str) -> None:
    """A level that nothing crosses, named below it."""
    ax.axhline(height, **_LEVEL)
    ax.annotate(
        words, (0.99, height), xycoords=("axes fraction", "data"), xytext=(0, -2), textcoords="offset points",
        ha="right", va="top", fontsize=6.5, color="0.3",
    )  # fmt: skip
