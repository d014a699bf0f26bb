"""The stopping rules by name, and what each would really cost with each class of a known instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from quorate.core.exact import Performance, performance
from quorate.core.stopping.bias import BiasIdentification
from quorate.core.stopping.direction import DirectionTest
from quorate.core.stopping.fixed import FixedMLE
from quorate.core.stopping.hoeffding import HoeffdingTest
from quorate.core.stopping.mixture import MixtureRule
from quorate.errors import SpecError
from quorate.model import FloatArray
from quorate.ports import StoppingRule
from quorate.studies.instances import Instance

Rule = Callable[[float, float, float], StoppingRule]  # (alpha, c(0), c(1)) -> the rule of a class

RULES: Final[Mapping[str, Rule]] = {
    "direction-test": lambda alpha, c0, c1: DirectionTest(alpha),
    "mixture": lambda alpha, c0, c1: MixtureRule(alpha),
    "cbs": lambda alpha, c0, c1: HoeffdingTest(alpha),
    "bias-identification": BiasIdentification,
    "mle": FixedMLE,
}
LEAST_ALPHA: Final = 1e-9  # of whole campaigns and of the limit; a rule alone is followed to any level
_LONGEST: Final = 20_000  # answers that are followed; what is open then is called undecided
# The rule that each policy stops with, where it is one rule on one class.
RULE_OF: Final[Mapping[str, str]] = {
    "sym-imcw": "direction-test",
    "asym-imcw": "direction-test",
    "sym-imcw+mixture": "mixture",
    "asym-imcw+mixture": "mixture",
    "cbs": "cbs",
    "sym-cbs": "cbs",
    "abi": "bias-identification",
    "sym-abi": "bias-identification",
    "mle": "mle",
    "sym-mle": "mle",
}


def rule_named(name: str) -> Rule:
    """The rule behind a name."""
    if name not in RULES:
        raise SpecError(f"There is no rule called {name!r}.", hint=f"Choose one of: {', '.join(RULES)}.")
    return RULES[name]


def checked_level(instance: Instance, alpha: float | None, least: float = LEAST_ALPHA) -> float:
    """The error to promise: as asked, else the instance's own."""
    level = instance.alpha if alpha is None else alpha
    if not 0 < level < 0.5:
        raise SpecError(f"alpha is {level}.", hint="It must lie between 0 and 0.5, both ends excluded.")
    if level < least:
        raise SpecError(f"alpha is {level}.", hint=f"The smallest that can be computed is {least:g}.")
    return level


def exact(instance: Instance, rule: str, alpha: float) -> tuple[Performance, ...]:
    """A rule on each class of an instance, with its true matrix where the rule needs one; enumerated, not sampled.

    A class's cap on answers per item holds; an item without a label then is undecided.

    >>> from quorate.studies.instances import BUILT_IN
    >>> [round(one.mean_answers(), 1) for one in exact(BUILT_IN["p1-asym"], "mle", alpha=0.05)]
    [5.0, 12.0, 9.0, 9.0, 64.0]
    """
    rule_named(rule)
    rows = zip(instance.accuracy.tolist(), instance.caps.tolist(), strict=True)
    return tuple(_performance(rule, alpha, c0, c1, min(cap, _LONGEST)) for (c0, c1), cap in rows)


def exact_cost(instance: Instance, policy: str, alpha: float) -> FloatArray | None:
    """What an item would cost with each class under the rule of a policy; None where that is not one rule."""
    if policy not in RULE_OF:
        return None
    answers = [one.mean_answers(instance.prior) for one in exact(instance, RULE_OF[policy], alpha)]
    return np.asarray(instance.price * np.array(answers))


@lru_cache(maxsize=256)
def _performance(rule: str, alpha: float, c0: float, c1: float, cap: int) -> Performance:
    return performance(RULES[rule](alpha, c0, c1), (c0, c1), cap=cap)
