"""Many simulated campaigns, in parallel over cores, and what they say together.

The items of one campaign share its explore phase, so they are not independent: every standard error here is taken
over campaign means.  Campaign r of a study has the seed ``seed + r``, so any one of them can be run again alone.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quorate.errors import SpecError
from quorate.model import NO_CAP
from quorate.studies.instances import Instance
from quorate.studies.policies import policy_named
from quorate.studies.rules import RULE_OF, checked_level
from quorate.studies.simulate import Outcome, run_one, task_of

S = TypeVar("S")
T = TypeVar("T")
EXCEED_LEVEL: Final = 0.025  # of the one-sided binomial test, for each true label
MOST_ITEMS: Final = 100_000_000  # in one campaign; each takes about 300 bytes
UNCAPPED: Final = NO_CAP - 1  # the paper's rules know no cap on the answers of an item


class Workers:
    """Processes that run campaigns, kept from study to study; with ``jobs=1`` this process does it all.

    >>> with Workers(jobs=1) as workers:
    ...     list(workers.map(abs, range(-2, 1)))
    [2, 1, 0]
    """

    def __init__(self, jobs: int | None = None) -> None:
        jobs = available_cores() if jobs is None else jobs
        if jobs < 1:
            raise SpecError(f"jobs is {jobs}.", hint="It must be a whole number of 1 or more.")
        self.jobs = jobs
        spawn = get_context("spawn")
        self._pool = ProcessPoolExecutor(jobs, spawn, initializer=_end_with_parent) if jobs > 1 else None

    def map(self, one: Callable[[S], T], seeds: Sequence[S]) -> Iterator[T]:
        """``one`` of each seed, in order."""
        if self._pool is None:
            yield from map(one, seeds)
            return
        try:
            with _deaf():
                found = self._pool.map(one, seeds, chunksize=max(1, len(seeds) // (8 * self.jobs)))
            yield from found
        except BrokenProcessPool:
            raise SpecError(
                "A process that ran campaigns was killed; the usual reason is that memory ran out.",
                hint=f"Run fewer at a time (jobs was {self.jobs}), or campaigns of fewer items.",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is None:
            return
        if kind is not None:  # nobody waits for what is running
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In each process: end when whoever started it is gone, were it by kill -9."""
    if (parent := parent_process()) is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes started here never hear Ctrl-C, which a terminal sends to all; we hear it after, and end them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Campaign:
    """One simulated campaign in a few numbers; pairs are by true label (0, 1)."""

    seed: int
    cost: float  # per item
    explore_cost: float  # per item; the rest is exploit
    answers: float  # per item
    items: tuple[int, int]
    decided: tuple[int, int]
    wrong: tuple[int, int]
    k_hat: int | None  # the class that the policy chose, where it chose one


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """R campaigns of one policy on one instance."""

    instance: Instance
    policy: str
    items: int
    alpha: float
    seed: int
    campaigns: tuple[Campaign, ...]
    average: bool = False  # the policy promises the average error, not both conditional errors

    def over(self, number: Callable[[Campaign], float]) -> tuple[float, float]:
        """The mean of a number over campaigns, and its standard error."""
        return mean_se([number(one) for one in self.campaigns])


def mean_se(values: ArrayLike) -> tuple[float, float]:
    """The mean and its standard error, leaving out nan; the error of a single value is unknown: nan.

    >>> mean_se([1.0, 3.0]), mean_se([2.0])
    ((2.0, 1.0), (2.0, nan))
    """
    x = np.asarray(values, np.float64)
    x = x[~np.isnan(x)]
    if not len(x):
        return np.nan, np.nan
    from_first = x - x[0]  # so that equal values have an error of exactly 0
    se = from_first.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.nan
    return float(x[0] + from_first.mean()), float(se)


def simulate(
    instance: Instance,
    policy: str,
    *,
    items: int,
    campaigns: int,
    seed: int,
    alpha: float | None = None,
    item_cap: int | None = None,
    workers: Workers | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Study:
    """Run ``campaigns`` whole campaigns of a policy; ``progress`` hears how many are done.

    >>> from quorate.studies.instances import BUILT_IN
    >>> study = simulate(BUILT_IN["p1-sym"], "votes-3", items=100, campaigns=2, seed=1)
    >>> study.over(lambda one: one.answers)
    (3.0, 0.0)
    """
    for name, value, least, most in (
        ("items", items, 1, MOST_ITEMS),
        ("campaigns", campaigns, 1, MOST_ITEMS),
        ("seed", seed, 0, 2**62),
        ("item_cap", UNCAPPED if item_cap is None else item_cap, 1, UNCAPPED),
    ):
        if not least <= value <= most:
            raise SpecError(f"{name} is {value}.", hint=f"It must be a whole number from {least} to {most:,}.")
    level = checked_level(instance, alpha)
    chosen = policy_named(policy)  # an unknown name is told here, not by a worker
    cap = item_cap if item_cap is not None else UNCAPPED if policy in RULE_OF else None
    one = partial(run_campaign, instance, policy, items, level, cap)
    rows = []
    try:
        for row in (workers or Workers(1)).map(one, range(seed, seed + campaigns)):
            rows.append(row)
            progress(len(rows))
    except MemoryError:
        raise SpecError(
            f"Memory ran out with {items:,} items.",
            hint="Simulate fewer items, or one campaign at a time.",
        ) from None
    average = bool(getattr(chosen, "average", False))
    return Study(instance, policy, items, level, seed, tuple(rows), average)


def run_campaign(
    instance: Instance, policy: str, items: int, alpha: float, item_cap: int | None, seed: int
) -> Campaign:
    """One campaign of a registered policy, boiled down."""
    chosen = policy_named(policy)
    changes = {} if item_cap is None else {"item_cap": item_cap}
    return boil_down(run_one(instance, chosen, task_of(instance, items, seed, alpha=alpha, **changes)))


def boil_down(outcome: Outcome) -> Campaign:
    """The numbers of one campaign that a study keeps."""
    decider, truth = outcome.decider, outcome.truth
    n = len(truth)
    wrong = outcome.decided & (decider.verdict != truth)
    explore = sum(cost for name, cost in outcome.stage_cost.items() if name.startswith("explore"))
    return Campaign(
        seed=decider.task.seed,
        cost=float(decider.used.sum(axis=0, dtype=np.int64) @ decider.task.price / n),
        explore_cost=explore / n,
        answers=float(decider.used.sum(dtype=np.int64) / n),
        items=_by_label(np.ones(n, np.bool_), truth),
        decided=_by_label(outcome.decided, truth),
        wrong=_by_label(wrong, truth),
        k_hat=getattr(decider.stage.plan, "worker_class", None),
    )


def exceeds(wrong: ArrayLike, decided: ArrayLike, alpha: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Are these too many wrong labels for an error of alpha?  One-sided binomial test at `EXCEED_LEVEL`.

    >>> exceeds([8, 12], [100, 100], alpha=0.05)
    array([False,  True])
    """
    from scipy.special import bdtrc

    wrong, decided = np.asarray(wrong), np.asarray(decided)
    tail = bdtrc(np.maximum(wrong - 1, 0), np.maximum(decided, 1), alpha)  # P(Bin(decided, alpha) >= wrong)
    return np.asarray((wrong > 0) & (tail < EXCEED_LEVEL))


def _by_label(among: np.ndarray[Any, np.dtype[np.bool_]], truth: np.ndarray[Any, Any]) -> tuple[int, int]:
    ones = int(np.count_nonzero(among & (truth == 1)))
    return int(np.count_nonzero(among)) - ones, ones
