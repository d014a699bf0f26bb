"""A policy on recorded answers: what it would have bought, how right it would be, and what habits would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.decider import NOBODY_LEFT, REASONS, Decider, Start
from quorate.core.diagnostics import binomial_mixture
from quorate.core.estimators.dawid_skene import dawid_skene
from quorate.core.hashing import item_hash, uniform
from quorate.core.worlds import PLAN
from quorate.errors import FileError, SpecError
from quorate.model import FloatArray, Stage, Task
from quorate.platforms.recorded import NOT_RECORDED, ONE_CLASS, Queue, Recorded
from quorate.ports import Policy
from quorate.studies.instances import p1_price

Int = NDArray[np.int64]
VOTES: Final = (1, 3, 5)  # the habits to compare with
CHANCE: Final = 0.5
TESTED: Final = 5  # answers per item and class that the goodness of fit looks at


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A class as the gold shows it, and one thing that shows without gold.

    ``correlation`` is that of two answers about one item, given its true label; 0 in the model.  ``fit`` is the
    p-value of the model on the first `TESTED` answers of each item, nan where they are too few: small means that it
    is wrong.
    """

    name: str
    workers: int
    answers: float  # per item
    price: float
    accuracy: tuple[float, float]
    correlation: float
    fit: float


@dataclass(frozen=True, slots=True)
class Way:
    """One way of labelling: per item of the whole set, what it buys; on items with gold, how right its labels are."""

    name: str
    cost: float
    answers: float
    labelled: float  # the share of items that it gives a label
    accuracy: float  # of the labels it gives
    by_label: tuple[float, float]  # the same, by true label


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """What a replay shows."""

    dataset: str
    items: int
    gold: int
    prior: float
    policy: str
    promise: str
    alpha: float
    seed: int
    price_rule: str
    classes: tuple[ClassFacts, ...]
    ways: tuple[Way, ...]  # the policy's own first
    undecided: Mapping[str, int]  # reason -> items
    estimate: Mapping[str, tuple[float, float]]  # class -> accuracies that the policy believed in the end
    stages: tuple[Stage, ...]


def replay(
    recorded: Recorded,
    policy: Policy,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    prices: Mapping[str, float] | None = None,
) -> Replayed:
    """Run a policy over a recorded set, and the usual habits beside it."""
    if len(recorded.labels) != 2:
        raise SpecError(
            f"The set {recorded.name!r} has {len(recorded.labels)} labels: {', '.join(recorded.labels)}.",
            hint="Policies decide between two labels: replay a set with two.",
        )
    if (recorded.truth == NOT_RECORDED).all():
        raise FileError(
            f"The set {recorded.name!r} has no gold.", hint="Add truth.csv (item,label) for some of its items."
        )
    price, rule = price_of(recorded, prices)
    decider = play(recorded, policy, price, alpha=alpha, seed=seed)
    ways = (
        _way(recorded, policy.name, decider.verdict, decider.counts.sum(axis=2), price),
        *(_votes(recorded, k, seed, price) for k in VOTES),
        _everything(recorded, price),
        _aggregated(recorded, price),
    )
    undecided = {
        REASONS[reason]: int(((decider.verdict < 0) & (decider.reason == reason)).sum())
        for reason in np.unique(decider.reason[decider.verdict < 0]).tolist()
    }
    known = recorded.truth != NOT_RECORDED
    return Replayed(
        recorded.name, len(recorded.items), int(known.sum()), float(recorded.truth[known].mean()),
        policy.name, policy.promise, alpha, seed, rule, _facts(recorded, price, seed), ways, undecided,
        _believed(recorded, decider), tuple(decider.stages),
    )  # fmt: skip


def price_of(recorded: Recorded, given: Mapping[str, float] | None = None) -> tuple[FloatArray, str]:
    """The price of each class, and the rule that made it, in words.

    Recorded sets rarely know what was paid.  One class costs 1; several cost what the paper's model P1 makes of their
    accuracies on the gold: exp(5 d(min(c(0), c(1)), 1/2)), and 1 where that minimum is below 1/2.
    """
    if given is not None:
        strange = sorted(set(given) ^ set(recorded.classes))
        if strange:
            raise SpecError(
                f"Prices are given or missing for {', '.join(strange)}.",
                hint=f"Give one price for each class: {', '.join(recorded.classes)}.",
            )
        return np.array([given[name] for name in recorded.classes], np.float64), "as given"
    if len(recorded.classes) == 1:
        return np.ones(1), "every answer costs 1"
    price = p1_price(np.maximum(_accuracy(recorded), CHANCE))
    return price, "the paper's P1, exp(5 d(min(c(0), c(1)), 1/2)), from each class's accuracies on the gold"


def play(recorded: Recorded, policy: Policy, price: FloatArray, *, alpha: float, seed: int) -> Decider:
    """The campaign that the policy would have run."""
    queue = Queue.of(recorded, seed)
    n, m = queue.length.shape
    task = Task(
        price=price,
        answers_per_item=queue.length.max(axis=0),
        alpha=alpha,
        uniform=uniform(seed, PLAN, np.array([item_hash(one) for one in recorded.items], np.uint64)),
        seed=seed,
    )
    nothing = np.zeros((n, m), np.int16)
    start = Start(np.zeros((n, m, 2), np.int16), nothing, np.zeros(n, np.int64), queue.length == 0)
    decider = Decider(policy, task, start=start)
    while not decider.done:
        asks = decider.wants()
        rows = queue.rows(asks.item, asks.worker_class, decider.used[asks.item, asks.worker_class])
        label = np.where(rows == NOT_RECORDED, NOBODY_LEFT, recorded.label[rows])
        decider.tell(asks.item, asks.ordinal, asks.worker_class, label)
    return decider


