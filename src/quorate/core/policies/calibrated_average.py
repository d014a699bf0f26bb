"""The cheaper promise: the share of wrong labels at most alpha, whatever their true label."""

from __future__ import annotations

from typing import Final

from quorate.core.policies.calibrated import Calibrated

calibrated_average: Final = Calibrated(name="calibrated-average", average=True)
