"""``quorate doctor``: look at file, items, platforms and store before money is spent, and say what to mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from quorate.errors import QuorateError
from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import print_json, say

ILL = 1


@app.command()
def doctor(
    campaign: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="The campaign's TOML file.")] = "campaign.toml",
    restored: Annotated[
        bool,
        typer.Option(
            "--restored",
            help="The store was put back from a backup: mark it, so that the next run asks the platforms what they"
            " have that it lacks before it buys.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check the file, the policy, the items, the platforms and every row of the store; say what to mend."""
    import numpy as np

    from quorate.campaign.decider import Decider
    from quorate.campaign.fold import task_of
    from quorate.campaign.machine import promise_of
    from quorate.interfaces.places import items_of, platforms_of, started
    from quorate.model import OPEN
    from quorate.registry import lookup
    from quorate.spec import CampaignFile, read_campaign

    findings: list[dict[str, Any]] = []

    def check(what: str, look: Callable[[], str]) -> None:
        try:
            findings.append({"what": what, "well": True, "says": look(), "hint": ""})
        except QuorateError as error:
            findings.append({"what": what, "well": False, "says": error.message, "hint": error.hint})

    place: list[CampaignFile] = []

    def file() -> str:
        place.append(read_campaign(campaign))
        return f"{campaign} is a complete campaign."

    check("file", file)
    if place:
        one = place[0]

        def policy() -> str:
            chosen = lookup("policies", one.spec.policy)
            Decider(chosen, task_of(one.spec, np.zeros(1, np.uint64), np.array([OPEN])))  # refuses what it cannot do
            return f"{one.spec.policy}: {promise_of(chosen, average=one.spec.average)}"

        check("policy", policy)
        check("items", lambda: f"{len(items_of(one)):,} items, every id its own.")
        check("platforms", lambda: f"{', '.join(platforms_of(one))} can be asked.")
        if restored:
            check("restored", lambda: _mark_restored(one))
        check("store", lambda: _store(one) if started(one) else _no_store(one))
        check("money", lambda: _money(one))
    if json:
        print_json({"well": all(one["well"] for one in findings), "findings": findings})
    else:
        for finding in findings:
            say(f"{'✓' if finding['well'] else '✗'} {finding['what']}: {finding['says']}", hang=2)
            if finding["hint"]:
                say(f"    {finding['hint']}")
    if not all(one["well"] for one in findings):
        raise typer.Exit(ILL)


def _mark_restored(place: Any) -> str:
    """Say in the store that it is a backup come back."""
    from quorate.registry import lookup

    with lookup("stores", place.store.partition(":")[0])(place.store) as store:
        store.restored()
    return "Marked as put back from a backup; the next run asks the platforms first."


def _store(place: Any) -> str:
    """Read every row and check it."""
    from quorate.registry import lookup

    with lookup("stores", place.store.partition(":")[0])(place.store, read_only=True) as store:
        rows = store.open(place.spec.name).verify()
    return f"{rows:,} rows, every checksum right."


def _no_store(place: Any) -> str:
    """Whether there is a place for the store to be made in."""
    from pathlib import Path

    from quorate.errors import StoreError

    prefix = "sqlite:///"
    folder = Path(place.store.removeprefix(prefix)).parent
    if place.store.startswith(prefix) and not folder.is_dir():
        raise StoreError(f"There is no folder {folder}.", hint="Make it first, or name another place.")
    return "Nothing has been bought yet."


def _money(place: Any) -> str:
    """Whether the budget buys anything."""
    from quorate.errors import SpecError
    from quorate.money import show

    spec = place.spec
    cheapest = min(spec.prices)
    if spec.budget < cheapest:
        raise SpecError(
            f"The budget of {show(spec.budget, spec.currency)} does not pay for one answer.",
            hint=f"The cheapest class asks {show(cheapest, spec.currency)}.",
        )
    return f"{show(spec.budget, spec.currency)}, enough for at most {spec.budget // max(cheapest, 1):,} answers."
