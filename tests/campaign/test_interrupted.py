"""A budget that is cut, a store that fails, a process that dies between two statements: nothing is left behind."""

import pytest
from tests.campaign.worlds import Simulated, answer_of, create, finish, reference

from quorate.campaign.engine import Campaign
from quorate.errors import StoreFull
from quorate.facts import parse_key
from quorate.model import Receipt
from quorate.platforms.simulator import Simulator
from quorate.stores import open_store


def same_again(campaign):
    """The campaign replayed from its ledger decides as it did live."""
    again = Campaign(campaign.ledger)
    assert again.decisions().digest == campaign.decisions().digest
    assert str(list(again.labels())) == str(list(campaign.labels()))


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("policy", ["votes-3", "asym-imcw"])
@pytest.mark.parametrize("turns", [1, 3, 6])
def test_a_budget_that_was_cut_and_raised_labels_what_it_had_given_up(policy, parallel, turns):
    plain = {"policy": policy, "parallel": parallel, "items": 9}
    campaign = create(**plain)
    for _ in range(turns):
        campaign.tell_many([answer_of(one) for one in campaign.ask(4)])
    money = campaign.ledger.money()
    campaign.set_budget(money.spent + money.reserved + 8)
    finish(campaign)
    assert campaign.done
    kinds = {event.kind for event in campaign.ledger.changes().events}
    assert "gave-up" in kinds
    money = campaign.ledger.money()
    assert money.spent <= money.budget
    assert money.reserved == 0
    assert {row["status"] for row in campaign.labels()} <= {"labelled", "undecided"}
    same_again(campaign)
    campaign.set_budget(10**9)
    finish(campaign)
    assert campaign.done
    assert {row["reason"] for row in campaign.labels()} <= {"label", "cap", "too hard"}
    same_again(campaign)


def test_an_answer_from_before_the_money_was_found_short_stands_in_every_replay():
    """Of two processes one cannot pay for an ask; the other one can, and has its answer, before that is written."""
    campaign = create(items=3, budget=10**9)
    other = Campaign(campaign.ledger)
    first = campaign.ask(3)
    campaign.tell_many([answer_of(one) for one in first])
    money = campaign.ledger.money()
    campaign.set_budget(money.spent)
    other.sync()
    append = campaign.ledger.append

    def late(kind, payload, **more):
        if kind == "gave-up":
            campaign.ledger.append = append
            other.set_budget(10**9)
            (ask,) = other.ask(1)
            assert other.tell(answer_of(ask))
        return append(kind, payload, **more)

    campaign.ledger.append = late
    campaign.tell_many([answer_of(one) for one in campaign.ask(1)])
    finish(campaign)
    other.sync()
    assert other.done
    assert other.decisions().digest == campaign.decisions().digest
    same_again(campaign)


class Failing:
    """A ledger whose n-th write fails: before it has an effect, or after its commit, when nobody can know."""

    def __init__(self, ledger, n, after):
        self.ledger, self.left, self.after = ledger, n, after

    def __getattr__(self, name):
        found = getattr(self.ledger, name)
        if name not in ("claim", "record", "append", "keep"):
            return found

        def write(*args, **kwargs):
            self.left -= 1
            if self.left == 0 and not self.after:
                raise StoreFull("no room")
            result = found(*args, **kwargs)
            if self.left == 0:
                raise StoreFull("no room")
            return result

        return write


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", range(1, 26))
def test_a_store_that_failed_once_and_works_again_in_the_same_process(n, after):
    plain = {"policy": "asym-imcw", "items": 6}
    with open_store("memory:") as store:
        create(store, **plain)
        campaign, platform = Campaign(Failing(store.open("test"), n, after)), Simulated()
        for _ in range(2):
            try:
                report = campaign.run(dict.fromkeys("abc", platform), buyers=1, in_flight=5)
                break
            except StoreFull:
                continue
        assert report.done
        assert campaign.decisions().digest == reference(**plain).digest
        assert sum(platform.charged.values()) == report.spent
        assert campaign.ledger.money().reserved == 0


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", range(1, 12))
def test_the_same_with_a_platform_that_answers_columns(n, after):
    plain = {"policy": "asym-imcw", "items": 30}
    simulator = Simulator.of({"a": [0.9, 0.9], "b": [0.8, 0.8], "c": [0.75, 0.75]}, labels=("no", "yes"), seed=2)
    with open_store("memory:") as store:
        create(store, **plain)
        campaign = Campaign(Failing(store.open("test"), n, after))
        for _ in range(2):
            try:
                report = campaign.run(dict.fromkeys("abc", simulator))
                break
            except StoreFull:
                continue
        assert report.done
        assert campaign.ledger.money().reserved == 0
        same_again(campaign)


@pytest.mark.parametrize("run", [True, False])
def test_what_was_claimed_to_pass_over_a_paused_class_is_never_bought(run):
    """The process dies between the two statements by which a paused class is passed over."""
    with open_store("memory:") as store:
        campaign = create(store, policy="asym-imcw", items=6)
        campaign.tell_many([answer_of(one) for one in campaign.ask(1)])
        campaign.pause("a")
        record = campaign.ledger.record

        def dies(columns):
            if columns.failure.any():
                raise KeyboardInterrupt
            return record(columns)

        campaign.ledger.record = dies
        with pytest.raises(KeyboardInterrupt):
            finish(campaign)
        left = store.open("test").in_flight().asks
        assert (left.price == 0).any()
        campaign, platform = Campaign.open(store), Simulated()
        campaign.resume("a")
        if run:
            assert campaign.run(dict.fromkeys("abc", platform), buyers=1).done
            names = {(parse_key(key).item, parse_key(key).ordinal) for key in platform.charged}
        else:
            names = set()
            while asks := campaign.ask(5):
                names |= {(parse_key(one.key).item, one.ordinal) for one in asks}
                campaign.tell_many([answer_of(one) for one in asks])
            assert campaign.done
        passed = left.price == 0
        assert not names & set(zip(left.item[passed].tolist(), left.ordinal[passed].tolist(), strict=True))
        assert campaign.class_state == ["running"] * 3


def test_a_known_receipt_does_not_hide_what_another_process_wrote():
    """Two receipts of which one was kept before, and one foreign answer: two new facts, but not both ours."""
    campaign = create(items=4)
    other = Campaign(campaign.ledger)
    asks = campaign.ask(4)
    receipts = [Receipt(one.key, "p", {}) for one in asks]
    campaign.keep(receipts[:1])
    other.tell(answer_of(asks[3]))
    campaign.keep(receipts[:2])
    assert campaign.fold.folded == 1


@pytest.mark.parametrize("policy", ["asym-imcw", "calibrated", "certified", "votes-3"])
@pytest.mark.parametrize("classes", ["a", "abc"])
def test_a_policy_that_cannot_do_with_the_classes_left_ends_and_begins_again_with_more(policy, classes):
    """Whatever is paused before the first ask: the campaign can be opened, and goes on when they are back."""
    with open_store("memory:") as store:
        campaign = create(store, policy=policy, items=5)
        for name in classes:
            campaign.pause(name)
        finish(campaign)
        assert campaign.done
        same_again(campaign)
        without = {row["reason"] for row in campaign.labels() if row["status"] == "undecided"}
        if policy == "asym-imcw":
            assert without == {"policy ended"}
            assert "3 worker classes" in " ".join(campaign.explain("i0")["words"])
        for name in classes:
            campaign.resume(name)
        finish(campaign)
        assert campaign.done
        if policy == "asym-imcw":
            assert "policy ended" not in {row["reason"] for row in campaign.labels()}
        same_again(campaign)
