"""`quorate reproduce`: what it writes is complete, and a second run writes the same."""

import csv
import os
import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

from quorate.errors import FileError, InputError, MissingExtra
from quorate.registry import names
from quorate.studies import figures
from quorate.studies.figures import FIGURES, LABEL, Figure, Series, runs
from quorate.studies.instances import BUILT_IN
from quorate.studies.policies import symmetric
from quorate.studies.reproduce import COLUMNS, reproduce

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
SMALL = (
    Figure("one", "One", "Fig. 1", (Series("abi", "p1-asym"), Series("mle", "p1-asym")), oracle=True),
    Figure("two", "Two", "Fig. 3", (Series("abi", "p1-asym"), Series("abi", "p1-sym")), panels=("k_star",)),
)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(figures, "ITEMS", (100, 300))
    monkeypatch.setattr(figures, "_campaigns", lambda policy, items, *, quick: 3)


def read(path):
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_writes_every_figure_with_its_numbers(tmp_path, few):
    made = reproduce(tmp_path / "out", figures=SMALL)
    expected = {f"{name}.{kind}" for name, kind in product(("one", "two"), ("png", "svg", "csv"))}
    assert set(made.files) == expected | {"report.md", "table1.csv", "table1.json"}
    rows = read(tmp_path / "out" / "one.csv")
    assert [(row["policy"], row["items"]) for row in rows] == list(product(("abi", "mle"), ("100", "300")))
    assert set(rows[0]) == set(COLUMNS)
    assert all(float(row["cost_se"]) > 0 and int(row["seed"]) >= figures.FIRST_SEED for row in rows)
    page = (tmp_path / "out" / "report.md").read_text()
    assert "![One](one.png)" in page
    assert all(f"| P1-{name}/{cell} |" in page for name in ("Asym", "Sym") for cell in ("c", "p", "s", "Delta_min"))


def test_a_second_run_writes_the_same_bytes(tmp_path, few):
    for place in ("a", "b"):
        reproduce(tmp_path / place, figures=SMALL[:1])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_pictures_fit_a_column(tmp_path, few):
    reproduce(tmp_path, figures=SMALL[:1])
    head = (tmp_path / "one.png").read_bytes()[:24]
    width = int.from_bytes(head[16:20], "big")
    assert width == 3.5 * 300


def test_runs_are_shared_between_figures_and_seeds_are_not():
    plan = runs()
    assert len({(one.series, one.items) for one in plan}) == len(plan)
    spans = sorted((one.seed, one.seed + one.campaigns) for one in plan)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_every_series_can_be_run_and_named():
    for figure in FIGURES:
        for series in figure.series:
            assert series.policy in {*names("policies"), *symmetric()}
            assert series.policy in LABEL


def test_quick_is_a_part_of_the_whole():
    quick, full = runs(quick=True), runs()
    assert {replace(one, campaigns=0) for one in quick} <= {replace(one, campaigns=0) for one in full}
    assert sum(one.items * one.campaigns for one in quick) * 20 < sum(one.items * one.campaigns for one in full)


def test_label_files_in_which_nobody_fits_are_refused_before_anything_runs(tmp_path, few):
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "truth.csv").write_text("item,label\n" + "".join(f"{j},{j % 2}\n" for j in range(20)))
    labels = [f"{j},w7,{(j % 2) ^ (j in (0, 1, 3))}\n" for j in range(20)]
    (tmp_path / "rte" / "labels.csv").write_text("item,worker,label\n" + "".join(labels))
    with pytest.raises(FileError, match="fits"):
        reproduce(tmp_path / "out", figures=SMALL[:1], data=tmp_path)


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "rte").is_dir(), reason="the recorded label sets are not here (set QUORATE_DATA)")
def test_the_workers_are_written_with_their_counts_and_prices(tmp_path, few):
    made = reproduce(tmp_path, figures=SMALL[1:], data=DATA)
    assert "workers.csv" in made.files
    rows = [row for row in read(tmp_path / "workers.csv") if row["worker"] in ("w3", "w44", "w67", "w1", "w20")]
    assert [float(row["price"]) for row in rows] == pytest.approx(BUILT_IN["p1-asym-rte"].price, abs=1e-6)
    assert "| 4 | w1 | 178/201 = 0.8856 | 180/219 = 0.8219 | 3.0752 |" in (tmp_path / "report.md").read_text()


def test_only_what_was_written_is_listed(tmp_path, few):
    (tmp_path / "notes.txt").write_text("mine")
    made = reproduce(tmp_path, figures=SMALL[1:])
    assert made.files == sorted(path.name for path in tmp_path.iterdir() if path.name != "notes.txt")


@pytest.mark.parametrize("in_the_way", ["out", "out/table1.csv/", "out/report.md/"])
def test_a_place_that_cannot_be_written(tmp_path, few, in_the_way):
    path = tmp_path / in_the_way
    path.mkdir(parents=True) if in_the_way.endswith("/") else path.write_text("")
    with pytest.raises(InputError, match=f"{path.name} cannot be written: ") as told:
        reproduce(tmp_path / "out", figures=SMALL[1:])
    assert "--out" in told.value.hint


def test_without_the_means_to_draw_nothing_is_simulated(tmp_path, few, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="plots"):
        reproduce(tmp_path / "out", figures=SMALL, progress=lambda done: pytest.fail("it ran"))
    assert not (tmp_path / "out").exists()
