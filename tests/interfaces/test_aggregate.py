"""``quorate.aggregate``: frames of every kind in, the same kind out."""

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.aggregation import METHODS, aggregate
from quorate.errors import InputError, SpecError
from quorate.files import read_table
from quorate.interfaces.cli import main

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
VOTES = {
    "task": ["a", "a", "a", "b", "b", "c", "c", "c"],
    "worker": [1, 2, 3, 1, 2, 1, 2, 3],
    "label": ["yes", "yes", "no", "no", "no", "yes", "no", "no"],
}


def test_majority_counts_votes():
    assert aggregate(VOTES, "majority") == {
        "task": ["a", "b", "c"],
        "label": ["yes", "no", "no"],
        "confidence": [2 / 3, 1.0, 2 / 3],
        "answers": [3, 2, 3],
    }


@pytest.mark.parametrize("method", METHODS)
def test_what_comes_back_is_what_went_in(method):
    plain = aggregate(VOTES, method)
    pandas = aggregate(pd.DataFrame(VOTES), method)
    polars = aggregate(pl.DataFrame(VOTES), method)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert pandas.to_dict("list") == plain
    assert polars.to_dict(as_series=False) == plain


def test_our_names_and_types_of_labels_survive():
    frame = pd.DataFrame({"item": [7, 7, 3], "class": ["x", "y", "x"], "label": [True, True, False]})
    result = aggregate(frame)
    assert list(result.columns) == ["item", "label", "confidence", "answers"]
    assert result["item"].tolist() == [7, 3]
    assert result["label"].tolist() == [True, False]


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, ""])
def test_answers_without_a_label_are_left_out(nothing):
    frame = pd.DataFrame(
        {"item": ["a", "a", "b"], "class": ["x", "y", "x"], "label": ["1", nothing, nothing]}, dtype=object
    )
    result = aggregate(frame)
    assert result["answers"].tolist() == [1, 0]
    assert result["label"].tolist()[0] == "1"
    assert result["label"].isna().tolist() == [False, True]
    assert result["confidence"].isna().tolist() == [False, True]


def test_polars_keeps_whole_numbers_where_some_are_missing():
    frame = pl.DataFrame({"item": ["a", "a", "b"], "class": ["x", "y", "x"], "label": [1, None, 0]})
    assert aggregate(frame, "majority")["label"].to_list() == [1, 0]


def test_ties_go_to_the_smallest_label_and_numbers_are_ordered_as_numbers():
    votes = {"item": ["a", "a"], "class": ["x", "y"], "label": ["10", "9"]}
    assert aggregate(votes, "majority")["label"] == ["9"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"item": [1], "class": [1]}, "no column 'label'; the columns are item, class"),
        ({"item": [1, 2], "class": [1], "label": [0]}, "item has 2, class has 1"),
        ({"item": ["a", None], "class": ["x", "x"], "label": [0, 1]}, "Row 2 has no item"),
        ({"item": ["a"], "class": [""], "label": [0]}, "Row 1 has no class"),
    ],
)
def test_bad_tables_are_named(frame, message):
    with pytest.raises(InputError, match=message):
        aggregate(frame)


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(SpecError, match="'mean'") as caught:
        aggregate(VOTES, "mean")
    assert "dawid-skene" in caught.value.hint


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40), st.sampled_from(["x", "y", "z", None])), max_size=60),
    st.sampled_from(METHODS),
)
def test_total(rows, method):
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("item", "class", "label"))}
    result = aggregate(columns, method)
    assert result["item"] == list(dict.fromkeys(columns["item"]))
    for label, confidence, answers in zip(result["label"], result["confidence"], result["answers"], strict=True):
        assert (label is None) == (answers == 0)
        assert answers == 0 or 0 < confidence <= 1 + 1e-12


def recorded(name):
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the recorded labels are not at {DATA} (QUORATE_DATA says where)")
    tables = []
    for file in ("labels.csv", "truth.csv"):
        path = folder / file
        with path.open() if path.exists() else gzip.open(f"{path}.gz", "rt") as lines:
            rows = list(csv.DictReader(lines))
        tables.append({key: [row[key] for row in rows] for key in rows[0]})
    return tables


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "method", "wrong"),
    [
        ("bluebird", "majority", 26),
        ("bluebird", "dawid-skene", 11),
        ("rte", "dawid-skene", 58),
        ("dog", "dawid-skene", 126),
    ],
)
def test_recorded_labels_are_aggregated_as_the_literature_has_it(name, method, wrong):
    """24.07, 10.19, 7.25 and 15.61 %: Zhang et al. (2016) print 24.07, 10.09, 7.12 and (another start) 16.66."""
    labels, truth = recorded(name)
    result = aggregate(labels, method)
    gold = dict(zip(truth["item"], truth["label"], strict=True))
    assert sum(gold[item] != label for item, label in zip(result["item"], result["label"], strict=True)) == wrong


# ---------------------------------------------------------------------------------------- on the command line


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return left.value.code, out, err


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    pd.DataFrame({**VOTES, "label": [*VOTES["label"][:-1], None]}).to_csv(path, index=False)
    return path


def test_the_command_prints_what_the_function_says(votes, capsys):
    code, out, _ = run(capsys, "aggregate", votes, "--method", "majority", "--json")
    assert code == 0
    assert [(one["task"], one["label"], one["answers"]) for one in json.loads(out)] == [
        ("a", "yes", 3), ("b", "no", 2), ("c", "no", 2),
    ]  # fmt: skip
    assert "yes" in run(capsys, "aggregate", votes)[1]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_labels_are_written_in_any_format(votes, tmp_path, capsys, suffix):
    path = tmp_path / f"labels.{suffix}"
    code, out, _ = run(capsys, "aggregate", votes, "--method", "majority", "--to", path)
    assert (code, out.strip()) == (0, f"3 labels written to {path}.")
    assert [(row["task"], row["label"], row["answers"]) for row in read_table(path)] == [
        ("a", "yes", 3), ("b", "no", 2), ("c", "no", 2),
    ]  # fmt: skip


def test_the_command_refuses_in_a_sentence(votes, capsys):
    code, out, err = run(capsys, "aggregate", votes, "--method", "mean")
    assert (code, out) == (2, "")
    assert "no method 'mean'" in err


def test_an_item_without_an_answer_is_written_as_such(tmp_path, capsys):
    path, to = tmp_path / "votes.csv", tmp_path / "labels.csv"
    path.write_text("item,class,label\na,x,1\nb,x,\n")
    assert run(capsys, "aggregate", path, "--to", to)[0] == 0
    assert read_table(to)[1] == {"item": "b", "label": None, "confidence": None, "answers": 0}
