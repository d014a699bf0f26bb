"""R5: a hostile platform — each of eighteen behaviours on some hundred purchases.

One campaign a behaviour, three tenths of the calls (or answers) spoilt by it.  Whatever it does: what was charged is
what is recorded, nothing is bought twice, the process lives and finishes, an ask is tried at most eight times,
and what happened is named in the run's report or in ``status``.  Answers that nobody asked for, that come from the
wrong class, or that come after the end decide nothing: the decision log is the one of a well-behaved platform.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _harness as h

from quorate.campaign import desk, runner

SHARE = 0.3
NAMED: dict[str, str] = {  # how the behaviour shows in the report or in status; "" where nothing is wrong to see
    "500-before": "post: ServerError",
    "500-after": "post: ServerError",
    "500-half": "post: ServerError",
    "dead-line-before": "post: ConnectionResetError",
    "dead-line-after": "post: ConnectionResetError",
    "429": "post: TooManyRequests",
    "hang": "post: TimeoutError",
    "409": "post: KeyConflict",
    "reply-twice": "known",
    "out-of-order": "",
    "slow-answer": "expired",
    "unknown-id": "stray",
    "another-campaign": "stray",
    "wrong-class": "an answer for another class",
    "label-outside": "label outside the spec",
    "malformed-json": "poll: JSONDecodeError",
    "huge-body": "poll: BodyTooLarge",
    "key-memory": "find",
}
OTHER_ANSWERS = ("slow-answer", "label-outside")  # there the answers differ, and so may the decisions
MUTANTS = ("believe-anybody", "forget-the-memory", "drop-late-answers", "labels-dropped")


def bar(options: argparse.Namespace) -> dict[str, Any]:
    """All behaviours."""
    some = list(NAMED)
    if options.mutant:
        some = {"believe-anybody": ["wrong-class"], "forget-the-memory": ["key-memory"],
                "drop-late-answers": ["slow-answer"], "labels-dropped": ["label-outside"]}[
                    options.mutant]  # fmt: skip
    elif options.quick:
        some = ["500-after", "unknown-id", "wrong-class", "label-outside", "malformed-json"]
    failures: list[str] = []
    bought: dict[str, int] = {}
    items = 40
    with h.workplace() as folder:
        calm = _campaign(folder, options.seed, "calm", items, None)
        for mood in some:
            found = _campaign(folder, options.seed, mood, items, options.mutant)
            wrong = found["wrong"]
            if mood not in OTHER_ANSWERS and found["digest"] != calm["digest"]:
                wrong.append("another decision log than with a well-behaved platform")
            failures += [f"{mood}: {one}" for one in wrong]
            bought[mood] = found["charges"]
    return {"failures": failures, "behaviours": len(some), "purchases": sum(bought.values())}


def _campaign(folder: Path, seed: int, mood: str, items: int, mutant: str | None) -> dict[str, Any]:
    """One campaign with one behaviour, judged."""
    url, name = f"sqlite:///{folder}/{mood}.db", f"r5-{mood}"
    options: dict[str, Any] = {"seed": seed, "faults": SHARE, "moods": [mood], "hang": 0.4}
    patience, memory = None, None
    if mood == "calm":
        options["faults"] = 0.0
    elif mood == "key-memory":
        memory = 0.2
        options.update(moods=["500-after", "hang"], key_memory=memory)
    elif mood == "wrong-class":
        options.update(latency=0.2, faults=0.9)
    elif mood == "slow-answer":
        patience = 0.5
        options.update(slow=1.5, faults=0.02)
    with h.Paying(folder, name, **options) as platform:

        def life() -> dict[str, Any]:
            client = h.Client(platform.place, timeout=0.3, key_memory=memory, find_delay=0.0)
            _break(mutant, client)
            with (
                h.hurry(),
                h.opened(
                    url, name, items, seed=seed, patience=patience, in_flight=10 if mood == "wrong-class" else 40
                ) as campaign,
            ):
                if memory is not None:
                    desk.FIRST_PAUSE = 0.15  # type: ignore[misc]  # as long as the memory, nearly
                report = campaign.run({one.name: client for one in campaign.spec.classes}, buyers=8)
                if mood == "slow-answer":
                    _tell_the_late(campaign, client, mutant)
                seen = [what for one in report.trouble.values() for what in one]
                if memory is not None and client.call(op="control")["calls"].get("list"):
                    seen.append("find")
                return {"seen": seen + list(campaign.status()["kept_apart"]), "done": report.done,
                        "digest": campaign.decisions().digest}  # fmt: skip

        end = h.from_child(life, folder)
        charges, heard = platform.charges(), platform.control()
    found: dict[str, Any] = h.from_child(lambda: h.judge(url, name, charges), folder)
    if not end["done"]:
        found["wrong"].append("it did not finish")
    if mood != "calm" and NAMED[mood] and NAMED[mood] not in end["seen"]:
        found["wrong"].append(f"it is not named: {sorted(set(end['seen']))}")
    if mood not in ("calm", "slow-answer") and not heard["met"]:
        found["wrong"].append("the behaviour was never met")
    if heard["most_tries"] > desk.TRIES:
        found["wrong"].append(f"an ask was tried {heard['most_tries']} times")
    return {**found, "digest": end["digest"]}


def _tell_the_late(campaign: h.Campaign, client: h.Client, mutant: str | None) -> None:
    """The campaign has ended; now the answers that were given up come after all."""
    before = campaign.decisions().verdicts["verdict"].tolist()
    time.sleep(1.6)
    flight = campaign.ledger.asks()
    receipts = campaign.ledger.receipts(flight.seq)
    answers = client.poll(receipts)
    known = set(campaign.ledger.changes().answers.ask[campaign.ledger.changes().answers.failure > 0].tolist())
    expired = {one.key for seq, one in zip(flight.seq.tolist(), receipts, strict=True) if seq in known}
    late = [one for one in answers if one.key in expired]
    if mutant != "drop-late-answers":
        campaign.tell_many(late)
    if not late or len(campaign.ledger.conflicts()) != len(late):
        raise AssertionError(f"{len(late)} late answers, {len(campaign.ledger.conflicts())} kept")
    if campaign.decisions().verdicts["verdict"].tolist() != before:
        raise AssertionError("a late answer changed a verdict after the end")


def _break(mutant: str | None, client: h.Client) -> None:
    if mutant == "believe-anybody":
        runner._Runner._from_another = lambda self, desk, answer: ""  # type: ignore[method-assign]
    elif mutant == "forget-the-memory":
        client.key_memory = None
    elif mutant == "labels-dropped":
        poll = client.poll

        def picky(receipts: Sequence[h.Receipt]) -> list[h.Answer]:
            return [one if one.label in ("0", "1") else h.Answer(one.key, None, price=0) for one in poll(receipts)]

        client.poll = picky  # type: ignore[method-assign]


if __name__ == "__main__":
    h.main("R5", bar, MUTANTS)
