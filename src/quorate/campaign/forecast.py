"""The bill before a cent is spent: the campaign's own policy, played in worlds drawn from what is believed.

Each world is one draw of all matrices and of the prior.  The campaign is played in it to the end by the decider that
would run it for real.  If the truth is another draw from the same beliefs, then its cost is as likely to be the
smallest, the second smallest, …, the largest among the W + 1 campaigns: so the interval from the r-th smallest to
the r-th largest cost holds the real cost with probability (W + 1 − 2r) / (W + 1), whatever the policy.

After a pilot, the same with answers in hand: they are told first, as they stand in the ledger, and only what comes
after them is drawn from the worlds that the answers leave possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import Asks, Decider
from quorate.core.hashing import generator, mix, uniform
from quorate.core.worlds import PLAN, World, symmetric_errors
from quorate.errors import SpecError
from quorate.model import UNDECIDED, FloatArray, IntArray, Task
from quorate.money import MICROS
from quorate.ports import Policy
from quorate.spec import Spec

VAGUE: Final = (5.0, 2.0)  # pseudo-counts (right, wrong) of a class that nothing is known of
ANY_PRIOR: Final = (2.0, 2.0)
WORLDS: Final = 19  # the smallest number whose full range is a 90 % interval
PLAYED: Final = 4000  # a longer campaign is played this long, and at a quarter of it, and extended
_WORLDS_STREAM: Final = 0x57  # dice for beliefs, apart from the campaign's own


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """Worlds drawn from beliefs: the matrices' diagonals and P(true label = 1)."""

    accuracy: FloatArray  # (W, M, 2)
    prior: FloatArray  # (W,)

    def __len__(self) -> int:
        return len(self.prior)


def pseudo_counts(low: float, high: float) -> tuple[float, float]:
    """Beta pseudo-counts (right, wrong) of "somewhere between low and high", meant with 90 % probability.

    >>> right, wrong = pseudo_counts(0.6, 0.9)
    >>> round(right, 1), round(wrong, 1)
    (16.2, 5.4)
    """
    middle, spread = (low + high) / 2, (high - low) / (2 * 1.645)
    both = middle * (1 - middle) / spread**2 - 1
    return middle * both, (1 - middle) * both


