"""Items in: every format gives the same items, and everything that is wrong is named with its place."""

import datetime
import decimal
import gzip
import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quorate.errors import FileError
from quorate.files import limits, open_items

ROWS = [
    {"id": "a", "text": "Grüße,\n»zwei« Zeilen", "n": 1},
    {"id": "b", "text": 'with "quotes", commas', "n": 2},
    {"id": "c", "text": "日本語 🎉", "n": 3},
]
CSV = 'id,text,n\na,"Grüße,\n»zwei« Zeilen",1\nb,"with ""quotes"", commas",2\nc,日本語 🎉,3\n'


def read(source, **options):
    return [(one.id, one.payload) for one in open_items(source, **options)]


EXPECTED = [(row["id"], {"text": row["text"], "n": row["n"]}) for row in ROWS]


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_every_source_gives_the_same_items(put, tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "items.parquet")
    assert read(tmp_path / "items.parquet") == EXPECTED
    assert read(put("items.jsonl", "\n".join(map(json.dumps, ROWS)))) == EXPECTED
    assert read(str(put("items.jsonl.gz", gzip.compress("\n\n".join(map(json.dumps, ROWS)).encode())))) == EXPECTED
    assert read(pd.DataFrame(ROWS)) == EXPECTED
    assert read(pl.DataFrame(ROWS)) == EXPECTED
    assert read(pa.Table.from_pylist(ROWS)) == EXPECTED
    assert read(ROWS) == EXPECTED
    assert read(dict(row) for row in ROWS) == EXPECTED
    assert read({row["id"]: row for row in ROWS}) == EXPECTED
    assert read({"a": "just text"}) == [("a", {"text": "just text"})]


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        CSV.encode("utf-8-sig"),
        CSV.encode("utf-16"),
        b"\xfe\xff" + CSV.encode("utf-16-be"),
        CSV.encode("utf-32"),
        CSV.replace("\n", "\r\n").replace("Grüße,\r\n", "Grüße,\n").encode(),
        (CSV.rstrip("\n") + "\n\n\n").encode(),
        'id\ttext\tn\na\t"Grüße,\n»zwei« Zeilen"\t1\nb\t"with ""quotes"", commas"\t2\nc\t日本語 🎉\t3'.encode(),
        'id;text;n\na;"Grüße,\n»zwei« Zeilen";1\nb;"with ""quotes"", commas";2\nc;日本語 🎉;3'.encode(),
    ],
)  # fmt: skip
def test_csv_in_any_usual_dress(put, content):
    assert read(put("items.csv", content)) == [(i, {**payload, "n": str(payload["n"])}) for i, payload in EXPECTED]


def test_another_encoding_is_said(put):
    path = put("items.csv", "id,text\na,Grüße\n".encode("latin-1"))
    with pytest.raises(
        FileError, match=r"items.csv, line 2: the text is not utf-8 \(the byte 0xfc behind 'a,Gr'\)"
    ) as caught:
        read(path)
    assert "encoding" in caught.value.hint
    assert read(path, encoding="latin-1") == [("a", {"text": "Grüße"})]


@pytest.mark.parametrize("name", ["klingon", "base64", "utf\0-8"])
def test_an_encoding_that_is_none_is_refused(put, name):
    path = put("items.csv", "id,text\na,b\n")
    with pytest.raises(FileError, match="is no encoding of texts"):
        read(path, encoding=name)


def test_the_id_is_named_or_id_or_item_or_the_first():
    assert read([{"x": 1, "id": "i", "item": "j"}])[0][0] == "i"
    assert read([{"x": 1, "item": "j"}])[0][0] == "j"
    assert read([{"x": 7, "y": "j"}]) == [("7", {"y": "j"})]
    assert read([{"x": 7, "y": "j"}], id_column="y") == [("j", {"x": 7})]


