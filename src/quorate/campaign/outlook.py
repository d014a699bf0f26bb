"""What `quorate plan` says: forecasts, other accuracies, what a budget buys, when a proof is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import numpy as np

from quorate.campaign.decider import Decider
from quorate.campaign.forecast import (
    ANY_PRIOR,
    PLAYED,
    Forecast,
    Played,
    Possible,
    draw_worlds,
    forecast,
    games,
    play_one,
    task_for,
    task_of,
)
from quorate.core.planning.oracle import oracle
from quorate.errors import QuorateError
from quorate.model import NO_CAP, Task
from quorate.ports import Policy

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

T = TypeVar("T")
S = TypeVar("S")


class Mapper(Protocol):
    """`map`, or a pool's."""

    def __call__(self, one: Callable[[T], S], games: Sequence[T], /) -> Iterable[S]: ...


DEFAULT: Final = "calibrated"
PROVED: Final = "certified"
LADDER: Final = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)  # errors to compare
SHORT: Final = 1000  # items of the campaigns that compare errors
FEW: Final = 7  # worlds in which errors are compared
WORTH: Final = 1.2  # a proof is worth having when it costs at most this many times the default
AT_ONCE: Final = (1, 2, 4)  # questions out at once about one item, to compare
SIZES: Final = (PLAYED // 4, PLAYED, 10_000, 30_000, 100_000, 300_000, 1_000_000)


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """The cost per item at another accuracy, and the oracle's."""

    alpha: float
    per_item: float
    oracle: float


@dataclass(frozen=True, slots=True, eq=False)
class AtOnce:
    """What so many questions out at once about one item come to: answers and cost per item, and rounds."""

    parallel: int
    answers: float
    per_item: float
    rounds: float
    items: int  # of the campaigns that were played for it


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """The answer to "what will it cost?", before anything is bought."""

    task: Task
    items: int
    forecasts: tuple[Forecast, ...]
    oracle: float  # mean over worlds of the least possible cost per item
    oracle_undecided: float  # … of whoever leaves no more than this share of items undecided: caps may forbid 0
    ladder: Mapping[str, tuple[Rung, ...]]  # by policy, for the curve
    in_hand: Forecast | None = None  # of a campaign that has begun: as it goes on
    proof_from: int | None = (
        None  # the number of items from which a proof costs little more; None: never, or not asked
    )
    at_once: tuple[AtOnce, ...] = ()  # the first policy with one question at once about an item, and with more

    def __str__(self) -> str:
        lines = [f"{self.items:,} items, each label right with probability {1 - self.task.alpha:g}:"]
        for name, one in [*((one.policy, one) for one in self.forecasts), ("as it goes on", self.in_hand)]:
            if one is not None:
                low, high = one.interval()
                lines.append(f"  {name}: {one.mean:,.2f}, with 90 % probability between {low:,.2f} and {high:,.2f}")
        lines += [
            f"  {one.parallel} questions at once about an item: {self.extra_answers(one):+.0%} answers"
            for one in self.at_once[1:]
        ]
        return "\n".join([*lines, f"  least possible, if the classes were known: {self.oracle * self.items:,.2f}"])

    def extra_answers(self, one: AtOnce) -> float:
        """The share of answers that ``one`` buys beyond what one question after the other needs."""
        return one.answers / self.at_once[0].answers - 1

    def bought_by(self, policy: str, budget: float) -> float | None:
        """The smallest error on the ladder whose expected cost the budget covers, None if not even the largest."""
        enough = [rung.alpha for rung in self.ladder[policy] if rung.per_item * self.items <= budget]
        return min(enough, default=None)


@dataclass(frozen=True, slots=True)
class _Game:
    """One campaign to play, in a form that travels to another process."""

    policy: str
    alpha: float
    items: int
    world: int
    parallel: int


def _play(game: _Game, *, policies: Mapping[str, Policy], task: Task, possible: Possible) -> Played:
    task = replace(task, alpha=game.alpha)
    return play_one(policies[game.policy], task, possible, game.items, game.world, parallel=game.parallel)


def _limit(at: tuple[float, int], *, task: Task, possible: Possible) -> tuple[float, float]:
    """The least possible cost per item in one world, and the share of items that caps on answers leave undecided."""
    alpha, world = at
    asked = task.answers_per_item > 0
    caps = task.answers_per_item[asked]
    cap = None if (caps >= NO_CAP).all() else np.minimum(caps, task.item_cap)
    plan = oracle(
        possible.accuracy[world][asked],
        task.price[asked],
        alpha=alpha,
        prior=float(possible.prior[world]),
        average=task.average,
        cap=cap,
    )
    return plan.cost, plan.undecided


def outlook(
    policies: Mapping[str, Policy],
    task: Task,
    possible: Possible,
    items: int,
    *,
    ladder: Sequence[str] = (),
    parallel: int = 1,
    at_once: Sequence[int] = (),
    run: Mapper = map,
) -> Outlook:
    """Forecast ``policies`` for ``items`` items; compare other errors for those in ``ladder``.

    ``parallel`` questions about an item are out at once; for the first policy these numbers ``at_once``, the first
    of which is 1, are compared.  ``run`` is `map` or a pool's: the games do not depend on one another.
    """
    worlds = len(possible)
    errors = sorted({*LADDER, task.alpha}, reverse=True) if ladder else [task.alpha]
    few, short = min(FEW, worlds), min(SHORT, items)
    main = [_Game(name, task.alpha, n, world, parallel) for name in policies for n, world in games(items, worlds)]
    side = [_Game(name, alpha, short, world, parallel) for name in ladder for alpha in errors for world in range(few)]
    waves = [_Game(name, task.alpha, short, w, n) for name in [*policies][:1] for n in at_once for w in range(worlds)]
    proof = [
        _Game(name, task.alpha, n, world, parallel)
        for name in (PROVED, DEFAULT)
        if {PROVED, DEFAULT} <= set(ladder)
        for n in (PLAYED, PLAYED // 4)
        for world in range(few)
    ]
    todo = list(dict.fromkeys(main + side + waves + proof))
    played = dict(zip(todo, run(partial(_play, policies=policies, task=task, possible=possible), todo), strict=True))
    limits_of = [(task.alpha, world) for world in range(worlds)]
    limits_of += [(alpha, world) for alpha in errors for world in range(few) if alpha != task.alpha]
    limits = dict(zip(limits_of, run(partial(_limit, task=task, possible=possible), limits_of), strict=True))

    forecasts = tuple(
        forecast(name, items, {(game.items, game.world): played[game] for game in main if game.policy == name})
        for name in policies
    )
    by_name = {one.policy: one for one in forecasts}

    least, left = np.mean([limits[task.alpha, world] for world in range(worlds)], axis=0).tolist()

    def rung(name: str, alpha: float) -> Rung:
        """Scale what all worlds come to by the ratio, in a few of them, of this error to the promised one."""
        levels = (alpha, task.alpha)
        cost = [
            np.mean([played[_Game(name, a, short, world, parallel)].cost for world in range(few)]) for a in levels
        ]
        limit = [np.mean([limits[a, world][0] for world in range(few)]) for a in levels]
        return Rung(
            alpha,
            float(by_name[name].mean / items * cost[0] / cost[1]),
            float(least * limit[0] / limit[1]) if limit[1] else 0.0,
        )

    long = {
        name: {(game.items, game.world): played[game] for game in proof if game.policy == name} for name in ladder
    }
    return Outlook(
        task,
        items,
        forecasts,
        least,
        left,
        {name: tuple(rung(name, alpha) for alpha in errors) for name in ladder},
        proof_from=_worth(long[PROVED], long[DEFAULT]) if proof else None,
        at_once=tuple(_at_once(n, [played[one] for one in waves if one.parallel == n], short) for n in at_once),
    )


def _at_once(parallel: int, played: Sequence[Played], items: int) -> AtOnce:
    return AtOnce(
        parallel,
        float(np.mean([one.answers.sum() for one in played])) / items,
        float(np.mean([one.cost for one in played])) / items,
        float(np.mean([one.rounds for one in played])),
        items,
    )


def refusals(policies: Mapping[str, Policy], task: Task) -> dict[str, QuorateError]:
    """The policies that cannot begin this task, and what they say.

    >>> from quorate.registry import lookup
    >>> two = Task(np.array([1.0, 2.0]), np.array([9, 9]), 0.05, np.zeros(0), seed=1)
    >>> list(refusals({name: lookup("policies", name) for name in ("asym-imcw", "votes-3")}, two))
    ['asym-imcw']
    """
    refused = {}
    for name, policy in policies.items():
        try:
            Decider(policy, task_for(task, 1))
        except QuorateError as error:
            refused[name] = error
    return refused


def numbers_at_once(parallel: int, *, whole: bool) -> tuple[int, ...]:
    """Which numbers of questions at once to compare: the campaign's own with 1, and others if all is wanted.

    >>> numbers_at_once(1, whole=False), numbers_at_once(3, whole=False), numbers_at_once(3, whole=True)
    ((), (1, 3), (1, 2, 3, 4))
    """
    own = {1, parallel} if parallel > 1 else set()
    return tuple(sorted(own.union(AT_ONCE if whole else ())))


def outlook_of(campaign: Campaign, policies: Sequence[str] = (), *, seed: int = 0) -> Outlook:
    """What a campaign will cost: by its own policy, as it goes on, and by others from the beginning.

    Before the first answer the worlds come from the classes' beliefs, afterwards from the answers.
    """
    from quorate.campaign.remaining import possible_worlds, remaining
    from quorate.registry import lookup

    task = task_of(campaign.spec, seed=seed)
    assert task.belief is not None
    learned = possible_worlds(campaign, seed=seed)
    possible = draw_worlds(task.belief, ANY_PRIOR, seed=seed) if learned is None else learned
    chosen = {campaign.policy.name: campaign.policy} if learned is None else {}
    chosen |= {name: lookup("policies", name) for name in policies}
    items, parallel = int((campaign.fold.gold < 0).sum()), campaign.spec.parallel
    at_once = numbers_at_once(parallel, whole=False) if chosen else ()
    return replace(
        outlook(chosen, task, possible, items, parallel=parallel, at_once=at_once),
        in_hand=None if learned is None else remaining(campaign, seed=seed),
    )


def _worth(dear: Mapping[tuple[int, int], Played], cheap: Mapping[tuple[int, int], Played]) -> int | None:
    """The smallest of `SIZES` from which one policy costs at most `WORTH` times another; None if none of them."""

    def mean(items: int, played: Mapping[tuple[int, int], Played]) -> float:
        if items == PLAYED // 4:
            return float(np.mean([one.cost for (n, _), one in played.items() if n == items]))
        return forecast("", items, played).mean

    return next((n for n in SIZES if mean(n, dear) <= WORTH * mean(n, cheap)), None)
