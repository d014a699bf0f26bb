"""The small Protocols that everything exchangeable keeps to.  No base class to inherit from.

Adding a rule, an estimator, a policy, a store or a platform is one file and one line in `quorate.registry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorate.model import Answer, Ask, Estimate, FloatArray, Items, Receipt, Stage, Task, View


@runtime_checkable
class StoppingRule(Protocol):
    """Counts of one class's answers in; −1 = keep asking, or the label, out.  A value: comparable, printable."""

    def verdict(self, zeros: ArrayLike, ones: ArrayLike) -> NDArray[np.int8]: ...
    def __hash__(self) -> int: ...  # rules are compiled once and kept


@runtime_checkable
class Estimator(Protocol):
    """Answers in, accuracies with their doubts out.

    ``answers[k, j]`` is class k's answer on item j, −1 where it was not asked.
    """

    def estimate(self, answers: NDArray[np.int8], *, rng: np.random.Generator) -> Estimate: ...


@runtime_checkable
class Plan(Protocol):
    """What to do next with an item, as a look-up: the compiled form of a rule or of an optimal policy.

    A plan is a pure function of the rows it is shown.  It must be total: for every row it names an open class,
    holds, concludes or gives up.
    """

    @property
    def evidence_name(self) -> str:
        """What `evidence` is: "log-odds", "vote share", "log e-value", …"""
        ...

    def act(self, items: Items) -> NDArray[np.int16]:
        """A class to ask (0 … M−1), `HOLD`, `UNDECIDED`, or ``say(label)``, for each row."""
        ...

    def evidence(self, items: Items) -> FloatArray:
        """The number that the plan decides by, for each row, for people to read."""
        ...

    def confidence(self, items: Items) -> FloatArray:
        """P(label 1) of each row as far as this plan can tell; nan where it cannot."""
        ...


@runtime_checkable
class Policy(Protocol):
    """What to buy next, never how.

    ``stages`` is a generator: it yields a stage, is resumed at the stage's barrier, looks at ``view`` (live, the same
    object throughout) and yields the next, until it has no more to do.  It keeps no state outside the generator and
    uses no dice but ``task.uniform`` and `quorate.core.hashing.generator` of ``task.seed``: so re-running it over the
    stored answers makes the same decisions, which is how a campaign resumes.
    """

    @property
    def name(self) -> str: ...
    @property
    def promise(self) -> str:
        """The words of its guarantee, shown with every result."""
        ...

    def stages(self, task: Task, view: View) -> Iterator[Stage]: ...


@runtime_checkable
class Platform(Protocol):
    """Who answers.  A platform never learns alpha or the budget.

    ``post`` with a key that it has seen before must be harmless; ``poll`` may return answers in any order, more than
    once, and for only some of the receipts.
    """

    @property
    def name(self) -> str: ...
    def post(self, asks: Sequence[Ask]) -> Sequence[Receipt]: ...
    def poll(self, receipts: Sequence[Receipt]) -> Sequence[Answer]: ...
    def cancel(self, receipts: Sequence[Receipt]) -> None: ...
