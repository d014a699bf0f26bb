"""Whatever happens to a campaign, and in whatever order: its decision log is the one of a campaign left in peace."""

from functools import cache

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.campaign.worlds import LABELS, answer_of, create, finish

from quorate.campaign.engine import Campaign
from quorate.facts import key_of
from quorate.model import Answer
from quorate.stores import open_store

WORLDS = (
    {"policy": "votes-3", "items": 7},
    {"policy": "asym-imcw", "items": 6},
    {"policy": "asym-imcw", "items": 6, "budget": 200},
    {"policy": "asym-imcw", "items": 5, "parallel": 3},
    {"policy": "votes-3", "items": 7, "budget": 100, "parallel": 2},
)
peace = cache(lambda world: finish(create(**WORLDS[world])).decisions().digest)


class Killed(BaseException):
    """The process is gone; BaseException, so that nothing in the campaign can catch it."""


class Fragile:
    """A ledger that dies before or after one of its writes."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.left = None  # writes until the kill
        self.after = False

    def __getattr__(self, name):
        found = getattr(self.ledger, name)
        if name not in ("claim", "record", "append", "keep", "adopt", "record_stray"):
            return found

        def write(*args, **kwargs):
            dies = self.left == 0
            self.left = None if self.left is None or dies else self.left - 1
            if dies and not self.after:
                raise Killed
            result = found(*args, **kwargs)
            if dies:
                raise Killed
            return result

        return write


class Life(RuleBasedStateMachine):
    url = "memory:"
    fresh = 0

    @initialize(world=st.integers(0, len(WORLDS) - 1))
    def begin(self, world):
        Life.fresh += 1
        self.world = world
        self.store = open_store(self.url.format(Life.fresh))
        create(self.store, **WORLDS[world])
        self.told, self.out = {}, []
        self.open()

    def open(self):
        self.ledger = Fragile(self.store.open("test"))
        self.campaign = Campaign(self.ledger)
        self.out = []

    def live(self, act):
        """Do something; if the process dies of it, another one opens the campaign."""
        try:
            return act()
        except Killed:
            self.open()
            return None

    @rule(left=st.integers(0, 3), after=st.booleans())
    def kill_soon(self, left, after):
        self.ledger.left, self.ledger.after = left, after

    @rule()
    def crash(self):
        self.open()

    @rule(n=st.integers(1, 9))
    def ask(self, n):
        self.out += self.live(lambda: self.campaign.ask(n)) or []

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def tell(self, data):
        asks = data.draw(st.lists(st.sampled_from(self.out), unique_by=lambda ask: ask.key, min_size=1))
        answers = [answer_of(one) for one in asks]
        counted = self.live(lambda: self.campaign.tell_many(answers))
        self.told.update({one.key: one for one in answers})
        if counted is not None:
            gone = {one.key for one in asks}
            self.out = [one for one in self.out if one.key not in gone]

    @precondition(lambda self: self.told)
    @rule(data=st.data(), differently=st.booleans())
    def tell_again(self, data, differently):
        one = self.told[data.draw(st.sampled_from(sorted(self.told)))]
        label = LABELS[1 - LABELS.index(one.label)] if differently else one.label
        if one.key in {ask.key for ask in self.stored()}:
            assert self.live(lambda: self.campaign.tell(Answer(one.key, label))) in (False, None)

    def stored(self):
        log = self.ledger.changes().answers
        uid = self.campaign.uid
        return [
            Answer(key_of(uid, 1, item, ordinal), None)
            for item, ordinal in zip(log.item.tolist(), log.ordinal.tolist(), strict=True)
        ]

    @rule(item=st.integers(0, 99), ordinal=st.integers(50, 99))
    def tell_what_nobody_asked(self, item, ordinal):
        key = key_of(self.campaign.uid, 1, item, ordinal)
        assert self.live(lambda: self.campaign.tell(Answer(key, "yes"))) in (False, None)
        assert self.live(lambda: self.campaign.tell(Answer("another-1-2-3", "yes"))) in (False, None)

    @invariant()
    def money_is_never_overspent(self):
        if hasattr(self, "ledger"):
            money = self.ledger.money()
            assert money.spent + money.reserved <= money.budget

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        self.open()
        finish(self.campaign)
        assert self.campaign.done
        assert self.campaign.decisions().digest == peace(self.world)
        assert self.ledger.money().reserved == 0
        self.store.verify() if hasattr(self.store, "verify") else self.ledger.verify()
        self.store.close()


def play(machine, examples, steps):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_in_memory():
    play(Life, 60, 25)


def test_in_sqlite(tmp_path):
    class OnDisk(Life):
        url = f"sqlite:///{tmp_path}/{{}}.db"

    play(OnDisk, 12, 15)


@pytest.mark.slow
def test_in_memory_for_long():
    play(Life, 250, 50)
