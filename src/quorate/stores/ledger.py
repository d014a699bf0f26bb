"""One campaign's ledger: the same for every store, over the few things that a `Shelf` can do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from heapq import merge
from typing import Any, Final

import numpy as np

from quorate.errors import AnswerError, InputError, LifecycleError, SpecError, StoreDamaged
from quorate.facts import (
    DEAREST,
    OURS,
    OUTCOMES,
    AnswerLog,
    AskLog,
    CampaignRow,
    Changes,
    Claimed,
    Conflict,
    Event,
    Fact,
    InFlight,
    ItemRow,
    Money,
    NewAnswers,
    NewAsks,
    NewItems,
    Recorded,
    State,
    Stray,
    Wrote,
    key_of,
    parse_key,
)
from quorate.model import Receipt
from quorate.money import LARGEST, show
from quorate.stores.book import ORDINALS
from quorate.stores.entries import add, add_event, add_items, add_stray, as_column, event_of
from quorate.stores.head import Desk, Look, Shelf
from quorate.stores.rules import grant
from quorate.stores.tables import TABLES, Columns, Int
from quorate.stores.tellings import checked, record
from quorate.stores.verify import verify

CLASSES: Final = 2**15


class Ledger:
    """`quorate.ports_store.Ledger` over a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.name = shelf.name

    # ------------------------------------------------------------------------------- the campaign's row

    def campaign(self) -> CampaignRow:
        with self._shelf.read() as look:
            return campaign_row(look)

    def money(self) -> Money:
        with self._shelf.read() as look:
            return look.head.money

    def set_budget(self, budget: int) -> Event:
        def job(desk: Desk) -> Event:
            head = desk.head
            if not head.spent + head.reserved <= budget <= LARGEST:
                raise SpecError(
                    f"The budget cannot become {show(budget)}: {show(head.spent)} is spent and"
                    f" {show(head.reserved)} reserved for asks in flight.",
                    hint=f"Choose at least {show(head.spent + head.reserved)}, or wait for the asks in flight.",
                )
            event = add_event(desk, "budget", {"from": head.budget, "to": budget})
            head.budget = budget
            return event

        return self._shelf.write(job)

    def set_state(self, state: State) -> Event:
        def job(desk: Desk) -> Event:
            if desk.head.state == "closed" and state != "closed":
                raise LifecycleError(f"Campaign {self.name!r} is closed.", hint="Create a new one for more items.")
            event = add_event(desk, "state", {"from": desk.head.state, "to": state})
            desk.head.state = state
            return event

        return self._shelf.write(job)

    def change_spec(self, spec: Mapping[str, Any]) -> Event:
        def job(desk: Desk) -> Event:
            desk.head.spec_version += 1
            return add_event(desk, "spec", spec, desk.head.spec_version)

        return self._shelf.write(job)

    # --------------------------------------------------------------------------------------------- items

    def add_items(self, items: NewItems) -> int:
        return self._shelf.write(lambda desk: add_items(desk, items))

    def item_columns(self, start: int = 0) -> tuple[np.ndarray[Any, np.dtype[np.uint64]], Int]:
        with self._shelf.read() as look:
            columns = look.columns(TABLES["item"], start - 1)
            return columns["hash"].view(np.uint64), columns["gold"]

    def items(self, rows: Int | Sequence[int]) -> list[ItemRow]:
        wanted = [int(row) for row in rows]
        found = {}
        with self._shelf.read() as look:
            for chunk in look.rows(TABLES["item"], where=("idx", wanted)):
                for row in chunk.dicts():
                    found[row["idx"]] = ItemRow(row["idx"], row["name"], json.loads(row["payload"]), row["gold"])
            missing = [row for row in wanted if row not in found]
            if missing and 0 <= missing[0] < look.head.items:
                raise StoreDamaged(
                    f"Table 'item': row {missing[0]} cannot be found.",
                    hint="Run quorate doctor; restore a backup, or import the last export.",
                )
            if missing:
                raise InputError(
                    f"There is no item {missing[0]}: the campaign has {look.head.items}.", hint="Items count from 0."
                )
        return [found[row] for row in wanted]

    def find(self, ids: Sequence[str]) -> Int:
        found: dict[str, int] = {}
        with self._shelf.read() as look:
            for chunk in look.rows(TABLES["item"], where=("name", ids)):
                found.update((row["name"], row["idx"]) for row in chunk.dicts())
        return np.array([found.get(one, -1) for one in ids], np.int64)

    # -------------------------------------------------------------------------------------------- buying

    def claim(self, asks: NewAsks, *, stage: int = 0, lease: float = 600.0) -> Claimed:
        item, ordinal = as_column(asks.item), as_column(asks.ordinal)
        worker_class, price = as_column(asks.worker_class), as_column(asks.price)
        _within("item", item, 2**40)
        _within("ordinal", ordinal, ORDINALS)
        _within("worker_class", worker_class, CLASSES)
        _within("price", price, DEAREST)
        self._shelf.check_room()

        def job(desk: Desk) -> Claimed:
            head = desk.head
            if head.state != "running":
                raise LifecycleError(
                    f"Campaign {self.name!r} is {head.state}: nothing is bought.", hint="Resume it first."
                )
            _within("item", item, head.items)
            outcome = grant(price, desk.taken(item, ordinal), head.left)
            ours = outcome == OURS
            mine = slice(None) if ours.all() else ours
            count = int(ours.sum())
            first = head.seq + 1
            columns = {
                "item": item[mine],
                "ordinal": ordinal[mine],
                "worker_class": worker_class[mine],
                "price": price[mine],
                "stage": np.full(count, stage),
                "epoch": np.full(count, head.epoch),
                "at": np.full(count, desk.now()),
            }
            seq = add(desk, "ask", columns)
            head.reserved += int(columns["price"].sum())
            desk.claimed({"seq": seq, **columns}, lease)
            return Claimed(outcome, first, head.seq)

        return self._shelf.write(job)

    def keep(self, receipts: Sequence[Receipt]) -> Wrote:
        parts = [parse_key(receipt.key) for receipt in receipts]

        def job(desk: Desk) -> Wrote:
            first = desk.head.seq + 1
            asks: dict[tuple[int, int, int], int] = {}
            for rows in desk.rows(TABLES["ask"], where=("item", sorted({part.item for part in parts}))):
                columns = (rows.ints[name].tolist() for name in ("epoch", "item", "ordinal", "seq"))
                asks.update(((epoch, item, turn), seq) for epoch, item, turn, seq in zip(*columns, strict=True))
            new: dict[int, tuple[Receipt, tuple[int, int]]] = {}
            for receipt, part in zip(receipts, parts, strict=True):
                seq = asks.get((part.epoch, part.item, part.ordinal)) if part.uid == desk.head.uid else None
                if seq is None:
                    raise AnswerError(
                        f"A receipt for {receipt.key!r}, which campaign {self.name!r} has not asked.",
                        hint="Keep only receipts of asks that were claimed here.",
                    )
                new.setdefault(seq, (receipt, (part.item, part.ordinal)))
            for rows in desk.rows(TABLES["receipt"], where=("ask", sorted(new))):
                for seq in rows.ints["ask"].tolist():
                    del new[seq]
            texts = {
                "platform": [receipt.platform for receipt, _ in new.values()],
                "data": [json.dumps(receipt.data, separators=(",", ":")) for receipt, _ in new.values()],
            }
            add(desk, "receipt", {"ask": np.array(list(new), np.int64), "at": np.full(len(new), desk.now())}, texts)
            desk.posted([slot for _, slot in new.values()])
            return Wrote(first, desk.head.seq)

        return self._shelf.write(job)

    def record(self, answers: NewAnswers) -> Recorded:
        columns = checked(answers)
        return self._shelf.write(lambda desk: record(desk, columns))

    def record_stray(self, key: str, payload: Mapping[str, Any]) -> int:
        return self._shelf.write(lambda desk: add_stray(desk, key, payload))

    def append(self, kind: str, payload: Mapping[str, Any], *, number: int | None = None) -> Event:
        return self._shelf.write(lambda desk: add_event(desk, kind, payload, number))

    # ------------------------------------------------------------------------------------ asks in flight

    def in_flight(self) -> InFlight:
        return self._shelf.write(lambda desk: _in_flight(*desk.in_flight()))

    def adopt(self, limit: int | None = None, *, lease: float = 600.0) -> InFlight:
        return self._shelf.write(lambda desk: _in_flight(*desk.adopt(limit, lease)))

    def renew(self, *, lease: float = 600.0) -> int:
        return self._shelf.write(lambda desk: desk.renew(lease))

    def receipts(self, asks: Int | Sequence[int]) -> list[Receipt]:
        wanted = [int(seq) for seq in asks]
        keys, found = {}, {}
        with self._shelf.read() as look:
            for rows in look.rows(TABLES["ask"], where=("seq", wanted)):
                for row in rows.dicts():
                    keys[row["seq"]] = key_of(look.head.uid, row["epoch"], row["item"], row["ordinal"])
            for rows in look.rows(TABLES["receipt"], where=("ask", wanted)):
                for row in rows.dicts():
                    found[row["ask"]] = Receipt(keys[row["ask"]], row["platform"], json.loads(row["data"]))
        return [found[seq] for seq in wanted if seq in found]

    def planner(self) -> AbstractContextManager[bool]:
        return self._shelf.planner()

    # ------------------------------------------------------------------------------------------- reading

    def changes(self, after: int = 0) -> Changes:
        with self._shelf.read() as look:
            return Changes(
                AnswerLog(**_only(look.columns(TABLES["answer"], after), AnswerLog)),
                tuple(event_of(row) for rows in look.rows(TABLES["event"], after=after) for row in rows.dicts()),
                tuple(_conflict(row) for rows in look.rows(TABLES["conflict"], after=after) for row in rows.dicts()),
                look.head.items,
                look.head.seq,
            )

    def asks(self, after: int = 0) -> AskLog:
        with self._shelf.read() as look:
            return AskLog(**_only(look.columns(TABLES["ask"], after), AskLog))

    def history(self, item: int) -> list[Fact]:
        facts: list[Fact] = []
        with self._shelf.read() as look:
            asks: list[int] = []
            for rows in look.rows(TABLES["ask"], where=("item", [item])):
                facts += [Fact("ask", row["seq"], row) for row in rows.dicts()]
                asks += rows.ints["seq"].tolist()
            for name in ("receipt", "answer", "conflict"):
                for rows in look.rows(TABLES[name], where=("ask", asks)):
                    facts += [Fact(name, row["seq"], row) for row in rows.dicts()]
        return sorted(facts, key=lambda fact: fact.seq)

    def conflicts(self) -> list[Conflict]:
        with self._shelf.read() as look:
            return [_conflict(row) for rows in look.rows(TABLES["conflict"]) for row in rows.dicts()]

    def strays(self) -> list[Stray]:
        with self._shelf.read() as look:
            rows = (row for rows in look.rows(TABLES["stray"]) for row in rows.dicts())
            return [Stray(row["seq"], row["key"], json.loads(row["payload"]), row["at"]) for row in rows]

    def facts(self, after: int = 0) -> Iterator[Fact]:
        with self._shelf.read() as look:
            yield from facts_of(look, after)

    def verify(self) -> int:
        with ThreadPoolExecutor(1) as aside:  # the database checks its structure while the rows are read
            structure = aside.submit(self._shelf.check)
            try:
                with self._shelf.read() as look:
                    return verify(look)
            finally:
                structure.result()


