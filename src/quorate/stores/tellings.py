"""What becomes of answers: settle, set aside, or quarantine; money that is gone is booked in every case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import AnswerError
from quorate.facts import (
    AS_ASKED,
    DEAREST,
    FAILURES,
    KNOWN,
    REPEATED,
    SAME_WORKER,
    STRAY,
    NewAnswers,
    Recorded,
    key_of,
)
from quorate.stores.book import ORDINALS
from quorate.stores.entries import add, add_stray, as_column
from quorate.stores.head import Desk
from quorate.stores.rules import Standing, second
from quorate.stores.tables import TABLES, Int

Flags = NDArray[np.bool_]


def checked(answers: NewAnswers) -> NewAnswers:
    """The answers as int64 columns, or `AnswerError` naming the value that cannot be."""
    columns = {name: as_column(getattr(answers, name)) for name in ("item", "ordinal", "label", "charged", "failure")}
    label, charged, failure = columns["label"], columns["charged"], columns["failure"]
    for name, wrong, hint in (
        ("label", (label < -1) | (label >= 2**15), "Give a label's index, or −1 for none."),
        ("charged", (charged < AS_ASKED) | (charged >= DEAREST), "Give micros, or −1 where the asked price stands."),
        ("failure", (failure < 0) | (failure >= SAME_WORKER), f"Give an index into {FAILURES[:SAME_WORKER]}."),
        ("label", (failure > 0) & (label >= 0), "A failure has no label: −1."),
    ):
        if wrong.any():
            raise AnswerError(f"{name} {int(columns[name][wrong][0])} does not fit an answer.", hint=hint)
    epoch = None if answers.epoch is None else as_column(answers.epoch)
    return NewAnswers(
        columns["item"], columns["ordinal"], label, charged, failure, answers.worker, answers.raw, epoch
    )


def record(desk: Desk, answers: NewAnswers) -> Recorded:
    """Enter answers: see `quorate.ports_store.Ledger.record`."""
    head, first = desk.head, desk.head.seq + 1
    item, ordinal = answers.item, answers.ordinal
    possible = (item >= 0) & (item < head.items) & (ordinal >= 0) & (ordinal < ORDINALS)
    if not possible.all():
        return _record_possible(desk, answers, possible)
    asks = desk.take(item, ordinal, answers.epoch)
    found = asks.seq > 0
    outcome = np.zeros(len(item), np.int8)
    if answers.worker is not None:
        outcome[_repeated(desk, answers, found)] = REPEATED
    charged = np.where(answers.charged == AS_ASKED, np.where(answers.failure > 0, 0, asks.price), answers.charged)
    overcharged = found & (charged > asks.price)
    repeated = outcome == REPEATED
    rows = slice(None) if found.all() else np.flatnonzero(found)
    at = desk.now()
    columns = {
        "ask": asks.seq[rows],
        "item": item[rows],
        "ordinal": ordinal[rows],
        "worker_class": asks.worker_class[rows],
        "label": np.where(repeated, -1, answers.label)[rows],
        "charged": charged[rows],
        "failure": np.where(repeated, SAME_WORKER, answers.failure)[rows],
        "at": np.full(int(found.sum()), at),
    }
    silent = repeated | (answers.failure > 0)
    texts = {
        "worker": _pick(answers.worker, found, silent),
        "raw": _pick(answers.raw, found, repeated),
    }
    add(desk, "answer", columns, texts)
    head.spent += int(columns["charged"].sum())
    head.reserved -= int(asks.price[rows].sum())
    for i in np.flatnonzero(repeated).tolist():
        _set_aside(desk, answers, i, REPEATED, int(asks.seq[i]), int(asks.worker_class[i]), 0)
    if not found.all():
        _seconds(desk, answers, np.flatnonzero(~found), outcome, overcharged)
    return Recorded(outcome, overcharged, first, head.seq)


def _record_possible(desk: Desk, answers: NewAnswers, possible: Flags) -> Recorded:
    """The answers that can be somebody's, and the others as strays."""
    first = desk.head.seq + 1
    rows = np.flatnonzero(possible)
    pick = rows.tolist()
    done = record(
        desk,
        NewAnswers(
            answers.item[rows],
            answers.ordinal[rows],
            answers.label[rows],
            answers.charged[rows],
            answers.failure[rows],
            worker=None if answers.worker is None else [answers.worker[i] for i in pick],
            raw=None if answers.raw is None else [answers.raw[i] for i in pick],
            epoch=None if answers.epoch is None else answers.epoch[rows],
        ),
    )
    outcome = np.full(len(answers), STRAY, np.int8)
    overcharged = np.zeros(len(answers), np.bool_)
    outcome[rows], overcharged[rows] = done.outcome, done.overcharged
    for i in np.flatnonzero(~possible).tolist():
        _stray(desk, answers, i)
    return Recorded(outcome, overcharged, first, desk.head.seq)


