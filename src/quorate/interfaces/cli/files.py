"""``quorate labels``, ``answers``, ``export``, ``import``, ``certificate``: a campaign's way out and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from quorate.errors import FileError
from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import number, print_json, print_table, say
from quorate.interfaces.cli.campaign import File

SHOWN = 20  # rows that a table on the screen has
OFF_SCREEN = ("promise", "payload", "currency", "evidence", "asked_price", "asked_at")  # columns that it has not
To = Annotated[Path | None, typer.Option("--to", help="The file to write: .parquet, .jsonl or .csv.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


@app.command()
def labels(
    campaign: File = "campaign.toml",
    to: To = None,
    payload: Annotated[bool, typer.Option("--payload", help="Add what the annotators were shown.")] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Every item with its label, confidence, promise, answers, cost, status and evidence.

    A CSV file is safe to open in a spreadsheet: texts that look like formulas get an apostrophe in front, and the
    file beside it, NAME.meta.json, says so.

    Example: [bold]quorate labels campaign.toml --to labels.parquet[/bold]
    """
    from quorate.interfaces.exports import LABELS, PAYLOAD, label_rows
    from quorate.interfaces.places import open_campaign

    with open_campaign(campaign, read_only=True) as one:
        columns = (*LABELS, PAYLOAD) if payload else LABELS
        _hand_out(label_rows(one, payload=payload), columns, to, force=force, as_json=json)


@app.command()
def answers(campaign: File = "campaign.toml", to: To = None, force: Force = False, json: Json = False) -> None:
    """Every bought answer with its provenance: who gave it, when, at which price, and whether it counts.

    Example: [bold]quorate answers campaign.toml --to answers.jsonl[/bold]
    """
    from quorate.interfaces.exports import ANSWERS, answer_rows
    from quorate.interfaces.places import open_campaign

    with open_campaign(campaign, read_only=True) as one:
        _hand_out(answer_rows(one), ANSWERS, to, force=force, as_json=json)


def _hand_out(
    rows: Iterable[Mapping[str, Any]], columns: Any, to: Path | None, *, force: bool, as_json: bool
) -> None:
    if to is not None:
        from quorate.files import write_table

        count = write_table(to, columns, rows, overwrite=force)
        print_json({"file": str(to), "rows": count}) if as_json else say(f"Wrote {count:,} rows to {to}.")
        return
    names = [one.name for one in columns]
    if as_json:
        print_json([{name: row.get(name) for name in names} for row in rows])
        return
    kept = list(rows)
    brief = [name for name in names if name not in OFF_SCREEN]
    print_table(brief, [[_cell(row.get(name)) for name in brief] for row in kept[:SHOWN]])
    if len(kept) > SHOWN:
        say(f"… and {len(kept) - SHOWN:,} more.  Take all of them with --to labels.parquet (or .jsonl, .csv).")


def _cell(value: Any) -> Any:
    return number(value) if value is None or isinstance(value, (int, float)) else str(value)


@app.command()
def export(
    campaign: File = "campaign.toml",
    to: Annotated[Path, typer.Option("--to", help="The file to write.")] = Path("campaign.jsonl"),
    force: Force = False,
    json: Json = False,
) -> None:
    """Write the whole campaign — items, questions, answers, events — as one file that `quorate import` reads.

    Example: [bold]quorate export campaign.toml --to campaign.jsonl[/bold]
    """
    from quorate.files.atomic import write_lines
    from quorate.interfaces.places import open_campaign
    from quorate.stores.transfer import export_campaign

    if to.suffix != ".jsonl":
        raise FileError(f"{to.name}: a campaign is exported as JSON Lines.", hint="Name it NAME.jsonl.")
    with open_campaign(campaign, read_only=True) as one:
        count = write_lines(to, export_campaign(one.ledger), overwrite=force)
        facts, name = count - 1, one.name
    print_json({"file": str(to), "facts": facts}) if json else say(f"Wrote {name} with {facts:,} facts to {to}.")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `quorate export` wrote.")],
    store: Annotated[str, typer.Option(help="The URL of the store that is to hold it.")],
    name: Annotated[str | None, typer.Option(help="Another name for it.")] = None,
    json: Json = False,
) -> None:
    """Take an exported campaign into a store: all of it, verified fact by fact, or nothing.

    Example: [bold]quorate import campaign.jsonl --store sqlite:///copy.db[/bold]
    """
    from quorate.registry import lookup

    with lookup("stores", store.partition(":")[0])(store) as place:
        ledger = place.import_campaign(_lines(file), name=name)
        found = {"name": ledger.name, "facts": ledger.campaign().head, "store": store}
    print_json(found) if json else say(f"Imported {found['name']} with {found['facts']:,} facts into {store}.")


def _lines(file: Path) -> Iterator[str]:
    from quorate.files.text_rows import Lines

    if not file.is_file():
        raise FileError(f"There is no file {file}.", hint="Name a file that `quorate export` wrote.")
    with Lines(file, "utf-8") as lines:
        for line in lines:
            lines.row = 0
            yield line.rstrip("\n")


@app.command()
def certificate(
    campaign: File = "campaign.toml",
    to: Annotated[Path, typer.Option("--to", help="The file to write: .html, .md or .json.")] = Path(
        "certificate.html"
    ),
    check: Annotated[
        Path | None, typer.Option(help="A table item,label of a standard that the campaign has not seen.")
    ] = None,
    forecast: Annotated[
        Path | None, typer.Option(help="What `quorate plan CAMPAIGN --json` said before anything was bought.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """One page that says what was labelled, at what price, under which promise, and what speaks against it.

    Example: [bold]quorate certificate campaign.toml --to certificate.html[/bold]
    """
    from quorate.certificate import WRITERS, certify
    from quorate.files.atomic import write_text
    from quorate.interfaces.places import open_campaign

    if to.suffix not in WRITERS:
        raise FileError(f"{to.name}: not a format of certificates.", hint=f"Name it {', '.join(WRITERS)}.")
    with open_campaign(campaign, read_only=True) as one:
        found = certify(
            one,
            forecast=None if forecast is None else _forecast(forecast, one.policy.name),
            check=None if check is None else _standard(check),
            check_source="" if check is None else check.name,
        )
    write_text(to, WRITERS[to.suffix](found), overwrite=force)
    print_json({"file": str(to)}) if json else say(f"Wrote the certificate of {found.name} to {to}.")


def _standard(file: Path) -> dict[str, str]:
    from quorate.files.answers import label_of
    from quorate.files.sources import rows_of
    from quorate.files.values import id_of

    found = {}
    for place, row in rows_of(file):
        if not {"item", "label"} <= set(row):
            raise FileError(
                f"{place}: the columns are {', '.join(row)}.", hint="A standard has the columns item, label."
            )
        found[id_of(row["item"], f"{place}, column 'item'")] = label_of(row["label"], f"{place}, column 'label'")
    return found


def _forecast(file: Path, policy: str) -> dict[str, float]:
    import json

    try:
        said = json.loads(file.read_text("utf-8"))
        one = next(one for one in said["policies"] if one["policy"] == policy)
        return {"mean": float(one["cost"]), "low": float(one["cost_low"]), "high": float(one["cost_high"])}
    except (OSError, ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise FileError(
            f"{file} is not a forecast of the policy {policy!r} ({type(error).__name__}).",
            hint="Make it before the campaign: quorate plan CAMPAIGN --json > plan.json",
        ) from None
