"""The calibrated policy under the weaker promise: few wrong labels over all, whatever their true label."""

from __future__ import annotations

from typing import Final

from quorate.core.policies.calibrated import Calibrated

calibrated_average: Final = Calibrated(
    name="calibrated-average",
    promise="calibrated (Bayes, plug-in): if the model holds, the average error is at most alpha; no proof",
    average=True,
)
