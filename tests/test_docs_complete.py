"""The manual cannot rot: each key of a campaign file, command and option is described, and no other."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from quorate.platforms import callable as callables
from quorate.platforms import replay, simulator
from quorate.registry import PLATFORMS
from quorate.spec import Spec
from quorate.spec.keys import CLASS, ITEMS, LIMITS, TOP

DOCS = Path(__file__).parents[1] / "docs"
ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|(.*)\|([^|]*)\|$", re.MULTILINE)
PLATFORM_OPTIONS = {
    "simulator": simulator._OPTIONS,
    "replay": set(replay.OPTIONS),
    "callable": set(callables._OPTIONS),
}


def section(begins: str, ends: str) -> str:
    text = (DOCS / "campaign-file.md").read_text("utf-8")
    assert begins in text
    return re.split(ends, text.split(begins, 1)[1], maxsplit=1)[0]


def described(part: str) -> dict[str, str]:
    """Key → what happens when it is left out."""
    rows = [(re.findall(r"`([^`]+)`", names), default.strip()) for names, _, default in ROW.findall(part)]
    return {name: default for names, default in rows for name in names}


@pytest.mark.parametrize(
    ("heading", "known"),
    [("## At the top", TOP), ("## `[items]`", ITEMS), ("## `[limits]`", LIMITS), ("## `[[class]]`", CLASS)],
)
def test_every_key_of_a_campaign_file_is_described_and_no_other(heading, known):
    assert set(described(section(heading, r"\n## "))) == set(known)


def test_every_platform_of_the_registry_has_its_options_described():
    assert set(PLATFORM_OPTIONS) == set(PLATFORMS)
    for kind, known in PLATFORM_OPTIONS.items():
        assert set(described(section(f'**`kind = "{kind}"`**', r"\n\*\*`kind"))) == set(known)


def test_the_defaults_are_those_of_the_code():
    written = described(section("## At the top", r"\n## ")) | described(section("## `[limits]`", r"\n## "))
    defaults = {one.name: one.default for one in fields(Spec)}
    compared = 0
    for key, text in written.items():
        if key in defaults and (found := re.fullmatch(r"`([^`]+)`", text)):
            shown = found[1].strip('"')
            assert shown == (str(defaults[key]).lower() if isinstance(defaults[key], bool) else str(defaults[key])), (
                key
            )
            compared += 1
    assert compared == 9


def make_cli() -> ModuleType:
    return script(DOCS / "make_cli.py")


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_what_the_commands_say():
    maker = make_cli()
    page = (DOCS / "cli.md").read_text("utf-8")
    assert page == maker.page(page), "run: python docs/make_cli.py"


def test_every_command_is_on_the_page():
    commands = {name for shelf in make_cli().shelves().values() for name in shelf}
    written = re.findall(r"^### quorate (\S+)$", (DOCS / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert len(commands) > 20
    assert sorted(written) == sorted(commands)


def test_every_page_is_in_the_contents_and_nothing_else():
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    assert sorted(listed) == sorted({one.stem for one in DOCS.glob("*.md")} - {"index"})


def test_the_tables_of_costs_are_what_was_measured():
    benchmark = script(DOCS.parent / "benchmarks" / "ratio_table.py")
    rows = json.loads((benchmark.RESULTS / "ratio_table.json").read_text("utf-8"))
    assert {"`calibrated`", "`certified`", "`asym-imcw`"} <= set(re.findall("`[^`]+`", benchmark.headline(rows)))
    for page, table in benchmark.pages(rows).items():
        assert table.count("\n") > 5
        assert benchmark.PLACE.search(page.read_text("utf-8"))[0].endswith("-->\n" + table)
