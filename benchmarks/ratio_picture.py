"""Draw the ratio table's rows on P1-Asym, for the documentation: python benchmarks/ratio_picture.py"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from ratio_table import REPORTED, RESULTS

from quorate.studies.figures import Figure, Series
from quorate.studies.plots import draw

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "policies.png"
ALPHA = 0.05
SERIES = tuple(
    Series(policy, "p1-asym")
    for policy in ("asym-imcw", "asym-imcw+mixture", "cbs", "abi", "certified", "calibrated")
)


def main() -> None:
    rows = json.loads((RESULTS / "ratio_table.json").read_text("utf-8"))
    rows = [one for one in rows if (one["alpha"], one["seed"]) == (ALPHA, REPORTED) and one["items"] >= 300]
    records = {
        one: sorted(
            (row for row in rows if (row["policy"], row["instance"]) == (one.policy, one.instance)),
            key=lambda row: row["items"],
        )
        for one in SERIES
    }
    figure = Figure("policies", "P1-Asym", "", SERIES, oracle=True)
    with TemporaryDirectory() as folder:
        draw(figure, records, Path(folder), oracle_cost=rows[0]["oracle_cost"], alpha=ALPHA)
        PICTURE.write_bytes((Path(folder) / "policies.png").read_bytes())


if __name__ == "__main__":
    main()
