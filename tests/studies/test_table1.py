"""Table I: as printed from the workers' counts, out of reach from the printed matrices, as the golden file says."""

import json
import os
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from quorate.errors import FileError
from quorate.studies.instances import PRINTED, RTE_COUNTS
from quorate.studies.rte import Worker, data_folder, find, read_workers
from quorate.studies.table1 import benchmark, golden, table1

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def test_every_cell_is_as_the_golden_file_says():
    kept = json.loads((resources.files("quorate.studies") / "golden" / "table1.json").read_text("utf-8"))
    assert golden() == kept


def test_every_cell_comes_out_as_printed_from_the_counts():
    assert [cell.ours for cell in table1()] == [cell.paper for cell in table1()]
    assert all(cell.reproduced and cell.because for cell in table1())


def test_the_table_cannot_be_had_from_the_printed_matrices():
    differ = {cell.cell for cell in table1() if cell.from_printed != cell.paper}
    assert differ == {cell.cell for cell in table1()} - {"P1-Asym/c"}


def test_s_of_the_table_is_not_s_of_the_text():
    from quorate.studies.instances import BUILT_IN

    row = benchmark(BUILT_IN["p1-asym-rte"])
    assert row.s == pytest.approx(30.752, abs=5e-4)
    assert row.s_text == pytest.approx(13.687, abs=5e-4)


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "rte").is_dir(), reason="the recorded label sets are not here (set QUORATE_DATA)")
def test_the_five_workers_are_found_in_the_label_files():
    workers = read_workers(DATA)
    assert len(workers) == 164
    assert sum(one.zeros[1] + one.ones[1] for one in workers) == 8000
    found = find(workers)
    assert [fits[0].name for fits in found] == ["w3", "w44", "w67", "w1", "w20"]
    assert [len(fits) for fits in found] == [1, 1, 1, 4, 1]
    counts = np.array([[fits[0].zeros, fits[0].ones] for fits in found])
    np.testing.assert_array_equal(counts, RTE_COUNTS)


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "rte").is_dir(), reason="the recorded label sets are not here (set QUORATE_DATA)")
def test_the_price_in_table1_tells_the_four_candidates_for_class_4_apart():
    from quorate.studies.table1 import cut

    fits = find(read_workers(DATA))[3]
    assert [cut(one.price) == "3.07" for one in fits] == [True, False, False, False]


def test_each_count_prints_as_the_paper_has_it():
    for (zeros, ones), printed in zip(RTE_COUNTS.tolist(), PRINTED.tolist(), strict=True):
        assert Worker("w", tuple(zeros), tuple(ones)).prints_as(tuple(printed))


def test_a_worker_without_items_of_a_label_fits_nothing():
    assert not Worker("w", (0, 0), (9, 11)).prints_as((0.88, 0.82))


def test_a_folder_without_the_files(tmp_path):
    with pytest.raises(FileError, match=r"truth\.csv"):
        read_workers(tmp_path)
    with pytest.raises(FileError, match="no folder"):
        data_folder(tmp_path / "nowhere")


def test_the_folder_beside_us_counts_only_if_it_holds_the_labels(tmp_path, monkeypatch):
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    assert data_folder() is None
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "labels.csv").touch()
    assert data_folder() == tmp_path


@pytest.mark.parametrize(
    ("truth", "labels", "said"),
    [
        ("item,truth\n1,0\n", "", r"no column label"),
        ("item,label\n1,0\n", "item,worker,label\n1,w,0\nzz,w,1\n", r"labels\.csv, line 3: the item 'zz' is not"),
        ("item,label\n1,0\n", "item,worker,label\n1,w,yes\n", r"labels\.csv, line 2: the label is 'yes'"),
        ("item,label\n1,2\n", "item,worker,label\n1,w,1\n", r"truth\.csv, line 2: the label is '2'"),
        ("item,label\n1,0\n", "item,worker,label\n1,w\n", r"labels\.csv, line 2: 2 values"),
        ("item,label\n1,0\n", "", r"labels\.csv is empty"),
        ("item,label\n1,\xff\n", "", r"not utf-8"),
    ],
)
def test_label_files_that_are_wrong_are_refused_at_their_place(tmp_path, truth, labels, said):
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "truth.csv").write_bytes(truth.encode("latin-1"))
    (tmp_path / "rte" / "labels.csv").write_text(labels)
    with pytest.raises(FileError, match=said):
        read_workers(tmp_path)
