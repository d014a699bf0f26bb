"""Policies by name for studies: the registered ones, and the heuristics as the paper's symmetric study needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, cast

from quorate.ports import Policy
from quorate.registry import lookup

HEURISTICS: Final = ("cbs", "abi", "mle")


def policy_named(name: str) -> Policy:
    """The policy behind a name.

    ``sym-cbs``, ``sym-abi``, ``sym-mle`` explore as Sym-IMCW does (one-coin model) and exploit as CBS, ABI, MLE.

    >>> policy_named("sym-cbs").name
    'sym-cbs'
    """
    variants = symmetric()
    return variants[name] if name in variants else cast("Policy", lookup("policies", name))


@lru_cache(maxsize=1)
def symmetric() -> Mapping[str, Policy]:
    """The paper's heuristics on the explore phase of Sym-IMCW.  Paper: Figure 2."""
    from quorate.core.estimators.one_coin import OneCoin
    from quorate.core.policies.explore_exploit import PAPER

    return {f"sym-{name}": replace(PAPER[name], estimator=OneCoin(), name=f"sym-{name}") for name in HEURISTICS}
