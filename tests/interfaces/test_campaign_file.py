"""Every key of a campaign file, with values that nobody wants in it: a campaign, or a sentence with a way out."""

import copy
import datetime
import json
import math
from pathlib import Path

import pytest

from quorate.errors import FileError, InputError, SpecError
from quorate.interfaces.places import platforms_of
from quorate.platforms import callable as functions
from quorate.platforms import replay, simulator
from quorate.spec.file import parse_campaign
from quorate.spec.keys import PLATFORMS

GOOD = {
    "name": "a", "labels": ["no", "yes"], "accuracy": 0.95, "budget": "9 USD", "policy": "calibrated", "seed": 1,
    "safety": 0.9, "average": False, "store": "memory:",
    "items": {"file": "items.csv", "id": "id", "gold": "g"},
    "limits": {"item_cap": 9, "in_flight": 10, "parallel": 1, "lease": 60.0, "patience": 5.0},
    "class": [
        {
            "name": "s", "price": "0.05", "answers_per_item": 3, "repeatable": "true", "trusted": False,
            "belief": [[3, 1], [3, 1]],
            "platform": {
                "kind": "simulator", "accuracy": [0.9, 0.8], "prior": [0.5, 0.5], "seed": 3, "hard": 5, "copied": 0.0,
                "source": 0.8, "drift": 0.0, "losses": 0.0, "abstentions": 0.0, "refusals": 0.0, "duplicates": 0.0,
                "charge": [1.0, 1.0], "latency": 0.0,
            },
        },
        {
            "name": "r", "price": "0.05",
            "platform": {"kind": "replay", "dataset": "set", "seed": 1, "source": "workers"},
        },
        {
            "name": "c", "price": "0.05",
            "platform": {
                "kind": "callable", "function": "os:getcwd", "column": "text", "batched": False, "retries": 1,
                "timeout": 1.0, "threads": 1,
            },
        },
    ],
}  # fmt: skip
NASTY = [
    0, 1, -1, 10**30, 2**63, 0.5, -0.5, 1e308, math.nan, math.inf, "", "x", "é" * 300, "a\nb", "\x00", "../..",
    "5 USD extra", ".a:b", "math:x", True, False, [], [1], ["a"], [[]], [[1, 2], [3, 4]], {}, {"a": 1},
    {"kind": "simulator"}, {"kind": "nothing"}, {"kind": 5}, datetime.date(2020, 1, 1), datetime.time(1, 2),
    [0.5, 0.5], [0.5, "x"], [math.nan, 1], ["a", "a"], ["", ""], ["a", "b", "c"], [1, 0], [2, 3],
]  # fmt: skip


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {toml(one)}' for key, one in value.items())}}}"
    return str(value)


def places(table, before=()):
    rows = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in rows:
        yield (*before, key)
        if isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict)):
            yield from places(value, (*before, key))


def written(changed, value):
    file = copy.deepcopy(GOOD)
    table = file
    for key in changed[:-1]:
        table = table[key]
    table[changed[-1]] = value
    return "\n".join(f"{key} = {toml(one)}" for key, one in file.items())


def refusal(text, file):
    try:
        platforms_of(parse_campaign(text, file))
    except InputError as error:
        return error
    return None


@pytest.fixture
def file(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "labels.csv").write_text("item,worker,label\na,w,no\nb,w,yes\n")
    return tmp_path / "campaign.toml"


@pytest.mark.parametrize("changed", list(places(GOOD)), ids=lambda path: ".".join(map(str, path)))
def test_a_value_is_taken_or_refused_in_a_sentence_that_names_the_file(changed, file):
    for value in NASTY:
        error = refusal(written(changed, value), file)
        if error is not None:
            assert error.message.count(str(file)) == 1, error.message
            assert error.hint


def test_the_good_file_is_good(file):
    assert list(platforms_of(parse_campaign(written(("name",), "fine"), file))) == ["s", "r", "c"]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("hard", "x", "hard = 'x' is not a number above 0"),
        ("charge", [2, 1], r"charge = \[2, 1\] is not \[lowest, highest\]"),
        ("losses", 1.5, "losses = 1.5 is not a number from 0 to 1"),
        ("retry", 3, "'retry' means nothing here"),
    ],
)
def test_an_option_of_a_platform_is_named_with_its_table(key, value, says, file):
    with pytest.raises(FileError, match=rf"campaign.toml, \[\[class\]\] number 1, its platform: {says}"):
        parse_campaign(written(("class", 0, "platform", key), value), file)


@pytest.mark.parametrize("platform", [simulator, replay, functions])
def test_the_file_knows_the_options_that_the_platform_takes(platform):
    kind = platform.__name__.rpartition(".")[2]
    taken = getattr(platform, "_OPTIONS", None) or platform.OPTIONS
    assert set(PLATFORMS[kind]) == set(taken)


def test_one_campaign_has_one_currency(file):
    with pytest.raises(FileError, match=r"number 2: the price '0.05 EUR' is not in the budget's currency, USD"):
        parse_campaign(written(("class", 1, "price"), "0.05 EUR"), file)


def test_a_module_that_breaks_while_it_is_imported_is_named(file, monkeypatch):
    (file.parent / "broken_annotator.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(file.parent))
    place = parse_campaign(written(("class", 2, "platform", "function"), "broken_annotator:f"), Path(file))
    with pytest.raises(SpecError, match="'callable' of c cannot be set up: ZeroDivisionError"):
        platforms_of(place)
