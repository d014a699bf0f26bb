"""The replay platform: its contract, its order, and files that are wrong."""

import gzip

import numpy as np
import pytest

from quorate.errors import FileError, PlatformError, SpecError
from quorate.model import Ask
from quorate.platforms.recorded import Queue, read_recorded
from quorate.platforms.replay import Replay, build
from quorate.testing.platform_contract import PlatformContract

LABELS = "item,worker,label\n" + "".join(f"{j},w{w},{(j + w) % 3 % 2}\n" for j in range(12) for w in range(5))
WORKERS = "worker,class,country\n" + "".join(f"w{w},{'cheap' if w < 3 else 'dear'},x\n" for w in range(5))
TRUTH = "item,label\n" + "".join(f"{j},{j % 2}\n" for j in range(10))


def write(folder, labels=LABELS, workers=WORKERS, truth=TRUTH):
    for name, text in (("labels.csv", labels), ("workers.csv", workers), ("truth.csv", truth)):
        if text is not None:
            (folder / name).write_text(text)
    return folder


@pytest.fixture
def recorded(tmp_path):
    return read_recorded(write(tmp_path))


class TestReplay(PlatformContract):
    @pytest.fixture(autouse=True)
    def files(self, tmp_path):
        self.folder = write(tmp_path)

    def platform(self):
        return Replay(read_recorded(self.folder), seed=5)

    def asks(self):
        return [
            Ask(f"k-{j}-{name}-{t}", str(j), name, ordinal=9, price=700, repeat=t)
            for j in range(12)
            for name in ("cheap", "dear")
            for t in range(3)
        ]


def test_each_answer_is_given_once_and_then_the_class_is_exhausted(recorded):
    replay = Replay(recorded, seed=5)
    asks = [Ask(f"k{t}", "3", "cheap", ordinal=t, price=1, repeat=t) for t in range(5)]
    answers = replay.poll(replay.post(asks))
    assert sorted(one.worker for one in answers[:3]) == ["w0", "w1", "w2"]
    assert [one.label for one in answers[:3]] == [str((3 + int(one.worker[1])) % 3 % 2) for one in answers[:3]]
    assert [one.failure for one in answers] == [None] * 3 + ["exhausted"] * 2


def test_the_order_is_a_hash_of_the_seed(recorded):
    def order(seed):
        rows = Queue.of(recorded, seed).rows(np.repeat(np.arange(12), 3), 0, np.tile(np.arange(3), 12))
        return recorded.worker[rows].tolist()

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert [sorted(order(2)[3 * j : 3 * j + 3]) for j in range(12)] == [[0, 1, 2]] * 12


def test_items_that_nobody_labelled_and_classes_that_do_not_exist(recorded):
    replay = Replay(recorded, seed=5)
    [answer] = replay.poll(replay.post([Ask("k", "no-such-item", "cheap", 0, 1)]))
    assert answer.failure == "exhausted"
    with pytest.raises(PlatformError, match="no class 'gold'"):
        replay.poll(replay.post([Ask("k", "1", "gold", 0, 1)]))


def test_gold_classes_and_counts_are_read(recorded):
    assert recorded.items[:3] == ("0", "1", "2")
    assert recorded.classes == ("cheap", "dear")
    assert recorded.truth.tolist() == [j % 2 for j in range(10)] + [-1, -1]
    assert recorded.counts.sum() == 60
    assert recorded.counts[:, 0].sum(axis=1).tolist() == [3] * 12


def test_without_workers_there_is_one_class_and_gzip_is_read(tmp_path):
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(LABELS.encode()))
    recorded = read_recorded(tmp_path)
    assert recorded.classes == ("workers",)
    assert (recorded.truth == -1).all()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"labels": None}, "has no labels.csv"),
        ({"labels": "item,worker,label\n"}, "has no rows"),
        ({"labels": "task,who,label\n1,2,3\n"}, "line 1: the columns are task,who,label"),
        ({"labels": "item,worker,label\n1,w0,0\n2,w0,\n"}, "line 3"),
        ({"labels": 'item,worker,label\n1,w0,"0\n'}, "labels.csv cannot be read after line 2"),
        ({"workers": "worker,class\nw0,a\n"}, "class of worker 'w1' and 3 more"),
        ({"truth": "item,label\n1,0\n1,1\n"}, "truth.csv, line 3 says '1' of '1', line 2 said '0'"),
    ],
)
def test_files_that_are_wrong_are_named_with_place_and_way_out(files, words, tmp_path):
    with pytest.raises(FileError, match=words) as caught:
        read_recorded(write(tmp_path, **files))
    assert caught.value.hint


def test_a_folder_that_cannot_be_looked_at_is_an_error():
    for name in ("x" * 5000, "a\x00b"):
        with pytest.raises(FileError, match="There is no folder"):
            read_recorded(name)


def test_numbers_of_thousands_of_digits_are_names(tmp_path):
    huge = "9" * 5000
    recorded = read_recorded(write(tmp_path, labels=f"item,worker,label\n{huge},w0,0\n10,w0,1\n9,w0,1\n", truth=None))
    assert recorded.items == ("9", "10", huge)


def test_truncated_gzip_is_an_error(tmp_path):
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(LABELS.encode())[:40])
    with pytest.raises(FileError, match="cannot be read"):
        read_recorded(tmp_path)


def test_it_is_built_from_the_tables_of_a_campaign(tmp_path):
    write(tmp_path)
    replay = build({"crowd": {"dataset": ".", "source": "cheap"}}, seed=1, labels=["0", "1"], folder=tmp_path)[
        "crowd"
    ]
    [answer] = replay.poll(replay.post([Ask("k", "1", "crowd", 0, 1)]))
    assert answer.label in ("0", "1")
    for classes, labels, words in [
        ({"crowd": {"dataset": "."}}, ["0", "1"], "no class 'crowd'"),
        ({"cheap": {}}, ["0", "1"], "needs a dataset"),
        ({"cheap": {"dataset": "."}}, ["no", "yes"], "uses the labels 0, 1"),
        ({"cheap": {"dataset": ".", "speed": 1}}, ["0", "1"], "does not know"),
        ({"cheap": {"dataset": "."}, "dear": {"dataset": "x"}}, ["0", "1"], "Say it once|dataset"),
    ]:
        with pytest.raises(SpecError, match=words):
            build(classes, seed=1, labels=labels, folder=tmp_path)
