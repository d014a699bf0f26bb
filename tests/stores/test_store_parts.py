"""The parts that stores are made of, against the plainest way to say the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.errors import AnswerError, InputError, QuorateError
from quorate.facts import OURS, OVER_BUDGET, TAKEN, key_of, parse_key
from quorate.stores import export_campaign, open_store
from quorate.stores.book import Book
from quorate.stores.columns import pack, unpack
from quorate.stores.rules import grant
from quorate.stores.tables import TABLES, Rows, checksums, digest_of, rows_of
from quorate.testing.store_contract import answers, asks, some_items

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(INT64, st.integers(0, 3), INT64), max_size=30))
def test_a_pack_holds_what_was_packed(rows: list[tuple[int, int, int]]) -> None:
    columns = {name: np.array([row[i] for row in rows], np.int64) for i, name in enumerate("abc")}
    back = unpack(pack(columns))
    assert all(np.array_equal(back[name], columns[name]) and back[name].dtype == np.int64 for name in "abc")


def test_a_cut_pack_is_refused() -> None:
    data = pack({"a": np.arange(1000)})
    for wrong in (data[:-1], data + b"x", data[: data.index(b"\n")]):
        with pytest.raises(ValueError, match=r"."):
            unpack(wrong)


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=20), st.integers(0, 40))
def test_money_is_granted_one_by_one(rows: list[tuple[int, bool]], left: int) -> None:
    want = []
    rest = left
    for price, taken in rows:
        want.append(TAKEN if taken else OURS if price <= rest else OVER_BUDGET)
        rest -= price if want[-1] == OURS else 0
    price = np.array([row[0] for row in rows], np.int64)
    assert grant(price, np.array([row[1] for row in rows], np.bool_), left).tolist() == want


BATCH = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=4)


@settings(max_examples=500)
@given(st.lists(st.tuples(st.sampled_from(["claim", "take", "load"]), BATCH), max_size=12))
def test_the_book_is_a_set_of_slots(steps: list[tuple[str, list[tuple[int, int]]]]) -> None:
    book, claimed, flying, seq = Book(), {}, set(), 0
    for what, batch in steps:
        item, ordinal = (np.array([slot[i] for slot in batch], np.int64) for i in (0, 1))
        if what == "claim":
            taken = book.claimed(item, ordinal)
            seen = set(claimed)
            for slot, got in zip(batch, taken.tolist(), strict=True):
                assert got == (slot in seen)
                seen.add(slot)
            new = np.arange(seq + 1, seq + 1 + int((~taken).sum()))
            zero = new * 0
            rows = {"seq": new, "item": item[~taken], "ordinal": ordinal[~taken], "worker_class": zero}
            book.add({**rows, "price": new * 2, "stage": zero, "epoch": zero + 1, "at": zero})
            seq += len(new)
            for slot, number in zip(
                [s for s, t in zip(batch, taken, strict=True) if not t], new.tolist(), strict=True
            ):
                claimed[slot] = number
                flying.add(slot)
        elif what == "take":
            found = book.take(item, ordinal, None)
            for slot, number, price in zip(batch, found.seq.tolist(), found.price.tolist(), strict=True):
                assert number == (claimed[slot] if slot in flying else 0)
                assert number == 0 or price == 2 * number
                flying.discard(slot)
        else:
            every = sorted(claimed.items(), key=lambda pair: pair[1])
            j, o = (np.array([slot[i] for slot, _ in every], np.int64) for i in (0, 1))
            s = np.array([number for _, number in every], np.int64)
            book = Book()
            rows = {"seq": s, "item": j, "ordinal": o, "worker_class": s * 0}
            answered = np.array([slot not in flying for slot, _ in every], np.bool_)
            book.load({**rows, "price": s * 2, "stage": s * 0, "epoch": s * 0 + 1, "at": s * 0}, answered)
        columns, _ = book.in_flight()
        assert columns["seq"].tolist() == sorted(claimed[slot] for slot in flying)


@given(st.data())
def test_one_changed_value_changes_the_checksum(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    row = {name: data.draw(INT64) for name in ("seq", *table.ints)}
    row |= {name: data.draw(st.none() | st.text(max_size=5).filter(lambda t: "\0" not in t)) for name in table.texts}
    other = dict(row)
    name = data.draw(st.sampled_from(sorted(row)))
    if name in table.texts:
        other[name] = data.draw(st.none() | st.text("abcdef", max_size=5).filter(lambda text: text != row[name]))
        if other[name] == row[name]:
            other[name] = "something else"
    else:
        other[name] = row[name] ^ (1 << data.draw(st.integers(0, 62)))
    sums = []
    for one in (row, other):
        rows = rows_of(table, [one])
        assert list(rows.dicts()) == [one]
        sums.append(checksums(table, "uid", rows.ints, rows.text_hash)[0])
    assert sums[0] != sums[1]


@given(st.data())
def test_rows_at_once_have_the_checksums_of_rows_alone(data: st.DataObject) -> None:
    table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))]
    count = data.draw(st.integers(2, 4))
    row = st.lists(INT64, min_size=count, max_size=count).map(lambda values: np.array(values, np.int64))
    ints = {name: data.draw(row) for name in ("seq", *table.ints)}
    hashes = data.draw(row).view(np.uint64)
    whole = checksums(table, "uid", ints, hashes)
    digest = 0
    for i in range(count):
        alone = {name: values[i : i + 1] for name, values in ints.items()}
        (one,) = checksums(table, "uid", alone, hashes[i : i + 1])
        assert one == whole[i]
        digest += digest_of(alone["seq"], whole[i : i + 1])
    assert digest % 2**64 == digest_of(ints["seq"], whole)


def test_a_digest_sees_rows_lost_and_moved() -> None:
    seq = np.arange(1, 6)
    sums = np.array([3, 1, 4, 1, 5], np.uint64)
    whole = digest_of(seq, sums)
    assert digest_of(seq[:-1], sums[:-1]) != whole
    assert digest_of(seq, sums[[1, 0, 2, 3, 4]]) != whole
    assert digest_of(seq[::-1].copy(), sums[::-1].copy()) == whole
    assert (digest_of(seq[:2], sums[:2]) + digest_of(seq[2:], sums[2:])) % 2**64 == whole


@given(st.integers(1, 10**9), st.integers(0, 10**12), st.integers(0, 10**4))
def test_a_key_says_where_it_belongs(epoch: int, item: int, ordinal: int) -> None:
    key = key_of("k3v9x2abk3v9x2abk3v9x2ab", epoch, item, ordinal)
    assert len(key) <= 64
    assert key.isascii()
    assert tuple(parse_key(key)) == ("k3v9x2abk3v9x2abk3v9x2ab", epoch, item, ordinal)


@given(st.text(max_size=30) | st.from_regex(r"[a-z0-9]{0,3}(-[-+0-9٣ ]{0,20}){3}", fullmatch=True))
def test_any_text_is_a_key_or_a_clear_error(text: str) -> None:
    try:
        parts = parse_key(text)
    except AnswerError:
        return
    assert key_of(*parts) == text


@pytest.mark.parametrize("wrong", ["half \ud800", "nul \0"])
def test_a_text_that_no_database_keeps(wrong: str) -> None:
    with open_store("memory:") as store:
        ledger = store.create("m", uid="m", spec={}, budget=1, items=some_items(2))
        one = some_items(1, start=5)
        with pytest.raises(InputError, match="cannot be stored"):
            ledger.add_items(type(one)([wrong], one.payload, one.hash, one.gold))
        assert ledger.campaign().items == 2


def exported() -> list[str]:
    with open_store("memory:") as store:
        ledger = store.create("m", uid="m", spec={"a": 1}, budget=10_000, items=some_items(4))
        ledger.claim(asks([0, 1, 2]))
        ledger.record(answers([0, 1], worker=["ann", "bob"]))
        return list(export_campaign(ledger))


LINES = exported()


@given(st.data())
def test_an_export_that_was_tampered_with_is_refused_or_the_same(data: st.DataObject) -> None:
    """Any line replaced, any value in it changed: a clear error, or nothing that matters was changed."""
    lines = list(LINES)
    number = data.draw(st.integers(0, len(lines) - 1))
    if data.draw(st.booleans()):
        lines[number] = data.draw(st.text(max_size=20))
    else:
        row = json.loads(lines[number])
        name = data.draw(st.sampled_from(sorted(row)))
        value = st.none() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False) | st.lists(st.integers())
        row[name] = data.draw(value)
        lines[number] = json.dumps(row)
    with open_store("memory:") as store:
        try:
            ledger = store.import_campaign(lines)
        except QuorateError:
            assert store.campaigns() == []
            return
        ledger.verify()
        assert list(export_campaign(ledger))[1:] == LINES[1:]


def test_rows_of_nothing() -> None:
    assert len(rows_of(TABLES["ask"], [])) == 0
    assert Rows(TABLES["event"], rows_of(TABLES["event"], []).ints).text_hash.tolist() == []
