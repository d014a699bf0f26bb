"""The demonstration on a small made-up archive: killed, resumed, handed over; its folder rules."""

import io
import json
import tarfile

import pytest

from quorate.core.hashing import uniform
from quorate.demo import hutto
from quorate.errors import FileError
from quorate.interfaces.cli import main

pytest.importorskip("vaderSentiment", reason="the demonstration needs its extra")
N = 700


def made_up():
    """Sentences and ratings in the archive's own form: ratings are right nine times in ten."""
    files = {}
    for kind, size in ((hutto.FILMS, hutto.JUDGED), (hutto.PRODUCTS, 60)):
        texts, ratings = [], []
        for row in range(1, size + 1):
            pleased = row <= hutto.PLEASED if kind == hutto.FILMS else row % 2
            given = [(1 if pleased else -1) * (2 if u < 0.9 else -2) for u in uniform(5, row, range(15))]
            texts.append(f"{row}\t0.1\t{'a good' if pleased else 'a bad'} film, number {row}")
            ratings.append(f"{row}\t0.1\t0.5\t{given}")
        files[f"{kind}_GroundTruth.txt"] = "\n".join(texts)
        files[f"{kind}_anonDataRatings.txt"] = "\n".join(ratings)
    return files


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "quorate"
    folder.mkdir(parents=True)
    with tarfile.open(folder / hutto.INNER, "w:gz") as archive:
        for name, text in made_up().items():
            member = tarfile.TarInfo(f"hutto_ICWSM_2014/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    hutto.archive.cache_clear()
    yield folder
    hutto.archive.cache_clear()


@pytest.mark.slow
def test_it_is_killed_resumed_and_decides_the_same(cache, tmp_path, capsys):
    pytest.importorskip("sklearn")
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--out", str(tmp_path / "demo"), "--items", str(N), "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is True
    assert 0 < told["killed_at"] < told["certificate"]["answers"]
    assert told["certificate"]["labelled"] > 0.9 * N
    check = told["certificate"]["check"]
    assert check["right"] > 0.95 * check["of"]
    made = {one.name for one in (tmp_path / "demo").iterdir()}
    assert {"labels.parquet", "certificate.html", "campaign.toml", "films.db"} <= made


def test_a_folder_with_other_things_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_without_a_package_index_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(hutto, "PACKAGE", "no such package ==")
    hutto.archive.cache_clear()
    with pytest.raises(FileError, match="could not be fetched") as caught:
        hutto.archive()
    assert hutto.INNER in caught.value.hint
