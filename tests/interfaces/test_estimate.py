"""``quorate estimate``: what a file of answers says of those who gave them."""

import json

import numpy as np
import pandas as pd
import pytest

from quorate.interfaces.cli import main

ACCURACY = np.array([(0.94, 0.90), (0.77, 0.87), (0.92, 0.76), (0.88, 0.82), (0.64, 0.66)])


def answers_of(items, rng, accuracy=ACCURACY, prior=0.4):
    truth = (rng.random(items) < prior).astype(int)
    right = rng.random((len(accuracy), items)) < accuracy[:, truth]
    said = np.where(right, truth, 1 - truth)
    item = np.tile(np.arange(items), len(accuracy))
    return pd.DataFrame(
        {"item": item, "class": np.repeat([f"c{k}" for k in range(len(accuracy))], items), "label": said.ravel()}
    )


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return left.value.code, out, err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_matrices_prior_and_agreement(tmp_path, capsys, suffix):
    frame = answers_of(3000, np.random.default_rng(1))
    path = tmp_path / f"answers.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path, index=False)
    code, out, _ = run(capsys, "estimate", path, "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["items"], record["answers"], record["wrong"]) == (3000, 15000, [])
    assert record["labels"][1]["share"] == pytest.approx(0.4, abs=0.03)
    inside = 0
    for k, one in enumerate(record["classes"]):
        assert one["class"] == f"c{k}"
        assert one["accuracy"] == pytest.approx(ACCURACY[k], abs=0.04)
        assert np.array(one["confusion"]).sum(axis=1) == pytest.approx([1, 1])  # one row a true label
        inside += sum(
            low < true < high for (low, high), true in zip(one["accuracy_interval"], ACCURACY[k], strict=True)
        )
    assert inside >= 8  # of ten, at 95 %
    assert len(record["agreement"]) == 10
    assert not any(pair["dependent"] for pair in record["agreement"])


def test_it_says_what_looks_wrong(tmp_path, capsys):
    frame = answers_of(2000, np.random.default_rng(2))
    swapped = frame[frame["class"] == "c0"].assign(**{"class": "swapped"})
    swapped["label"] = 1 - swapped["label"]
    copied = frame[frame["class"] == "c3"].assign(**{"class": "copy"})
    stuck = frame[frame["class"] == "c0"].assign(**{"class": "stuck", "label": 1})
    few = frame[frame["class"] == "c1"].head(5).assign(**{"class": "shy"})
    path = tmp_path / "answers.csv"
    pd.concat([frame[frame["class"] != "c0"], swapped, copied, stuck, few]).to_csv(path, index=False)
    _, out, _ = run(capsys, "estimate", path, "--json")
    wrong = "\n".join(json.loads(out)["wrong"])
    assert "swapped is more often wrong than right on items of label 0" in wrong
    assert "swapped is more often wrong than right on items of label 1" in wrong
    assert "c3 and copy agree on 100%" in wrong
    assert "stuck always says 1 (2000 answers)" in wrong
    assert "shy (5)" in wrong
    assert "c1 is" not in wrong
    assert "c2 is" not in wrong


def test_people_get_tables(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    answers_of(300, np.random.default_rng(3)).rename(columns={"item": "task", "class": "worker"}).to_csv(
        path, index=False
    )
    code, out, _ = run(capsys, "estimate", path)
    assert code == 0
    for words in (
        "1,500 answers on 300 items",
        "right on 0",
        "95 % interval",
        "Agreement of the classes",
        "Nothing looks wrong",
    ):
        assert words in out


def test_more_labels_and_a_missing_one(tmp_path, capsys):
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 800)
    said = np.where(rng.random((4, 800)) < 0.8, truth, rng.integers(0, 3, (4, 800)))
    label = np.array(["cat", "dog", "fox"], object)[said.ravel()]
    label[5] = None
    path = tmp_path / "answers.csv"
    columns = {"item": np.tile(np.arange(800), 4), "class": np.repeat(list("abcd"), 800), "label": label}
    pd.DataFrame(columns).to_csv(path, index=False)
    _, out, _ = run(capsys, "estimate", path, "--json")
    record = json.loads(out)
    assert record["without_label"] == 1
    assert [one["label"] for one in record["labels"]] == ["cat", "dog", "fox"]
    assert np.array(record["classes"][0]["confusion"]).diagonal() == pytest.approx([0.867] * 3, abs=0.06)
    code, out, _ = run(capsys, "estimate", path)
    assert code == 0
    assert "says fox" in out


def test_one_answer_an_item_is_called_what_it_is(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    pd.DataFrame({"item": range(50), "class": "a", "label": [0, 1] * 25}).to_csv(path, index=False)
    _, out, _ = run(capsys, "estimate", path, "--json")
    record = json.loads(out)
    assert "No item has two answers" in record["wrong"][0]
    low, high = record["classes"][0]["accuracy_interval"][0]
    assert high - low > 0.4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,clas,label\na,x,1\n", "no column 'class'"),
        ("item,class,label\na,x,1\n,x,1\n", "Row 2 has no item"),
        ("item,class,label\na,x,\n", "no answer with a label"),
        ("item,class,label\na,x\n", "2 values"),
        ("item,class,label\n", "no rows"),
        ("item,class,label\n" + "".join(f"{j},x,text {j}\n" for j in range(101)), "101 different labels"),
        ("c,b,a\n1,2,3\n", "the columns are c, b, a"),
        ("", "empty"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(tmp_path, capsys, text, message):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    code, out, err = run(capsys, "estimate", path)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"item": "a", "class": "x", "label": [1]}], "Row 1: its label is a list, [1]"),
        ([{"item": "a", "class": "x", "label": 1}, {"item": {"id": 2}, "class": "x", "label": 1}], "Row 2: its item"),
        ([{"item": "a", "class": [k], "label": 1} for k in range(3)], "Row 1: its class is a list"),
    ],
)
@pytest.mark.parametrize("command", ["estimate", "aggregate"])
def test_a_list_is_no_label(tmp_path, capsys, command, rows, message):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = run(capsys, command, path)
    assert (code, out) == (2, "")
    assert message in err


