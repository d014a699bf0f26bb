"""Campaign files: one readable TOML file says what to label, whom to ask, and what may be spent.

`quorate.spec.template` shows every table and key.  An error names the file, the table, the key and the value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from quorate.errors import FileError, InputError
from quorate.model import WorkerClass
from quorate.money import micros
from quorate.spec.campaign import Spec

# key -> (types it may have, what to write)
_Kind = tuple[tuple[type, ...], str]
_TEXT: Final[_Kind] = ((str,), "a text in quotes")
_WHOLE: Final[_Kind] = ((int,), "a whole number")
_NUMBER: Final[_Kind] = ((int, float), "a number")
_YES: Final[_Kind] = ((bool,), "true or false")
_MONEY: Final[_Kind] = ((str, int, float), 'an amount like "0.05" or "300 USD"')
_LIST: Final[_Kind] = ((list,), "a list in brackets")
_TABLE: Final[_Kind] = ((dict,), "a table")

_TOP: Final[Mapping[str, _Kind]] = {
    "name": _TEXT, "labels": _LIST, "accuracy": _NUMBER, "budget": _MONEY, "policy": _TEXT, "seed": _WHOLE,
    "safety": _NUMBER, "average": _YES, "store": _TEXT, "items": _TABLE, "class": _LIST, "limits": _TABLE,
}  # fmt: skip
_ITEMS: Final[Mapping[str, _Kind]] = {"file": _TEXT, "id": _TEXT, "gold": _TEXT}
_LIMITS: Final[Mapping[str, _Kind]] = {
    "item_cap": _WHOLE, "in_flight": _WHOLE, "parallel": _WHOLE, "lease": _NUMBER, "patience": _NUMBER,
}  # fmt: skip
_CLASS: Final[Mapping[str, _Kind]] = {
    "name": _TEXT, "price": _MONEY, "answers_per_item": _WHOLE,
    "repeatable": ((str, bool), '"per_worker", true or false'), "trusted": _YES, "belief": _LIST, "platform": _TABLE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign file: the spec, and where its store, its items and its platforms are."""

    path: Path
    spec: Spec
    store: str  # a store's URL
    items: Path | None
    id_column: str | None
    gold: str | None  # the column of known labels
    platforms: Mapping[str, Mapping[str, Any]]  # by class: kind and options

    @property
    def folder(self) -> Path:
        """What relative paths in the file are relative to."""
        return self.path.parent


def read_campaign(path: str | Path) -> CampaignFile:
    """Read a campaign file, or say what is wrong in it and where."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder, not a campaign file.", hint=f"Did you mean {path / 'campaign.toml'}?")
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise FileError(f"There is no campaign file {path}.", hint=f"Write one with: quorate init {path}") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8 text.", hint="Save the file as UTF-8.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from None
    return parse_campaign(text, path)


def parse_campaign(text: str, path: Path = Path("campaign.toml")) -> CampaignFile:
    """The campaign that TOML text describes; relative places are relative to ``path``.

    >>> text = '''name = "spam"
    ... labels = ["ham", "spam"]
    ... budget = "20 EUR"
    ... [[class]]
    ... name = "crowd"
    ... price = "0.05"
    ... '''
    >>> parse_campaign(text).spec.classes[0].price
    50000
    """
    try:
        top = tomllib.loads(text.removeprefix("\ufeff"))
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise FileError(f"{path} is not TOML: {error}.", hint='Texts stand in quotes: name = "toxicity".') from None
    except RecursionError:
        raise FileError(f"{path} is nested too deeply.", hint="A campaign needs no lists within lists.") from None
    _check(top, _TOP, f"{path}")
    for key in ("name", "labels", "budget", "class"):
        if key not in top:
            raise FileError(f"{path} does not say {key!r}.", hint="`quorate init` writes a complete example.")
    items, limits = top.get("items", {}), top.get("limits", {})
    _check(items, _ITEMS, f"{path}, table [items]")
    _check(limits, _LIMITS, f"{path}, table [limits]")
    classes = [_class(one, f"{path}, [[class]] number {at + 1}") for at, one in enumerate(top["class"])]
    known = {key: top[key] for key in ("accuracy", "policy", "seed", "safety", "average") if key in top}
    try:
        spec = Spec(
            name=top["name"], labels=tuple(top["labels"]), classes=tuple(one for one, _ in classes),
            budget=_money(top["budget"]),  # type: ignore[arg-type]
            **known, **limits,
        )  # fmt: skip
    except InputError as error:
        raise FileError(f"{path}: {error.message}", hint=error.hint) from None
    store = top.get("store", f"sqlite:///{spec.name}.db")
    return CampaignFile(
        path, spec, _store(store, path.parent),
        path.parent / items["file"] if "file" in items else None, items.get("id"), items.get("gold"),
        {one.name: platform for one, platform in classes if platform},
    )  # fmt: skip


def _check(table: Mapping[str, Any], known: Mapping[str, _Kind], where: str) -> None:
    for key, value in table.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It may say: {', '.join(known)}."
            raise FileError(f"{where}: {key!r} means nothing here.", hint=hint)
        types, words = known[key]
        right = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if not right:
            raise FileError(f"{where}: {key} = {_shown(value)} is not {words}.", hint=f"Write {words}.")


def _class(table: Any, where: str) -> tuple[WorkerClass, Mapping[str, Any]]:
    if not isinstance(table, dict):
        raise FileError(f"{where}: {_shown(table)} is not a table.", hint="Begin each class with a line [[class]].")
    _check(table, _CLASS, where)
    for key in ("name", "price"):
        if key not in table:
            raise FileError(f"{where} does not say {key!r}.", hint='Every class has a name and a price, like "0.05".')
    fields = {key: value for key, value in table.items() if key != "platform"}
    platform = table.get("platform", {})
    if platform and not isinstance(platform.get("kind"), str):
        raise FileError(f"{where}: its platform does not say 'kind'.", hint='Write kind = "simulator", for example.')
    try:
        fields["price"] = micros(_money(fields["price"]))
        if "repeatable" in fields:
            fields["repeatable"] = str(fields["repeatable"]).lower()
        if "belief" in fields:
            fields["belief"] = _belief(fields["belief"], where)
        return WorkerClass(**fields), platform
    except InputError as error:
        raise FileError(f"{where}: {error.message}", hint=error.hint) from None


def _money(amount: str | int | float) -> str:
    """An amount as its text: a bare 5 in a file is 5 of the currency, never 5 micros."""
    return amount if isinstance(amount, str) else repr(amount)


def _belief(value: Any, where: str) -> tuple[tuple[float, float], tuple[float, float]]:
    try:
        (a, b), (c, d) = value
        pairs = ((float(a), float(b)), (float(c), float(d)))
    except (TypeError, ValueError):
        pairs = ((0.0, 0.0), (0.0, 0.0))
    if min(map(min, pairs)) <= 0:
        raise FileError(
            f"{where}: belief = {_shown(value)} is not two pairs of pseudo-counts above 0.",
            hint="Write [[right, wrong], [right, wrong]] for the first and the second label.",
        )
    return pairs


def _store(url: str, folder: Path) -> str:
    """A relative SQLite file is relative to the campaign's file."""
    prefix = "sqlite:///"
    if "://" not in url and not url.startswith("memory:"):
        url = prefix + url
    if not url.startswith(prefix):
        return url
    file = url.removeprefix(prefix)
    return url if file.startswith("/") else f"{prefix}{(folder / file).resolve()}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
