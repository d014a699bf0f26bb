"""The loop that buys, with platforms that behave in every way they should not."""

import signal
import threading
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from tests.campaign.worlds import Simulated, create, reference

from quorate.campaign.desk import TRIES
from quorate.campaign.engine import Campaign
from quorate.campaign.runner import Clock
from quorate.core.hashing import uniform
from quorate.errors import PlatformError, SpecError, StoreFull
from quorate.facts import FAILURES
from quorate.model import Answer, Receipt
from quorate.platforms.callable import CallablePlatform
from quorate.stores import open_store

PLAIN = {"policy": "asym-imcw", "items": 12}


class FakeTime:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 1000.0
        self.clock = Clock(now=lambda: self.now, sleep=self.sleep, wall=lambda: self.now)

    def sleep(self, seconds):
        self.now += seconds


def buy(campaign, platform, *, buyers=1, clock=None, **options):
    platforms = dict.fromkeys("abc", platform)
    return campaign.run(platforms, buyers=buyers, clock=clock or FakeTime().clock, **options)


@pytest.mark.parametrize("budget", [10**9, 300])
@pytest.mark.parametrize("buyers", [1, 4, 16])
def test_the_number_of_buyers_is_not_in_the_log(budget, buyers):
    campaign = create(**PLAIN, budget=budget)
    report = buy(campaign, Simulated(), buyers=buyers)
    assert report.done
    assert campaign.decisions().digest == reference(**PLAIN, budget=budget).digest


