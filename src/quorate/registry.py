"""Name → factory, one explicit dict per Protocol.

A line here is all that a new rule, policy, store or platform needs to appear in ``--help``, in the docs table and in
its contract tests.  A third-party package does the same through an entry point of the group ``quorate.policies``
(``quorate.platforms``, …).  Values are ``"module:attribute"``, imported when first asked for; where the attribute is
a mapping, the name is its key; where it is a class, it is made with its defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from quorate.errors import SpecError

_PAPER: Final = "quorate.core.policies.explore_exploit:PAPER"
_WITH_MIXTURE: Final = "quorate.core.policies.explore_exploit:WITH_MIXTURE"

POLICIES: Final = {
    "calibrated": "quorate.core.policies.calibrated:Calibrated",
    "calibrated-average": "quorate.core.policies.calibrated_average:calibrated_average",
    "certified": "quorate.core.policies.certified:Certified",
    "asym-imcw+mixture": _WITH_MIXTURE,
    "sym-imcw+mixture": _WITH_MIXTURE,
    "asym-imcw": _PAPER,
    "sym-imcw": _PAPER,
    "cbs": _PAPER,
    "abi": _PAPER,
    "mle": _PAPER,
    "votes-3": "quorate.core.policies.votes:votes_3",
    "votes-5": "quorate.core.policies.votes:votes_5",
}

PLATFORMS: Final = {  # kind -> build(classes, seed=, labels=, folder=): a platform by class name
    "simulator": "quorate.platforms.simulator:build",
    "replay": "quorate.platforms.replay:build",
    "callable": "quorate.platforms.callable:build",
}

_ONE: Final = {"stores": "store", "policies": "policy", "platforms": "platform"}
STORES: Final = dict.fromkeys(("memory", "sqlite", "postgresql", "postgres"), "quorate.stores:open_store")

ALL: Final[Mapping[str, Mapping[str, str]]] = {"stores": STORES, "policies": POLICIES, "platforms": PLATFORMS}


def names(kind: str) -> list[str]:
    """Every registered name of a kind, our own first.

    >>> "votes-3" in names("policies")
    True
    """
    return [*ALL[kind], *(one.name for one in entry_points(group=f"quorate.{kind}"))]


def lookup(kind: str, name: str) -> Any:
    """The object behind a name.

    >>> lookup("policies", "votes-3").answers
    3
    """
    if name in ALL[kind]:
        module, attribute = ALL[kind][name].split(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, Mapping):
            return found[name]
        return found() if isinstance(found, type) else found
    for one in entry_points(group=f"quorate.{kind}"):
        if one.name == name:
            return one.load()
    raise SpecError(f"There is no {_ONE[kind]} called {name!r}.", hint=f"Choose one of: {', '.join(names(kind))}.")
