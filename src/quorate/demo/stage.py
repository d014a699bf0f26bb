"""The demonstration's files: items, a gold that the campaign never sees, people's ratings, and the campaign file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Final

from quorate.core.hashing import item_hash
from quorate.demo.hutto import FILMS, critic, sentences

LABELS: Final = ("displeased", "pleased")
PEOPLE: Final = "people"

CAMPAIGN: Final = """\
# Was the critic pleased with the film?  Sentences from reviews, three kinds of annotators, nobody knows how good.

name = "films"
labels = ["displeased", "pleased"]
accuracy = 0.95
budget = "{budget} USD"
policy = "calibrated"
safety = {safety}         # sentences are not equally clear: leave room (see: Which guarantee do I need?)
seed = 1
store = "sqlite:///films.db"

[items]
file = "items.jsonl"

[limits]
item_cap = 15
in_flight = 2000

[[class]]
name = "people"       # real people's ratings, recorded: each answers an item once
price = "0.05"
[class.platform]
kind = "replay"
dataset = "ratings"

[[class]]
name = "shopper"      # a classifier that learned from product reviews
price = "0.001"
repeatable = false
[class.platform]
kind = "callable"
function = "quorate.demo.annotators:shopper"
column = "text"
batched = true

[[class]]
name = "lexicon"      # a word list
price = "0.0001"
repeatable = false
[class.platform]
kind = "callable"
function = "quorate.demo.annotators:lexicon"
column = "text"
"""


def set_up(folder: Path, *, items: int, budget: str, safety: float) -> None:
    """Write everything that a user would bring, and the gold to judge by afterwards."""
    films = [one for one in sentences(FILMS) if critic(one) is not None]
    films.sort(key=lambda one: item_hash(one.id))
    chosen = films[:items]
    ratings = folder / "ratings"
    ratings.mkdir()
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": one.id, "text": one.text}, ensure_ascii=False) + "\n" for one in chosen)
    _write(ratings / "labels.csv", ("item", "worker", "label"), (
        (one.id, f"rater-{seat}", LABELS[rating > 0])
        for one in chosen for seat, rating in enumerate(one.ratings) if rating
    ))  # fmt: skip
    seats = max(len(one.ratings) for one in chosen)
    _write(ratings / "workers.csv", ("worker", "class"), ((f"rater-{seat}", PEOPLE) for seat in range(seats)))
    _write(folder / "gold.csv", ("item", "label"), ((one.id, critic(one)) for one in chosen))
    (folder / "campaign.toml").write_text(CAMPAIGN.format(budget=budget, safety=safety), "utf-8")


def read_gold(folder: Path) -> dict[str, str]:
    """The critics' verdicts."""
    with (folder / "gold.csv").open(encoding="utf-8", newline="") as file:
        return {row["item"]: row["label"] for row in csv.DictReader(file)}


def _write(path: Path, header: tuple[str, ...], rows: object) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)  # type: ignore[arg-type]
