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
    options.add_argument("--render", action="store_true", help="only write the tables of the last results again")
    given = options.parse_args()
    if given.render:
        records = json.loads(given.out.with_suffix(".json").read_text())
        given.out.with_suffix(".md").write_text(tables(records))
        return
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
        *kept(done),
        "",
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


def kept(done: list[dict]) -> list[str]:
    """On how many sets each policy kept its promise on both true labels, and what it cost beside five votes."""
    lines = [
        "| policy | sets | promise kept on both labels | labelled, mean | right, mean | cost beside all answers |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for policy in dict.fromkeys(one["policy"] for one in done):
        own = [one for one in done if one["policy"] == policy]
        ways = [one["ways"][0] for one in own]
        good = sum(
            all(share is not None and share >= 1 - one["alpha"] for share in one["ways"][0]["by_label"])
            for one in own
        )
        everything = [next(way for way in one["ways"] if way["name"] == "majority of all") for one in own]
        right = [way["accuracy"] for way in ways if way["accuracy"] is not None]
        share = sum(way["cost"] / full["cost"] for way, full in zip(ways, everything, strict=True)) / len(ways)
        lines.append(
            f"| {policy} | {len(own)} | {good} | {percent(sum(way['labelled'] for way in ways) / len(ways))} "
            f"| {percent(sum(right) / len(right)) if right else '–'} | {percent(share)} |"
        )
    every = next(iter({one["dataset"]: one for one in done}.values()))
    sets = {one["dataset"]: one for one in done}.values()
    for name in [way["name"] for way in every["ways"][1:]]:
        of = [next(way for way in one["ways"] if way["name"] == name) for one in sets]
        good = sum(all(x is not None and x >= 1 - every["alpha"] for x in way["by_label"]) for way in of)
        share = [
            way["cost"] / next(one for one in data["ways"] if one["name"] == "majority of all")["cost"]
            for way, data in zip(of, sets, strict=True)
        ]
        lines.append(
            f"| *{name}* | {len(of)} | {good} | {percent(sum(way['labelled'] for way in of) / len(of))} "
            f"| {percent(sum(way['accuracy'] for way in of) / len(of))} | {percent(sum(share) / len(share))} |"
        )
    return lines


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def p_value(value: float | None) -> str:
    return "–" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


if __name__ == "__main__":
    main()