def _way(recorded: Recorded, name: str, label: NDArray[Any], bought: NDArray[Any], price: FloatArray) -> Way:
    known = recorded.truth != NOT_RECORDED
    labelled = label >= 0
    right = label == recorded.truth
    judged = known & labelled
    return Way(
        name,
        cost=float((bought @ price).mean()),
        answers=float(bought.sum() / len(label)),
        labelled=float(labelled.mean()),
        accuracy=_mean(right[judged]),
        by_label=(_mean(right[judged & (recorded.truth == 0)]), _mean(right[judged & (recorded.truth == 1)])),
    )


def _votes(recorded: Recorded, k: int, seed: int, price: FloatArray) -> Way:
    """The majority of ``k`` answers of anybody; a tie goes to the smaller label."""
    everybody = Recorded(
        recorded.name, recorded.items, (ONE_CLASS,), recorded.workers, recorded.labels, recorded.item,
        recorded.worker, recorded.label, np.zeros(len(recorded.workers), np.int64), recorded.truth,
    )  # fmt: skip
    item, repeat = np.divmod(np.arange(len(recorded.items) * k), k)
    rows = Queue.of(everybody, seed).rows(item, 0, repeat)
    rows = rows[rows != NOT_RECORDED]
    return _majority(recorded, f"{k} votes" if k > 1 else "1 vote", rows, price)


def _everything(recorded: Recorded, price: FloatArray) -> Way:
    return _majority(recorded, "majority of all", np.arange(len(recorded.item)), price)


def _majority(recorded: Recorded, name: str, rows: Int, price: FloatArray) -> Way:
    votes = np.zeros((len(recorded.items), 2), np.int64)
    np.add.at(votes, (recorded.item[rows], recorded.label[rows]), 1)
    label = np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), NOT_RECORDED)
    return _way(recorded, name, label, _bought(recorded, rows), price)


def _aggregated(recorded: Recorded, price: FloatArray) -> Way:
    """Dawid and Skene's EM on every answer, one matrix a worker: what can be had once everything has been bought."""
    from scipy.sparse import csr_array

    at = (recorded.item, recorded.worker * 2 + recorded.label)
    x = csr_array((np.ones(len(recorded.item)), at), shape=(len(recorded.items), len(recorded.workers) * 2))
    label = dawid_skene(x, 2).posterior.argmax(axis=1)
    rows = np.arange(len(recorded.item))
    return _way(recorded, "EM on all", label, _bought(recorded, rows), price)


def _bought(recorded: Recorded, rows: Int) -> Int:
    bought = np.zeros((len(recorded.items), len(recorded.classes)), np.int64)
    np.add.at(bought, (recorded.item[rows], recorded.class_of[recorded.worker[rows]]), 1)
    return bought


def _facts(recorded: Recorded, price: FloatArray, seed: int) -> tuple[ClassFacts, ...]:
    accuracy = _accuracy(recorded)
    answers = recorded.counts.sum(axis=(0, 2)) / len(recorded.items)
    queue = Queue.of(recorded, seed)
    workers = np.bincount(recorded.class_of, minlength=len(recorded.classes))
    return tuple(
        ClassFacts(
            name, int(workers[k]), float(answers[k]), float(price[k]),
            (float(accuracy[k, 0]), float(accuracy[k, 1])), _correlation(recorded, k, accuracy[k]), _fit(queue, k),
        )
        for k, name in enumerate(recorded.classes)
    )  # fmt: skip


def _accuracy(recorded: Recorded) -> FloatArray:
    """c_k(i) on the gold."""
    known = recorded.truth[recorded.item] != NOT_RECORDED
    table = np.zeros((len(recorded.classes), 2, 2))
    k = recorded.class_of[recorded.worker[known]]
    np.add.at(table, (k, recorded.truth[recorded.item[known]], recorded.label[known]), 1)
    total = table.sum(axis=2)
    right = table[:, [0, 1], [0, 1]]
    share: FloatArray = np.divide(right, total, out=np.full_like(right, np.nan), where=total > 0)
    return share


def _correlation(recorded: Recorded, k: int, accuracy: FloatArray) -> float:
    """The mean correlation of two answers of class k about one item, given the true label; 0 in the model."""
    known = recorded.truth != NOT_RECORDED
    counts = recorded.counts[known, k]
    ones, t = counts[:, 1].astype(np.float64), counts.sum(axis=1).astype(np.float64)
    says_one = np.array([1 - accuracy[0], accuracy[1]])[recorded.truth[known]]
    pairs = t * (t - 1)
    if not pairs.sum():
        return np.nan
    both = ones * (ones - 1) - 2 * ones * (t - 1) * says_one + pairs * says_one**2
    variance = float((pairs * says_one * (1 - says_one)).sum())
    return float(both.sum()) / variance if variance else np.nan


def _fit(queue: Queue, k: int) -> float:
    """The goodness of fit of a class's first answers, of which there are equally many for each item that is used."""
    items = np.flatnonzero(queue.length[:, k] >= TESTED)
    rows = queue.rows(np.repeat(items, TESTED), k, np.tile(np.arange(TESTED), len(items)))
    fitness = binomial_mixture(queue.recorded.label[rows].reshape(-1, TESTED).sum(axis=1), TESTED)
    return np.nan if fitness is None else fitness.p_value


def _believed(recorded: Recorded, decider: Decider) -> dict[str, tuple[float, float]]:
    """What the policy believed of the classes in the end."""
    last = next((one.estimate for one in reversed(decider.stages) if one.estimate is not None), None)
    if last is None:
        return {}
    return {
        name: (float(row[0]), float(row[1])) for name, row in zip(recorded.classes, last.accuracy_hat, strict=True)
    }


def _mean(right: NDArray[Any]) -> float:
    return float(right.mean()) if len(right) else np.nan