def _repeated(desk: Desk, answers: NewAnswers, found: Flags) -> list[int]:
    """The rows whose worker has answered the item before, in the ledger or earlier in these columns."""
    assert answers.worker is not None
    said = found & (answers.failure == 0) & np.array([one is not None for one in answers.worker], np.bool_)
    rows = np.flatnonzero(said)
    if not len(rows):
        return []
    before = desk.answered_by(answers.item[rows], [answers.worker[i] for i in rows.tolist()])
    seen: set[tuple[int, str | None]] = set()
    again = []
    for i, known in zip(rows.tolist(), before.tolist(), strict=True):
        person = (int(answers.item[i]), answers.worker[i])
        if known or person in seen:
            again.append(i)
        seen.add(person)
    return again


def _seconds(desk: Desk, answers: NewAnswers, rows: Int, outcome: NDArray[np.int8], overcharged: Flags) -> None:
    """Answers to asks that are not in flight: known, different, late, or nobody's."""
    standing = _standing(desk, answers.item[rows])
    for i in rows.tolist():
        held = standing.get((int(answers.item[i]), int(answers.ordinal[i])))
        if held is None or (answers.epoch is not None and held.epoch != answers.epoch[i]):
            _stray(desk, answers, i)
            outcome[i] = STRAY
            continue
        failure, charged = int(answers.failure[i]), int(answers.charged[i])
        worker = None if answers.worker is None or failure else answers.worker[i]
        value = (int(answers.label[i]), failure, worker)
        if charged == AS_ASKED:
            charged = 0 if failure else held.price
        outcome[i], more = second(held, value, charged)
        overcharged[i] = more > 0 and held.booked + more > held.price
        if outcome[i] != KNOWN:
            _set_aside(desk, answers, i, int(outcome[i]), held.ask, held.worker_class, more)
            held.others.add(value)
            held.booked += more
            desk.head.spent += more


def _standing(desk: Desk, items: Int) -> dict[tuple[int, int], Standing]:
    """All answered asks of these items."""
    asks: dict[int, dict[str, Any]] = {}
    for rows in desk.rows(TABLES["ask"], where=("item", np.unique(items).tolist())):
        asks.update((row["seq"], row) for row in rows.dicts())
    held: dict[int, Standing] = {}
    for rows in desk.rows(TABLES["answer"], where=("ask", sorted(asks))):
        for row in rows.dicts():
            ask = asks[row["ask"]]
            value = (row["label"], row["failure"], row["worker"])
            held[row["ask"]] = Standing(
                row["ask"], ask["epoch"], row["worker_class"], ask["price"], value, booked=row["charged"]
            )
    for rows in desk.rows(TABLES["conflict"], where=("ask", sorted(held))):
        for row in rows.dicts():
            held[row["ask"]].others.add((row["label"], row["failure"], row["worker"]))
            held[row["ask"]].booked += row["charged"]
    return {(asks[seq]["item"], asks[seq]["ordinal"]): one for seq, one in held.items()}


def _set_aside(
    desk: Desk, answers: NewAnswers, i: int, outcome: int, ask: int, worker_class: int, charged: int
) -> None:
    values = {
        "outcome": outcome,
        "ask": ask,
        "item": answers.item[i],
        "ordinal": answers.ordinal[i],
        "worker_class": worker_class,
        "label": answers.label[i],
        "failure": answers.failure[i],
        "charged": charged,
        "at": desk.now(),
    }
    texts = {
        "worker": None if answers.worker is None else [answers.worker[i]],
        "raw": None if answers.raw is None else [answers.raw[i]],
    }
    add(desk, "conflict", {name: np.array([value], np.int64) for name, value in values.items()}, texts)


def _stray(desk: Desk, answers: NewAnswers, i: int) -> None:
    epoch = desk.head.epoch if answers.epoch is None else int(answers.epoch[i])
    key = key_of(desk.head.uid, epoch, int(answers.item[i]), int(answers.ordinal[i]))
    told = {name: int(getattr(answers, name)[i]) for name in ("label", "charged", "failure")}
    worker = None if answers.worker is None else answers.worker[i]
    add_stray(desk, key, {**told, "worker": worker})


def _pick(texts: Sequence[str | None] | None, found: Flags, hidden: Flags) -> list[str | None] | None:
    """The texts of the rows found, None where they are hidden."""
    if texts is None or all(one is None for one in texts):
        return None
    rows = zip(texts, found.tolist(), hidden.tolist(), strict=True)
    return [None if hide else text for text, keep, hide in rows if keep]
