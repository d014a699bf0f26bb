"""What a SQLite file must refuse, survive and remember, beyond the contract."""

from __future__ import annotations

import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np
import pytest

from quorate.errors import (
    LifecycleError,
    QuorateError,
    SpecError,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreVersion,
)
from quorate.facts import NewAnswers, NewAsks
from quorate.stores import export_campaign, open_store
from quorate.stores.group import GroupCommit, Task
from quorate.stores.sqlite_file import connect, fresh_shape, migrate, shape
from quorate.testing.store_contract import answers, asks, some_items


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.db"


def new(path: Path, items: int = 10) -> None:
    with open_store(f"sqlite:///{path}") as store:
        ledger = store.create("news", uid="news", spec={}, budget=10**9, items=some_items(items))
        ledger.claim(asks(range(items)))
        ledger.record(answers(range(items // 2)))


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def test_a_second_buyer_is_refused_and_readers_are_not(path: Path) -> None:
    new(path)
    with open_store(url(path)) as first:
        with pytest.raises(StoreLocked, match=rf"open for buying in another process \(pid {os.getpid()}\)"):
            open_store(url(path))
        with open_store(url(path), read_only=True) as reader:
            seen = reader.open("news")
            head = seen.campaign().head
            first.open("news").record(answers([9]))
            assert seen.changes(head).answers.item.tolist() == [9]
    with open_store(url(path)) as again:
        again.open("news").verify()


def test_reading_only_writes_nothing(path: Path) -> None:
    new(path)
    with open_store(url(path), read_only=True) as store:
        ledger = store.open("news")
        for write in (
            lambda: ledger.claim(asks([0], ordinal=1)),
            lambda: ledger.record(answers([9])),
            lambda: store.create("two", uid="two", spec={}, budget=1),
            store.restored,
        ):
            with pytest.raises(StoreError, match="reading only"):
                write()


def test_no_file_is_made_by_looking(path: Path) -> None:
    for read_only in (True, False):
        with open_store(url(path), read_only=read_only) as store:
            with pytest.raises(SpecError, match="no store at"):
                store.open("news")
            with pytest.raises(SpecError, match="no store at"):
                store.campaigns()
    assert not path.exists()


def test_files_that_are_not_ours(path: Path) -> None:
    path.write_text("id,text\n" * 1000)
    with pytest.raises(StoreDamaged, match="not a database"):
        open_store(url(path))
    assert path.read_text().startswith("id,text")
    path.unlink()
    with apsw.Connection(str(path)) as other:
        other.execute("create table t (a)")
    other.close()
    with pytest.raises(StoreError, match="another program"):
        open_store(url(path))
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    with pytest.raises(StoreError, match="is a folder"):
        open_store(url(path.parent))
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="is empty"):
        open_store(url(path), read_only=True).campaigns()


def test_what_cannot_be_created_leaves_no_file(path: Path) -> None:
    new(path)
    with open_store(url(path)) as store:
        lines = list(export_campaign(store.open("news")))
    copy = path.with_name("copy.db")
    with open_store(url(copy)) as store:
        for wrong in (
            lambda: store.create("", uid="u", spec={}, budget=1),
            lambda: store.import_campaign(lines[:-1]),
            lambda: store.import_campaign(["nonsense"]),
        ):
            with pytest.raises(QuorateError):
                wrong()
            assert list(path.parent.glob("copy*")) == []
        assert store.import_campaign(lines).verify() == len(lines) - 1
        with pytest.raises(SpecError):
            store.create("", uid="u", spec={}, budget=1)
        store.open("news").verify()


def test_a_full_disk_beside_the_database_undoes_no_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new(path)
    with open_store(url(path)) as store:
        ledger = store.open("news")
        monkeypatch.setattr("quorate.stores.files.os.pwrite", _no_room)
        assert ledger.record(answers([9])).outcome.tolist() == [0]
    monkeypatch.undo()
    with open_store(url(path)) as store:
        assert store.open("news").record(answers([9])).outcome.tolist() == [1]


def _no_room(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_newer_versions_file_says_so(path: Path) -> None:
    new(path)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    for read_only in (True, False):
        with pytest.raises(StoreVersion, match="newer Quorate"):
            open_store(url(path), read_only=read_only)


def test_a_changed_schema_is_refused(path: Path) -> None:
    new(path)
    connection = apsw.Connection(str(path))
    connection.execute("drop index one_ask")
    connection.close()
    with pytest.raises(StoreDamaged, match="sqlite_schema"):
        open_store(url(path))


def test_a_migrated_file_equals_a_fresh_one(path: Path) -> None:
    path.touch()
    connection = connect(path, "write")
    migrate(connection)
    assert shape(connection) == fresh_shape()
    assert len(fresh_shape()) > 10
    connection.close()
    new(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written(path: Path) -> None:
    new(path)
    path.chmod(0o444)
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(url(path))


def test_a_lost_wal_is_noticed_and_a_restore_can_be_said(path: Path, tmp_path: Path) -> None:
    new(path)
    with open_store(url(path)) as store:
        ledger = store.open("news")
        ledger.record(answers([9]))
        live = path.read_bytes(), Path(f"{path}-engine").read_bytes()
    old = tmp_path / "old.db"
    old.write_bytes(live[0])
    Path(f"{old}-engine").write_bytes(live[1])
    for read_only in (True, False):
        with (
            pytest.raises(StoreDamaged, match="not the file that was bought with last"),
            open_store(url(old), read_only=read_only) as store,
        ):
            store.open("news")
    with open_store(url(old)) as store:
        store.restored()
        assert store.open("news").campaign().epoch == 2
    with open_store(url(old), read_only=True) as store:
        assert store.open("news").verify() > 0


def test_a_backup_knows_that_it_is_one(path: Path, tmp_path: Path) -> None:
    new(path)
    copy = tmp_path / "copy.db"
    with open_store(url(path)) as store:
        ledger = store.open("news")
        store.backup(copy)
        with pytest.raises(StoreError, match="exists already"):
            store.backup(copy)
        head = ledger.campaign().head
    with open_store(url(copy)) as store:
        row = store.open("news").campaign()
        assert (row.epoch, row.head) == (2, head + 1)
    with open_store(url(copy)) as store:
        assert store.open("news").campaign().epoch == 2


def test_below_the_floor_nothing_is_bought_but_answers_are_taken(path: Path) -> None:
    new(path)
    with open_store(url(path), floor=2**62) as store:
        ledger = store.open("news")
        with pytest.raises(StoreFull, match="nothing is bought below"):
            ledger.claim(asks([0], ordinal=1))
        assert ledger.record(answers([9])).outcome.tolist() == [0]


def test_a_closed_store_says_so(path: Path) -> None:
    new(path)
    store = open_store(url(path))
    ledger = store.open("news")
    store.close()
    store.close()
    with pytest.raises(LifecycleError, match="closed"):
        ledger.money()


def test_a_fork_does_not_buy_with_its_parents_store(path: Path) -> None:
    new(path)
    with open_store(url(path)) as store:
        ledger = store.open("news")
        child = os.fork()
        if child == 0:
            try:
                ledger.record(answers([9]))
            except StoreError as error:
                os._exit(7 if "fork" in error.message else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_packs_are_a_cache(path: Path) -> None:
    """Packed, unpacked, or with damaged packs: the ledger reads the same."""
    count = 70_000
    item = np.arange(count)
    with open_store(url(path)) as store:
        ledger = store.create("big", uid="big", spec={}, budget=10**12, items=some_items(count))
        ledger.claim(NewAsks(item, item * 0, item % 3, item * 0 + 5))
        ledger.record(NewAnswers(item[:-7], item[:-7] * 0, item[:-7] % 2, item[:-7] * 0 - 1, item[:-7] * 0))
        right = ledger.changes().answers

    def same() -> None:
        with open_store(url(path)) as store:
            ledger = store.open("big")
            log = ledger.changes().answers
            for name in ("seq", "ask", "item", "label", "charged", "worker_class", "at"):
                assert np.array_equal(getattr(log, name), getattr(right, name))
            assert ledger.in_flight().asks.item.tolist() == item[-7:].tolist()
            assert ledger.changes(int(right.seq[-5])).answers.item.tolist() == right.item[-4:].tolist()
            ledger.verify()

    def packs(sql: str = "select count(*) from pack") -> int:
        connection = apsw.Connection(str(path))
        (found,) = next(connection.execute(sql), (0,))
        connection.close()
        return int(found)

    assert packs() == 3
    same()
    packs("delete from pack")
    same()
    assert packs() == 3  # made again
    packs("update pack set data = zeroblob(100) where tbl = 'answer'")
    same()
    packs("update pack set digest = digest + 1 where tbl = 'ask'")
    same()
    assert packs() == 3


def test_a_failure_halfway_undoes_only_itself(path: Path) -> None:
    """Two calls share a transaction; one fails after it has written."""
    new(path)
    with open_store(url(path)) as store:
        ledger = store.open("news")
        shelf = ledger._shelf
        before = ledger.campaign().head

        def fails(desk):
            from quorate.stores.entries import add_event

            add_event(desk, "note", {})
            raise SpecError("no", hint="")

        group = [Task(("news", fails)), Task(("news", lambda desk: desk.head.seq))]
        store._commit(group)
        assert isinstance(group[0].error, SpecError)
        assert group[1].result == before
        assert ledger.campaign().head == before
        assert shelf.write(lambda desk: len(desk.in_flight()[1])) == 5
        ledger.verify()


def test_an_error_of_the_disk_leaves_the_ledger_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new(path)
    with open_store(url(path)) as store:
        ledger = store.open("news")
        desk = store._desks["news"]
        with monkeypatch.context() as broken:
            broken.setattr(desk, "save", lambda: (_ for _ in ()).throw(apsw.FullError("database or disk is full")))
            with pytest.raises(StoreFull, match="no room left"):
                ledger.record(answers([9]))
        assert len(ledger.in_flight()) == 5
        assert ledger.record(answers([9])).outcome.tolist() == [0]
        ledger.verify()


def test_threads_that_meet_share_a_commit() -> None:
    groups = []
    release = threading.Event()

    def execute(tasks: list[Task[int]]) -> None:
        if not groups:
            release.wait(5)
        groups.append(len(tasks))
        for task in tasks:
            task.result = task.job * 2

    commit = GroupCommit(execute)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(commit.run, 0)
        while not commit._busy:
            time.sleep(0.001)
        others = [pool.submit(commit.run, i) for i in range(1, 9)]
        while len(commit._waiting) < 8:
            time.sleep(0.001)
        release.set()
        assert [first.result(), *(one.result() for one in others)] == [2 * i for i in range(9)]
    assert groups == [1, 8]


def test_an_error_reaches_all_who_share_the_commit_and_the_next_goes_on() -> None:
    def execute(tasks: list[Task[int]]) -> None:
        if any(task.job < 0 for task in tasks):
            raise StoreError("the disk is gone")
        for task in tasks:
            task.result = task.job

    commit = GroupCommit(execute)
    with pytest.raises(StoreError, match="the disk is gone"):
        commit.run(-1)
    assert commit.run(3) == 3


@pytest.mark.parametrize("led", [False, True])
def test_who_is_interrupted_while_waiting_holds_nobody_up(led: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in one that waits for its turn, before or just after it was given the lead."""
    entered, release, ran = threading.Event(), threading.Event(), []

    def execute(tasks: list[Task[int]]) -> None:
        entered.set()
        release.wait(5)
        ran.extend(task.job for task in tasks)

    class Interrupted(threading.Event().__class__):  # type: ignore[misc]
        def wait(self, timeout: float | None = None) -> bool:
            if led:
                super().wait(5)
            raise KeyboardInterrupt

    commit = GroupCommit(execute)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(commit.run, 1)
        entered.wait(5)
        with monkeypatch.context() as patch:
            patch.setattr("quorate.stores.group.Event", Interrupted)
            second = pool.submit(commit.run, 2)
            while len(commit._waiting) < led and not second.done():
                time.sleep(0.001)
        if not led:
            with pytest.raises(KeyboardInterrupt):
                second.result(5)
        third = pool.submit(commit.run, 3)
        while len(commit._waiting) < 1 + led:
            time.sleep(0.001)
        release.set()
        first.result(5)
        third.result(5)
        with pytest.raises(KeyboardInterrupt):
            second.result(5)
    assert ran == [1, 3]
    assert commit.run(4) is None
    assert ran == [1, 3, 4]


@pytest.mark.parametrize("place", ["sqlite:", "sqlite://x.db", "mysql://x", "x.db", ""])
def test_a_place_that_is_none(place: str) -> None:
    with pytest.raises(SpecError) as raised:
        open_store(place)
    assert "sqlite:///campaign.db" in raised.value.hint


def test_every_refusal_has_a_way_out(path: Path) -> None:
    new(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(QuorateError) as raised, open_store(url(path)) as store:
        store.open("news").verify()
    assert raised.value.hint
    assert re.search(r"campaign\.db|[Tt]able", raised.value.message)
