"""`quorate plan` as its user types it."""

import json
import subprocess
import sys

import pytest

FILE = """
prior = 0.3
alpha = 0.05
[[class]]
name = "small-llm"
price = 0.001
between = [0.6, 0.9]
[[class]]
name = "crowd"
price = 0.05
between = [0.7, 0.95]
[[class]]
name = "expert"
price = 1.0
accuracy = [0.97, 0.96]
"""


def run(*arguments, cwd):
    command = [sys.executable, "-c", "from quorate.interfaces.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)


@pytest.fixture
def instance(tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    return tmp_path


def test_the_forecast_as_json(instance):
    done = run("plan", "mine.toml", "--items", "120", "--policy", "mle", "--policy", "votes-3", "--quick",
               "--budget", "20 EUR", "--jobs", "1", "--json", cwd=instance)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["items"], answer["alpha"], answer["currency"], answer["budget"]) == (120, 0.05, "EUR", 20)
    mle, votes = answer["policies"]
    assert mle["cost_low"] <= mle["cost"] <= mle["cost_high"]
    assert votes["cost"] == pytest.approx(120 * 3 * 0.001)
    assert votes["answers"] == {"small-llm": 360, "crowd": 0, "expert": 0}
    assert votes["budget_enough"] == 1
    assert 0 < answer["oracle_per_item"] < mle["cost_per_item"]


def test_the_table_names_every_policy(instance):
    done = run(
        "plan",
        "mine.toml",
        "--items",
        "50",
        "--policy",
        "cbs",
        "--policy",
        "votes-5",
        "--quick",
        "--jobs",
        "1",
        cwd=instance,
    )
    assert done.returncode == 0, done.stderr
    for word in ("cbs", "votes-5", "90 % between", "50 items", "from small-llm"):
        assert word in done.stdout


def test_what_asking_faster_costs_is_shown(instance):
    def asked(*more):
        options = ("--items", "60", "--policy", "certified", "--quick", "--jobs", "1", *more)
        done = run("plan", "mine.toml", *options, cwd=instance)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Asking faster" not in asked()
    assert "3 (as it is set)" in asked("--parallel", "3")
    slow, fast = json.loads(asked("--parallel", "3", "--json"))["at_once"]
    assert (slow["parallel"], slow["extra_answers"], fast["parallel"]) == (1, 0, 3)
    assert fast["rounds"] < slow["rounds"]
    assert fast["extra_answers"] == pytest.approx(fast["answers_per_item"] / slow["answers_per_item"] - 1)
    assert fast["extra_answers"] > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[0.6, 0.9]", "[0.9, 0.6]"), ("mine.toml", "number 1", "'small-llm'", "'between', second", "0.6")),
        (("[0.6, 0.9]", "0.7"), ("mine.toml", "number 1", "between = [0.6, 0.9]")),
        (
            ("between = [0.6, 0.9]", "between = [0.6, 0.9]\naccuracy = [0.8, 0.8]"),
            ("both", "'accuracy'", "'between'"),
        ),
    ],
)
def test_a_wrong_belief_names_file_table_and_key(instance, change, words):
    (instance / "mine.toml").write_text(FILE.replace(*change))
    done = run("plan", "mine.toml", "--quick", cwd=instance)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--alpha", "0.7", "alpha is 0.7"),
        ("--items", "0", "items is 0"),
        ("--budget", "lots", "'lots'"),
        ("--policy", "best", "'best'"),
        ("--picture", "bill.gif", "'.gif'"),
        ("--picture", "nowhere/bill.png", "no folder nowhere"),
        ("--picture", "bill.png", "Leave out --quick"),
    ],
)
def test_a_wrong_option_is_named(instance, option, value, word):
    done = run("plan", "p1-asym", "--quick", option, value, cwd=instance)  # told before anything is played
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_classes_cannot_do_is_left_out_and_said(instance):
    (instance / "two.toml").write_text(FILE.rsplit("[[class]]", 1)[0])
    options = ("plan", "two.toml", "--items", "8", "--quick", "--jobs", "1")
    usual = run(*options, cwd=instance)
    assert usual.returncode == 0, usual.stderr
    assert "asym-imcw is left out. Policy 'asym-imcw' needs at least 3 worker classes" in usual.stdout
    asked = run(*options, "--policy", "votes-3", "--policy", "asym-imcw", cwd=instance)
    assert asked.returncode == 2  # what was asked for is not left out
    assert "at least 3 worker classes" in asked.stderr


def test_the_least_cost_says_what_caps_leave_undecided(instance):
    two = FILE.rsplit("[[class]]", 1)[0]
    (instance / "capped.toml").write_text(two.replace("price", "answers_per_item = 1\nprice"))
    options = ("plan", "capped.toml", "--items", "20", "--quick", "--jobs", "1", "--policy", "votes-3")
    shown = run(*options, cwd=instance).stdout
    left = json.loads(run(*options, "--json", cwd=instance).stdout)["oracle_undecided"]
    assert 0 < left < 1
    assert f"Nobody who knew the classes and left {100 * left:.2g} % undecided could pay less" in shown


def test_a_forecast_of_three_labels_is_refused(tmp_path):
    (tmp_path / "items.csv").write_text("id\n1\n2\n")
    made = run("init", "--name", "three", "--labels", "a,b,c", "--budget", "9 USD", "--class", "crowd=0.05",
               cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stderr
    done = run("plan", "campaign.toml", "--quick", "--policy", "votes-3", cwd=tmp_path)
    assert done.returncode == 2
    assert "two labels, campaign 'three' has 3" in done.stderr
