"""Contracts for whoever writes a store or a platform: subclass one in a test, and the tests are written.

They need pytest, so nothing here is imported until it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.testing.platform_contract import PlatformContract as PlatformContract
    from quorate.testing.store_contract import StoreContract as StoreContract

_HOME = {
    "PlatformContract": "quorate.testing.platform_contract",
    "StoreContract": "quorate.testing.store_contract",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'quorate.testing' has no attribute {name!r}")
