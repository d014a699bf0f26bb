"""Quorate: buy just enough answers to label every item with a promised accuracy, at the least cost.

The dozen names that a newcomer needs; each is imported when it is first used, so that ``import quorate`` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.aggregation import aggregate as aggregate
    from quorate.campaign.engine import Campaign as Campaign
    from quorate.errors import QuorateError as QuorateError
    from quorate.model import Answer as Answer
    from quorate.model import Ask as Ask
    from quorate.model import Receipt as Receipt
    from quorate.model import WorkerClass as WorkerClass

_HOME = {
    "Answer": "quorate.model",
    "Ask": "quorate.model",
    "Campaign": "quorate.campaign.engine",
    "QuorateError": "quorate.errors",
    "Receipt": "quorate.model",
    "WorkerClass": "quorate.model",
    "aggregate": "quorate.aggregation",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'quorate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
