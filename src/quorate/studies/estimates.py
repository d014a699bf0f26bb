"""What a table of answers says of those who gave them: the record behind ``quorate estimate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from quorate.aggregation import Names, answer_table
from quorate.core.estimators.agreement import Agreement, Pair
from quorate.core.estimators.dawid_skene import Confusions, dawid_skene
from quorate.core.estimators.gibbs import PSEUDO_ITEMS, believed_cells, confusion_draws
from quorate.core.estimators.table import Answers, CountRows
from quorate.core.hashing import generator
from quorate.errors import InputError
from quorate.model import FloatArray, IntArray

_FEW: Final = 20  # answers below which a class's matrix is mostly belief
_TESTED: Final = 8  # classes up to which each pair is compared with what the truth explains
_SHOWN: Final = 50  # classes up to which every pair is listed
_MOST_LABELS: Final = 100  # more are no labels but texts, and their matrices would be mostly belief
_DRAWS: Final = (100, 400)  # at least, at most …
_CELLS: Final = 2**27  # … as many as keep all their numbers within a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    answers: Answers
    names: Names
    fit: Confusions
    interval: FloatArray  # (2, M, K, K)
    share: FloatArray  # (K,) of the labels, under the belief that the intervals rest on
    prior_interval: FloatArray  # (2, K)
    pairs: list[Pair]


def estimate_table(item: Any, who: Any, label: Any, *, level: float = 0.95, seed: int = 0) -> dict[str, Any]:
    """Confusion matrices and prior with intervals at ``level``, agreement of each pair, and what looks wrong.

    >>> item = np.repeat(np.arange(40), 3)
    >>> said = np.where(np.arange(120) % 7 == 0, 1 - item % 2, item % 2)
    >>> record = estimate_table(item, np.tile(["a", "b", "c"], 40), said)
    >>> [(one["class"], one["answers"]) for one in record["classes"]]
    [('a', 40), ('b', 40), ('c', 40)]
    """
    answers, names = answer_table(np.asarray(item), np.asarray(who), np.asarray(label))
    if not len(answers.item):
        raise InputError("There is no answer with a label.", hint="The column 'label' is empty in every row.")
    if answers.labels > _MOST_LABELS:
        raise InputError(
            f"There are {answers.labels:,} different labels; confusion matrices are estimated for {_MOST_LABELS}.",
            hint="Is 'label' the column of labels? For any number of labels: quorate aggregate --method majority.",
        )
    rows = answers.rows()
    belief = believed_cells(answers.labels)
    fit = dawid_skene(rows.x, answers.labels, weight=rows.weight, pseudo=belief, tol=1e-8, max_iter=1000)
    dice = generator(seed, answers.items)
    draws = int(np.clip(_CELLS // fit.confusion.size, *_DRAWS))
    drawn, drawn_prior = confusion_draws(rows.x, rows.weight, fit, belief=belief, draws=draws, rng=dice)
    ends = ((1 - level) / 2, (1 + level) / 2)
    study = _Study(
        answers,
        names,
        fit,
        np.quantile(drawn, ends, axis=0),
        (rows.weight @ fit.posterior + PSEUDO_ITEMS) / (rows.weight.sum() + PSEUDO_ITEMS * answers.labels),
        np.quantile(drawn_prior, ends, axis=0),
        _pairs(answers, rows, belief),
    )
    return {
        "items": answers.items,
        "answers": len(answers.item),
        "without_label": len(label) - len(answers.item),
        "level": level,
        "seed": seed,
        "labels": _prior(study),
        "classes": [_class(study, k) for k in range(answers.classes)],
        "agreement": [_agreement(study, pair) for pair in study.pairs],
        "wrong": _wrong(study),
    }


def _pairs(answers: Answers, rows: CountRows, belief: FloatArray) -> list[Pair]:
    if answers.classes > _SHOWN:
        return []
    x = rows.x if isinstance(rows.x, np.ndarray) else rows.x.toarray()
    agreement = Agreement(x, rows.weight, answers.labels, belief)
    return agreement.pairs() if answers.classes <= _TESTED else agreement.observed()


def _prior(study: _Study) -> list[dict[str, Any]]:
    low, high = study.prior_interval
    return [
        {"label": name, "share": float(study.share[i]), "interval": [float(low[i]), float(high[i])]}
        for i, name in enumerate(study.names.labels)
    ]


def _class(study: _Study, k: int) -> dict[str, Any]:
    """``confusion[label][answer]`` = P(answer | label), one row a true label, with its intervals."""
    low, high = study.interval[:, k]
    return {
        "class": study.names.classes[k],
        "answers": int((study.answers.who == k).sum()),
        "confusion": study.fit.confusion[k].T.tolist(),
        "interval": np.stack([low.T, high.T], axis=-1).tolist(),
        "accuracy": np.diagonal(study.fit.confusion[k]).tolist(),
        "accuracy_interval": np.stack([np.diagonal(low), np.diagonal(high)], axis=-1).tolist(),
    }


def _agreement(study: _Study, pair: Pair) -> dict[str, Any]:
    return {
        "a": study.names.classes[pair.a],
        "b": study.names.classes[pair.b],
        "items": pair.items,
        "agree": pair.observed,
        "expected": pair.expected,
        "se": pair.error,
        "dependent": pair.dependent,
    }


# ------------------------------------------------------------------------------------- what looks wrong


def _wrong(study: _Study) -> list[str]:
    """Sentences, what concerns all classes first."""
    answers, names = study.answers, study.names
    said = np.bincount(answers.who * answers.labels + answers.label, minlength=answers.classes * answers.labels)
    votes = said.reshape(answers.classes, answers.labels)
    asked = votes.sum(axis=1)
    found = _whole(study)
    for k in range(answers.classes):
        found += _one(study, k, votes[k])
    found += [_two(study, pair) for pair in study.pairs if pair.dependent]
    same = [pair for pair in study.pairs if not pair.dependent and pair.observed == 1 and pair.items >= _FEW]
    if same and answers.classes <= _TESTED:
        pairs = _some([f"{names.classes[one.a]} and {names.classes[one.b]} ({one.items} items)" for one in same])
        found.append(f"Always of one mind: {pairs}. One may copy the other; the other classes do not tell.")
    few = np.flatnonzero(asked < _FEW)
    if len(few):
        who = _some([f"{names.classes[k]} ({asked[k]})" for k in few])
        found.append(f"Fewer than {_FEW} answers from {who}: such a matrix is mostly what is believed of anyone.")
    return found


def _some(words: list[str], most: int = 6) -> str:
    """A few of them, and how many more there are.

    >>> _some(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(words) if len(words) <= most else f"{', '.join(words[:most])} and {len(words) - most:,} more"


def _whole(study: _Study) -> list[str]:
    answers, names = study.answers, study.names
    found = []
    if answers.labels == 1:
        found.append(f"Every answer is {names.labels[0]}: with a single label there is nothing to estimate.")
    most = int(answers.votes().sum(axis=1).max())
    if most == 1:
        found.append("No item has two answers, so nothing tells right from wrong: the matrices are mostly belief.")
    elif most == 2:
        found.append(
            "No item has more than two answers: accuracies of single labels cannot be told apart by the data alone, "
            "and belief fills the gap. Three answers an item would do."
        )
    if not study.fit.converged:
        found.append(f"EM was still moving after {study.fit.iterations} rounds.")
    if answers.classes > _SHOWN:
        found.append(f"With {answers.classes} classes, pairs were not compared; group workers into classes for that.")
    elif answers.classes > _TESTED:
        found.append(
            f"With {answers.classes} classes, pairs are listed but not tested for copying; "
            f"that is done for up to {_TESTED}."
        )
    return found


def _one(study: _Study, k: int, votes: IntArray) -> list[str]:
    name, labels = study.names.classes[k], study.names.labels
    asked = int(votes.sum())
    found = []
    if asked >= _FEW and len(labels) > 1 and votes.max() == asked:
        found.append(f"{name} always says {labels[int(votes.argmax())]} ({asked} answers): it tells nothing.")
    high = np.diagonal(study.interval[1, k])
    for i in np.flatnonzero(high < 0.5 if len(labels) == 2 else high < 1 / len(labels)):
        at = study.fit.confusion[k, i, i]
        chance = "more often wrong than right" if len(labels) == 2 else "no better than chance"
        found.append(
            f"{name} is {chance} on items of label {labels[i]} (right {at:.0%}, at most {high[i]:.0%}): "
            "are its labels swapped or the question misread? Policies assume better than chance."
        )
    return found


def _two(study: _Study, pair: Pair) -> str:
    a, b = study.names.classes[pair.a], study.names.classes[pair.b]
    return (
        f"{a} and {b} agree on {pair.observed:.0%} of {pair.items} items where their accuracies explain "
        f"{pair.expected:.0%}: copies of one another, or they err on the same items. Together they are worth "
        "less than two."
    )
