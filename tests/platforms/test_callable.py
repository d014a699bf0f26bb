"""Functions as annotators: their contract, and everything that a user's function may do wrong."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from quorate.errors import PlatformError, SpecError
from quorate.model import Ask
from quorate.platforms.callable import CallablePlatform, Reply, build, classifier
from quorate.testing.platform_contract import PlatformContract


def some_asks(n=6):
    return [Ask(f"k{j}", f"i{j}", "rule", 0, price=100, payload={"text": "Ha" * j, "n": j}) for j in range(n)]


def ask(function, asks=None, **options):
    slept = []
    platform = CallablePlatform(function, sleep=slept.append, **options)
    return platform.poll(platform.post(some_asks() if asks is None else asks)), slept


def even(payload):
    return "even" if payload["n"] % 2 == 0 else "odd"


class TestFunction(PlatformContract):
    def platform(self):
        return CallablePlatform(even)

    def asks(self):
        return some_asks()


class TestBatch(PlatformContract):
    def platform(self):
        return CallablePlatform(lambda many: [even({"n": n}) for n in many], column="n", batched=True, timeout=5.0)

    def asks(self):
        return some_asks()


class TestCrashing(PlatformContract):
    def platform(self):
        return CallablePlatform(lambda payload: 1 // 0, retries=0)

    def asks(self):
        return some_asks()


def test_a_crash_is_a_failure_that_says_what_happened_after_its_retries():
    calls = []

    def broken(payload):
        calls.append(payload["n"])
        raise KeyError("colour")

    answers, slept = ask(broken, some_asks(2), retries=3)
    assert [one.failure for one in answers] == ["refused"] * 2
    assert answers[0].raw == {"error": "KeyError: 'colour'"}
    assert calls == [0] * 4 + [1] * 4
    assert slept == pytest.approx([0.1, 0.2, 0.4] * 2)


def test_a_function_that_recovers_is_not_a_failure():
    calls = []

    def moody(payload):
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError
        return "fine"

    answers, _ = ask(moody, some_asks(1))
    assert [one.label for one in answers] == ["fine"]


def test_one_bad_item_does_not_cost_the_batch_its_answers():
    def batch(numbers):
        if 5 in numbers:
            raise ValueError("five")
        return [str(n % 2) for n in numbers]

    answers, _ = ask(batch, some_asks(16), column="n", batched=True, retries=0)
    assert [one.failure for one in answers] == [None] * 5 + ["refused"] + [None] * 10
    assert answers[6].label == "0"


def test_a_batch_of_the_wrong_length_answers_nobody():
    answers, _ = ask(lambda many: ["x"] * (len(many) + 1), batched=True, retries=0)
    assert {one.failure for one in answers} == {"refused"}
    assert "2 answers to 1 questions" in answers[0].raw["error"]


def test_a_call_that_is_too_late_is_given_up_and_not_tried_again():
    release = threading.Event()
    began = time.monotonic()
    answers, slept = ask(lambda payload: release.wait(20), some_asks(2), timeout=0.05)
    release.set()
    assert [one.failure for one in answers] == ["expired"] * 2
    assert slept == []
    assert time.monotonic() - began < 5


def test_the_functions_own_timeout_error_is_an_error_like_any_other():
    def slow_service(payload):
        raise TimeoutError("their server")

    answers, slept = ask(slow_service, some_asks(1), timeout=5.0, retries=1)
    assert answers[0].failure == "refused"
    assert "their server" in answers[0].raw["error"]
    assert len(slept) == 1


def test_none_abstains_and_a_reply_carries_price_worker_and_more():
    answers, _ = ask(
        lambda p: None if p["n"] else Reply("a", price="0.002", worker="gpt", raw={"tokens": 7}), some_asks(2)
    )
    assert (answers[0].label, answers[0].price, answers[0].worker, answers[0].raw) == (
        "a",
        2000,
        "gpt",
        {"tokens": 7},
    )
    assert (answers[1].label, answers[1].price, answers[1].failure) == (None, 100, None)


def test_labels_that_the_campaign_does_not_know_are_failures_that_name_them():
    answers, _ = ask(lambda p: "maybe", some_asks(1), labels=["no", "yes"])
    assert answers[0].failure == "refused"
    assert "'maybe'" in answers[0].raw["error"]


@pytest.mark.parametrize("label", [1, True, 1.0, np.int64(1), np.float32(1), "1"])
def test_numbers_are_labels_too(label):
    answers, _ = ask(lambda p: label, some_asks(1), labels=["0", "1"])
    assert answers[0].label == "1"


def test_threads_change_nothing_but_the_time():
    one, _ = ask(even, some_asks(30))
    many, _ = ask(even, some_asks(30), threads=8)
    assert one == many


def test_a_classifier_labels_names_its_classes_and_abstains_when_unsure():
    class Model:
        classes_ = np.array([0, 1])

        def predict_proba(self, texts):
            return np.array([[1 - len(t) / 10, len(t) / 10] for t in texts])

        def predict(self, texts):
            return (self.predict_proba(texts)[:, 1] > 0.5).astype(int)

    platform = classifier(Model(), column="text", labels=["short", "long"])
    assert [a.label for a in platform.poll(platform.post(some_asks(5)))] == ["short"] * 3 + ["long"] * 2
    unsure = classifier(Model(), column="text", labels=["short", "long"], abstain_below=0.7)
    assert [a.label for a in unsure.poll(unsure.post(some_asks(5)))] == ["short", "short", None, None, "long"]


def test_a_real_classifier_works(tmp_path):
    tree = pytest.importorskip("sklearn.tree")
    model = tree.DecisionTreeClassifier().fit([[0], [1], [2], [3]], ["low", "low", "high", "high"])
    platform = classifier(model, column="x")
    asks = [Ask(f"k{x}", str(x), "tree", 0, 1, {"x": [x]}) for x in range(4)]
    assert [a.label for a in platform.poll(platform.post(asks))] == ["low", "low", "high", "high"]


def test_it_takes_no_more_questions_than_it_answers_at_a_time():
    """So a crash costs the calls in hand, and not a batch of answers that were given and not yet recorded."""
    assert CallablePlatform(len).batch == 1
    assert CallablePlatform(len, threads=4).batch == 4
    assert CallablePlatform(len, batched=True).batch == 50


def test_a_bad_classifier_price_or_interrupt():
    answers, _ = ask(lambda p: Reply("a", price="free"), some_asks(1))
    assert answers[0].failure == "refused"

    def stop(payload):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(stop)


def test_it_is_built_by_name_and_says_when_it_cannot(tmp_path):
    made = build({"r": {"function": "builtins:str", "column": "n"}}, seed=1, labels=["0", "1"], folder=tmp_path)
    assert [a.label for a in made["r"].poll(made["r"].post(some_asks(2)))] == ["0", "1"]
    for table, words in [
        ({"function": "no.such:thing"}, "cannot be imported"),
        ({"function": "builtins:nothing"}, "cannot be imported"),
        ({}, "cannot be imported"),
        ({"function": "builtins:str", "speed": 1}, "does not know"),
    ]:
        with pytest.raises(SpecError, match=words):
            build({"r": table}, seed=1, labels=["0", "1"], folder=tmp_path)


def test_a_module_beside_the_campaign_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", sys.path[:])
    (tmp_path / "beside_the_file.py").write_text("def loud(row):\n    return 'yes'\n")
    options = {"one": {"kind": "callable", "function": "beside_the_file:loud"}}
    [platform] = build(options, seed=0, labels=["no", "yes"], folder=tmp_path).values()
    assert platform.poll(platform.post(some_asks(1)))[0].label == "yes"


def test_a_call_that_never_ends_does_not_keep_the_process(tmp_path):
    (tmp_path / "one.py").write_text(
        "import time\nfrom quorate.model import Ask\nfrom quorate.platforms.callable import CallablePlatform\n"
        "p = CallablePlatform(lambda row: time.sleep(600), timeout=0.1)\n"
        "print(p.poll(p.post([Ask('k', 'i', 'c', 0, price=1, payload={})]))[0].failure)\n"
    )
    run = subprocess.run(
        [sys.executable, tmp_path / "one.py"], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "expired\n"


def test_a_column_that_an_item_has_not_is_named():
    with pytest.raises(PlatformError, match="Item i0 has no column 'zzz'; it has: 'text', 'n'"):
        ask(even, column="zzz")
