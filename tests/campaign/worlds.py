"""Small campaigns with answers that are a function of the ask, for the tests of the engine."""

import numpy as np

from quorate.campaign.engine import Campaign
from quorate.core.hashing import uniform
from quorate.facts import parse_key
from quorate.model import Answer, WorkerClass

LABELS = ("no", "yes")
CLASSES = (WorkerClass("a", price=7), WorkerClass("b", price=3), WorkerClass("c", price=2))
ACCURACY = (0.9, 0.8, 0.75)


def said(item, ordinal, k):
    """The label (an index) that class k gives to the ordinal-th question about an item, which is the same always."""
    truth = uniform(5, 1, item) < 0.5
    right = uniform(5, 2, item, ordinal, k) < ACCURACY[k]
    return int(truth == right)


def answer_of(ask, **changes):
    key = parse_key(ask.key)
    k = "abc".index(ask.worker_class)
    return Answer(ask.key, LABELS[said(key.item, key.ordinal, k)], **changes)


def create(store="memory:", *, items=8, budget=10**9, policy="votes-3", **options):
    options = {"item_cap": 12, "seed": 11, **options}
    return Campaign.create(
        store, name="test", items={f"i{j}": f"text {j}" for j in range(items)}, labels=LABELS, classes=CLASSES,
        budget=budget, policy=policy, **options,
    )  # fmt: skip


def finish(campaign, order=None, several=5):
    """Ask and tell to the end; ``order`` shuffles the arrival of answers."""
    out = []
    while True:
        out += campaign.ask(several)
        if not out:
            return campaign
        if order is not None:
            order.shuffle(out)
        now = len(out) if order is None else int(order.integers(1, len(out) + 1))
        campaign.tell_many([answer_of(one) for one in out[:now]])
        out = out[now:]


class Simulated:
    """A platform over `said`; what goes wrong is for subclasses."""

    name = "simulated"

    def __init__(self):
        self.charged = {}

    def post(self, asks):
        from quorate.model import Receipt

        for one in asks:
            self.charged.setdefault(one.key, one.price)
        return [Receipt(one.key, self.name, {"class": one.worker_class}) for one in asks]

    def poll(self, receipts):
        answers = []
        for one in receipts:
            key = parse_key(one.key)
            k = "abc".index(one.data["class"])
            answers.append(Answer(one.key, LABELS[said(key.item, key.ordinal, k)]))
        return answers

    def cancel(self, receipts):
        pass


def reference(**options):
    """The decision log of a campaign that nothing ever happened to."""
    campaign = finish(create(**options))
    assert campaign.done
    return campaign.decisions()


def spent_by_item(decisions, items):
    cost = np.zeros(items, np.int64)
    np.add.at(cost, decisions.asks["item"], decisions.asks["charged"])
    return cost
