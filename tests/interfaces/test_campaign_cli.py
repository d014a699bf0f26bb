"""A campaign's life at the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from quorate.interfaces.cli import main

ITEMS = 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{j},text {j}\n" for j in range(ITEMS)))
    return tmp_path


@pytest.fixture
def quorate(capsys):
    def call(*arguments, code=0):
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out = capsys.readouterr()
        assert left.value.code == code, out.err
        return out.out if code == 0 else out.err

    return call


def init(quorate, *more):
    return quorate("init", "--name", "toy", "--policy", "asym-imcw", "--budget", "500 USD", *more)


def test_from_nothing_to_labels(folder, quorate):
    assert "quorate run" in init(quorate)
    assert "✓ items: 40 items" in quorate("doctor")
    assert "Started toy: 40 items, budget 500.00 USD" in quorate("run")
    again = quorate("run")
    assert "0 answers bought now" in again
    found = json.loads(quorate("status", "--json"))
    assert found["done"]
    assert found["items"]["labelled"] + found["items"]["undecided"] == ITEMS
    assert found["money"]["reserved"] == 0
    assert "Estimated error" in quorate("status")
    story = json.loads(quorate("explain", "campaign.toml", "i7", "--json"))
    assert story["cost"] == sum(one["charged"] for one in story["asks"])
    assert "\nAsked " in (told := quorate("explain", "campaign.toml", "i7"))
    assert "\n  1. said '" in told
    doctor = json.loads(quorate("doctor", "--json"))
    assert doctor["well"]
    assert any("every checksum right" in one["says"] for one in doctor["findings"])


def test_money_runs_out_and_more_is_found(folder, quorate):
    init(quorate, "--budget", "10 USD")
    report = json.loads(quorate("run", "--json"))
    assert report["undecided"] > 0
    assert report["spent"] <= 10_000_000
    assert "The budget is 900.00 USD now" in quorate("budget", "campaign.toml", "900 USD")
    more = json.loads(quorate("run", "--json"))
    assert more["labelled"] > report["labelled"]
    reasons = json.loads(quorate("status", "--json"))["undecided_for"]
    assert "budget" not in reasons


def test_new_rows_are_added_when_asked_for(folder, quorate):
    init(quorate)
    quorate("run")
    with open(folder / "items.csv", "a") as file:
        file.write("late,one more\n")
    assert json.loads(quorate("run", "--json"))["items"] == ITEMS
    assert json.loads(quorate("run", "--add-items", "--json"))["items"] == ITEMS + 1


def test_pause_and_resume(folder, quorate):
    init(quorate)
    quorate("run")
    assert "Class 'crowd' is paused" in quorate("pause", "--class", "crowd")
    assert "Campaign 'toy' is paused" in quorate("pause")
    assert json.loads(quorate("status", "--json"))["state"] == "paused"
    quorate("resume", "--class", "crowd")
    assert json.loads(quorate("resume", "--json"))["state"] == "running"


def test_what_is_wrong_is_said_in_sentences(folder, quorate):
    assert "quorate init" in quorate("run", code=2)
    init(quorate)
    assert "exists already" in init_error(quorate)
    assert "takes the campaign's file" in quorate("run", "sqlite:///toy.db", code=2)
    assert "has not been started" in quorate("status", code=2)
    assert "has not been started" in quorate("explain", "campaign.toml", "i1", code=2)
    (folder / "items.csv").write_text("id\na\na\n")
    assert "a" in quorate("run", code=2)
    assert not (folder / "toy.db").exists(), "nothing half done"
    error = json.loads(quorate("run", "none.toml", "--json", code=2))
    assert set(error["error"]) == {"code", "message", "hint"}


def test_an_amount_needs_no_quotes(folder, quorate):
    init(quorate)
    quorate("run")
    for words in (["700", "USD"], ["campaign.toml", "700", "USD"], ["700 USD"], ["campaign.toml", "700"]):
        assert "The budget is 700.00 USD now" in quorate("budget", *words)


def init_error(quorate):
    return quorate("init", "--name", "toy", code=2)


def test_doctor_finds_what_is_missing(folder, quorate, capsys):
    init(quorate, "--class", "crowd=0.05")
    text = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(text.replace('kind = "simulator"', 'kind = "telepathy"'))
    (folder / "items.csv").unlink()
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--json"])
    assert left.value.code == 1
    ill = {one["what"] for one in json.loads(capsys.readouterr().out)["findings"] if not one["well"]}
    assert ill == {"items", "platforms", "policy"}  # asym-imcw needs three classes


def digest(url):
    from quorate.campaign.engine import Campaign

    with Campaign.open(url, read_only=True) as campaign:
        return campaign.decisions().digest


@pytest.mark.slow
def test_killed_and_interrupted_runs_end_like_one_left_in_peace(folder, quorate):
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},text {j}\n" for j in range(80)))
    init(quorate)
    text = (folder / "campaign.toml").read_text()
    slow = text.replace('kind = "simulator"', 'kind = "simulator"\nduplicates = 0.001', 1)  # asks go out one by one
    (folder / "campaign.toml").write_text(slow)
    (folder / "peace.toml").write_text(slow.replace("toy.db", "peace.db"))
    quorate("run", "peace.toml")
    start = "from quorate.interfaces.cli import main; main()"
    command = [sys.executable, "-c", start, "run", "--buyers", "2", "--in-flight", "20"]
    deaths = 0
    for turn in range(60):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        before = size(folder)
        deadline = time.monotonic() + 20
        while (
            process.poll() is None and time.monotonic() < deadline and size(folder) < before + 40_000 + 10_000 * turn
        ):
            time.sleep(0.002)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL if turn % 2 else signal.SIGINT)
        process.wait()
        assert process.returncode in (-signal.SIGKILL, 130, 0, -signal.SIGINT)
        deaths += 1
        if deaths == 8:
            break
    assert deaths >= 3
    assert json.loads(quorate("run", "--json"))["done"]
    assert digest(f"sqlite:///{folder}/toy.db") == digest(f"sqlite:///{folder}/peace.db")


def size(folder):
    return sum(one.stat().st_size for one in folder.glob("toy.db*"))


def test_why_a_function_gave_no_answers_is_said(folder, quorate):
    (folder / "shrugs.py").write_text("def maybe(row):\n    return 'maybe'\n")
    quorate("init", "--name", "toy", "--policy", "votes-3", "--class", "crowd=0.05")
    text = (folder / "campaign.toml").read_text()
    before, after = text.split('kind = "simulator"')
    after = after.split("\n", 2)[2]
    (folder / "campaign.toml").write_text(f'{before}kind = "callable"\nfunction = "shrugs:maybe"\n{after}')
    assert "crowd: no answer: returned the label 'maybe'; the labels are no, yes ×" in quorate("run")
    assert "no answer (refused: returned the label 'maybe'; the labels are no, yes), 0.00 USD" in quorate(
        "explain", "i7"
    )


def test_doctor_sees_a_policy_that_refuses_the_campaign(folder, quorate, capsys):
    init(quorate)
    text = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(re.sub(r"(?m)^labels = .*", 'labels = ["a", "b", "c"]', text))
    with pytest.raises(SystemExit):
        main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    refused = next(one for one in found if one["what"] == "policy")
    assert not refused["well"]
    assert "3" in refused["says"]
    assert refused["hint"]
