"""What may be bought from a class now."""

from __future__ import annotations

from typing import Final

CLASS: Final = "class"  # the kind of event by which a class changes its state
RUNNING: Final = "running"
PAUSED: Final = "paused"  # by a human: items go on without the class
HALTED: Final = "halted"  # because its platform broke its word: items wait for a human