class Faulty(Simulated):
    """Fails before and after charging, loses lines, answers twice and in any order: each key with its own dice."""

    batch = 3

    def __init__(self, seed, share=0.07):
        super().__init__()
        self.seed, self.share, self.calls = seed, share, 0
        self.lock = threading.Lock()

    def rolls(self):
        self.calls += 1
        return uniform(self.seed, self.calls) < self.share

    def post(self, asks):
        with self.lock:
            if self.rolls():
                raise ConnectionError("before")
            receipts = super().post(asks)
            if self.rolls():
                raise ConnectionError("after")
            return receipts[:-1] if self.rolls() else receipts

    def poll(self, receipts):
        with self.lock:
            if self.rolls():
                raise TimeoutError("busy")
            answers = super().poll(receipts)
            order = np.random.default_rng(self.calls).permutation(len(answers))
            some = [answers[at] for at in order[: 1 + len(order) // 2]]
            return some + some if self.rolls() else some


@pytest.mark.parametrize("seed", range(4))
def test_faults_change_no_decision_and_nothing_is_bought_twice(seed):
    campaign, platform = create(**PLAIN), Faulty(seed)
    report = buy(campaign, platform, buyers=1 + 3 * (seed % 2))
    assert report.done
    assert campaign.decisions().digest == reference(**PLAIN).digest
    assert sum(platform.charged.values()) == report.spent
    assert report.trouble


def test_what_a_dead_process_left_is_finished_by_the_next():
    with open_store("memory:") as store:
        campaign = create(store, **PLAIN)
        platform = Simulated()
        claimed = campaign.ask(9)
        campaign.keep(platform.post(claimed[:4]))  # four posted, of which two charged without a receipt
        platform.post(claimed[4:6])
        report = buy(Campaign.open(store), platform)
        assert report.done
        assert Campaign.open(store).decisions().digest == reference(**PLAIN).digest
        assert sum(platform.charged.values()) == report.spent


class Keyless(Simulated):
    """Sells the same thing as often as it is asked for it; its list lags behind."""

    keyless = True
    find_delay = 5.0

    def __init__(self, time, seed):
        super().__init__()
        self.time, self.seed, self.calls = time, seed, 0
        self.sold = []

    def post(self, asks):
        self.calls += 1
        dice = uniform(self.seed, self.calls)
        if dice < 0.15:
            raise ConnectionError("before")
        self.sold += [(one.key, self.time.now) for one in asks]
        if dice < 0.3:
            raise ConnectionError("after")
        return super().post(asks)


class Searchable(Keyless):
    def find(self, keys):
        seen = {key for key, at in self.sold if at + self.find_delay <= self.time.now}
        return [Receipt(key, self.name, {"class": "abc"[0]}) for key in keys if key in seen]

    def poll(self, receipts):
        return super().poll([Receipt(one.key, self.name, {"class": self.of[one.key]}) for one in receipts])

    def post(self, asks):
        self.of = getattr(self, "of", {})
        self.of.update({one.key: one.worker_class for one in asks})
        return super().post(asks)


def test_a_platform_without_keys_is_looked_into_before_anything_is_sent_again():
    time = FakeTime()
    campaign, platform = create(**PLAIN), Searchable(time, 3)
    report = buy(campaign, platform, clock=time.clock)
    keys = [key for key, _ in platform.sold]
    assert len(keys) == len(set(keys))
    assert report.done
    assert campaign.decisions().digest == reference(**PLAIN).digest
    assert "post: ConnectionError" in report.trouble["a"]


def test_doubtful_purchases_are_parked_where_the_platform_cannot_be_asked():
    time = FakeTime()
    campaign, platform = create(**PLAIN), Keyless(time, 3)
    report = buy(campaign, platform, clock=time.clock)
    keys = [key for key, _ in platform.sold]
    assert len(keys) == len(set(keys))
    asks = campaign.decisions().asks
    parked = asks["failure"] == FAILURES.index("parked")
    assert report.done
    assert 0 < parked.sum() <= platform.calls
    assert (asks["charged"][parked] == asks["price"][parked]).all(), "counted as spent"
    assert report.spent >= 0.9 * len(keys)


def test_a_key_that_the_platform_may_have_forgotten_is_not_sent_blindly():
    with open_store("memory:") as store:
        campaign = create(store, items=2)
        campaign.ask(2)
        time = FakeTime()
        time.now = 4e9  # long after the claim, by the wall's clock
        platform = Searchable(time, 99)
        platform.keyless, platform.key_memory = False, 24 * 3600.0
        found = []
        platform.find = lambda keys: found.extend(keys) or []
        assert buy(Campaign.open(store), platform, clock=time.clock).done
        assert len(found) == 2


class Dead(Simulated):
    def post(self, asks):
        raise ConnectionError("no route")


def test_a_dead_platform_ends_the_run_with_a_name_and_costs_nothing():
    campaign = create(**PLAIN)
    platforms = {"a": Simulated(), "b": Dead(), "c": Simulated()}
    with pytest.raises(PlatformError, match=r"'b'.*no route"):
        campaign.run(platforms, buyers=1, clock=FakeTime().clock)
    assert campaign.run(dict.fromkeys("abc", Simulated()), buyers=1, clock=FakeTime().clock).done
    assert campaign.decisions().digest == reference(**PLAIN).digest


def test_a_dead_platform_does_not_keep_the_others_from_selling():
    campaign = create(**PLAIN)
    platforms = {"a": Dead(), "b": Simulated(), "c": Simulated()}
    with pytest.raises(PlatformError, match="'a'"):
        campaign.run(platforms, buyers=1, in_flight=3, clock=FakeTime().clock)
    campaign.pause("a")
    platforms["a"] = Simulated()
    assert campaign.run(platforms, buyers=1, in_flight=3, clock=FakeTime().clock).done


def test_one_ask_that_always_fails_is_parked_and_the_others_go_on():
    class Picky(Simulated):
        batch = 1
        tries = 0

        def post(self, asks):
            if asks[0].item == "i5":
                self.tries += 1
                raise ValueError("i5 again")
            return super().post(asks)

    campaign, platform = create(items=12), Picky()
    report = buy(campaign, platform, in_flight=3)
    assert report.done
    assert platform.tries <= 3 * TRIES
    (row,) = [one for one in campaign.labels() if one["item"] == "i5"]
    assert row["status"] == "undecided"


class Greedy(Simulated):
    def poll(self, receipts):
        return [Answer(one.key, one.label, price=8) for one in super().poll(receipts)]


def test_an_overcharge_halts_the_class():
    campaign = create(items=20)
    with pytest.raises(PlatformError, match=r"'a'.*charged"):
        buy(campaign, Greedy(), in_flight=1)
    assert campaign.ledger.money().spent == 8
    assert len(campaign.decisions().asks["item"]) == 1


class Liar(Simulated):
    """Good answers, and between them everything that is none."""

    def poll(self, receipts):
        good = super().poll(receipts)
        if not good:
            return []
        key = good[0].key
        return [
            None, "yes", Answer(7, "yes"), Answer(key, "yes", price=-1), Answer(key, "yes", price=True),
            Answer(key, 1), Answer(key, "yes", failure="mood"), Answer("other-1-0-0", "yes"),
            Answer(key.rsplit("-", 1)[0] + "-999", "yes"), *good,
        ]  # fmt: skip


def test_nonsense_is_put_aside_and_counted():
    campaign = create(**PLAIN)
    report = buy(campaign, Liar())
    assert report.done
    assert campaign.decisions().digest == reference(**PLAIN).digest
    assert {"not an answer", "a price that is no amount", "a label that is no text", "stray"} <= set(
        report.trouble["a"]
    )


class Odd(Simulated):
    def poll(self, receipts):
        return [Answer(one.key, "perhaps") for one in super().poll(receipts)]


def test_a_label_that_does_not_exist_is_paid_and_not_counted():
    campaign = create(items=2)
    report = buy(campaign, Odd())
    assert report.done
    assert report.trouble["a"]["label outside the spec"] == 6
    assert report.spent == 6 * 7
    assert all(row["status"] == "undecided" and row["answers"] == 0 for row in campaign.labels())


def test_patience_ends_and_the_money_counts_as_spent():
    class Slow(Simulated):
        cancelled = 0

        def poll(self, receipts):
            return super().poll([one for one in receipts if one.key.split("-")[2] != "3"])

        def cancel(self, receipts):
            self.cancelled += len(receipts)

    campaign, platform = create(items=5, patience=30.0), Slow()
    report = buy(campaign, platform)
    assert report.done
    assert platform.cancelled == 3
    assert report.spent == 5 * 3 * 7


def test_ctrl_c_finishes_what_is_in_hand():
    campaign = create(items=40, policy="votes-5")
    seen = []

    def progress(one):
        seen.append(one.bought)
        if len(seen) == 4:
            signal.raise_signal(signal.SIGINT)

    platform = Simulated()
    report = buy(campaign, platform, in_flight=10, progress=progress)
    assert report.interrupted
    assert not report.done
    assert sum(platform.charged.values()) == report.spent
    assert campaign.ledger.money().reserved <= 10 * 7
    assert buy(campaign, platform).done
    assert campaign.decisions().digest == reference(items=40, policy="votes-5").digest


def test_ctrl_c_begins_no_call_more_and_nothing_is_called_twice():
    campaign = create(items=40, policy="votes-3")
    calls, pressed = [], threading.Event()

    def slow(payload):
        calls.append(payload)
        if len(calls) == 9:
            signal.raise_signal(signal.SIGINT)  # noticed by the main thread
            pressed.wait(5)
        return "0"

    def progress(one):
        if one.stage == "stopping":
            pressed.set()

    platforms = dict.fromkeys("abc", CallablePlatform(slow))
    report = campaign.run(platforms, buyers=1, clock=FakeTime().clock, progress=progress)
    assert report.interrupted
    assert (len(calls), report.bought) == (9, 9)
    assert campaign.run(platforms, buyers=1, clock=FakeTime().clock).done
    assert len(calls) == 120


def test_a_run_that_fails_begins_no_call_more(monkeypatch):
    campaign, calls, failed = create(items=40, policy="votes-3"), [], threading.Event()

    def slow(payload):
        calls.append(payload)
        if len(calls) == 2:
            failed.wait(5)
        return "0"

    def full(receipts):
        failed.set()
        raise StoreFull("No room.", hint="Make some.")

    monkeypatch.setattr(campaign, "keep", full)
    with pytest.raises(StoreFull):
        campaign.run(dict.fromkeys("abc", CallablePlatform(slow)), buyers=1, clock=FakeTime().clock)
    assert len(calls) < 40


def test_the_forecast_of_a_run_counts_what_the_concluded_items_cost():
    """Not what has been spent on open items: with all of them begun it would be many times too high."""
    campaign, seen = create(items=40, policy="votes-3"), []
    report = buy(campaign, Simulated(), in_flight=30, progress=seen.append)
    told = [one.forecast for one in seen if one.forecast is not None]
    assert told
    assert all(one == report.spent for one in told)


def test_what_is_missing_is_said_before_anything_is_bought():
    campaign = create()
    with pytest.raises(SpecError, match="'b'"):
        campaign.run({"a": Simulated(), "c": Simulated()})
    with pytest.raises(SpecError, match="no worker class 'd'"):
        campaign.run({"d": Simulated()})
    with pytest.raises(SpecError, match="cannot post and poll"):
        campaign.run(dict.fromkeys("abc", len))
    assert campaign.ledger.money().spent == 0


def test_a_paused_campaign_is_not_run():
    campaign = create()
    campaign.pause()
    report = buy(campaign, Simulated())
    assert (report.done, report.bought) == (False, 0)


def test_what_a_backup_did_not_know_of_is_found_at_the_platform(tmp_path):
    from shutil import copy

    class Remembering(Simulated):
        def __init__(self):
            super().__init__()
            self.receipts = {}

        def post(self, asks):
            receipts = super().post(asks)
            self.receipts.update({one.key: one for one in receipts})
            return receipts

        def find(self, keys):
            return [self.receipts[key] for key in keys if key in self.receipts]

    platform = Remembering()
    with open_store(f"sqlite:///{tmp_path}/one.db") as store:
        create(store, **PLAIN)
        store.backup(tmp_path / "backup.db")
        assert buy(Campaign.open(store), platform).done
    once = dict(platform.charged)
    copy(tmp_path / "backup.db", tmp_path / "two.db")
    with open_store(f"sqlite:///{tmp_path}/two.db") as store:
        campaign = Campaign.open(store)
        assert campaign.epoch == 2
        report = buy(campaign, platform)
        assert report.done
        assert platform.charged == once, "nothing was bought a second time"
        assert campaign.decisions().digest == reference(**PLAIN).digest


class Slovenly(Simulated):
    """Answers with what is not quite an answer, and acknowledges with what is no receipt."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def post(self, asks):
        receipts = super().post(asks)
        self.calls += 1
        if self.calls > 12:
            return receipts
        return [(None, Receipt(one.key, "s\0"), Receipt(7, "s", {"at": object()}))[row % 3]
                for row, one in enumerate(receipts)]  # fmt: skip

    def poll(self, receipts):
        raws = ({}, {"said": "\ud83d"}, {(1, 2): 3}, [1, 2], {"at": object()})
        return [replace(one, worker=crc32(one.key.encode()), raw=raws[row % len(raws)])
                for row, one in enumerate(super().poll(receipts))]  # fmt: skip


def test_a_slip_of_the_platform_loses_no_answer_that_was_paid_for():
    campaign, platform = create(**PLAIN), Slovenly()
    report = buy(campaign, platform)
    assert report.done
    assert campaign.decisions().digest == reference(**PLAIN).digest
    assert sum(platform.charged.values()) == report.spent
    trouble = {what for each in report.trouble.values() for what in each}
    assert {"post: not a receipt", "a raw part that is no JSON"} <= trouble


class Silent(Simulated):
    """Never answers, and breaks when it is told to forget it."""

    def poll(self, receipts):
        return []

    def cancel(self, receipts):
        raise RuntimeError("no such job")


def test_a_platform_that_cannot_cancel_does_not_stop_the_run():
    campaign = create(policy="votes-3", items=3, patience=60.0)
    report = buy(campaign, Silent())
    assert report.done
    assert report.undecided == 3
    assert {"cancel: RuntimeError", "expired"} <= {what for each in report.trouble.values() for what in each}


class Vague(Simulated):
    """Wants to be asked again, and does not say when in any way that one could follow."""

    def __init__(self, when):
        super().__init__()
        self.when, self.left = when, 3

    def post(self, asks):
        if self.left:
            self.left -= 1
            error = ConnectionError("later")
            error.retry_after = self.when
            raise error
        return super().post(asks)


@pytest.mark.parametrize("when", ["soon", float("inf"), float("nan"), [], -5.0, "7"])
def test_a_retry_after_that_is_no_time_is_not_waited_for(when):
    report = buy(create(**PLAIN), Vague(when))
    assert report.done
