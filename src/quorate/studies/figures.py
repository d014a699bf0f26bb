"""The paper's figures as data: which policy on which instance at which N, and which of its numbers is drawn.

A figure names series; a series names a policy and an instance.  Runs are shared: what two figures draw is simulated
once.  Every figure of the paper comes twice, as printed and with this library's policies and the limit beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ITEMS: Final = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
FIRST_SEED: Final = 3_000_000  # of reporting; nothing was tuned on seeds from here on
_SEEDS_A_RUN: Final = 10_000
_LEARNING: Final = ("certified", "calibrated")

LABEL: Final = {
    "sym-imcw": "Sym-IMCW",
    "asym-imcw": "Asym-IMCW",
    "cbs": "CBS",
    "mle": "MLE",
    "abi": "ABI",
    "sym-cbs": "CBS (one-coin)",
    "sym-mle": "MLE (one-coin)",
    "sym-abi": "ABI (one-coin)",
    "asym-imcw+mixture": "Asym-IMCW, mixture rule",
    "sym-imcw+mixture": "Sym-IMCW, mixture rule",
    "certified": "certified (ours)",
    "calibrated": "calibrated (ours)",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a figure."""

    policy: str
    instance: str

    def label(self, *, with_instance: bool) -> str:
        where = {"p1-asym": "P1-Asym", "p1-sym": "P1-Sym"}[self.instance]
        return f"{LABEL[self.policy]}, {where}" if with_instance else LABEL[self.policy]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its panels share the series; a panel is "accuracy", "cost" or "k_star"."""

    name: str
    caption: str
    paper: str  # the figure of the paper that it remakes
    series: tuple[Series, ...]
    panels: tuple[str, ...] = ("accuracy", "cost")
    oracle: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated study: a point of one or more figures."""

    series: Series
    items: int
    campaigns: int
    seed: int


def _on(instance: str, *policies: str) -> tuple[Series, ...]:
    return tuple(Series(policy, instance) for policy in policies)


_ASYM: Final = _on("p1-asym", "asym-imcw", "cbs", "mle", "abi")
_SYM: Final = _on("p1-sym", "sym-imcw", "sym-cbs", "sym-mle", "sym-abi")

FIGURES: Final = (
    Figure("fig1-p1-asym", "The paper's algorithms on P1-Asym", "Fig. 1", _ASYM),
    Figure("fig2-p1-sym", "The paper's algorithms on P1-Sym, one-coin exploration", "Fig. 2", _SYM),
    Figure(
        "fig3-k-star",
        "How often the explore phase finds k*",
        "Fig. 3",
        (*_on("p1-asym", "asym-imcw"), *_on("p1-sym", "asym-imcw", "sym-imcw")),
        panels=("k_star",),
    ),
    Figure("fig4-asym-imcw-on-p1-sym", "Asym-IMCW on P1-Sym", "Fig. 4", _on("p1-sym", "asym-imcw", "sym-imcw")),
    Figure(
        "fig1-with-ours", "P1-Asym, with this library's policies", "Fig. 1",
        (*_ASYM, *_on("p1-asym", "asym-imcw+mixture", *_LEARNING)), oracle=True,
    ),
    Figure(
        "fig2-with-ours", "P1-Sym, with this library's policies", "Fig. 2",
        (*_SYM, *_on("p1-sym", "sym-imcw+mixture", *_LEARNING)), oracle=True,
    ),
)  # fmt: skip


def runs(figures: Iterable[Figure] = FIGURES, *, quick: bool = False) -> list[Run]:
    """Every study that the figures need, each once; ``quick`` keeps N up to 3,000 and a twentieth of the campaigns.

    >>> plan = runs()
    >>> len({one.seed for one in plan}) == len(plan), all(one.campaigns <= 10_000 for one in plan)
    (True, True)
    """
    series = list(dict.fromkeys(one for figure in figures for one in figure.series))
    every = [(one, items) for one in series for items in ITEMS]
    return [
        Run(one, items, _campaigns(one.policy, items, quick=quick), FIRST_SEED + _SEEDS_A_RUN * at)
        for at, (one, items) in enumerate(every)
        if items <= (3_000 if quick else ITEMS[-1])
    ]


def _campaigns(policy: str, items: int, *, quick: bool) -> int:
    """As many as ten minutes on two cores allow: most where k_hat is studied, few where a campaign is long."""
    full = {100: 400, 300: 400, 1_000: 400, 3_000: 400, 10_000: 200, 30_000: 100, 100_000: 60}[items]
    if policy in _LEARNING:
        full = max(full * 3 // 40, 8)
    elif not policy.endswith("imcw"):
        full //= 2
    return max(full // 20, 5) if quick else full
