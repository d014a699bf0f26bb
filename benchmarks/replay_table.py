"""Replay every two-label set of the recorded data under several policies: one JSON line each, and a Markdown table.

python benchmarks/replay_table.py --data ../shared/data --out benchmarks/results/replays
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from quorate.errors import QuorateError
from quorate.interfaces.cli._output import plain
from quorate.interfaces.cli.replay import record
from quorate.platforms.recorded import read_recorded
from quorate.registry import lookup
from quorate.studies.replay_study import replay

POLICIES = ("calibrated", "certified", "asym-imcw+mixture")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--out", type=Path, default=Path("benchmarks/results/replays"))
    options.add_argument("--alpha", type=float, default=0.05)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--policy", action="append")
    options.add_argument("--only", action="append")
    given = options.parse_args()
    records = []
    for folder in sorted(one for one in given.data.iterdir() if one.is_dir()):
        if given.only and folder.name not in given.only:
            continue
        recorded = read_recorded(folder)
        if len(recorded.labels) != 2:
            continue
        for policy in given.policy or POLICIES:
            began = time.perf_counter()
            try:
                one = record(replay(recorded, lookup("policies", policy), alpha=given.alpha, seed=given.seed))
            except QuorateError as error:
                one = {"dataset": folder.name, "policy": policy, "refused": error.message}
            one["seconds"] = round(time.perf_counter() - began, 2)
            records.append(plain(one))
            print(json.dumps({key: one.get(key) for key in ("dataset", "policy", "seconds", "refused")}), flush=True)
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.with_suffix(".json").write_text(json.dumps(records, indent=1) + "\n")
            given.out.with_suffix(".md").write_text(tables(records))


def tables(records: list[dict]) -> str:
    """The sets, and what each way of labelling made of them."""
    done = [one for one in records if "ways" in one]
    sets = {one["dataset"]: one for one in done}
    lines = [
        "| set | items (gold) | prior | class | workers | per item | price | c(0) | c(1) | correlation | fit p |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in sets.values():
        for at, kind in enumerate(one["classes"]):
            head = (
                f"{one['dataset']} | {one['items']:,} ({one['gold']:,}) | {one['prior']:.2f}" if at == 0 else " | | "
            )
            lines.append(
                f"| {head} | {kind['name']} | {kind['workers']} | {kind['answers']:.1f} | {kind['price']:.2f} "
                f"| {show(kind['accuracy'][0])} | {show(kind['accuracy'][1])} | {show(kind['correlation'])} "
                f"| {p_value(kind['fit'])} |"
            )
    lines += [
        "",
        "| set | way | cost/item | answers/item | labelled | right | right on 0 | right on 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in sets:
        of_set = [one for one in done if one["dataset"] == name]
        ways = [one["ways"][0] for one in of_set] + of_set[0]["ways"][1:]
        for at, way in enumerate(ways):
            right = " | ".join(percent(x) for x in (way["accuracy"], *way["by_label"]))
            own = f"**{way['name']}**" if at < len(of_set) else way["name"]
            lines.append(
                f"| {name if at == 0 else ''} | {own} | {way['cost']:.2f} | {way['answers']:.2f} "
                f"| {percent(way['labelled'])} | {right} |"
            )
        refused = [one for one in records if one["dataset"] == name and "refused" in one]
        lines += [f"| | {one['policy']} | *refused: {one['refused']}* | | | | | |" for one in refused]
    return "\n".join(lines) + "\n"


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def p_value(value: float | None) -> str:
    return "–" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


if __name__ == "__main__":
    main()
