"""The cheaper promise: the share of wrong labels at most alpha, whatever their true label."""

from __future__ import annotations

from typing import Final

from quorate.core.policies.calibrated import Calibrated

calibrated_average: Final = Calibrated(
    name="calibrated-average",
    promise=(
        "calibrated on average (Bayes, plug-in): if the model holds, the share of wrong labels is at most alpha, "
        "though more of one true label may be wrong than of the other; no proof"
    ),
    average=True,
)
