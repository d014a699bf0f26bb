"""What every stopping rule asks of its parameters."""

from __future__ import annotations

from typing import Protocol

from quorate.errors import SpecError


class _HasAlpha(Protocol):
    @property
    def alpha(self) -> float: ...


def check_alpha(rule: _HasAlpha) -> None:
    """0 < α < 1."""
    if not 0 < rule.alpha < 1:
        raise SpecError(
            f"{type(rule).__name__} got alpha = {rule.alpha!r}.",
            hint="alpha is the error you allow, strictly between 0 and 1: 0.05 promises 95 % right.",
        )


def check_accuracy(rule: object, c0: float, c1: float) -> None:
    """0 < c(i) < 1: at 0 or 1 a single surprising answer has probability 0 under both labels."""
    if not (0 < c0 < 1 and 0 < c1 < 1):
        raise SpecError(
            f"{type(rule).__name__} got the accuracies {(c0, c1)!r}.",
            hint="Accuracies must lie strictly between 0 and 1: clip an estimate before plugging it in.",
        )
