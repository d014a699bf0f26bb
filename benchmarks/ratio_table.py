"""How far above the limit each policy is: policy x N x alpha x instance, with standard errors over campaigns.

    python benchmarks/ratio_table.py --instance p1-asym --items 300 1000 --campaigns 200

adds its rows to ``benchmarks/results/ratio_table.json`` (a row of the same policy, instance, N, alpha and seed is
replaced) and rewrites ``ratio_table.md`` and the tables of the README and of the policies' pages.  Seeds from
4,000,000 on are for reporting only: nothing was tuned on them.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

import numpy as np

from quorate.studies.campaigns import Workers, simulate
from quorate.studies.instances import BUILT_IN, Instance
from quorate.studies.summary import summary

RESULTS = Path(__file__).parent / "results"
PLACE = re.compile(r"(<!-- benchmarks/ratio_table.py writes this table -->\n)(?:\|.*\n)*")
PROJECT = Path(__file__).parents[1]
REPORTED = 4_000_000
P1 = BUILT_IN["p1-asym"]
COLUMNS = {
    "policy": "policy", "instance": "instance", "alpha": "alpha", "items": "N", "campaigns": "campaigns",
    "cost_per_item": "cost", "ratio": "cost / limit", "error_0": "error, label 0", "error_1": "error, label 1",
    "undecided_fraction": "undecided", "exceed_fraction": "beyond noise",
}  # fmt: skip
DEVIATION = {"cost_per_item": "cost_se", "ratio": "ratio_se", "error_0": "error_0_se", "error_1": "error_1_se"}
FORMAT = {"cost_per_item": ".2f", "ratio": ".3f"}


def world(name: str, accuracy: list[tuple[float, float]], price: list[float], *, prior: float = 0.5,
          cap: list[int] | None = None) -> Instance:  # fmt: skip
    """An instance that is in no document."""
    classes = tuple(f"class-{k + 1}" for k in range(len(price)))
    caps = None if cap is None else np.array(cap)
    return Instance(name, classes, np.array(accuracy), np.array(price), prior=prior, answers_per_item=caps)


OTHERS = {
    one.name: one
    for one in (
        world("prior .1", P1.accuracy.tolist(), P1.price.tolist(), prior=0.1),
        world("prior .95", P1.accuracy.tolist(), P1.price.tolist(), prior=0.95),
        world("three LLMs", [(0.65, 0.7), (0.8, 0.85), (0.93, 0.95)], [0.05, 0.5, 5.0]),
        world("near-perfect", [(0.99, 0.985), (0.9, 0.92), (0.75, 0.7)], [3.0, 1.2, 0.5]),
        world("poor", [(0.55, 0.6), (0.62, 0.58), (0.7, 0.66), (0.6, 0.68)], [1.0, 1.0, 1.0, 1.0]),
        world("one class", [(0.8, 0.75)], [1.0]),
        world("two classes", [(0.7, 0.95), (0.9, 0.6)], [1.0, 1.0]),
        world("ten classes", [(0.95, 0.9), (0.8, 0.7), (0.6, 0.9), (0.85, 0.85), (0.7, 0.7), (0.9, 0.65), (0.75, 0.8),
                              (0.58, 0.6), (0.97, 0.96), (0.66, 0.88)], [8, 2, 1.5, 3, 1, 2, 2, 0.7, 15, 1.4]),
        world("capped", [(0.8, 0.78), (0.88, 0.9), (0.85, 0.75), (0.95, 0.95)], [0.2, 0.5, 1, 6], cap=[1, 1, 5, 10]),
        world("equal prices", [(0.9, 0.85), (0.8, 0.8), (0.7, 0.75), (0.6, 0.6)], [1.0, 1.0, 1.0, 1.0]),
    )
}  # fmt: skip
INSTANCES = dict(BUILT_IN) | OTHERS


def save(rows: list[dict[str, object]]) -> None:
    """Put the rows into the results, and write them all as tables."""
    path = RESULTS / "ratio_table.json"
    held = json.loads(path.read_text()) if path.exists() else []
    key = ("policy", "instance", "alpha", "items", "seed")
    kept = list({tuple(str(row[name]) for name in key): row for row in held + rows}.values())
    kept.sort(
        key=lambda row: (row["instance"] != "p1-asym", row["instance"], -row["alpha"], row["policy"], row["items"])
    )
    path.write_text(json.dumps(kept, indent=1) + "\n")
    (RESULTS / "ratio_table.md").write_text(table(kept, COLUMNS))
    for page, text in pages(kept).items():
        page.write_text(re.sub(PLACE, lambda found, text=text: found[1] + text, page.read_text()))


def pages(rows: list[dict[str, object]]) -> dict[Path, str]:
    """The table of each page that has one."""
    rows = [one for one in rows if one["seed"] == REPORTED]
    columns = {name: title for name, title in COLUMNS.items() if name != "policy"}
    own = {name: [one for one in rows if one["policy"] == name] for name in ("calibrated", "certified")}
    return {PROJECT / "docs" / f"{name}.md": table(own[name], columns) for name in own} | {
        PROJECT / "README.md": headline(rows)
    }


def table(rows: list[dict[str, object]], columns: dict[str, str]) -> str:
    """Rows as Markdown, means with their standard errors."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = []
        for name in columns:
            value = row[name]
            text = f"{value:{FORMAT.get(name, '.3g')}}" if isinstance(value, float) else str(value)
            cells.append(f"{text} ± {row[DEVIATION[name]]:.1g}" if name in DEVIATION else text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def headline(rows: list[dict[str, object]]) -> str:
    """The README's table: what one item costs on the paper's instance, cheapest policy first."""
    found = [one for one in rows if (one["instance"], one["alpha"], one["items"]) == ("p1-asym", 0.05, 10_000)]
    lines = [
        "| policy | cost per item | over the limit | error given label 0, 1 | campaigns |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| *the limit* | {one['oracle_cost']:.2f} | 1 | .05, .05 | |" for one in found[:1]]
    for one in sorted(found, key=lambda row: float(row["cost_per_item"])):
        errors = ", ".join(f"{one[f'error_{i}']:.4f}".removeprefix("0") for i in (0, 1))
        cost = f"{one['cost_per_item']:.2f} ± {one['cost_se']:.2f}"
        lines.append(f"| `{one['policy']}` | {cost} | {one['ratio']:.2f} | {errors} | {one['campaigns']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", nargs="+", default=["calibrated"])
    parser.add_argument("--instance", nargs="+", default=["p1-asym"], choices=sorted(INSTANCES), metavar="NAME")
    parser.add_argument("--items", nargs="+", type=int, default=[300, 1000, 10_000, 100_000])
    parser.add_argument("--alpha", nargs="+", type=float, default=[0.05])
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--seed", type=int, default=REPORTED)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    with Workers(asked.jobs) as workers:
        for name in asked.instance:
            for policy in asked.policy:
                for alpha in asked.alpha:
                    for items in asked.items:
                        begin = time.perf_counter()
                        study = simulate(INSTANCES[name], policy, items=items, campaigns=asked.campaigns,
                                         seed=asked.seed, alpha=alpha, workers=workers)  # fmt: skip
                        row = summary(study) | {
                            "seconds_per_campaign": (time.perf_counter() - begin) / asked.campaigns
                        }
                        save([row])
                        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
