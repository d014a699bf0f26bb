"""What leaves a campaign and comes back: labels, answers, the whole of it, and its certificate."""

import json
import re
from html.parser import HTMLParser

import pytest

from quorate.certificate import certify, html, markdown
from quorate.files import read_table
from quorate.interfaces.cli import main
from quorate.interfaces.places import open_campaign
from quorate.spec import template

ITEMS = 30


def call(capsys, *arguments):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    out = capsys.readouterr()
    return ended.value.code, out.out, out.err


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A small campaign, run to its end."""
    folder = tmp_path_factory.mktemp("campaign")
    text = template(name="films", policy="votes-3", items="items.csv", classes=[("=crowd", "0.05")])
    text = text.replace('"=crowd"', '"crowd"')
    (folder / "campaign.toml").write_text(text)
    rows = "".join(f"=item-{n},text <b>{n}</b>\n" for n in range(ITEMS))
    (folder / "items.csv").write_text("id,text\n" + rows)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(folder / "campaign.toml"), "--json"])
    assert ended.value.code == 0
    return folder / "campaign.toml"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_in_every_format_say_the_same(campaign, ending, tmp_path, capsys):
    to = tmp_path / f"labels.{ending}"
    code, out, err = call(capsys, "labels", campaign, "--to", to, "--payload")
    assert (code, err) == (0, "")
    assert f"{ITEMS} rows" in out
    rows = read_table(to)
    code, out, _ = call(capsys, "labels", campaign, "--payload", "--json")
    assert rows == json.loads(out)
    assert rows[0]["item"] == "=item-0"
    assert rows[0]["payload"]["text"] == "text <b>0</b>"
    assert {row["status"] for row in rows} == {"labelled"}
    assert sum(row["cost"] for row in rows) == pytest.approx(0.05 * 3 * ITEMS)
    code, _, err = call(capsys, "labels", campaign, "--to", to)
    assert code == 2
    assert "exists already" in err
    assert call(capsys, "labels", campaign, "--to", to, "--force")[0] == 0


def test_answers_carry_their_provenance(campaign, tmp_path, capsys):
    to = tmp_path / "answers.jsonl"
    assert call(capsys, "answers", campaign, "--to", to)[0] == 0
    rows = read_table(to)
    assert len(rows) == 3 * ITEMS
    assert {(row["item"], row["ordinal"]) for row in rows} == {
        (f"=item-{n}", t) for n in range(ITEMS) for t in range(3)
    }
    assert all(row["counts"] and row["price"] == 0.05 and row["class"] == "crowd" for row in rows)
    assert all(re.match(r"\d{4}-\d\d-\d\dT", row["answered_at"]) for row in rows)


def test_a_screen_shows_the_first_and_says_how_many_more(campaign, capsys):
    code, out, _ = call(capsys, "labels", campaign)
    assert code == 0
    assert "=item-0" in out
    assert "and 10 more" in out


def test_a_campaign_that_comes_back_decides_the_same(campaign, tmp_path, capsys):
    to = tmp_path / "films.jsonl"
    assert call(capsys, "export", campaign, "--to", to)[0] == 0
    copy = f"sqlite:///{tmp_path / 'copy.db'}"
    code, out, _ = call(capsys, "import", to, "--store", copy)
    assert code == 0
    assert "films" in out
    with open_campaign(str(campaign), read_only=True) as one, open_campaign(copy, read_only=True) as two:
        assert one.decisions().digest == two.decisions().digest
        assert one.labels().label == two.labels().label
        assert one.ledger.campaign().digest == two.ledger.campaign().digest
    lines = to.read_text().splitlines()
    broken = tmp_path / "broken.jsonl"
    broken.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    code, _, err = call(capsys, "import", broken, "--store", f"sqlite:///{tmp_path / 'other.db'}")
    assert code in (2, 4)
    assert "Traceback" not in err
    assert err.startswith("Error:")


class Strict(HTMLParser):
    """Collects what a page fetches or runs, and whether its tags close."""

    def __init__(self):
        super().__init__()
        self.open, self.outside, self.words = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)
        if tag in ("script", "link", "img", "iframe") or any(
            k in ("src", "href") or k.startswith("on") for k, _ in attributes
        ):
            self.outside.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_certificate_in_three_formats(campaign, tmp_path, capsys):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"=item-{n},{'yes' if n % 2 else 'no'}\n" for n in range(ITEMS)))
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"policies": [{"policy": "votes-3", "cost": 4.5, "cost_low": 4, "cost_high": 5}]}))
    for ending in ("html", "md", "json"):
        to = tmp_path / f"certificate.{ending}"
        code, _, err = call(capsys, "certificate", campaign, "--to", to, "--check", gold, "--forecast", plan)
        assert (code, err) == (0, "")
        text = to.read_text()
        assert "films" in text
    facts = json.loads((tmp_path / "certificate.json").read_text())
    assert (facts["labelled"], facts["answers"], facts["spent"]) == (ITEMS, 3 * ITEMS, 4.5)
    assert facts["check"]["of"] == ITEMS
    assert facts["per_item"] == {"3": ITEMS}
    assert facts["forecast"] == {"mean": 4.5, "low": 4.0, "high": 5.0}
    page = Strict()
    page.feed((tmp_path / "certificate.html").read_text())
    assert page.open == []
    assert page.outside == []
    said = " ".join(page.words)
    assert "the bill is inside that range" in said
    assert f"of {ITEMS}" in said
    assert facts["decisions"] in said


def test_names_that_look_like_markup_stay_text(campaign):
    with open_campaign(str(campaign), read_only=True) as one:
        found = certify(one)
    hostile = type(found)(
        **{name: getattr(found, name) for name in found.__dataclass_fields__ if name != "name"},
        name="<script>x</script>|`*",
    )
    assert "<script>" not in html(hostile)
    assert "<script>" not in markdown(hostile)


def test_what_cannot_be_written_is_said(campaign, tmp_path, capsys):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    for arguments, words in [
        (["labels", campaign, "--to", tmp_path / "x.xlsx"], "format is not known"),
        (["labels", tmp_path / "none.toml"], "no campaign file"),
        (["export", campaign, "--to", tmp_path / "x.csv"], "JSON Lines"),
        (["import", tmp_path / "none.jsonl", "--store", "memory:"], "There is no file"),
        (["certificate", campaign, "--to", tmp_path / "x.pdf"], "not a format of certificates"),
        (["certificate", campaign, "--to", tmp_path / "x.md", "--check", bad], "columns are a, b"),
        (["certificate", campaign, "--to", tmp_path / "x.md", "--forecast", bad], "not a forecast"),
    ]:
        code, out, err = call(capsys, *arguments)
        assert code == 2, (arguments, err)
        assert out == ""
        assert words in err
    assert [one.name for one in tmp_path.iterdir()] == ["bad.csv"]


def test_items_in_another_encoding_and_a_store_without_a_folder(tmp_path, capsys):
    file = tmp_path / "campaign.toml"
    text = template(name="films", policy="votes-3", items="items.csv", classes=[("crowd", "0.05")])
    file.write_text(text)
    (tmp_path / "items.csv").write_bytes("id,text\n1,café\n".encode("latin-1"))
    code, out, _ = call(capsys, "doctor", file)
    assert code != 0
    assert 'under [items]: encoding = "latin-1"' in out
    file.write_text(text.replace("[items]", '[items]\nencoding = "latin-1"'))
    assert call(capsys, "doctor", file)[0] == 0
    assert call(capsys, "run", file, "--json")[0] == 0
    with open_campaign(str(file), read_only=True) as one:
        assert one.ledger.items([0])[0].payload["text"] == "café"
    file.write_text(re.sub('store = "sqlite:///', 'store = "sqlite:///nowhere/', text))
    (tmp_path / "items.csv").write_text("id,text\n1,a\n")
    for command in ("doctor", "run"):
        code, out, err = call(capsys, command, file)
        assert code != 0
        assert f"There is no folder {tmp_path / 'nowhere'}" in out + err
