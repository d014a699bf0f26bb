"""The simulator: its contract, its agreement with `simulate`, and each departure from the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.core.hashing import item_hash
from quorate.core.worlds import World, symmetric_errors
from quorate.errors import PlatformError, SpecError
from quorate.model import Ask
from quorate.platforms.simulator import Faults, Simulator, build
from quorate.testing.platform_contract import PlatformContract

CLASSES = {"crowd": (0.9, 0.75), "expert": (0.99, 0.98)}


def some_asks(n=40, of=("crowd", "expert")):
    return [
        Ask(f"k-{name}-{j}-{t}", f"item-{j}", name, ordinal=t, price=1000, repeat=t)
        for j in range(n // 4)
        for t in range(2)
        for name in of
    ]


class TestPlain(PlatformContract):
    def platform(self):
        return Simulator.of(CLASSES, seed=3)

    def asks(self):
        return some_asks()


class TestTroubled(PlatformContract):
    def platform(self):
        faults = Faults(abstentions=0.2, refusals=0.1, duplicates=0.3, charge=(0.5, 0.9), latency=4.0)
        return Simulator.of(CLASSES, seed=3, faults=faults, hard=8.0, copied=0.2, drift=0.05)

    def asks(self):
        return some_asks()


def test_the_platform_says_what_the_columns_say():
    simulator = Simulator.of(CLASSES, seed=11)
    asks = some_asks(400)
    told = {one.key: one.label for one in simulator.poll(simulator.post(asks))}
    columns = simulator.answer_columns(
        np.array([item_hash(one.item) for one in asks], np.uint64),
        np.array([one.ordinal for one in asks]),
        np.array([simulator.classes.index(one.worker_class) for one in asks]),
    )
    assert [told[one.key] for one in asks] == [str(label) for label in columns]


def close(hits, n, p):
    """Within Bernstein's bound at a chance of 2e-11."""
    return abs(hits - n * p) <= np.sqrt(50 * n * p * (1 - p)) + 17


@given(seed=st.integers(0, 2**32), accuracy=st.floats(0, 1), prior=st.floats(0, 1))
def test_accuracies_and_prior_are_what_they_are_said_to_be(seed, accuracy, prior):
    n = 4000
    world = World(symmetric_errors([[accuracy, 1 - accuracy / 2]]), np.array([1 - prior, prior]), seed)
    item = np.arange(n)
    truth = world.truth(item)
    assert close(truth.sum(), n, prior)
    answers = world.answers(item, 0, 0)
    for label, c in enumerate((accuracy, 1 - accuracy / 2)):
        among = truth == label
        if among.any():
            assert close((answers[among] == label).sum(), among.sum(), c)


def test_errors_among_many_labels_follow_the_matrix():
    confusion = np.array([[[0.7, 0.2, 0.0], [0.3, 0.5, 0.1], [0.0, 0.3, 0.9]]])
    world = World(confusion, np.array([0.2, 0.3, 0.5]), seed=5)
    item = np.arange(60_000)
    truth, answer = world.truth(item), world.answers(item, 2, 0)
    for label in range(3):
        shares = np.bincount(answer[truth == label], minlength=3) / (truth == label).sum()
        assert shares == pytest.approx(confusion[0, :, label], abs=0.02)
        assert (shares == 0).sum() == (confusion[0, :, label] == 0).sum()


def test_hard_items_keep_the_mean_and_make_answers_of_an_item_agree():
    world = World(symmetric_errors([[0.8, 0.8]]), np.array([0.5, 0.5]), seed=9, hard=4.0)
    item = np.arange(40_000)
    truth = world.truth(item)
    one, two = (world.answers(item, t, 0) == truth for t in (0, 1))
    assert one.mean() == pytest.approx(0.8, abs=0.01)
    both = (one & two).mean() - one.mean() * two.mean()
    assert both == pytest.approx(0.8 * 0.2 / 5.0, abs=0.006)  # Var of Beta(3.2, 0.8) = c(1-c)/(4+1)


