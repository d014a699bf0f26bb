"""Campaign files: what is right is read, what is wrong is named with its place and its way out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import FileError, InputError
from quorate.spec import read_campaign, template
from quorate.spec.file import parse_campaign

GOOD = """
name = "spam"
labels = ["ham", "spam"]
budget = 20
[items]
file = "in/items.csv"
[limits]
item_cap = 30
[[class]]
name = "crowd"
price = 0.05
repeatable = false
belief = [[8, 2], [7, 3]]
[class.platform]
kind = "simulator"
accuracy = [0.8, 0.7]
[[class]]
name = "expert"
price = "1.00"
trusted = true
"""


def test_everything_it_says_is_read(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text("\ufeff" + GOOD, "utf-8")
    found = read_campaign(file)
    assert (found.spec.budget, found.spec.currency, found.spec.item_cap) == (20_000_000, "USD", 30)
    crowd, expert = found.spec.classes
    assert (crowd.price, crowd.repeatable, crowd.belief) == (50_000, "false", ((8, 2), (7, 3)))
    assert (expert.price, expert.trusted) == (1_000_000, True)
    assert found.spec.caps == (1, 2**15 - 1)
    assert found.items == tmp_path / "in/items.csv"
    assert found.store == f"sqlite:///{tmp_path}/spam.db"
    assert found.platforms == {"crowd": {"kind": "simulator", "accuracy": [0.8, 0.7]}}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "spam"', "name = 7", "name = 7 is not a text"),
        ('name = "spam"', "", "does not say 'name'"),
        ('name = "spam"', 'nmae = "spam"', "'nmae' means nothing here"),
        ('labels = ["ham", "spam"]', 'labels = ["ham"]', "two different labels"),
        ('labels = ["ham", "spam"]', "labels = [0, 1]", "non-empty words"),
        ("budget = 20", 'budget = "a lot"', "'a lot' is not an amount"),
        ("budget = 20", "budget = -1", "'-1' is not an amount"),
        ("budget = 20", "budget = nan", "'nan' is not an amount"),
        ("item_cap = 30", "item_cap = true", "table \\[limits\\]: item_cap = True is not a whole number"),
        ("item_cap = 30", "item_cap = 0", "item_cap is 0"),
        ("price = 0.05", "price = 0.00000001", "\\[\\[class\\]\\] number 1.*"),
        ("price = 0.05", "", "number 1 does not say 'price'"),
        ('name = "expert"', 'name = "crowd"', "Two worker classes are called 'crowd'"),
        ('kind = "simulator"', "", "does not say 'kind'"),
        ("belief = [[8, 2], [7, 3]]", "belief = [[8, 2]]", "not two pairs"),
        ("belief = [[8, 2], [7, 3]]", "belief = [[8, 2], [0, 3]]", "not two pairs"),
        ("repeatable = false", 'repeatable = "maybe"', "'maybe'"),
        ("[limits]", "[limits", "is not TOML"),
        ("trusted = true", 'trusted = "yes"', "trusted = 'yes' is not true or false"),
    ],
)
def test_what_is_wrong_is_named(old, new, says):
    assert old in GOOD
    with pytest.raises(FileError, match=says) as caught:
        parse_campaign(GOOD.replace(old, new, 1))
    assert "campaign.toml" in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_no_file(tmp_path):
    with pytest.raises(FileError, match="no campaign file"):
        read_campaign(tmp_path / "none.toml")
    with pytest.raises(FileError, match="is a folder"):
        read_campaign(tmp_path)
    (tmp_path / "latin.toml").write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(FileError, match="byte 8 is not UTF-8"):
        read_campaign(tmp_path / "latin.toml")


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 2**70), st.floats(), st.text(max_size=5), st.just("0.05"), st.just("a")),
    lambda one: st.one_of(
        st.lists(one, max_size=3), st.dictionaries(st.sampled_from(["name", "price", "kind"]), one)
    ),
    max_leaves=6,
)
KEYS = ["name", "labels", "budget", "accuracy", "policy", "seed", "class", "items", "limits", "store", "average"]


def written(value):
    """TOML for a value (inline tables)."""
    import json

    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value.replace("\x7f", ""))
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(one)}" for key, one in value.items()) + "}"
    return str(value)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES), st.booleans())
def test_any_file_is_read_or_refused_in_a_sentence(table, complete):
    base = {"name": "x", "labels": ["a", "b"], "budget": "1", "class": [{"name": "c", "price": "0.1"}]}
    text = "\n".join(f"{key} = {written(value)}" for key, value in ({**base, **table} if complete else table).items())
    try:
        found = parse_campaign(text)
    except InputError:
        return
    assert found.spec.budget >= 0


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    with pytest.raises(InputError):
        parse_campaign(text)


def test_the_template_is_what_it_says():
    found = parse_campaign(template(name="toxicity", labels=["ok", "toxic"], budget="300 EUR", accuracy=0.9))
    assert (found.spec.labels, found.spec.currency, found.spec.accuracy) == (("ok", "toxic"), "EUR", 0.9)
    assert len(found.platforms) == 3
