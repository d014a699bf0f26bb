"""The study commands as users type them: output, JSON keys, exit codes, and never a traceback."""

import json
import subprocess
import sys

import pytest

from quorate.interfaces.cli import main


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_simulate_prints_the_keys_that_others_rely_on(capsys):
    code, out, _ = run(
        capsys, "simulate", "p1-asym", "--policy", "abi", "--items", "200", "--campaigns", "4", "--seed", "5",
        "--jobs", "1", "--json",
    )  # fmt: skip
    record = json.loads(out)
    assert code == 0
    assert {
        "policy", "items", "campaigns", "alpha", "seed", "cost_per_item", "cost_se", "explore_cost", "exploit_cost",
        "oracle_cost", "ratio", "error", "error_se", "error_0", "error_0_se", "error_1", "error_1_se",
        "undecided_fraction", "exceed_fraction", "k_star_fraction", "best_class_fraction",
    } <= set(record)  # fmt: skip
    assert record["ratio"] == record["cost_per_item"] / record["oracle_cost"]
    assert record["explore_cost"] + record["exploit_cost"] == pytest.approx(record["cost_per_item"], rel=1e-12)


def test_simulate_shows_means_beside_standard_errors(capsys):
    words = ["--policy", "votes-3", "--items", "50", "--campaigns", "2", "--jobs", "1"]
    code, out, _ = run(capsys, "simulate", "p1-sym", *words)
    assert code == 0
    assert "standard error" in out
    assert "±" in out


def test_oracle_meets_its_bound(capsys):
    code, out, _ = run(capsys, "oracle", "p1-asym", "--alpha", "0.05", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["cost"] == pytest.approx(4.91, abs=0.02)
    assert 0 <= found["gap"] < 0.005


def test_oracle_of_the_average_error_is_cheaper(capsys):
    _, out, _ = run(capsys, "oracle", "p1-asym", "--average", "--json")
    assert json.loads(out)["cost"] == pytest.approx(4.81, abs=0.02)


def test_oracle_of_a_world_that_cannot_be_labelled_says_so_before_its_cost(tmp_path, capsys):
    path = tmp_path / "coin.toml"
    path.write_text('[[class]]\nname = "coin"\nprice = 1\naccuracy = [0.5, 0.5]\n')
    _, out, _ = run(capsys, "oracle", str(path))
    assert 0 < out.index("none found") < out.index("cost of what can be labelled")
    record = json.loads(run(capsys, "oracle", str(path), "--json")[1])
    assert (record["lower_bound"], record["gap"], record["undecided"]) == (None, None, 1.0)


def test_exact_is_the_table_of_the_case_study(capsys):
    _, out, _ = run(capsys, "exact", "p1-asym", "--rule", "direction-test", "--alpha", "0.05", "--json")
    costs = [one["cost"] for one in json.loads(out)["classes"]]
    assert costs == pytest.approx([93.3, 70.5, 64.9, 73.8, 220.8], abs=0.05)


def test_bounds_names_k_star(capsys):
    code, out, _ = run(capsys, "bounds", "p1-asym-rte")
    assert code == 0
    assert "k* = class-4" in out


@pytest.mark.parametrize("command", ["bounds", "exact", "oracle", "simulate", "estimate", "reproduce"])
def test_help_teaches_by_example(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"quorate {command} " in out.split("Options")[0].split("Usage")[1].split("\n", 1)[1]


@pytest.mark.parametrize(
    ("words", "said", "way_out"),
    [
        ("simulate p1-asym --policy nobody", "no policy called 'nobody'", "Choose one of"),
        ("simulate p1-asym --policy abi --items 0", "items is 0", "from 1 to"),
        ("simulate p1-asym --policy abi --items 1000000000000", "items is 1000000000000", "from 1 to 100,000,000"),
        ("simulate p1-asym --policy abi --item-cap 0", "item_cap is 0", "from 1 to"),
        ("simulate p1-asym --policy abi --jobs 0", "jobs is 0", "1 or more"),
        ("simulate p1-asym --policy abi --alpha 0.7", "alpha is 0.7", "between 0 and 0.5"),
        ("simulate p1-asym --policy certified --alpha 1e-300", "alpha is 1e-300", "smallest"),
        ("simulate p1-asym --policy abi --items 1e4", "'1e4' is not a whole number", "such as 1000"),
        ("bounds p1-asym --alpha five", "'five' is not a number", "such as 0.05"),
        ("oracle p1-asym --alpha 1e-10", "alpha is 1e-10", "1e-09"),
        ("exact p1-asym --rule nobody", "no rule called 'nobody'", "direction-test"),
        ("oracle nowhere.toml", "no instance 'nowhere.toml'", "path of a TOML file"),
        ("bounds p1-asm", "no instance 'p1-asm'", "Did you mean 'p1-asym'?"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(capsys, words, said, way_out):
    code, out, err = run(capsys, *words.split())
    assert (code, out) == (2, "")
    assert said in err
    assert way_out in err
    assert "Traceback" not in err


def test_errors_as_json(capsys):
    _, _, err = run(capsys, "oracle", "nowhere.toml", "--json")
    assert set(json.loads(err)["error"]) == {"code", "message", "hint"}


def test_workers_do_not_change_the_numbers():
    words = ["p1-asym", "--policy", "asym-imcw", "--items", "100", "--campaigns", "5", "--seed", "3", "--json"]
    quorate = [sys.executable, "-c", "from quorate.interfaces.cli import main; main()"]
    out = [
        subprocess.run(
            [*quorate, "simulate", *words, "--jobs", jobs],
            capture_output=True, text=True, check=True,
        ).stdout
        for jobs in ("1", "2")
    ]  # fmt: skip
    assert out[0] == out[1]