def test_copied_answers_are_the_sources():
    world = World(symmetric_errors([[0.6, 0.6]]), np.array([0.5, 0.5]), seed=9, copied=1.0, source=0.8)
    item = np.arange(20_000)
    first = world.answers(item, 0, 0)
    assert (first == world.answers(item, 7, 0)).all()
    assert (first == world.truth(item)).mean() == pytest.approx(0.8, abs=0.01)


def test_drift_tires_a_class_towards_chance():
    world = World(symmetric_errors([[0.9, 0.9]]), np.array([0.5, 0.5]), seed=9, drift=0.2)
    item = np.arange(40_000)
    right = [(world.answers(item, t, 0) == world.truth(item)).mean() for t in (0, 3, 30)]
    assert right == pytest.approx([0.9, 0.5 + 0.4 * 0.8**3, 0.5 + 0.4 * 0.8**30], abs=0.012)


def test_losses_never_come_and_duplicates_come_twice():
    asks = some_asks(2000)
    lossy = Simulator.of(CLASSES, seed=1, faults=Faults(losses=0.3))
    assert len(lossy.poll(lossy.post(asks))) == pytest.approx(0.7 * len(asks), rel=0.1)
    twice = Simulator.of(CLASSES, seed=1, faults=Faults(duplicates=1.0))
    assert len(twice.poll(twice.post(asks))) == 2 * len(asks)


def test_latency_runs_by_the_clock_that_was_handed_in():
    now = 0.0
    simulator = Simulator.of(CLASSES, seed=1, faults=Faults(latency=10.0), clock=lambda: now)
    receipts = simulator.post(some_asks(400))
    assert simulator.poll(receipts) == []
    now = 10.0
    assert len(simulator.poll(receipts)) == pytest.approx(0.63 * len(receipts), rel=0.15)
    now = 1000.0
    assert len(simulator.poll(receipts)) == len(receipts)


def test_charges_differ_from_the_asked_price_as_told():
    simulator = Simulator.of(CLASSES, seed=1, faults=Faults(charge=(1.0, 1.5)))
    prices = [one.price for one in simulator.poll(simulator.post(some_asks(400)))]
    assert min(prices) >= 1000
    assert max(prices) <= 1500
    assert len(set(prices)) > 100


def test_what_is_cancelled_expires():
    simulator = Simulator.of(CLASSES, seed=1)
    receipts = simulator.post(some_asks(8))
    simulator.cancel(receipts[:2])
    assert [one.failure for one in simulator.poll(receipts)[:3]] == ["expired", "expired", None]


def test_a_class_that_is_not_there_is_named():
    simulator = Simulator.of(CLASSES, seed=1)
    with pytest.raises(PlatformError, match="no class 'robot'"):
        simulator.poll(simulator.post([Ask("k", "i", "robot", 0, 1)]))


def test_it_is_built_from_the_tables_of_a_campaign(tmp_path):
    built = build(
        {"a": {"accuracy": 0.9, "hard": 5.0, "losses": 0.1}, "b": {"accuracy": [0.8, 0.7], "charge": [1, 2]}},
        seed=4, labels=["no", "yes"], folder=tmp_path,
    )  # fmt: skip
    made = built["a"]
    assert built["b"] is made
    assert made.classes == ("a", "b")
    assert made.world.hard == 5.0
    assert made.faults == Faults(losses=0.1, charge=(1, 2))
    assert made.world.confusion[1].tolist() == pytest.approx(np.array([[0.8, 0.3], [0.2, 0.7]]))


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"a": {"accuracy": 1.2}}, "accuracies"),
        ({"a": {"accuracy": [0.9]}}, "accuracies"),
        ({"a": {}}, "needs 'accuracy'"),
        ({"a": {"accuracy": 0.9, "speed": 3}}, "does not know"),
        ({"a": {"accuracy": 0.9, "hard": 1.0}, "b": {"accuracy": 0.9, "hard": 2.0}}, "hard"),
        ({"a": {"accuracy": 0.9, "prior": [0.9, 0.3]}}, "prior"),
    ],
)
def test_a_wrong_table_is_an_error_with_a_way_out(classes, words, tmp_path):
    with pytest.raises(SpecError, match=words) as caught:
        build(classes, seed=1, labels=["0", "1"], folder=tmp_path)
    assert caught.value.hint
