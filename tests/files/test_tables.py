"""Tables out: what is read is what was written, nothing runs in a spreadsheet, nothing is left half-written."""

import csv
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import FileError
from quorate.files import Column, read_answers, read_table, write_table
from quorate.files.sidecar import defused, fused, sidecar_path

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
RISKY = st.sampled_from(
    ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", '"=1', "'=1", "'", "\ufeff=1", " =1", "＝1", "\n", "%0A"]
)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda x: st.lists(x) | st.dictionaries(TEXT.filter(str.strip), x),
)
COLUMNS = [
    Column("item", "text"),
    Column("=n", "integer"),
    Column("p", "number"),
    Column("ok", "boolean"),
    Column("e", "json"),
]
ROW = st.fixed_dictionaries(
    {
        "item": st.none() | TEXT | RISKY,
        "=n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "p": st.none() | NUMBER,
        "ok": st.none() | st.booleans(),
        "e": JSON,
    }
)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_what_is_written_is_what_is_read(ending, tmp_path):
    number = iter(range(10**6))

    @settings(max_examples=4 if ending == "parquet" else 40, deadline=None)  # Parquet: a process each
    @given(rows=st.lists(ROW, min_size=1, max_size=5))
    def check(rows):
        path = tmp_path / f"{next(number) % 3}.{ending}"
        assert write_table(path, COLUMNS, rows, overwrite=True) == len(rows)
        assert read_table(path) == rows

    check()


@given(text=TEXT | RISKY)
def test_defusing_is_undone_and_leaves_nothing_to_run(text):
    cell = defused(text)
    assert fused(cell) == text
    assert cell.lstrip(' \ufeff"`')[:1] not in {"=", "+", "-", "@", "\t", "\r"}


def test_formulas_are_defused_and_the_sidecar_says_so(tmp_path):
    path = tmp_path / "out.csv"
    write_table(
        path, [Column("item", "text"), Column("cost", "number")], [{"item": "=cmd|' /C calc'!A0", "cost": -0.5}]
    )
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["item", "cost"], ["'=cmd|' /C calc'!A0", "-0.5"]]
    meta = json.loads(sidecar_path(path).read_text())
    assert meta["columns"] == {"item": "text", "cost": "number"}
    assert "apostrophe" in meta["note"]
    assert meta["rows"] == 1


def test_nan_is_a_missing_value_and_numpy_numbers_are_numbers(tmp_path):
    import numpy as np

    for ending in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"a.{ending}"
        write_table(path, [Column("p", "number"), Column("n", "integer")], [{"p": math.nan, "n": np.int64(3)}])
        assert read_table(path) == [{"p": None, "n": 3}]


def test_an_export_never_overwrites_unless_told(tmp_path):
    path = tmp_path / "a.jsonl"
    write_table(path, [Column("x", "text")], [{"x": "1"}])
    with pytest.raises(FileError, match="exists already"):
        write_table(path, [Column("x", "text")], [{"x": "2"}])
    assert read_table(path) == [{"x": "1"}]
    write_table(path, [Column("x", "text")], [{"x": "2"}], overwrite=True)
    assert read_table(path) == [{"x": "2"}]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_that_fails_leaves_nothing_behind(ending, tmp_path):
    path = tmp_path / f"a.{ending}"

    def rows():
        yield {"x": "1"}
        raise RuntimeError("the campaign is gone")

    with pytest.raises(RuntimeError):
        write_table(path, [Column("x", "text")], rows())
    assert list(tmp_path.iterdir()) == []


def test_where_an_export_cannot_go(tmp_path):
    column = [Column("x", "text")]
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "folder.csv").mkdir()
    for name, words in [
        ("no/such/a.csv", "no folder"),
        ("a.xlsx", "format is not known"),
        ("a.csv.gz", "not compressed"),
        ("link.csv", "not a plain file"),
        ("folder.csv", "not a plain file"),
    ]:
        with pytest.raises(FileError, match=words):
            write_table(tmp_path / name, column, [], overwrite=True)
    assert not (tmp_path / "elsewhere.csv").exists()


def test_a_sidecar_that_is_none_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,n\na,1\n")
    for words in ["", "{}", "[]", '{"kind": "quorate-csv-1", "columns": {"item": "formula"}}', "[" * 10**5]:
        sidecar_path(path).write_text(words)
        with pytest.raises(FileError, match="is not the sidecar"):
            read_table(path)
    sidecar_path(path).write_text('{"kind": "quorate-csv-1", "columns": {"item": "integer"}}')
    with pytest.raises(FileError, match="'a' is not integer"):
        read_table(path)


def test_answers_are_read_by_any_of_their_names(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("task,class,worker,label,price\n7,crowd,w1,1,0.05\n8,crowd,,0,\n")
    assert read_answers(path) == [("7", "crowd", "1", "w1", 50_000), ("8", "crowd", "0", None, 0)]
    for text, words in [
        ("task,label\n7,1\n", "no column 'class'"),
        ("item,class,label\n7,crowd,\n", r"old.csv, line 2, column 'label': the label is ''"),
        ("item,class,label\n,crowd,1\n", "the id is empty"),
        ("item,class,label,price\n7,crowd,1,free\n", r"line 2, column 'price': 'free' is not an amount"),
    ]:
        path.write_text(text)
        with pytest.raises(FileError, match=words):
            read_answers(path)