def test_values_of_frames_become_json():
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "when": pd.to_datetime(["2026-01-02", None]),
            "score": [0.5, np.nan],
            "tags": [["x"], np.array([1, 2])],
            "money": [decimal.Decimal("0.10"), None],
            "day": [datetime.date(2026, 1, 2), pd.NA],
        }
    )
    assert read(frame) == [
        ("1", {"when": "2026-01-02T00:00:00", "score": 0.5, "tags": ["x"], "money": "0.10", "day": "2026-01-02"}),
        ("2", {"when": None, "score": None, "tags": [1, 2], "money": None, "day": None}),
    ]


WRONG = [
    ("a.csv", "", "is empty"),
    ("a.csv", "id,text\n", "has no items"),
    ("a.jsonl", "", "has no items"),
    ("a.csv", "id,text\na,1\nb,2\na,3\n", r"line 4: the id 'a' .* first in a.csv, line 2"),
    ("a.csv", "id,text\na,1\nb\n", r"line 3: 1 values, but the header has 2"),
    ("a.csv", "id,text\na,1,2\n", r"line 2: 3 values"),
    ("a.csv", "id,id\na,1\n", r"two columns are called 'id'"),
    ("a.csv", "id,\na,1\n", r"a column has the name ''"),
    ("a.csv", "id,text\n,1\n", r"line 2, column 'id': the id is empty"),
    ("a.csv", 'id,text\na,"never closed\n', r"line 2: unexpected end"),
    ("a.csv", 'id,text\na,"x"y\n', r"line 2: .*expected"),
    ("a.csv", "id,text\na,b\x00c\n", r"line 2, column 'text': .*NUL"),
    ("a.csv", "id,text\na\x07,b\n", r"cannot be an id"),
    ("a.csv", f"id,text\n{'x' * 600},b\n", r"cannot be an id"),
    ("a.csv", ",".join(f"c{i}" for i in range(1200)) + "\n", r"1,200 columns"),
    ("a.csv", b"id,text\na,\xff\xfe\n", r"line 2: the text is not utf-8 \(the byte 0xff behind 'a,'\)"),
    ("a.jsonl.gz", gzip.compress(b'{"id": "a"}\n' * 5000 + b'{"id": "\xe9"}\n'), r"line 1: .*|line 5001: .*0xe9"),
    ("a.csv", "id,text\na,b\n".encode("utf-16-le"), r"NUL|not utf-8"),
    ("a.csv", b"\xff\xfei\x00d\x00,\x00x\x00\n\x00a", r"utf-16"),
    ("a.jsonl", '{"id": "a"}\n[1]\n', r"a.jsonl, line 2: \[1\] is not an object"),
    ("a.jsonl", '{"id": "a"}\n{"id": \n', r"line 2: not JSON"),
    ("a.jsonl", '{"id": "a", "x": NaN}', r"line 1: not JSON: NaN is not"),
    ("a.jsonl", '{"id": "a", "x": 1e400}', r"column 'x': the number is infinite"),
    ("a.jsonl", '{"id": "a", "x": 1, "x": 2}', r"the key 'x' stands twice"),
    ("a.jsonl", '{"id": "a", "x": "\\ud800"}', r"lone surrogate"),
    ("a.jsonl", '{"id": "a", "x": "\\u0000"}', r"NUL"),
    ("a.jsonl", '{"id": "a", "x": ' + "[" * 40 + "]" * 40 + "}", r"levels deep"),
    ("a.jsonl", '{"id": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", r"levels deep"),
    ("a.jsonl", '{"id": "a", "x": ' + "9" * 10_000 + "}", r"not JSON"),
    ("a.jsonl", '{"id": null}', r"the id is None"),
    ("a.jsonl", '{"id": true}', r"the id is True"),
    ("a.jsonl", '{"id": 1.5}', r"the id is 1.5"),
    ("a.jsonl", '{"id": ["a"]}', r"the id is \['a'\]"),
    ("a.jsonl", '{"id": "a"}\n{"name": "b"}', r"line 2 has no column 'id'"),
    ("a.jsonl", "{}", r"has no columns"),
    ("a.parquet", "not parquet at all", r"a.parquet: not readable as Parquet"),
    ("a.parquet", b"PAR1" + b"\x00" * 50 + b"PAR1", r"a.parquet: not readable as Parquet"),
    ("a.csv.gz", "not gzip", r"cannot be read"),
    ("a.csv.gz", gzip.compress(b"id,text\n" + b"a,b\n" * 1000)[:30], r"cannot be read"),
    ("a.xlsx", "", r"format is not known .*'.xlsx'"),
    ("a", "", r"format is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), WRONG, ids=[f"{i}-{w[0]}" for i, w in enumerate(WRONG)])
def test_what_is_wrong_is_named_with_its_place_and_the_way_out(put, name, content, words):
    with pytest.raises(FileError, match=words) as caught:
        open_items(put(name, content))
    assert caught.value.hint
    assert len(caught.value.message) < 500


def test_sources_that_are_no_sources():
    for source, words in [
        ("no-such-file.csv", "There is no file"),
        ("a\x00b.csv", "not a path|There is no file"),
        (7, "cannot be read from a int"),
        (["a", "b"], "row 1: 'a' is not a mapping"),
        ([{"id": "a", "x": float("inf")}], "infinite"),
        ([{"id": "a", "x": b"bytes"}], "type bytes cannot be kept"),
        ([{"id": "a", 7: 1}], "a column has the name 7"),
        ({"a": {"id": "b"}}, "says id 'b'"),
        ([], "has no items"),
    ]:
        with pytest.raises(FileError, match=words):
            open_items(source)


def test_monsters_are_refused_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ROW", 1 << 16)
    monkeypatch.setattr(limits, "FIELD", 1 << 14)
    one_line, many_lines, unclosed, json_line = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "d.jsonl"))
    one_line.write_bytes(b"id,text\na," + b"x" * (8 << 20))
    many_lines.write_bytes(b'id,text\na,"' + b'","\n' * (2 << 20) + b'"')
    unclosed.write_bytes(b'id,text\na,"' + b"word\n" * (2 << 20))
    json_line.write_bytes(b'{"id": "' + b"x" * (8 << 20) + b'"}')
    tracemalloc.start()
    for path in (one_line, many_lines, unclosed, json_line):
        with pytest.raises(FileError):
            open_items(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_large_file_is_streamed(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("id,text\n")
        file.writelines(f"item-{n},{'word ' * 40}\n" for n in range(20_000))
    tracemalloc.start()
    source = open_items(path)
    count = sum(1 for _ in source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == len(source) == 20_000
    assert path.stat().st_size > 4 << 20
    assert peak < 2 << 20


def test_a_file_that_changes_while_it_is_read_is_noticed(put):
    path = put("a.csv", CSV)
    source = open_items(path)
    path.write_text(CSV + "d,more,4\n")
    with pytest.raises(FileError, match="was changed"):
        list(source)


def test_parquet_of_every_kind_of_column(tmp_path):
    when = datetime.datetime(2026, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "id": pa.array([10, 11]),
            "when": pa.array([when, None]),
            "nested": pa.array([{"a": [1, 2]}, None]),
            "price": pa.array([decimal.Decimal("1.50"), None]),
            "kind": pa.array(["x", "x"]).dictionary_encode(),
            "share": pa.array([float("nan"), 0.5]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [
        ("10", {"when": when.isoformat(), "nested": {"a": [1, 2]}, "price": "1.50", "kind": "x", "share": None}),
        ("11", {"when": None, "nested": None, "price": None, "kind": "x", "share": 0.5}),
    ]
    pq.write_table(pa.table({"id": ["a"], "image": [b"\x89PNG"]}), tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"row 1, column 'image': a value of the type bytes"):
        open_items(tmp_path / "b.parquet")


def test_parquet_that_is_damaged_or_crashes_its_reader_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(n) for n in range(5000)]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"\x00" * 40 + whole[len(whole) // 2 + 40 :])
    with pytest.raises(FileError, match=r"a.parquet"):
        open_items(path)
    monkeypatch.setattr("quorate.files.parquet_rows.sys.executable", "/bin/false")
    with pytest.raises(FileError, match="exit code 1"):
        open_items(path)
