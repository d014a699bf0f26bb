"""Tables as people see them: what is in a cell is shown as it is, whole, in a window of any width."""

import pytest

from quorate.interfaces.cli._output import print_table, say

LONG = "worker-with-a-name-that-is-longer-than-most-windows-have-room-for-in-one-column"


@pytest.mark.parametrize("text", ["a[/b]", "[bold]x[/bold]", "[/]", "\\[x]", "[link=http://a]b"])
def test_what_looks_like_a_style_is_text(capsys, monkeypatch, text):
    monkeypatch.setenv("COLUMNS", "80")
    print_table([text, "n"], [(text, 1), ("b", text)], title=f"title {text}")
    assert capsys.readouterr().out.count(text) == 4


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_cut_off(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(["class", "right on a label with a long name"], [(LONG, "0.779 (0.640 – 0.890)")])
    lines = capsys.readouterr().out.splitlines()
    assert "…" not in "".join(lines)
    assert LONG in "".join(line.split("  ")[0].strip() for line in lines)
    assert max(map(len, lines)) <= width


def test_a_long_line_goes_on_below_its_first_word(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    say("   one two three four five six seven eight", hang=2)
    assert capsys.readouterr().out == "   one two three four five\n     six seven eight\n"