# ------------------------------------------------------------------------------------------------ helpers


def facts_of(look: Look, after: int = 0) -> Iterator[Fact]:
    """All rows of all tables in the order of seq."""

    def of(name: str) -> Iterator[Fact]:
        for rows in look.rows(TABLES[name], after=after):
            for row in rows.dicts():
                yield Fact(name, row["seq"], row)  # type: ignore[arg-type]

    return merge(*(of(name) for name in TABLES), key=lambda fact: fact.seq)


def campaign_row(look: Look) -> CampaignRow:
    """The campaign's row with its spec, which is the last event of that kind."""
    head = look.head
    specs = {
        row["number"]: row["payload"]
        for rows in look.rows(TABLES["event"], where=("kind", ["spec"]))
        for row in rows.dicts()
    }
    if head.spec_version not in specs:
        raise StoreDamaged(
            f"Table 'event': the row with spec {head.spec_version} of campaign {head.name!r} cannot be found.",
            hint="Run quorate doctor; restore a backup, or import the last export.",
        )
    spec = json.loads(specs[head.spec_version])
    return CampaignRow(
        head.name,
        head.uid,
        spec,
        head.spec_version,
        head.epoch,
        head.state,
        head.money,
        head.items,
        head.seq,
        head.digest,
    )


def _conflict(row: Mapping[str, Any]) -> Conflict:
    return Conflict(
        row["seq"],
        OUTCOMES[row["outcome"]],  # type: ignore[arg-type]
        row["item"],
        row["ordinal"],
        row["worker_class"],
        row["label"],
        row["charged"],
        row["worker"],
        row["raw"],
        row["at"],
    )


def _in_flight(asks: Columns, posted: np.ndarray[Any, np.dtype[np.bool_]]) -> InFlight:
    return InFlight(AskLog(**asks), posted)


def _only(columns: Columns, log: type[AskLog] | type[AnswerLog]) -> Columns:
    return {name: columns[name] for name in log.__dataclass_fields__}


def _within(name: str, values: Int, end: int) -> None:
    wrong = (values < 0) | (values >= end)
    if wrong.any():
        raise InputError(f"{name} {int(values[wrong][0])} is out of range.", hint=f"It must be 0 … {end - 1}.")
