"""Whatever a file holds, an importer loads it whole or raises an error of ours that says where and what to do."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorate.errors import QuorateError
from quorate.files import open_items, read_answers

PIECES = [
    b"id", b"text", b"item,class,label", b",", b";", b"\t", b"\n", b"\r\n", b"\r", b'"', b'""', b"'", b"a", b"b",
    b"0",
    b"1", b"-1.5e3", b"\x00", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff", "é".encode(), b"=1+1", b" ", b"{",
    b"}", b"[", b"]", b":", b'{"id": "a"}', b'{"id": "b", "x": [1, {}]}', b"null", b"NaN", b"1e999", b"\\ud800",
    b"\\u0000", b"true", b"\x1f\x8b\x08\x00", b"PAR1",
]  # fmt: skip
BYTES = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=40).map(b"".join)
LENIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def whole_or_error(read):
    try:
        return read()
    except QuorateError as error:
        return None if error.message and error.hint else pytest.fail(f"an error without a way out: {error!r}")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz", "a.tsv"])
def test_any_bytes(name, tmp_path):
    path = tmp_path / name

    @LENIENT
    @given(content=BYTES)
    def check(content):
        path.write_bytes(content)
        items = whole_or_error(lambda: list(open_items(path)))
        if items is not None:
            assert len({one.id for one in items}) == len(items) > 0
            json.dumps([one.payload for one in items], allow_nan=False).encode()
        whole_or_error(lambda: read_answers(path))

    check()


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@LENIENT
@given(rows=st.lists(st.dictionaries(st.sampled_from(["id", "text", "x", "", "\x00"]), VALUE), max_size=4))
def test_any_rows(rows):
    items = whole_or_error(lambda: list(open_items(rows)))
    if items is not None:
        assert len(items) == len(rows)
        json.dumps([one.payload for one in items], allow_nan=False).encode()


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.integers(0, 10_000))
def test_damaged_parquet(tmp_path, at, byte, cut):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(n) for n in range(300)], "x": [[n] for n in range(300)]}), path)
    content = bytearray(path.read_bytes())
    content[at % len(content)] = byte
    path.write_bytes(content[: len(content) - (cut % 20 if cut % 3 == 0 else 0)])
    whole_or_error(lambda: open_items(path))
