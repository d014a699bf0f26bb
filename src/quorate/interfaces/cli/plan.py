"""``quorate plan``: the bill before a cent is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import number, print_json, print_table, say
from quorate.interfaces.cli._progress import progress

if TYPE_CHECKING:
    from quorate.campaign.forecast import Forecast
    from quorate.campaign.outlook import Outlook
    from quorate.interfaces.planning import Question

USUAL = ("calibrated", "certified", "asym-imcw", "votes-3", "votes-5")
CURVES = ("calibrated", "certified", "asym-imcw")
_NOTHING = 1e-6  # shares of items below this are not worth a word


@app.command()
def plan(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE|CAMPAIGN", help="An instance (name or TOML file) or a campaign's TOML file."
        ),
    ],
    items: Annotated[int | None, typer.Option(help="Items to label. Left out: the campaign's own, or 1000.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The error to promise. Left out: as the file says.")] = None,
    budget: Annotated[str | None, typer.Option(help='What may be spent, like "300 USD".')] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help=f"Compare these (repeat the option). Left out: {', '.join(USUAL)}.")
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Questions out at once about one item. Left out: as the file says."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The forecast only: no other accuracies, no curve.")] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw cost against accuracy into this PNG or SVG file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated worlds.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes. Left out: one a core.")] = None,
    json: Json = False,
) -> None:
    """Forecast what a campaign will cost, before anything is bought.

    Every policy is played to its end in 19 worlds drawn from what is believed of the classes; the range over them
    holds the real bill with probability 90 %, if the beliefs are right.  In an instance file a class may say
    [bold]between = \\[0.6, 0.9][/bold] instead of its accuracy.

    Example: [bold]quorate plan p1-asym --items 10000 --alpha 0.05 --budget "60000 USD"[/bold]
    """
    from quorate.campaign.outlook import numbers_at_once, outlook, refusals
    from quorate.interfaces.planning import question, to_json
    from quorate.registry import lookup
    from quorate.studies.campaigns import Workers

    asked = question(source, items=items, alpha=alpha, budget=budget, seed=seed, parallel=parallel)
    own = () if asked.policy is None else (asked.policy,)
    chosen = {name: lookup("policies", name) for name in policy or dict.fromkeys((*own, *USUAL))}
    refused = refusals(chosen, asked.task)
    for name in (*(policy or ()), *own):
        if name in refused:
            raise refused[name]
    chosen = {name: one for name, one in chosen.items() if name not in refused}
    ladder = () if quick else tuple(name for name in CURVES if name in chosen)
    if picture is not None:
        from quorate.studies.plan_picture import check_drawing

        check_drawing(picture, ladder)
    with Workers(jobs) as workers:

        def run(one: Callable[[Any], Any], games: Sequence[Any]) -> Iterator[Any]:
            with progress("campaigns", len(games)) as done:
                for number_done, result in enumerate(workers.map(one, games), 1):
                    done(number_done)
                    yield result

        answer = outlook(
            chosen, asked.task, asked.possible, asked.items, ladder=ladder, parallel=asked.parallel,
            at_once=numbers_at_once(asked.parallel, whole=not quick), run=run,
        )  # fmt: skip
    if json:
        print_json(to_json(answer, asked) | {"left_out": {name: one.message for name, one in refused.items()}})
    else:
        _show(answer, asked)
        for name, one in refused.items():
            say(f"{name} is left out. {one.message}")
    if picture is not None:
        from quorate.studies.plan_picture import draw

        draw(answer, asked.currency, picture)
        say(f"Drawn: {picture}")


def _row(one: Forecast, name: str) -> tuple[str, ...]:
    low, high = one.interval()
    return (
        name,
        number(one.mean),
        f"{number(low)} – {number(high)}",
        number(one.mean / one.items),
        number(one.answers.sum(axis=1).mean() / one.items, 3),
        number(one.rounds.mean(), 3),
        f"{100 * one.undecided.mean():.2g} %",
        f"{100 * one.wrong.mean():.2g} %",
    )


def _show(answer: Outlook, asked: Question) -> None:
    title = f"{asked.name}: {answer.items:,} items, each label right with probability {1 - asked.task.alpha:g}"
    rows = [_row(one, one.policy) for one in answer.forecasts]
    if asked.in_hand is not None:
        rows.insert(0, _row(asked.in_hand, "this campaign, as it goes on"))
    columns = [
        "policy",
        f"cost {asked.currency}",
        "90 % between",
        "per item",
        "answers",
        "rounds",
        "undecided",
        "wrong",
    ]
    print_table(columns, rows, title=title)
    left = "" if answer.oracle_undecided < _NOTHING else f" and left {100 * answer.oracle_undecided:.2g} % undecided"
    say(f"Nobody who knew the classes{left} could pay less than {number(answer.oracle)} per item on average.")
    first = answer.forecasts[0]
    shares = first.answers.mean(axis=0)
    say(
        f"{first.policy} would buy "
        + ", ".join(f"{number(int(n))} from {name}" for n, name in zip(shares, asked.classes, strict=True))
        + "."
    )
    if asked.budget is not None:
        say(_on_budget(answer, asked, asked.budget))
    if answer.at_once:
        say("")
        _show_at_once(answer, asked)
    for name, rungs in answer.ladder.items():
        if name == first.policy:
            say("")
            print_table(
                ["right with probability", "cost", "per item", "least possible"],
                [
                    (f"{1 - r.alpha:g}", number(r.per_item * answer.items), number(r.per_item), number(r.oracle))
                    for r in rungs
                ],
                title=f"Other accuracies, {name}",
            )
    if answer.ladder and "certified" in answer.ladder:
        when = (
            "at no size up to a million items"
            if answer.proof_from is None
            else f"from {answer.proof_from:,} items on"
        )
        say(f"A proof (certified) costs at most 20 % more than calibrated {when}.")


def _show_at_once(answer: Outlook, asked: Question) -> None:
    """What it costs to ask several questions about one item at once instead of one after the other."""
    rows = [
        (
            f"{one.parallel}{' (as it is set)' if one.parallel == asked.parallel else ''}",
            number(one.answers, 3),
            f"{100 * answer.extra_answers(one):+.2g} %" if one.parallel > 1 else "–",
            number(one.per_item),
            number(one.rounds, 3),
        )
        for one in answer.at_once
    ]
    columns = ["questions at once about an item", "answers per item", "extra", "cost per item", "rounds"]
    size = f"{answer.at_once[0].items:,} items"
    print_table(columns, rows, title=f"Asking faster (parallel), {answer.forecasts[0].policy}, {size}")


def _on_budget(answer: Outlook, asked: Question, budget: float) -> str:
    first = answer.forecasts[0] if asked.in_hand is None else asked.in_hand
    sure = 100 * first.covered_by(budget)
    text = f"{budget:,.2f} {asked.currency} is enough for {first.policy} in {sure:.0f} % of the worlds"
    if first.policy in answer.ladder:
        alpha = answer.bought_by(first.policy, budget)
        text += (
            "; it buys none of the accuracies compared"
            if alpha is None
            else f"; on average it buys labels that are right with probability {1 - alpha:g}"
        )
    return text + "."
