"""``quorate init``, ``run``, ``status``, ``explain``, ``budget``, ``pause``, ``resume``: a campaign's life."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.errors import FileError, SpecError
from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import print_json, print_table, say

if TYPE_CHECKING:
    from quorate.campaign.progress import Report

INTERRUPTED = 130
File = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="The campaign's TOML file, or the URL of its store.")]
Toml = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="The campaign's TOML file.")]
Class = Annotated[str | None, typer.Option("--class", help="One class only; left out: the whole campaign.")]


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("campaign.toml"),
    name: Annotated[str | None, typer.Option(help="The campaign's name. Left out: the folder's.")] = None,
    labels: Annotated[str, typer.Option(help="The two labels, with a comma between.")] = "no,yes",
    accuracy: Annotated[float, typer.Option(help="How often a label is to be right.")] = 0.95,
    budget: Annotated[str, typer.Option(help='What may be spent, like "300 USD".')] = "100 USD",
    policy: Annotated[str, typer.Option(help="Who decides what to buy; see `quorate policies`.")] = "calibrated",
    items: Annotated[str, typer.Option(help="The file of items.")] = "items.csv",
    store: Annotated[str | None, typer.Option(help="Where it is kept. Left out: a SQLite file beside it.")] = None,
    worker: Annotated[
        list[str] | None, typer.Option("--class", help="NAME=PRICE of a worker class; repeat the option.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json: Json = False,
) -> None:
    """Write a commented campaign file; it asks when it is run by hand and nothing was said.

    Example: [bold]quorate init --labels ok,toxic --budget "300 USD" --class crowd=0.05 --class expert=1.00[/bold]
    """
    from quorate.spec import template
    from quorate.spec.file import parse_campaign

    if file.exists() and not force:
        raise FileError(f"{file} exists already.", hint="Name another file, or replace it with --force.")
    if not file.parent.is_dir():
        raise FileError(f"There is no folder {file.parent}.", hint="Make it first.")
    if sys.stdin.isatty() and not json and name is None and worker is None:
        name = typer.prompt("Name of the campaign", default=file.resolve().parent.name)
        labels = typer.prompt("The two labels", default=labels)
        items = typer.prompt("File of items", default=items)
        budget = typer.prompt("Budget", default=budget)
        worker = _prompted()
    text = template(
        name=name or file.resolve().parent.name or "campaign",
        file=file.name,
        labels=[one.strip() for one in labels.split(",")],
        accuracy=accuracy,
        budget=budget,
        policy=policy,
        items=items,
        store=store,
        classes=[_class(one) for one in worker or ()],
    )
    parse_campaign(text, file)
    file.write_text(text, "utf-8")
    if json:
        print_json({"file": str(file)})
    else:
        say(f"Wrote {file}.  Look it over, then: quorate doctor {file} · quorate run {file}")


def _prompted() -> list[str]:
    classes = []
    while one := typer.prompt("A worker class as NAME=PRICE (empty: no more)", default="", show_default=False):
        classes.append(one)
    return classes


def _class(text: str) -> tuple[str, str]:
    name, _, price = text.partition("=")
    if not price:
        raise FileError(f"{text!r} is not NAME=PRICE.", hint="Write --class crowd=0.05")
    return name.strip(), price.strip()


@app.command()
def run(
    campaign: Toml = "campaign.toml",
    buyers: Annotated[int, typer.Option(min=1, max=256, help="Threads that call platforms.")] = 4,
    in_flight: Annotated[int | None, typer.Option(min=1, help="Questions out at once.")] = None,
    add_items: Annotated[bool, typer.Option("--add-items", help="Add rows that are new in the items' file.")] = False,
    json: Json = False,
) -> None:
    """Buy answers until every item is labelled or the budget is spent; goes on where it was stopped.

    Ctrl-C, a crash or a power cut costs nothing: run the same command again.
    """
    from quorate.interfaces.cli._watch import watching
    from quorate.interfaces.places import items_of, platforms_of, start_or_open
    from quorate.spec import read_campaign

    place = read_campaign(campaign)
    platforms = platforms_of(place)
    one, new = start_or_open(place)
    with one:
        if add_items and not new:
            _add_new(one, items_of(place), place.gold)
        if not json:
            before = "Started" if new else f"Resumed, with {one.fold.folded:,} answers in hand:"
            say(
                f"{before} {one.name}: {one.fold.items:,} items, budget {_money(one.spec.budget, one.spec.currency)}."
            )
        with watching(one, quiet=json) as progress:
            report = one.run(platforms, buyers=buyers, in_flight=in_flight, progress=progress)
        _report(report, one.spec.currency, campaign, json)
    if report.interrupted:
        raise typer.Exit(INTERRUPTED)


def _add_new(campaign: Any, source: Any, gold: str | None) -> None:
    rows = list(source)
    known = campaign.ledger.find([one.id for one in rows])
    campaign.add_items([one for one, at in zip(rows, known.tolist(), strict=True) if at < 0], gold=gold)


def _report(report: Report, currency: str, file: str, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json(asdict(report))
        return
    for name, trouble in report.trouble.items():
        say(f"  {name}: {', '.join(f'{what} ×{times}' for what, times in sorted(trouble.items()))}")
    say(
        f"{report.labelled:,} of {report.items:,} items labelled, {report.undecided:,} undecided;"
        f" {report.bought:,} answers bought now, {report.answers:,} in all, for {_money(report.spent, currency)}."
    )
    if report.interrupted:
        say(f"Interrupted; everything bought is recorded.  Go on with: quorate run {file}")
    elif report.done:
        say(f"Done.  Take the labels with: quorate labels {file} --to labels.csv")
        if report.undecided:
            say(f"See why {report.undecided:,} are undecided with: quorate status {file}")
    else:
        say(f"Not done.  See why with: quorate status {file}")


@app.command()
def status(campaign: File = "campaign.toml", json: Json = False) -> None:
    """Where a campaign stands: items, money, classes, estimated error, health of the assumptions."""
    from quorate.interfaces.places import open_campaign

    with open_campaign(campaign, read_only=True) as one:
        found = one.status()
    if json:
        print_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    currency, items, money = found["currency"], found["items"], found["money"]
    done = "done" if found["done"] else found["state"]
    say(f"{found['name']}: {done}; policy {found['policy']}, accuracy {found['accuracy']:g}, stage {found['stage']}.")
    say(
        f"Items: {items['labelled']:,} labelled, {items['open']:,} open, {items['undecided']:,} undecided"
        f"{_reasons(found['undecided_for'])}, {items['gold']:,} gold, of {items['total']:,}."
    )
    forecast = money["forecast"]
    ahead = (
        ""
        if forecast is None or found["done"]
        else f"; {_money(forecast['expected'], currency)} expected in the end"
        f" ({_money(forecast['low'], currency)} to {_money(forecast['high'], currency)})"
    )
    say(
        f"Money: {_money(money['spent'], currency)} spent, {_money(money['reserved'], currency)} reserved,"
        f" of {_money(money['budget'], currency)}{ahead}."
    )
    if found["error"] is not None:
        error = found["error"]
        say(
            f"Estimated error of the {error['of']:,} labels: {error['expected']:.2%}"
            f" ({error['low']:.2%} to {error['high']:.2%}), if the model holds."
        )
    print_table(
        ["class", "price", "answers", *(f"right on {label}" for label in found["labels"]), "state"],
        [
            (one["name"], _money(one["price"]), one["answers"], *_ranges(one, len(found["labels"])), one["state"])
            for one in found["classes"]
        ],
    )
    for one in found["classes"]:
        if one["why"]:
            say(f"{one['name']} is halted: it {one['why']}.")
    for one in found["health"]:
        say(one["says"])
    if found["kept_apart"]:
        apart = ", ".join(f"{times} {what}" for what, times in found["kept_apart"].items())
        say(f"Answers that are kept and do not count: {apart}.")


def _reasons(reasons: dict[str, int]) -> str:
    return f" ({', '.join(f'{times:,} {why}' for why, times in reasons.items())})" if reasons else ""


def _ranges(one: dict[str, Any], labels: int) -> list[str]:
    if one["accuracy"] is None:
        return ["–"] * labels
    pairs = zip(one["accuracy"], one["interval"], strict=True)
    return [f"{right:.2f} ({low:.2f}–{high:.2f})" for right, (low, high) in pairs]


def _money(amount: int, currency: str = "") -> str:
    from quorate.money import show

    return show(amount, currency)


def _campaign_and(words: list[str], what: str) -> tuple[str, str]:
    """A campaign, which may be left out, and one more word."""
    if len(words) > 2:
        raise SpecError(
            f"Expected a campaign and {what}, got {len(words)} words: {' '.join(words)}.",
            hint='Put quotes round what has a space in it, like "500 USD".',
        )
    return (words[0], words[1]) if len(words) == 2 else ("campaign.toml", words[0])


@app.command()
def explain(
    words: Annotated[list[str], typer.Argument(metavar="[CAMPAIGN] ITEM", help="The campaign, and the item's id.")],
    json: Json = False,
) -> None:
    """Why each question about ITEM was asked, what came, what it cost, and when and why it stopped."""
    from quorate.interfaces.places import open_campaign

    campaign, item = _campaign_and(words, "an item")
    with open_campaign(campaign, read_only=True) as one:
        story = one.explain(item)
    if json:
        print_json(story)
    else:
        for line in story["words"]:
            say(line)


@app.command()
def budget(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[CAMPAIGN] AMOUNT", help='The campaign, and its new budget, like "500 USD".'),
    ],
    json: Json = False,
) -> None:
    """Change what may be spent.  More money re-opens the items that were left for want of it."""
    from quorate.interfaces.places import open_campaign

    if words[-1].isalpha():  # `quorate budget 500 USD`, without the quotes
        words = [*words[:-2], " ".join(words[-2:])]
    campaign, amount = _campaign_and(words, "an amount")
    with open_campaign(campaign) as one:
        one.set_budget(amount)
        money = one.ledger.money()
        currency = one.spec.currency
    if json:
        print_json(money._asdict())
    else:
        say(f"The budget is {_money(money.budget, currency)} now; {_money(money.spent, currency)} is spent.")


@app.command()
def pause(campaign: File = "campaign.toml", worker: Class = None, json: Json = False) -> None:
    """Buy nothing more — from one class, without which items go on, or at all — until `quorate resume`."""
    _state(campaign, worker, json, paused=True)


@app.command()
def resume(campaign: File = "campaign.toml", worker: Class = None, json: Json = False) -> None:
    """Let a paused campaign, or a paused or halted class, buy again; then `quorate run` goes on."""
    _state(campaign, worker, json, paused=False)


def _state(campaign: str, worker: str | None, as_json: bool, *, paused: bool) -> None:
    from quorate.interfaces.places import open_campaign

    with open_campaign(campaign) as one:
        (one.pause if paused else one.resume)(worker)
        what = f"class {worker!r}" if worker else f"campaign {one.name!r}"
        state = "paused" if paused else "running"
    if as_json:
        print_json({"what": worker or one.name, "state": state})
    else:
        say(f"{what[0].upper()}{what[1:]} is {state}.")
