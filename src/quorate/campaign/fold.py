"""The campaign as a fold over its ledger: items, answers and barriers in, the next wants and verdicts out.

Replaying a ledger, learning what another process bought, and going on live are one and the same walk.  What is not a
function of the answers — how many items were there, which classes were alive, what the budget was — is read from the
events that were written at each barrier, never from the present.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quorate.campaign.book import Book, ask_code, code_parts
from quorate.campaign.decider import Decider, Money, Start
from quorate.campaign.waiting import Waiting
from quorate.core.hashing import uniform
from quorate.core.worlds import PLAN
from quorate.errors import QuorateError
from quorate.model import OPEN, UNDECIDED, FloatArray, Task
from quorate.ports import Policy
from quorate.spec import Spec

Int = NDArray[np.int64]

COHORT, STAGE, GAVE_UP = "cohort", "stage", "gave-up"  # kinds of events that decisions depend on
STAGES_OF_A_COHORT: Final = 1_000_000
_WEAK: Final = (5.0, 2.0)  # pseudo-counts (right, wrong) of a class that nothing is known of


def stage_number(cohort: int, stage: int) -> int:
    """The number under which a barrier is known to every process."""
    return cohort * STAGES_OF_A_COHORT + stage


@dataclass(slots=True)
class Cohort:
    """Items that one run of the policy labels together; items that are added meanwhile wait for the next."""

    number: int
    rows: Int  # sorted
    decider: Decider
    barriers: list[int]  # the seq of the event that began each stage
    whole: bool  # its rows are consecutive

    def local(self, item: Int) -> Int:
        """Where these items stand in the cohort; all of them must be in it."""
        return item - self.rows[0] if self.whole else np.searchsorted(self.rows, item).astype(np.int64)

    def among(self, item: Int) -> NDArray[np.bool_]:
        """Which of these items are in the cohort."""
        at = np.minimum(np.searchsorted(self.rows, item), len(self.rows) - 1)
        return np.asarray(self.rows[at] == item)


class Fold:
    """What follows from the facts so far.

    ``pending`` are the asks that are wanted and not yet claimed, as codes (`quorate.campaign.book.ask_code`).
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.hash = np.zeros(0, np.uint64)
        self.gold = np.zeros(0, np.int64)
        self.cohorts: list[Cohort] = []
        self.cohort_of = np.zeros(0, np.int32)  # the latest cohort an item is in, −1 before the first
        self.want_class = np.zeros(0, np.int16)  # whom the item's asks in flight go to
        self.pending = Waiting()
        self.folded = 0  # answers
        self.late_after = 0  # late answers up to this seq have had their barrier
        self._book = Book()
        self._events: dict[tuple[str, int], tuple[int, Mapping[str, Any]]] = {}
        self._given_up: dict[int, set[int]] = {}  # by stage: asks that the order of the money had granted in vain

    @property
    def items(self) -> int:
        return len(self.hash)

    @property
    def cohort(self) -> Cohort | None:
        """The cohort that is being labelled, or the last one."""
        return self.cohorts[-1] if self.cohorts else None

    @property
    def stage(self) -> int:
        """The number of the stage that is under way, −1 before the first."""
        cohort = self.cohort
        return -1 if cohort is None else stage_number(cohort.number, len(cohort.decider.stages) - 1)

    # --------------------------------------------------------------------------------- facts that come in

    def add_items(self, hashes: NDArray[np.uint64], gold: Int) -> None:
        """Items in the order of their rows."""
        self.hash = np.concatenate([self.hash, hashes])
        self.gold = np.concatenate([self.gold, gold])
        more = len(hashes)
        self.cohort_of = np.concatenate([self.cohort_of, np.full(more, -1, np.int32)])
        self.want_class = np.concatenate([self.want_class, np.full(more, -1, np.int16)])

    def add_event(self, seq: int, kind: str, number: int, payload: Mapping[str, Any]) -> None:
        """An event; those that decisions do not depend on are passed over."""
        if kind in (COHORT, STAGE):
            self._events.setdefault((kind, number), (seq, payload))
        elif kind == GAVE_UP:
            self._given_up.setdefault(payload["stage"], set()).update(payload["asks"])
            if payload["stage"] == self.stage:
                self._withdraw(np.array(payload["asks"], np.int64))

    def learn(self, item: Int, ordinal: Int, label: Int, charged: Int) -> None:
        """Answers, in any order, each once; then go on as far as the facts go."""
        ours = self.is_out(item, ordinal)
        if ours.all():
            self._tell(item, ordinal, label, charged)
        else:
            self._tell(item[ours], ordinal[ours], label[ours], charged[ours])
            rest = ~ours & ~self._is_past(item, ordinal)
            self._book.add(item[rest], ordinal[rest], label=label[rest], charged=charged[rest])
        self.advance()

    def is_out(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        """Which of these asks the decider waits for."""
        cohort = self.cohort
        if cohort is None:
            return np.zeros(len(item), np.bool_)
        here: NDArray[np.bool_] = self.cohort_of[item] == cohort.number
        local = cohort.local(item[here])
        decider = cohort.decider
        turn = ordinal[here]
        here[here] = (turn < decider.asked[local]) & (turn >= decider.folded[local])
        return here

    def _is_past(self, item: Int, ordinal: Int) -> NDArray[np.bool_]:
        """Which of these asks have been folded before."""
        past = np.zeros(len(item), np.bool_)
        for cohort in self.cohorts:
            here = self.cohort_of[item] == cohort.number
            past[here] = ordinal[here] < cohort.decider.folded[cohort.local(item[here])]
        return past

    def _tell(self, item: Int, ordinal: Int, label: Int, charged: Int) -> None:
        if len(item):
            assert self.cohort is not None
            classes = self.want_class[item]
            self.folded += len(item)
            self.cohort.decider.tell(self.cohort.local(item), ordinal, classes, label, charged)

    # ------------------------------------------------------------------------------------------- the walk

    def advance(self) -> None:
        """Decide as far as the facts go: to a barrier that nobody has closed, or to asks that nobody has answered."""
        while self._step():
            pass

    def _step(self) -> bool:
        cohort = self.cohort
        if cohort is None or cohort.decider.done:
            event = self._events.get((COHORT, len(self.cohorts)))
            if event is not None:
                self._begin(event[1])
            return event is not None
        if cohort.decider.at_barrier:
            number = stage_number(cohort.number, len(cohort.decider.stages))
            event = self._events.get((STAGE, number))
            if event is not None:
                self._cross(cohort, *event)
            return event is not None
        return self._hand_out(cohort)

    def _hand_out(self, cohort: Cohort) -> bool:
        """Put the decider's wants among the pending, except those whose answers are known: these are folded."""
        asks = cohort.decider.wants()
        if not len(asks):
            return cohort.decider.at_barrier or cohort.decider.done
        item = cohort.rows[asks.item]
        self.want_class[item] = asks.worker_class
        unpaid = self._in_vain(ask_code(item, asks.ordinal))
        if unpaid.any():
            self._withdraw(ask_code(item[unpaid], asks.ordinal[unpaid]))
            out = self.is_out(item, asks.ordinal)
            asks, item = asks[out], item[out]
        found, label, charged = self._book.take(item, asks.ordinal)
        if found.any():
            self.folded += len(label)
            known = asks[found]
            self.pending.join(ask_code(item[~found], asks.ordinal[~found]))
            cohort.decider.tell(known.item, known.ordinal, known.worker_class, label, charged)
            return True
        self.pending.join(ask_code(item, asks.ordinal))
        return bool(unpaid.any())

    def _in_vain(self, code: Int) -> NDArray[np.bool_]:
        """Which of these asks could not be paid when somebody tried to claim them in this stage."""
        given_up = self._given_up.get(self.stage)
        return np.zeros(len(code), np.bool_) if given_up is None else np.isin(code, list(given_up))

    def _begin(self, payload: Mapping[str, Any]) -> None:
        """A new cohort: the items that nobody has looked at, and those that get another chance."""
        first, stop = payload["items"]
        rows = np.arange(first, stop)
        again = self.undecided_for(payload["again"])
        rows = np.concatenate([again, rows]) if len(again) else rows
        number = len(self.cohorts)
        spec = Spec.from_dict(payload["spec"])
        task = task_of(spec, self.hash[rows], self.gold[rows], payload["belief"], payload["prior_belief"])
        money = Money(np.array(spec.prices, np.int64), payload["budget"], payload["spent"])
        decider = Decider(
            self.policy, task, parallel=spec.parallel, money=money, start=self._start(again, rows, task),
            by_hand=True, witness=True,
        )  # fmt: skip
        whole = bool(rows[-1] - rows[0] == len(rows) - 1)
        self.cohorts.append(Cohort(number, rows, decider, [], whole))
        self.cohort_of[rows] = number

    def _start(self, again: Int, rows: Int, task: Task) -> Start | None:
        """The answers that items have from earlier cohorts."""
        if not len(again):
            return None
        n, m = len(rows), task.classes
        start = Start(
            np.zeros((n, m, task.labels), np.int16), np.zeros((n, m), np.int16), np.zeros(n, np.int64),
            np.zeros((n, m), np.bool_),
        )  # fmt: skip
        to = np.searchsorted(rows, again)
        for cohort in self.cohorts:
            here = self.cohort_of[again] == cohort.number
            old, new = cohort.local(again[here]), to[here]
            start.counts[new] = cohort.decider.counts[old]
            start.used[new] = cohort.decider.used[old]
            start.asked[new] = cohort.decider.asked[old]
        return start

    def _cross(self, cohort: Cohort, seq: int, payload: Mapping[str, Any]) -> None:
        """Close a barrier as its event says, and begin the stage after it."""
        decider = cohort.decider
        assert decider.purse is not None
        decider.alive[:] = payload["alive"]
        decider.purse.budget = payload["budget"]
        decider.purse.spent = payload["spent"]
        if payload["admitted"]:
            item, worker_class, label = (np.array(one, np.int64) for one in zip(*payload["admitted"], strict=True))
            here = cohort.among(item)
            decider.admit(cohort.local(item[here]), worker_class[here], label[here])
        cohort.barriers.append(seq)
        self.late_after = payload["late_after"]
        try:
            decider.cross()
        except (
            QuorateError
        ) as error:  # say, too few classes are left: known from the facts, so the same in every replay
            decider.end(error.message)

    def _withdraw(self, code: Int) -> None:
        """Take back asks that cannot be paid although the order of the money had granted them: the budget was cut."""
        cohort = self.cohort
        item, ordinal = code_parts(code)
        out = self.is_out(item, ordinal)
        if cohort is not None and out.any():
            cohort.decider.withdraw(cohort.local(item[out]), ordinal[out], self.want_class[item[out]])
            wanted = self.pending.take()
            self.pending.join(wanted[self.is_out(*code_parts(wanted))])

    # ------------------------------------------------------------------------------------------ what is known

    def column(self, name: str, default: float) -> NDArray[Any]:
        """A column of the deciders over all items of the campaign; ``default`` for items in no cohort yet."""
        out: NDArray[Any] | None = None
        for cohort in self.cohorts:
            values = getattr(cohort.decider, name)
            if out is None:
                out = np.full((self.items, *values.shape[1:]), default, values.dtype)
            out[cohort.rows] = values
        return np.full(self.items, default) if out is None else out

    def undecided_for(self, reasons: Sequence[int]) -> Int:
        """The items that were left without a label for one of these reasons, in the order of rows."""
        if not reasons or not self.cohorts:
            return np.zeros(0, np.int64)
        left = (self.column("verdict", OPEN) == UNDECIDED) & np.isin(self.column("reason", 0), list(reasons))
        return np.flatnonzero(left)

    def beliefs(self, spec: Spec) -> tuple[list[Any] | None, list[float]]:
        """What to believe of the classes and of the prior when the next cohort begins.

        The pseudo-counts of the spec, and every answer about a concluded item, counted as right with the confidence
        in that item's label.
        """
        given = [one.belief for one in spec.classes]
        known = any(one is not None for one in given)
        belief = np.array([[_WEAK, _WEAK] if one is None else one for one in given], np.float64)
        prior = np.array([2.0, 2.0])
        if len(spec.labels) == 2:
            for cohort in self.cohorts:
                known |= _count_soft(cohort.decider, belief, prior)
        return (belief.tolist() if known else None), prior.tolist()


def task_of(
    spec: Spec, hashes: NDArray[np.uint64], gold: Int, belief: Any = None, prior_belief: Sequence[float] = (2.0, 2.0)
) -> Task:
    """What a policy may know of a spec and of these items before anything is bought."""
    return Task(
        price=np.array(spec.prices) / 1e6,
        answers_per_item=np.array(spec.caps, np.int64),
        alpha=spec.alpha,
        uniform=uniform(spec.seed, PLAN, hashes),
        seed=spec.seed,
        labels=len(spec.labels),
        item_cap=spec.item_cap,
        safety=spec.safety,
        average=spec.average,
        belief=None if belief is None else np.array(belief, np.float64),
        prior_belief=(float(prior_belief[0]), float(prior_belief[1])),
        gold=gold if (gold != OPEN).any() else None,
    )


def _count_soft(decider: Decider, belief: FloatArray, prior: FloatArray) -> bool:
    """Add one cohort's answers to the pseudo-counts, in place; whether there were any."""
    assert decider.confidence is not None
    sure = (decider.verdict >= 0) & ~np.isnan(decider.confidence)
    if not sure.any():
        return False
    one = decider.confidence[sure]
    counts = decider.counts[sure]
    for label, weight in ((0, 1 - one), (1, one)):
        total = np.tensordot(weight, counts, axes=1)
        belief[:, label, 0] += total[:, label]
        belief[:, label, 1] += total[:, 1 - label]
        prior[label] += weight.sum()
    return True
