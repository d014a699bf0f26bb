"""How facts are entered: the next seqs, checksums, digests; and what may be entered only once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate.errors import InputError
from quorate.facts import Event, NewItems
from quorate.stores.head import Desk
from quorate.stores.tables import TABLES, Columns, Int, Rows, Texts, checksums, digest_of


def add(desk: Desk, name: str, ints: Columns, texts: Mapping[str, Texts | None] | None = None) -> Int:
    """Insert rows under the next seqs; the seqs."""
    head, table = desk.head, TABLES[name]
    count = len(next(iter(ints.values())))
    seq = np.arange(head.seq + 1, head.seq + 1 + count)
    if not count:
        return seq
    rows = Rows(table, {"seq": seq, **ints}, texts or {})
    hashes = rows.text_hash
    sums = checksums(table, head.uid, rows.ints, hashes)
    desk.insert(rows, hashes, sums)
    place = list(TABLES).index(name)
    head.digests[place] = (head.digests[place] + digest_of(seq, sums)) % 2**64
    head.seq += count
    return seq


def add_event(desk: Desk, kind: str, payload: Mapping[str, Any], number: int | None = None) -> Event:
    """Insert an event, or find the one that stands."""
    if number is not None:
        for rows in desk.rows(TABLES["event"], where=("number", [number])):
            for row in rows.dicts():
                if row["kind"] == kind:
                    return event_of(row)
    at, number = desk.now(), desk.head.seq + 1 if number is None else number
    ints = {"number": np.array([number]), "at": np.array([at])}
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
    (seq,) = add(desk, "event", ints, {"kind": [kind], "payload": [text]}).tolist()
    return Event(seq, kind, number, json.loads(text), at)


def add_items(desk: Desk, items: NewItems, *, before: int = 0) -> int:
    """Append items, all or none; the index of the first.  ``before`` of the same rows were added just now."""
    first = desk.head.items
    if not len(items):
        return first
    seen: dict[str, int] = {}
    for row, name in enumerate(items.id):
        if seen.setdefault(name, row) != row:
            raise InputError(
                f"The id {name!r} occurs twice: rows {before + seen[name]} and {before + row} of the items to add.",
                hint="Every item needs an id of its own.",
            )
    for rows in desk.rows(TABLES["item"], where=("name", items.id)):
        known = next(rows.dicts())
        if known["idx"] >= first - before:
            raise InputError(
                f"The id {known['name']!r} occurs twice: rows {known['idx'] - first + before} and"
                f" {before + seen[known['name']]} of the items to add.",
                hint="Every item needs an id of its own.",
            )
        raise InputError(
            f"An item with the id {known['name']!r} (row {seen[known['name']]} of those to add) is in the campaign"
            f" already, as item {known['idx']}.",
            hint="Leave it out, or give the new item another id.",
        )
    ints = {
        "idx": np.arange(first, first + len(items)),
        "hash": np.ascontiguousarray(items.hash, np.uint64).view(np.int64),
        "gold": as_column(items.gold),
    }
    add(desk, "item", ints, {"name": items.id, "payload": items.payload})
    desk.head.items += len(items)
    return first


def add_stray(desk: Desk, key: str, payload: Mapping[str, Any]) -> int:
    """Keep an answer that nobody asked for, once."""
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    for rows in desk.rows(TABLES["stray"], where=("key", [key])):
        for row in rows.dicts():
            if row["payload"] == text:
                return int(row["seq"])
    (seq,) = add(desk, "stray", {"at": np.array([desk.now()])}, {"key": [key], "payload": [text]}).tolist()
    return int(seq)


def event_of(row: Mapping[str, Any]) -> Event:
    return Event(row["seq"], row["kind"], row["number"], json.loads(row["payload"]), row["at"])


def as_column(values: Any) -> Int:
    return np.ascontiguousarray(values, np.int64)
