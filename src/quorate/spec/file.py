"""Campaign files: one readable TOML file says what to label, whom to ask, and what may be spent.

`quorate.spec.template` shows every table and key.  An error names the file, the table, the key and the value.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.errors import FileError, InputError
from quorate.model import WorkerClass
from quorate.money import currency_of, micros
from quorate.spec.campaign import Spec
from quorate.spec.keys import CLASS, ITEMS, LIMITS, PLATFORMS, TOP, check, is_number, shown


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign file: the spec, and where its store, its items and its platforms are."""

    path: Path
    spec: Spec
    store: str  # a store's URL
    items: Path | None
    id_column: str | None
    gold: str | None  # the column of known labels
    encoding: str | None  # of the items' file; UTF-8 and UTF-16 are recognised
    platforms: Mapping[str, Mapping[str, Any]]  # by class: kind and options

    @property
    def folder(self) -> Path:
        """What relative paths in the file are relative to."""
        return self.path.parent


def read_campaign(path: str | Path) -> CampaignFile:
    """Read a campaign file, or say what is wrong in it and where."""
    if "://" in str(path):
        raise FileError(
            f"{path} is a store; this takes the campaign's file.", hint="The file says who answers: campaign.toml"
        )
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
    check(top, TOP, f"{path}")
    for key in ("name", "labels", "budget", "class"):
        if key not in top:
            raise FileError(f"{path} does not say {key!r}.", hint="`quorate init` writes a complete example.")
    items, limits = top.get("items", {}), top.get("limits", {})
    check(items, ITEMS, f"{path}, table [items]")
    check(limits, LIMITS, f"{path}, table [limits]")
    money = _money(top["budget"])
    budget, currency = _micros(money, f"{path}, budget"), currency_of(money)
    classes = [_class(one, currency, f"{path}, [[class]] number {at + 1}") for at, one in enumerate(top["class"])]
    known = {key: top[key] for key in ("accuracy", "policy", "seed", "safety", "average") if key in top}
    try:
        spec = Spec(
            name=top["name"], labels=tuple(top["labels"]), classes=tuple(one for one, _ in classes),
            budget=budget, currency=currency, **known, **limits,
        )  # fmt: skip
    except InputError as error:
        raise FileError(f"{path}: {error.message}", hint=error.hint) from None
    store = top.get("store", f"sqlite:///{spec.name}.db")
    return CampaignFile(
        path, spec, _store(store, path.parent),
        path.parent / items["file"] if "file" in items else None, items.get("id"), items.get("gold"),
        items.get("encoding"),
        {one.name: platform for one, platform in classes if platform},
    )  # fmt: skip


def _class(table: Any, currency: str, where: str) -> tuple[WorkerClass, Mapping[str, Any]]:
    if not isinstance(table, dict):
        raise FileError(f"{where}: {shown(table)} is not a table.", hint="Begin each class with a line [[class]].")
    check(table, CLASS, where)
    for key in ("name", "price"):
        if key not in table:
            raise FileError(f"{where} does not say {key!r}.", hint='Every class has a name and a price, like "0.05".')
    fields = {key: value for key, value in table.items() if key != "platform"}
    platform = table.get("platform", {})
    if platform:
        _platform(platform, where)
    price = _money(fields["price"])
    if currency_of(price, currency) != currency:
        raise FileError(
            f"{where}: the price {shown(fields['price'])} is not in the budget's currency, {currency}.",
            hint="A campaign has one currency: write every price in it.",
        )
    fields["price"] = _micros(price, f"{where}, price")
    if "repeatable" in fields:
        fields["repeatable"] = str(fields["repeatable"]).lower()
    if "belief" in fields:
        fields["belief"] = _belief(fields["belief"], where)
    try:
        return WorkerClass(**fields), platform
    except InputError as error:
        raise FileError(f"{where}: {error.message}", hint=error.hint) from None


def _platform(table: Mapping[str, Any], where: str) -> None:
    kind = table.get("kind")
    if not isinstance(kind, str):
        raise FileError(f"{where}: its platform does not say 'kind'.", hint='Write kind = "simulator", for example.')
    if kind in PLATFORMS:
        options = {key: value for key, value in table.items() if key != "kind"}
        check(options, PLATFORMS[kind], f"{where}, its platform")


def _money(amount: str | int | float) -> str:
    """An amount as its text: a bare 5 in a file is 5 of the currency, never 5 micros."""
    return amount if isinstance(amount, str) else repr(amount)


def _micros(amount: str, where: str) -> int:
    try:
        return micros(amount)
    except InputError as error:
        raise FileError(f"{where}: {error.message}", hint=error.hint) from None


def _belief(value: Any, where: str) -> tuple[tuple[float, float], tuple[float, float]]:
    try:
        (a, b), (c, d) = value
        pairs = ((float(a), float(b)), (float(c), float(d)))
    except (TypeError, ValueError):
        pairs = ((0.0, 0.0), (0.0, 0.0))
    if not all(is_number(count) and count > 0 for pair in pairs for count in pair):
        raise FileError(
            f"{where}: belief = {shown(value)} is not two pairs of pseudo-counts above 0.",
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
