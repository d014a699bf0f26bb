"""What every store must do, as tests: subclass `StoreContract`, say how to open yours, and let pytest run it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from quorate.errors import AnswerError, InputError, LifecycleError, QuorateError, SpecError
from quorate.facts import (
    AS_ASKED,
    CONFLICT,
    EXPIRED,
    KNOWN,
    LATE,
    OURS,
    OVER_BUDGET,
    RECORDED,
    REPEATED,
    SAME_WORKER,
    STRAY,
    TAKEN,
    Money,
    NewAnswers,
    NewAsks,
    NewItems,
    key_of,
)
from quorate.model import Receipt
from quorate.ports_store import Ledger, Store
from quorate.stores import export_campaign, open_store

PRICE = 100


def some_items(count: int, start: int = 0) -> NewItems:
    """Items ``item-<start>`` and so on, with a payload that names them."""
    ids = [f"item-{j}" for j in range(start, start + count)]
    payload = [json.dumps({"text": f"τ {one}"}) for one in ids]
    return NewItems(ids, payload, np.arange(start, start + count).astype(np.uint64) + 2**63, np.full(count, -1))


def asks(item: Sequence[int], ordinal: int | Sequence[int] = 0, worker_class: int = 0, price: int = PRICE) -> NewAsks:
    """Asks about these items."""
    j = np.asarray(item, np.int64)
    return NewAsks(j, j * 0 + np.asarray(ordinal), j * 0 + worker_class, j * 0 + price)


def answers(
    item: Sequence[int],
    ordinal: int | Sequence[int] = 0,
    label: int | Sequence[int] = 1,
    charged: int = AS_ASKED,
    failure: int = 0,
    **more: Any,
) -> NewAnswers:
    """Answers about these items."""
    j = np.asarray(item, np.int64)
    return NewAnswers(
        j, j * 0 + np.asarray(ordinal), j * 0 + np.asarray(label), j * 0 + charged, j * 0 + failure, **more
    )


class StoreContract:
    """Override `opener`: a function that opens the same store again and again."""

    @pytest.fixture
    def opener(self) -> Callable[[], Store]:
        raise NotImplementedError("say how to open the store under test")

    @pytest.fixture
    def store(self, opener: Callable[[], Store]) -> Iterator[Store]:
        with opener() as store:
            yield store

    @pytest.fixture
    def ledger(self, store: Store) -> Ledger:
        return self.new(store)

    def new(self, store: Store, name: str = "news", *, budget: int = 10_000, items: int = 10) -> Ledger:
        """A campaign with a few items."""
        return store.create(name, uid=name, spec={"labels": ["ok", "no"]}, budget=budget, items=some_items(items))

    # ------------------------------------------------------------------------------------- campaigns

    def test_a_new_campaign_says_what_it_was_given(self, ledger: Ledger) -> None:
        row = ledger.campaign()
        assert (row.name, row.uid, row.spec, row.spec_version) == ("news", "news", {"labels": ["ok", "no"]}, 1)
        assert (row.epoch, row.state, row.money, row.items) == (1, "running", Money(10_000, 0, 0), 10)
        assert row.head == 11
        assert ledger.verify() == 11

    def test_campaigns_live_side_by_side(self, store: Store) -> None:
        one, two = self.new(store, "one"), self.new(store, "two", budget=70)
        assert (one.claim(asks([0])).outcome[0], two.claim(asks([0])).outcome[0]) == (OURS, OVER_BUDGET)
        assert [row.name for row in store.campaigns()] == ["one", "two"]
        assert two.changes().head == 11
        assert one.find(["item-3"]).tolist() == two.find(["item-3"]).tolist() == [3]
        assert one.verify() == 12
        assert two.verify() == 11

    @pytest.mark.parametrize(
        ("name", "uid", "budget"),
        [
            ("", "u", 1),
            ("two", "Upper", 1),
            ("two", "", 1),
            ("two", "u" * 25, 1),
            ("two", "u", -1),
            ("two", "u", 2**63),
        ],
    )
    def test_what_cannot_be_a_campaign(self, store: Store, name: str, uid: str, budget: int) -> None:
        with pytest.raises(SpecError) as raised:
            store.create(name, uid=uid, spec={}, budget=budget)
        assert raised.value.hint

    def test_names_and_uids_are_taken_once(self, store: Store) -> None:
        self.new(store)
        with pytest.raises(SpecError, match="'news'"):
            self.new(store)
        with pytest.raises(SpecError, match="uid 'news'"):
            store.create("other", uid="news", spec={}, budget=1)

    def test_an_unknown_campaign_names_those_there(self, store: Store) -> None:
        self.new(store)
        with pytest.raises(SpecError, match="'nwes'") as raised:
            store.open("nwes")
        assert "'news'" in raised.value.hint

    def test_it_is_all_there_after_opening_again(self, opener: Callable[[], Store]) -> None:
        with opener() as store:
            ledger = self.new(store)
            ledger.claim(asks([0, 1, 2]), stage=3)
            ledger.keep([Receipt(key_of("news", 1, 1, 0), "p", {"id": 7})])
            ledger.record(answers([0], worker=["ann"], raw=["{}"]))
            ledger.append("stage", {"number": 0}, number=0)
            before, facts = ledger.campaign(), list(ledger.facts())
        with opener() as store:
            ledger = store.open("news")
            assert ledger.campaign() == before
            assert list(ledger.facts()) == facts
            assert [fact.seq for fact in facts] == list(range(1, before.head + 1))
            flying = ledger.in_flight()
            assert flying.asks.item.tolist() == [1, 2]
            assert flying.posted.tolist() == [True, False]
            assert flying.asks.stage.tolist() == [3, 3]
            assert ledger.claim(asks([0, 1, 2, 3])).outcome.tolist() == [TAKEN, TAKEN, TAKEN, OURS]
            assert ledger.record(answers([0, 1], worker=["ann", None])).outcome.tolist() == [KNOWN, RECORDED]

    # ----------------------------------------------------------------------------------------- items

    def test_first_items_in_pieces_are_all_in_or_none(self, store: Store) -> None:
        def piece(*names: str) -> NewItems:
            return NewItems(
                names, ["{}"] * len(names), np.arange(len(names), dtype=np.uint64), np.full(len(names), -1)
            )

        self.new(store)
        with pytest.raises(InputError, match="'b' occurs twice: rows 1 and 3 "):
            store.create("half", uid="half", spec={}, budget=1, items=iter([piece("a", "b"), piece("c", "b")]))
        assert [one.name for one in store.campaigns()] == ["news"]
        made = store.create("whole", uid="whole", spec={}, budget=1, items=iter([piece("a", "b"), piece("c")]))
        assert made.campaign().items == 3
        assert made.find(["c", "b"]).tolist() == [2, 1]
        made.verify()

    def test_items_come_back(self, ledger: Ledger) -> None:
        assert ledger.add_items(some_items(5, start=10)) == 10
        hashes, gold = ledger.item_columns(8)
        assert hashes.tolist() == [2**63 + j for j in range(8, 15)]
        assert gold.tolist() == [-1] * 7
        rows = ledger.items([12, 3, 12])
        assert [(row.index, row.id, row.payload["text"]) for row in rows] == [
            (j, f"item-{j}", f"τ item-{j}") for j in (12, 3, 12)
        ]
        assert ledger.find(["item-14", "nobody", "item-0"]).tolist() == [14, -1, 0]

    def test_an_id_is_taken_once_and_nothing_is_half_done(self, ledger: Ledger) -> None:
        before = ledger.campaign()
        with pytest.raises(InputError, match="'item-9'"):
            ledger.add_items(some_items(3, start=9))
        twice = some_items(2, start=20)
        with pytest.raises(InputError, match="rows 0 and 1"):
            ledger.add_items(NewItems(["same", "same"], twice.payload, twice.hash, twice.gold))
        assert ledger.campaign() == before
        assert ledger.verify() == before.head

    def test_an_item_that_is_not_there(self, ledger: Ledger) -> None:
        with pytest.raises(InputError, match="no item 10"):
            ledger.items([10])
        with pytest.raises(InputError, match="item 10"):
            ledger.claim(asks([10]))

    # ---------------------------------------------------------------------------------------- buying

    def test_a_claim_reserves_and_an_answer_settles(self, ledger: Ledger) -> None:
        assert ledger.claim(asks([0, 1, 2])).outcome.tolist() == [OURS] * 3
        assert ledger.money() == Money(10_000, 0, 300)
        told = ledger.record(answers([0, 1], label=[1, 0], charged=80))
        assert told.outcome.tolist() == [RECORDED, RECORDED]
        assert ledger.money() == Money(10_000, 160, 100)
        log = ledger.changes().answers
        assert log.label.tolist() == [1, 0]
        assert log.charged.tolist() == [80, 80]
        assert log.ask.tolist() == ledger.asks().seq[:2].tolist()

    def test_a_slot_is_claimed_once(self, ledger: Ledger) -> None:
        ledger.claim(asks([4]))
        again = ledger.claim(asks([4, 4, 4], ordinal=[0, 1, 1]))
        assert again.outcome.tolist() == [TAKEN, OURS, TAKEN]
        assert ledger.money().reserved == 2 * PRICE

    def test_ordinals_may_come_in_any_order(self, ledger: Ledger) -> None:
        assert ledger.claim(asks([1, 1, 0], ordinal=[2, 0, 5])).outcome.tolist() == [OURS] * 3
        assert ledger.claim(asks([1, 1, 1, 0], ordinal=[2, 1, 3, 5])).outcome.tolist() == [TAKEN, OURS, OURS, TAKEN]
        ledger.verify()

    def test_what_was_claimed_out_of_turn_stays_claimed_when_its_turn_comes(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1], ordinal=1))
        assert ledger.claim(asks([0])).outcome.tolist() == [OURS]
        assert ledger.claim(asks([0])).outcome.tolist() == [TAKEN]
        assert ledger.claim(asks([0], ordinal=1)).outcome.tolist() == [TAKEN]
        assert ledger.claim(asks([1, 1, 1], ordinal=[0, 1, 2])).outcome.tolist() == [OURS, TAKEN, OURS]
        assert ledger.money().reserved == 5 * PRICE

    def test_money_goes_out_in_order_and_what_does_not_fit_is_skipped(self, store: Store) -> None:
        ledger = self.new(store, budget=250)
        columns = asks([0, 1, 2, 3])
        columns.price[:] = [100, 200, 149, 1]
        claimed = ledger.claim(columns)
        assert claimed.outcome.tolist() == [OURS, OVER_BUDGET, OURS, OURS]
        assert ledger.money() == Money(250, 0, 250)
        assert ledger.claim(asks([1], price=0)).outcome.tolist() == [OURS]

    def test_a_failure_releases_the_money(self, store: Store) -> None:
        ledger = self.new(store, budget=PRICE)
        ledger.claim(asks([0]))
        assert ledger.claim(asks([1])).outcome.tolist() == [OVER_BUDGET]
        ledger.record(answers([0], label=-1, failure=EXPIRED))
        assert ledger.money() == Money(PRICE, 0, 0)
        assert ledger.claim(asks([1])).outcome.tolist() == [OURS]

    def test_money_that_is_gone_is_booked_and_reported(self, store: Store) -> None:
        ledger = self.new(store, budget=PRICE)
        ledger.claim(asks([0]))
        told = ledger.record(answers([0], charged=PRICE + 1))
        assert told.overcharged.tolist() == [True]
        assert ledger.money() == Money(PRICE, PRICE + 1, 0)
        assert ledger.claim(asks([1], price=1)).outcome.tolist() == [OVER_BUDGET]

    def test_only_a_running_campaign_buys_but_answers_are_always_taken(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        ledger.set_state("paused")
        with pytest.raises(LifecycleError, match="paused"):
            ledger.claim(asks([1]))
        assert ledger.record(answers([0])).outcome.tolist() == [RECORDED]
        ledger.set_state("running")
        assert ledger.claim(asks([1])).outcome.tolist() == [OURS]
        ledger.set_state("closed")
        with pytest.raises(LifecycleError, match="closed"):
            ledger.set_state("running")
        assert ledger.record(answers([1])).outcome.tolist() == [RECORDED]

    def test_the_budget_changes_but_not_below_what_is_committed(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1]))
        with pytest.raises(SpecError, match=r"0\.0001"):
            ledger.set_budget(2 * PRICE - 1)
        event = ledger.set_budget(2 * PRICE)
        assert event.payload == {"from": 10_000, "to": 2 * PRICE}
        assert ledger.claim(asks([2])).outcome.tolist() == [OVER_BUDGET]

    @pytest.mark.parametrize("column", ["item", "ordinal", "worker_class", "price"])
    def test_a_number_that_cannot_be(self, ledger: Ledger, column: str) -> None:
        columns = asks([0])
        getattr(columns, column)[:] = -1
        with pytest.raises(InputError, match=f"{column} -1"):
            ledger.claim(columns)

    @pytest.mark.parametrize(
        "wrong",
        [
            answers([0], label=-2),
            answers([0], charged=-2),
            answers([0], failure=SAME_WORKER),
            answers([0], failure=1),
        ],
    )
    def test_an_answer_that_cannot_be(self, ledger: Ledger, wrong: NewAnswers) -> None:
        ledger.claim(asks([0]))
        with pytest.raises(AnswerError):
            ledger.record(wrong)
        assert len(ledger.in_flight()) == 1

    # ------------------------------------------------------------------------------------- answering

    def test_the_first_value_stands(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        ledger.record(answers([0], label=1))
        assert ledger.record(answers([0], label=1)).outcome.tolist() == [KNOWN]
        assert ledger.record(answers([0], label=0, raw=['{"a":1}'])).outcome.tolist() == [CONFLICT]
        assert ledger.record(answers([0], label=0)).outcome.tolist() == [KNOWN]
        assert ledger.changes().answers.label.tolist() == [1]
        (kept,) = ledger.conflicts()
        assert (kept.outcome, kept.label, kept.charged, kept.raw) == ("conflict", 0, 0, '{"a":1}')
        assert ledger.money() == Money(10_000, PRICE, 0)

    def test_twice_in_one_call(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1]))
        told = ledger.record(answers([0, 0, 1, 0], label=[1, 1, 0, 0]))
        assert told.outcome.tolist() == [RECORDED, KNOWN, RECORDED, CONFLICT]
        assert ledger.money().spent == 2 * PRICE

    def test_a_second_dearer_answer_is_booked_at_its_price(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        ledger.record(answers([0], charged=60))
        told = ledger.record(answers([0], charged=PRICE + 5))
        assert told.outcome.tolist() == [CONFLICT]
        assert told.overcharged.tolist() == [True]
        assert ledger.money().spent == PRICE + 5
        ledger.verify()

    def test_a_late_answer_is_kept_and_booked(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        ledger.record(answers([0], label=-1, failure=EXPIRED))
        assert ledger.record(answers([0], label=1, worker=["ann"])).outcome.tolist() == [LATE]
        assert ledger.record(answers([0], label=1, worker=["ann"])).outcome.tolist() == [KNOWN]
        assert ledger.money() == Money(10_000, PRICE, 0)
        (late,) = ledger.changes().conflicts
        assert (late.outcome, late.label, late.worker) == ("late", 1, "ann")
        ledger.claim(asks([0], ordinal=1))
        assert ledger.record(answers([0], ordinal=1, worker=["ann"])).outcome.tolist() == [REPEATED]

    def test_a_failure_after_an_answer_says_nothing_new(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        ledger.record(answers([0]))
        assert ledger.record(answers([0], label=-1, failure=EXPIRED)).outcome.tolist() == [KNOWN]

    def test_a_worker_answers_an_item_once(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 0, 0, 1], ordinal=[0, 1, 2, 0]))
        told = ledger.record(answers([0, 0, 1], ordinal=[0, 1, 0], worker=["ann", "ann", "ann"]))
        assert told.outcome.tolist() == [RECORDED, REPEATED, RECORDED]
        told = ledger.record(answers([0], ordinal=2, label=0, worker=["ann"]))
        assert told.outcome.tolist() == [REPEATED]
        log = ledger.changes().answers
        assert log.label.tolist() == [1, -1, 1, -1]
        assert log.failure.tolist() == [0, SAME_WORKER, 0, SAME_WORKER]
        assert [(one.outcome, one.label) for one in ledger.conflicts()] == [("repeated", 1), ("repeated", 0)]
        assert ledger.money() == Money(10_000, 4 * PRICE, 0)
        assert ledger.record(answers([0], ordinal=2, label=0, worker=["ann"])).outcome.tolist() == [KNOWN]
        ledger.verify()

    def test_an_answer_that_nobody_asked_for(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        told = ledger.record(answers([0, 0, 99, 2], ordinal=[0, 7, 0, 10**9]))
        assert told.outcome.tolist() == [RECORDED, STRAY, STRAY, STRAY]
        assert [one.key for one in ledger.strays()] == ["news-1-99-0", f"news-1-2-{10**9}", "news-1-0-7"] or [
            one.key for one in ledger.strays()
        ] == ["news-1-0-7", "news-1-99-0", f"news-1-2-{10**9}"]
        assert ledger.money().spent == PRICE
        seq = ledger.record_stray("whose", {"label": "cat"})
        assert ledger.record_stray("whose", {"label": "cat"}) == seq
        assert len(ledger.strays()) == 4
        ledger.verify()

    def test_an_answer_of_another_epoch_is_a_stray(self, store: Store) -> None:
        ledger = self.new(store)
        ledger.claim(asks([0]))
        store.restored()
        ledger.claim(asks([1]))
        assert ledger.campaign().epoch == 2
        told = ledger.record(answers([0, 1], epoch=np.array([2, 1])))
        assert told.outcome.tolist() == [STRAY, STRAY]
        assert len(ledger.in_flight()) == 2
        told = ledger.record(answers([0, 1], epoch=np.array([1, 2])))
        assert told.outcome.tolist() == [RECORDED, RECORDED]
        assert [event.kind for event in ledger.changes().events] == ["spec", "restored"]

    # ------------------------------------------------------------------------------------- in flight

    def test_receipts_are_kept_once(self, ledger: Ledger) -> None:
        claimed = ledger.claim(asks([0, 1]))
        key = key_of("news", 1, 1, 0)
        first, head = ledger.keep([Receipt(key, "crowd", {"job": 1}), Receipt(key, "crowd", {"job": 2})])
        assert first == head == claimed.head + 1
        assert ledger.keep([Receipt(key, "crowd", {"job": 3})]) == (head + 1, head)
        seqs = ledger.in_flight().asks.seq
        assert ledger.receipts(seqs) == [Receipt(key, "crowd", {"job": 1})]
        assert ledger.keep([]) == (head + 1, head)

    @pytest.mark.parametrize("key", ["news-1-5-0", "news-2-0-0", "else-1-0-0", "nonsense"])
    def test_a_receipt_for_something_else(self, ledger: Ledger, key: str) -> None:
        ledger.claim(asks([0]))
        with pytest.raises(AnswerError, match=key):
            ledger.keep([Receipt(key, "crowd", {})])

    def test_what_a_predecessor_left_is_adopted_once(self, opener: Callable[[], Store]) -> None:
        with opener() as store:
            ledger = self.new(store)
            ledger.claim(asks([0, 1, 2]), lease=0.0)
            ledger.keep([Receipt(key_of("news", 1, 0, 0), "p", {})])
        with opener() as store:
            ledger = store.open("news")
            first = ledger.adopt(2)
            assert first.asks.item.tolist() == [0, 1]
            assert first.posted.tolist() == [True, False]
            assert ledger.adopt().asks.item.tolist() == [2]
            assert len(ledger.adopt()) == 0
            assert ledger.renew() == 3
            ledger.record(answers([1]))
            assert ledger.renew() == 2

    def test_what_is_ours_is_not_adopted(self, ledger: Ledger) -> None:
        ledger.claim(asks([0]))
        assert len(ledger.adopt()) == 0

    def test_one_planner_at_a_time(self, ledger: Ledger) -> None:
        with ledger.planner() as mine, ThreadPoolExecutor(1) as other:

            def ask() -> bool:
                with ledger.planner() as also:
                    return also

            assert mine
            assert not other.submit(ask).result()
        with ledger.planner() as again:
            assert again

    # --------------------------------------------------------------------------------------- reading

    def test_what_is_new_after_a_seq(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1]))
        told = ledger.record(answers([0]))
        assert told.first == told.head == ledger.changes().head
        ledger.append("audit", {"items": [1]})
        ledger.record(answers([1], label=0))
        new = ledger.changes(told.head)
        assert new.answers.item.tolist() == [1]
        assert [event.kind for event in new.events] == ["audit"]
        assert new.head == told.head + 2
        assert len(ledger.changes(new.head).answers) == 0

    def test_the_first_event_of_a_number_stands(self, ledger: Ledger) -> None:
        first = ledger.append("stage", {"late": 1}, number=0)
        assert ledger.append("stage", {"late": 2}, number=0) == first
        assert ledger.append("stage", {"late": 2}, number=1).number == 1
        assert ledger.append("note", {}).number == ledger.append("note", {}).number - 1
        assert ledger.change_spec({"labels": ["a"]}).number == 2
        assert ledger.campaign().spec == {"labels": ["a"]}
        assert ledger.campaign().spec_version == 2

    def test_an_items_history(self, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1]))
        ledger.keep([Receipt(key_of("news", 1, 1, 0), "p", {})])
        ledger.record(answers([1], worker=["ann"], raw=['{"text":"yes"}']))
        ledger.record(answers([1], label=0))
        history = ledger.history(1)
        assert [fact.table for fact in history] == ["ask", "receipt", "answer", "conflict"]
        assert history[2].row["worker"] == "ann"
        assert history[2].row["raw"] == '{"text":"yes"}'
        assert ledger.history(5) == []

    def test_export_and_import_give_the_same_campaign(self, store: Store, ledger: Ledger) -> None:
        ledger.claim(asks([0, 1, 2]))
        ledger.keep([Receipt(key_of("news", 1, 2, 0), "p", {"ü": [1]})])
        ledger.record(answers([0, 1], worker=["ann", None], raw=[None, "{}"]))
        ledger.record(answers([0], label=0))
        ledger.record_stray("x", {})
        ledger.append("stage", {"number": 0}, number=0)
        lines = list(export_campaign(ledger))
        with open_store("memory:") as other:
            copy = other.import_campaign(lines)
            assert copy.campaign() == ledger.campaign()
            assert copy.in_flight().posted.tolist() == [True]
            assert list(export_campaign(copy)) == lines
            copy.verify()
        with pytest.raises(SpecError, match="uid 'news'"):
            store.import_campaign(lines, name="again")

    def test_import_is_all_or_nothing(self, store: Store) -> None:
        with open_store("memory:") as other:
            ledger = self.new(other)
            ledger.claim(asks([0, 1]))
            ledger.record(answers([0, 1]))
            lines = list(export_campaign(ledger))
        changed = lines[-1].replace('"charged":100', '"charged":99')
        for wrong in (
            lines[:-1],
            [*lines[:-1], changed],
            [*lines, lines[-1]],
            [*lines[:5], "{", *lines[6:]],
            lines[1:],
            [],
        ):
            with pytest.raises(QuorateError):
                store.import_campaign(wrong)
            with suppress(SpecError):  # there is no store, if this import would have made it
                assert store.campaigns() == []
        assert store.import_campaign(lines).verify() == len(lines) - 1

    # --------------------------------------------------------------------------------------- threads

    def test_many_threads_never_overspend_or_lose(self, store: Store) -> None:
        ledger = self.new(store, budget=50 * PRICE, items=20)

        def buy(worker: int) -> list[tuple[int, int]]:
            mine = []
            for turn in range(4):
                claimed = ledger.claim(asks(np.arange(20).tolist(), ordinal=turn))
                won = np.flatnonzero(claimed.outcome == OURS)
                for j in won.tolist():
                    assert ledger.record(answers([j], ordinal=turn, label=worker % 2)).outcome[0] == RECORDED
                    mine.append((j, turn))
            return mine

        with ThreadPoolExecutor(6) as pool:
            bought = [pair for pairs in pool.map(buy, range(6)) for pair in pairs]
        assert len(bought) == len(set(bought)) == 50
        assert ledger.money() == Money(50 * PRICE, 50 * PRICE, 0)
        log = ledger.changes().answers
        assert set(zip(log.item.tolist(), log.ordinal.tolist(), strict=True)) == set(bought)
        ledger.verify()


__all__ = ["StoreContract", "answers", "asks", "some_items"]