def draw_worlds(belief: FloatArray, prior_belief: tuple[float, float], *, seed: int, count: int = WORLDS) -> Possible:
    """Worlds in which every class is right more often than wrong, drawn from Beta beliefs.

    ``belief[k, i]`` = (right, wrong) pseudo-counts of class k on items of true label i; infinite ones stand for an
    exactly known accuracy and are written as (c, nan).

    >>> worlds = draw_worlds(np.full((2, 2, 2), (16.2, 5.4)), (50, 50), seed=1)
    >>> worlds.accuracy.shape, bool((worlds.accuracy > 0.5).all())
    ((19, 2, 2), True)
    """
    rng = generator(seed, _WORLDS_STREAM)
    exact = np.isnan(belief[..., 1])
    right, wrong = np.where(exact, 1.0, belief[..., 0]), np.where(exact, 1.0, belief[..., 1])
    accuracy = rng.beta(right, wrong, (count, *right.shape))
    while (poor := (accuracy <= 0.5) & ~exact).any():
        accuracy = np.where(poor, rng.beta(right, wrong, accuracy.shape), accuracy)
    prior = rng.beta(prior_belief[1], prior_belief[0], count)
    return Possible(np.where(exact, belief[..., 0], accuracy), prior)


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """Answers in hand, by (item, ordinal), as they were told."""

    item: IntArray
    ordinal: IntArray
    label: IntArray

    def on(self, asks: Asks, otherwise: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """The label of each ask, and whether it was in hand."""
        if not len(self.item):
            return otherwise, np.zeros(len(asks), np.bool_)
        turns = 1 + max(int(self.ordinal.max()), int(asks.ordinal.max(initial=0)))
        known = np.asarray(self.item, np.int64) * turns + self.ordinal
        order = np.argsort(known)
        wanted = asks.item * turns + asks.ordinal
        at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
        in_hand = known[at] == wanted
        return np.where(in_hand, self.label[at], otherwise), in_hand


NOTHING: Final = Recorded(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """One campaign in one world: what is still to be bought, and what comes out."""

    cost: float
    answers: FloatArray  # (M,) to be bought of each class
    rounds: int  # waves of asks, if all that may be asked at once is
    undecided: float  # share of items
    wrong: FloatArray  # (2,) share of wrong labels among the decided items of each true label


def play(
    policy: Policy, task: Task, world: World, recorded: Recorded = NOTHING, truth: IntArray | None = None,
    *, parallel: int = 1,
) -> Played:  # fmt: skip
    """Play a campaign to its end, with the answers in hand first; ``truth`` where the world does not draw it.

    ``parallel`` asks about one item are out at once: fewer rounds, and answers that turn out not to be needed.

    >>> from quorate.core.policies.votes import Votes
    >>> world = World(symmetric_errors([[0.9, 0.9]]), np.array([0.5, 0.5]), seed=3)
    >>> task = task_for(Task(np.array([0.05]), np.array([9]), 0.05, np.zeros(0), seed=3), items=100)
    >>> round(play(Votes(answers=3), task, world).cost, 2)
    15.0
    """
    truth = world.truth(np.arange(task.items)) if truth is None else truth
    decider = Decider(policy, task, parallel=parallel)
    bought = np.zeros(task.classes)
    rounds = 0
    while not decider.done:
        asks = decider.wants()
        drawn = world.answers(asks.item, asks.ordinal, asks.worker_class, truth[asks.item])
        label, in_hand = recorded.on(asks, drawn)
        bought += np.bincount(asks.worker_class[~in_hand], minlength=task.classes)
        rounds += not in_hand.all()
        decider.tell(asks.item, asks.ordinal, asks.worker_class, label)
    decided = decider.verdict >= 0
    missed = decided & (decider.verdict != truth)
    wrong = np.array([missed[truth == i].sum() / max((decided & (truth == i)).sum(), 1) for i in (0, 1)])
    return Played(float(bought @ task.price), bought, rounds, float((decider.verdict == UNDECIDED).mean()), wrong)


def task_of(spec: Spec, *, alpha: float | None = None, seed: int = 0) -> Task:
    """What a campaign's policy will know before its first answer, for no items yet; see `task_for`."""
    if len(spec.labels) != 2:
        raise SpecError(
            f"A forecast plays worlds of two labels, campaign {spec.name!r} has {len(spec.labels)}.",
            hint="With votes-k the bill needs no forecast: items x k x price.",
        )
    return Task(
        np.array(spec.prices) / MICROS, asked_caps(spec), spec.alpha if alpha is None else alpha,
        np.zeros(0), seed, item_cap=spec.item_cap, safety=spec.safety, average=spec.average,
        belief=np.array([(VAGUE, VAGUE) if one.belief is None else one.belief for one in spec.classes]),
    )  # fmt: skip


def asked_caps(spec: Spec) -> IntArray:
    """Answers per item of each class; none of the trusted ones, which policies do not ask."""
    return np.where([one.trusted for one in spec.classes], 0, spec.caps)


def task_for(task: Task, items: int) -> Task:
    """The same task with another number of items."""
    return replace(task, uniform=uniform(task.seed, PLAN, np.arange(items)), gold=None)


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What one policy will cost for ``items`` items, as far as the beliefs can tell.  Costs in currency."""

    policy: str
    items: int
    cost: FloatArray  # (W,) of the whole campaign, in each world
    answers: FloatArray  # (W, M)
    rounds: FloatArray  # (W,)
    undecided: FloatArray  # (W,)
    wrong: FloatArray  # (W, 2)

    @property
    def mean(self) -> float:
        return float(self.cost.mean())

    def interval(self, level: float = 0.9) -> tuple[float, float]:
        """Ends that hold the real cost with probability at least ``level`` (an exact rank statement)."""
        rank = max(int((len(self.cost) + 1) * (1 - level) / 2 + 1e-9), 1)
        ordered = np.sort(self.cost)
        return float(ordered[rank - 1]), float(ordered[-rank])

    def covered_by(self, budget: float) -> float:
        """The probability that a budget is enough."""
        return float((self.cost <= budget).mean())


def games(items: int, worlds: int) -> Iterator[tuple[int, int]]:
    """(number of items, world) of every campaign that a forecast has to play."""
    for world in range(worlds):
        yield min(items, PLAYED), world
        if items > PLAYED:
            yield PLAYED // 4, world


def play_one(policy: Policy, task: Task, possible: Possible, items: int, world: int, *, parallel: int = 1) -> Played:
    """One of the `games`: its dice are its own, so the games may be played in any order and anywhere."""
    seed = int(mix(task.seed, world) >> np.uint64(2))
    prior = np.array([1 - possible.prior[world], possible.prior[world]])
    drawn = World(symmetric_errors(possible.accuracy[world]), prior, seed)
    return play(policy, task_for(replace(task, seed=seed), items), drawn, parallel=parallel)


def forecast(name: str, items: int, played: Mapping[tuple[int, int], Played]) -> Forecast:
    """Put the games of one policy together, and extend them to ``items`` items where they are longer than played.

    A policy that learns pays for it once, and what it still overpays per item falls like 1/√N: cost per item =
    a + b/√N, with b from the two lengths played (over all worlds together; never below 0).
    """
    length = max(n for n, _ in played)
    long = [played[game] for game in sorted(played) if game[0] == length]
    share = 1.0
    if items > length:
        short = [played[game] for game in sorted(played) if game[0] < length]
        quarter = len(short) and length // 4
        per_item = np.mean([one.cost for one in long]) / length
        steeper = np.mean([one.cost for one in short]) / quarter
        b = max(steeper - per_item, 0.0) / (quarter**-0.5 - length**-0.5)
        share = float(1 - b * (length**-0.5 - items**-0.5) / per_item)
    scale = share * items / length
    return Forecast(
        name,
        items,
        np.array([one.cost for one in long]) * scale,
        np.array([one.answers for one in long]) * scale,
        np.array([one.rounds for one in long], np.float64),
        np.array([one.undecided for one in long]),
        np.array([one.wrong for one in long]),
    )
