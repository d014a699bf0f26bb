"""What only PostgreSQL has: several buying processes, leases that run out, settings that lose data."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from quorate.errors import InputError, SpecError, StoreDamaged, StoreError, StoreVersion
from quorate.facts import KNOWN, OURS, RECORDED, TAKEN, Money
from quorate.stores import open_store
from quorate.testing.store_contract import answers, asks, some_items

pytestmark = pytest.mark.postgres
psycopg = pytest.importorskip("psycopg")


@contextmanager
def changed(url: str, change: str, back: str) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(change)
        connection.execute("select pg_reload_conf()")
        time.sleep(0.3)
        try:
            yield
        finally:
            connection.execute(back)
            connection.execute("select pg_reload_conf()")
            time.sleep(0.3)


@pytest.mark.parametrize(
    ("setting", "change", "back"),
    [
        ("full_page_writes", "alter system set full_page_writes = off", "alter system reset full_page_writes"),
        ("fsync", "alter system set fsync = off", "alter system reset fsync"),
        (
            "synchronous_commit",
            "alter database postgres set synchronous_commit = off",
            "alter database postgres reset synchronous_commit",
        ),
    ],
)
def test_settings_that_lose_answers_are_refused(postgres_url: str, setting: str, change: str, back: str) -> None:
    with changed(postgres_url, change, back), pytest.raises(StoreError, match=f"{setting} = off"):
        open_store(postgres_url)


def test_several_processes_buy_from_one_budget(postgres_url: str) -> None:
    items, turns, budget = 30, 4, 7_000
    with open_store(postgres_url) as store:
        store.create("news", uid="news", spec={}, budget=budget, items=some_items(items))
    children = []
    for worker in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with open_store(postgres_url) as store:
                    ledger = store.open("news")
                    for turn in range(turns):
                        for start in range(0, items, 10):
                            rows = np.roll(np.arange(start, start + 10), worker)
                            won = rows[ledger.claim(asks(np.sort(rows), ordinal=turn)).outcome == OURS]
                            told = ledger.record(answers(won, ordinal=turn))
                            money = ledger.money()
                            assert money.spent + money.reserved <= budget
                            assert np.isin(told.outcome, (RECORDED, KNOWN)).all()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    with open_store(postgres_url) as store:
        ledger = store.open("news")
        log = ledger.asks()
        pairs = list(zip(log.item.tolist(), log.ordinal.tolist(), strict=True))
        assert len(pairs) == len(set(pairs)) == budget // 100
        assert ledger.verify() == ledger.campaign().head
        assert ledger.money().spent + ledger.money().reserved == budget


def test_a_lease_that_ran_out_is_taken_over_by_one(postgres_url: str) -> None:
    with open_store(postgres_url) as first, open_store(postgres_url) as second, open_store(postgres_url) as third:
        ledger = first.create("news", uid="news", spec={}, budget=10**6, items=some_items(6))
        ledger.claim(asks([0, 1, 2]), lease=0.3)
        ledger.claim(asks([3]), lease=60)
        others = [second.open("news"), third.open("news")]
        assert [len(one.adopt()) for one in others] == [0, 0]
        time.sleep(0.4)
        taken = [other.adopt(2).asks.item.tolist() for other in others]
        assert sorted(taken[0] + taken[1]) == [0, 1, 2]
        assert others[0].claim(asks([0])).outcome.tolist() == [TAKEN]
        assert ledger.renew() == 1
        assert others[0].record(answers([0])).outcome.tolist() == [RECORDED]
        assert ledger.record(answers([0])).outcome.tolist() == [KNOWN]  # the zombie's answer


def test_one_planner_among_processes(postgres_url: str) -> None:
    with open_store(postgres_url) as first, open_store(postgres_url) as second:
        one = first.create("news", uid="news", spec={}, budget=1)
        other = second.open("news")
        with one.planner() as mine, other.planner() as theirs:
            assert (mine, theirs) == (True, False)
        with other.planner() as now:
            assert now


def test_commits_are_in_the_order_of_seq(postgres_url: str) -> None:
    with open_store(postgres_url) as first, open_store(postgres_url) as second:
        one = first.create("news", uid="news", spec={}, budget=10**6, items=some_items(4))
        other = second.open("news")
        head = one.changes().head
        for turn in range(5):
            one.claim(asks([0, 1], ordinal=turn))
            other.record(answers([0, 1], ordinal=turn))
            new = one.changes(head)
            assert new.answers.seq.tolist() == [head + 3, head + 4]
            head = new.head


def test_a_newer_versions_database_says_so(postgres_url: str) -> None:
    open_store(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("update quorate.schema_version set version = 99")
    with pytest.raises(StoreVersion, match="newer Quorate"):
        open_store(postgres_url)


def test_a_changed_row_is_refused(postgres_url: str) -> None:
    with open_store(postgres_url) as store:
        ledger = store.create("news", uid="news", spec={}, budget=10**6, items=some_items(4))
        ledger.claim(asks([0, 1]))
        ledger.record(answers([0, 1]))
        for change, back in (
            ("update quorate.answer set charged = charged + 1", "update quorate.answer set charged = charged - 1"),
            ("update quorate.campaign set spent = 0", "update quorate.campaign set spent = 200"),
        ):
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(change)
                with pytest.raises(StoreDamaged, match=r"row \d"):
                    ledger.changes()
                connection.execute(back)
            ledger.verify()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("delete from quorate.answer where ask = (select max(ask) from quorate.answer)")
        with pytest.raises(StoreDamaged, match="'answer'"):
            ledger.changes()


def test_reading_only(postgres_url: str) -> None:
    with pytest.raises(SpecError, match="no store in this database"):
        open_store(postgres_url, read_only=True)
    with open_store(postgres_url) as store:
        store.create("news", uid="news", spec={}, budget=10, items=some_items(1))
    with open_store(postgres_url, read_only=True) as store:
        ledger = store.open("news")
        assert ledger.money() == Money(10, 0, 0)
        with pytest.raises(StoreError, match="reading only"):
            ledger.claim(asks([0], price=1))
        with pytest.raises(StoreError, match="reading only"):
            store.create("two", uid="two", spec={}, budget=1)


def test_no_server_is_said_in_one_sentence() -> None:
    with pytest.raises(StoreError, match="PostgreSQL") as raised:
        open_store("postgresql://nobody@127.0.0.1:1/none")
    assert "\n" not in raised.value.message


def test_threads_share_commits_and_errors_stay_with_their_own(postgres_url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with open_store(postgres_url) as store:
        ledger = store.create("news", uid="news", spec={}, budget=10**6, items=some_items(40))

        def buy(j: int) -> str:
            try:
                ledger.claim(asks([j if j % 4 else 99]))
                ledger.record(answers([j]))
                return "bought"
            except InputError:
                return "refused"

        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(buy, range(40)))
        assert said == ["bought" if j % 4 else "refused" for j in range(40)]
        assert ledger.money() == Money(10**6, 3000, 0)
        assert sorted(ledger.changes().answers.item.tolist()) == [j for j in range(40) if j % 4]
        ledger.verify()