def test_names_that_look_like_styles_are_names(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    path.write_text("item,class,label\n" + "".join(f"{j},[/red],[x]\n{j},[b],[/x]\n" for j in range(30)))
    code, out, _ = run(capsys, "estimate", path)
    assert code == 0
    assert all(name in out for name in ("[/red]", "[b]", "right on [x]", "right on [/x]"))


def test_a_missing_file_and_a_wrong_level(tmp_path, capsys):
    assert run(capsys, "estimate", tmp_path / "nowhere.csv")[0] == 2
    path = tmp_path / "answers.csv"
    path.write_text("item,class,label\na,x,1\n")
    assert "between 0 and 1" in run(capsys, "estimate", path, "--level", "95")[2]


def test_three_classes_of_which_two_are_always_of_one_mind(tmp_path, capsys):
    frame = answers_of(400, np.random.default_rng(5), ACCURACY[:2])
    path = tmp_path / "answers.csv"
    pd.concat([frame, frame[frame["class"] == "c1"].assign(**{"class": "twin"})]).to_csv(path, index=False)
    _, out, _ = run(capsys, "estimate", path, "--json")
    assert "Always of one mind: c1 and twin (400 items)" in "\n".join(json.loads(out)["wrong"])


def test_on_a_single_item_the_share_of_a_label_lies_in_its_interval(tmp_path, capsys):
    path = tmp_path / "one.csv"
    path.write_text("item,class,label\n1,a,x\n1,b,x\n1,c,y\n")
    for label in json.loads(run(capsys, "estimate", path, "--json")[1])["labels"]:
        low, high = label["interval"]
        assert low < label["share"] < high


def test_rows_without_a_label_and_a_folder_are_named(tmp_path, capsys):
    path = tmp_path / "blank.csv"
    path.write_text("item,class,label\n1,a,x\n1,b,\n2,a,y\n")
    assert "2 answers on 2 items; 1 without a label left out" in run(capsys, "estimate", path)[1]
    code, _, err = run(capsys, "estimate", tmp_path)
    assert code == 2
    assert f"{tmp_path} is a folder." in err
