"""``quorate replay``: arithmetic that can be done by hand, worlds that keep their promise, errors with a way out."""

import json

import numpy as np
import pytest

from quorate.core.worlds import World, symmetric_errors
from quorate.errors import SpecError
from quorate.interfaces.cli import main
from quorate.platforms.recorded import Recorded, read_recorded
from quorate.registry import lookup
from quorate.studies.replay_study import replay


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["replay", *map(str, arguments)])
    out = capsys.readouterr()
    return ended.value.code, out.out, out.err


def a_world(items=2000, answers=30, seed=3, **departures):
    """One class, right with .85 and .9, recorded often enough that a policy never runs dry."""
    world = World(symmetric_errors([[0.85, 0.9]]), np.array([0.5, 0.5]), seed, **departures)
    item, worker = np.divmod(np.arange(items * answers), answers)
    return Recorded(
        "made", tuple(map(str, range(items))), ("workers",), tuple(f"w{k}" for k in range(answers)), ("0", "1"),
        item, worker, world.answers(item, worker, 0).astype(np.int64), np.zeros(answers, np.int64),
        world.truth(np.arange(items)).astype(np.int64),
    )  # fmt: skip


def test_ways_are_counted_as_by_hand(tmp_path):
    (tmp_path / "labels.csv").write_text("item,worker,label\n1,a,1\n1,b,1\n1,c,0\n2,a,0\n2,b,0\n2,c,0\n3,a,1\n")
    (tmp_path / "truth.csv").write_text("item,label\n1,1\n2,1\n")
    found = replay(read_recorded(tmp_path), lookup("policies", "votes-3"))
    ways = {one.name: one for one in found.ways}
    everything = ways["majority of all"]
    assert (everything.answers, everything.cost, everything.labelled) == (7 / 3, 7 / 3, 1.0)
    assert everything.accuracy == 0.5  # item 2 is a 1 that everybody took for a 0; item 3 has no gold
    assert everything.by_label[1] == 0.5
    assert np.isnan(everything.by_label[0])
    assert ways["votes-3"].answers == 7 / 3
    assert ways["1 vote"].answers == 1
    assert found.gold == 2
    assert found.classes[0].accuracy[1] == pytest.approx(2 / 6)


def test_where_the_model_holds_the_promise_is_kept_for_less_than_habits_cost():
    replays = [
        replay(a_world(seed=seed), lookup("policies", "calibrated"), alpha=0.05, seed=seed) for seed in range(6)
    ]
    right = np.mean([found.ways[0].by_label for found in replays], axis=0)
    assert right.min() > 0.95 - 2 * np.sqrt(0.05 * 0.95 / 6000)  # some 1,000 items of each label in each
    found = replays[0]
    own, five = found.ways[0], next(one for one in found.ways if one.name == "5 votes")
    assert own.cost < 0.8 * five.cost
    assert abs(found.classes[0].correlation) < 0.01
    assert found.classes[0].fit > 0.001


def test_hard_items_show_in_the_correlation_and_in_the_fit():
    found = replay(a_world(hard=4.0), lookup("policies", "votes-3"), seed=2)
    assert found.classes[0].correlation == pytest.approx(1 / 5, abs=0.02)  # Beta of concentration 4: 1/(4+1)
    assert found.classes[0].fit < 1e-6


def test_the_command_prints_a_table_and_json(tmp_path, capsys):
    rows = "".join(f"{j},w{w},{(j + (w == 4)) % 2}\n" for j in range(40) for w in range(5))
    (tmp_path / "labels.csv").write_text("item,worker,label\n" + rows)
    (tmp_path / "workers.csv").write_text("worker,class\n" + "".join(f"w{w},{'ab'[w > 2]}\n" for w in range(5)))
    (tmp_path / "truth.csv").write_text("item,label\n" + "".join(f"{j},{j % 2}\n" for j in range(40)))
    code, out, _ = run(capsys, tmp_path, "--policy", "votes-3", "--price", "a=0.5", "--price", "b=1")
    assert code == 0
    assert "majority of all" in out
    assert "100.0%" in out
    code, out, _ = run(capsys, tmp_path, "--policy", "votes-3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["ways"][0]["accuracy"] == 1.0
    assert found["classes"][1]["accuracy"] == [0.5, 0.5]


def test_wrong_use_is_an_error_with_a_way_out(tmp_path, capsys):
    (tmp_path / "labels.csv").write_text("item,worker,label\n1,a,1\n1,b,2\n1,c,0\n")
    for arguments, words in [
        (["no-such-folder"], "There is no folder"),
        ([tmp_path], "has 3 labels"),
        ([tmp_path, "--policy", "nonsense"], "no policy called 'nonsense'"),
        ([tmp_path, "--accuracy", "1.5"], "cannot be promised"),
        ([tmp_path, "--price", "cheap"], "not CLASS=PRICE"),
    ]:
        code, out, err = run(capsys, *arguments)
        assert code == 2
        assert out == ""
        assert words in err
        assert len(err.strip().splitlines()) == 2
    (tmp_path / "labels.csv").write_text("item,worker,label\n1,a,1\n1,b,0\n")
    code, _, err = run(capsys, tmp_path)
    assert code == 2
    assert "has no gold" in err
    (tmp_path / "truth.csv").write_text("item,label\n1,0\n")
    code, _, err = run(capsys, tmp_path, "--price", "gold=3")
    assert code == 2
    assert "given or missing for gold, workers" in err


def test_policies_for_two_labels_only_say_so():
    world = a_world(items=10)
    three = Recorded(
        world.name, world.items, world.classes, world.workers, ("0", "1", "2"), world.item, world.worker, world.label,
        world.class_of, world.truth,
    )  # fmt: skip
    with pytest.raises(SpecError, match="has 3 labels"):
        replay(three, lookup("policies", "votes-3"))
