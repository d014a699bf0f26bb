"""Any stopping rule as a table: to decide is to look up."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from quorate.ports import StoppingRule


@lru_cache(maxsize=32)
def table(rule: StoppingRule, cap: int) -> NDArray[np.int8]:
    """``table(rule, cap)[zeros, ones]`` is ``rule.verdict(zeros, ones)``, up to ``cap`` of each.  Read-only.

    >>> from quorate.core.stopping.direction import DirectionTest
    >>> table(DirectionTest(alpha=0.05), 9)[0, 7:]
    array([-1, -1,  1], dtype=int8)
    """
    count = np.arange(cap + 1)
    compiled = rule.verdict(count[:, None], count[None, :])
    compiled.flags.writeable = False
    return compiled
