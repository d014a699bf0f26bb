"""The loop that buys: wants → claim → post → keep receipts → poll → record → fold, while there is something to do.

Platforms are called by *buyers*, threads that touch neither the ledger nor the decisions; whatever order they come
back in, the decisions are the same.  All waiting goes through the clock and the sleep that are handed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from quorate.campaign.answers import raw_text, storable, wrong_with
from quorate.campaign.book import ask_code
from quorate.campaign.columns import columnar, run_columns
from quorate.campaign.decider import Asks
from quorate.campaign.desk import FRESH, Desk, Outcome
from quorate.campaign.interrupt import ctrl_c
from quorate.campaign.progress import Progress, Report, progress_of
from quorate.campaign.states import HALTED
from quorate.errors import AnswerError, PlatformError, SpecError
from quorate.facts import EXPIRED, PARKED, InFlight, NewAnswers, parse_key
from quorate.model import NO_LABEL, Answer, Ask
from quorate.ports import Platform

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign

LONGEST_NAP: Final = 1.0  # seconds between looks at the ledger


@dataclass(slots=True)
class Clock:
    """How the runner knows the time and how it waits; a test hands in its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    wall: Callable[[], float] = time.time


def run(
    campaign: Campaign,
    platforms: Mapping[str, Platform],
    *,
    buyers: int = 4,
    in_flight: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    clock: Clock | None = None,
) -> Report:
    """Buy until the campaign is done, the money is spent, or nobody can be asked any more.

    ``platforms`` are by class name.  ``buyers`` is the number of threads that call them, ``in_flight`` the asks out
    at once (the spec's, if not given).  Ctrl-C finishes what is in hand and returns with ``interrupted``.  A platform
    that breaks its word raises `PlatformError` once everything else has been bought.
    """
    _check(campaign, platforms)
    clock = clock or Clock()
    limit = in_flight or campaign.spec.in_flight
    began, bought = clock.now(), 0
    with ctrl_c() as pressed:
        if columnar(campaign, platforms):
            report = run_columns(campaign, platforms, limit=limit, progress=progress, now=clock.now, pressed=pressed)
            if report.done or report.interrupted:
                return report
            bought = report.bought  # other processes have asks in flight
        pool = ThreadPoolExecutor(buyers, thread_name_prefix="buyer")
        try:
            return _Runner(campaign, platforms, limit, progress, clock, pool, pressed, began, bought).run()
        finally:  # whatever happened: what no buyer has begun with is not sent any more
            pool.shutdown(cancel_futures=True)


def _check(campaign: Campaign, platforms: Mapping[str, Platform]) -> None:
    for name in platforms:
        campaign.spec.class_named(name)
    missing = [one.name for one in campaign.spec.classes if one.name not in platforms and not one.trusted]
    if missing:
        raise SpecError(
            f"No platform is given for class {missing[0]!r}.", hint="Give one for every class, or pause the class."
        )
    for name, one in platforms.items():
        if not (hasattr(one, "post") and hasattr(one, "poll")):
            raise SpecError(
                f"What is given for class {name!r} cannot post and poll: {type(one).__name__}.",
                hint="Wrap a function in quorate.platforms.callable.CallablePlatform.",
            )


class _Runner:
    def __init__(
        self, campaign: Campaign, platforms: Mapping[str, Platform], limit: int,
        progress: Callable[[Progress], None] | None, clock: Clock, pool: ThreadPoolExecutor,
        pressed: Callable[[], bool], began: float, bought: int,
    ) -> None:  # fmt: skip
        self.campaign = campaign
        self.limit = limit
        self.progress = progress
        self.clock = clock
        self.pool = pool
        self.desks = {
            k: Desk(one.name, platforms[one.name])
            for k, one in enumerate(campaign.spec.classes)
            if one.name in platforms
        }
        self.by_name = {one.name: one for one in self.desks.values()}
        self.working: dict[Future[Outcome], Desk] = {}
        self.pressed = pressed
        self.began = began
        self.bought = bought
        self.renew_at = self.began + campaign.spec.lease / 3
        self.stopping = False

    def run(self) -> Report:
        try:
            self._resume()
            self._adopt()
            while not self.pressed() and self._turn():
                pass
            if self.pressed():
                self._drain()
        finally:
            self._leave()
        report = progress_of(self.campaign, self.began, self.clock.now(), self.bought).report(
            interrupted=self.stopping,
            trouble={one.name: dict(one.trouble) for one in self.desks.values() if one.trouble},
        )
        self._complain()
        return report

    def _turn(self) -> bool:
        """One round of the loop; False when there is nothing left that this run could do."""
        self._claim()
        self._submit()
        if not self.working and not self._nap():
            return False
        self._collect()
        self._park()
        self._expire()
        if self.clock.now() >= self.renew_at:
            self.campaign.ledger.renew(lease=self.campaign.spec.lease)
            self.renew_at = self.clock.now() + self.campaign.spec.lease / 3
            self._adopt()
        if self.progress is not None:
            self.progress(progress_of(self.campaign, self.began, self.clock.now(), self.bought))
        return True

    @property
    def out(self) -> int:
        return sum(one.out for one in self.desks.values())

    # ---------------------------------------------------------------------------------------- asks go out

    def _claim(self) -> None:
        if self.stopping or self.campaign.ledger.campaign().state != "running":
            return
        room = self.limit - self.out
        if room <= 0:
            return
        columns = self.campaign.claim(room, without=[k for k, one in self.desks.items() if one.broken])
        for ask in self.campaign.asks(columns):
            self.by_name[ask.worker_class].add(ask, self.clock.now())

    def _adopt(self) -> None:
        """Asks of a process that is gone."""
        self._look_after(self.campaign.adopt())

    def _resume(self) -> None:
        """Asks that an earlier run of this process, or somebody who asked, has left behind."""
        self._look_after(self.campaign.find_left_over())

    def _look_after(self, found: InFlight) -> None:
        """Poll what is posted; send the rest again under its own keys, or look for it where that is not safe."""
        if not len(found):
            return
        campaign, log = self.campaign, found.asks
        receipts = {one.key: one for one in campaign.ledger.receipts(log.seq[found.posted])}
        now, wall = self.clock.now(), self.clock.wall()
        asks = campaign.asks(Asks(log.item, log.ordinal, log.worker_class), log)
        for ask, k, at in zip(asks, log.worker_class.tolist(), log.at.tolist(), strict=True):
            desk = self.desks.get(k)
            if desk is None or ask.key in desk.parcels or ask.key in desk.posted:
                continue
            if ask.key in receipts:
                desk.resume(ask, receipts[ask.key], now)
            else:
                memory = getattr(desk.platform, "key_memory", None)
                forgotten = memory is not None and wall - at / 1000 > FRESH * memory
                desk.add(ask, now, doubtful=desk.keyless or forgotten)

    def _leave(self) -> None:
        """What this run has not brought to an end is for the next."""
        for desk in self.desks.values():
            for key in (*desk.parcels, *desk.posted):
                parts = parse_key(key)
                self.campaign.left_over.add(int(ask_code(np.array(parts.item), np.array(parts.ordinal))))

    def _submit(self) -> None:
        for k, desk in self.desks.items():
            if self.campaign.class_state[k] == HALTED:
                desk.broken = desk.broken or self.campaign.why_halted.get(k, "halted")
            for job in desk.jobs(self.clock.now()):
                self.working[self.pool.submit(job)] = desk

    # ------------------------------------------------------------------------------------- answers come in

    def _collect(self) -> None:
        """Wait for a buyer, then keep and record what all that are back have brought."""
        if not self.working:
            return
        done, _ = wait(self.working, timeout=LONGEST_NAP, return_when=FIRST_COMPLETED)
        whose = [(self.working.pop(future), future) for future in done]
        back = [(desk, future.result()) for desk, future in whose if future.exception() is None]
        posted = [(desk, one) for desk, outcome in back if outcome.job != "poll" for one in outcome.got]
        self.campaign.keep([one for desk, one in posted if one.key in desk.parcels])
        for desk, outcome in back:
            desk.settle(outcome, self.clock.now())
            self._record(desk, outcome)
        for _, future in whose:
            future.result()  # raises what is no Exception, when everything else is recorded

    def _record(self, desk: Desk, outcome: Outcome) -> None:
        good: list[Answer] = []
        for one in outcome.got if outcome.job == "poll" else ():
            one = self._tidy(desk, one)
            wrong = wrong_with(one) or self._from_another(desk, one)
            if wrong:
                desk.note(wrong)
                key = storable(str(getattr(one, "key", "")), 200)
                self.campaign.ledger.record_stray(key, {"answer": storable(repr(one))})
                continue
            good.append(one)
        if not good:
            return
        for one, became in zip(good, self.campaign.outcomes(good), strict=True):
            if became == "recorded":
                self.bought += 1
            else:
                desk.note(became)
            self._answered(desk, one.key, became)

    def _from_another(self, desk: Desk, answer: Answer) -> str:
        """What is wrong where a class answers what another one was asked: it must not decide in its name."""
        try:
            key = parse_key(answer.key)
        except AnswerError:
            return ""
        fold = self.campaign.fold
        if key.uid != self.campaign.uid or key.item >= fold.items:
            return ""
        asked = self.campaign.spec.classes[fold.want_class[key.item]].name
        out = fold.is_out(np.array([key.item]), np.array([key.ordinal]))[0]
        return "an answer for another class" if out and asked != desk.name else ""

    def _tidy(self, desk: Desk, answer: Any) -> Any:
        """An answer as the ledger takes it, as far as what is paid for should not be lost to a slip of the platform.

        A label that does not exist counts as an abstention; a worker who is no text becomes one; what else came with
        it is kept as text where it is no JSON; and a key from before a backup was restored is the one asked under.
        """
        if not isinstance(answer, Answer) or not isinstance(answer.key, str):
            return answer
        answer = replace(answer, key=desk.own_key(answer.key, self.campaign.epoch))
        if answer.worker is not None:
            answer = replace(answer, worker=storable(str(answer.worker), 200))
        try:
            raw_text(answer)
        except AnswerError:
            desk.note("a raw part that is no JSON")
            answer = replace(answer, raw={"text": repr(answer.raw)[:2000]})
        label = answer.label
        if answer.failure is not None and (why := dict(answer.raw or ()).get("error")):
            desk.failed(str(why))
        if not isinstance(label, str) or answer.failure is not None or label in self.campaign.spec.labels:
            return answer
        desk.note("label outside the spec")
        return replace(answer, label=None, raw={**answer.raw, "said": label[:200]})

    def _answered(self, desk: Desk, key: str, became: str) -> None:
        if became == "stray":
            return
        for one in self.desks.values():
            one.answered(key)

    def _park(self) -> None:
        """Asks that may or may not have been bought: counted as spent, and shown to a human."""
        for desk in self.desks.values():
            if desk.parked:
                self._fail(list(desk.parked.values()), PARKED)
                desk.parked.clear()

    def _expire(self) -> None:
        """Asks that have waited too long; their money may be gone, so it counts as spent."""
        for desk in self.desks.values():
            late = desk.late(self.clock.now(), self.campaign.spec.patience)
            if late:
                try:
                    desk.platform.cancel([one.receipt for one in late])
                except Exception as error:  # whatever a platform may raise: they are given up all the same
                    desk.note(f"cancel: {type(error).__name__}")
                desk.note("expired", len(late))
                self._fail([one.ask for one in late], EXPIRED)
                for one in late:
                    desk.answered(one.ask.key)

    def _fail(self, asks: Sequence[Ask], failure: int) -> None:
        keys = [parse_key(one.key) for one in asks]
        self.campaign.record(
            NewAnswers(
                np.array([one.item for one in keys], np.int64), np.array([one.ordinal for one in keys], np.int64),
                np.full(len(asks), NO_LABEL, np.int64), np.array([one.price for one in asks], np.int64),
                np.full(len(asks), failure, np.int64),
            )
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ the end

    def _nap(self) -> bool:
        """Nobody is at work: wait until somebody could be, or say that nobody ever will."""
        due = min((one.next_due() for one in self.desks.values()), default=float("inf"))
        if due == float("inf"):
            return not self.stopping and self._others()
        if self.stopping and not any(one.posted for one in self.desks.values()):
            return False
        pause = min(due - self.clock.now(), LONGEST_NAP)
        if pause > 0:
            self.clock.sleep(pause)
        return True

    def _others(self) -> bool:
        """Whether another process has asks in flight that this campaign waits for."""
        campaign = self.campaign
        campaign.sync()
        campaign.go_on()
        if len(campaign.fold.pending):
            return campaign.ledger.campaign().state == "running"
        mine = sum(len(one.parcels) + len(one.posted) for one in self.desks.values())
        if campaign.done:
            return False
        if len(campaign.ledger.in_flight()) <= mine:
            return campaign.behind  # somebody has answered meanwhile, or nobody ever will
        self.clock.sleep(LONGEST_NAP / 10)
        self._adopt()
        return True

    def _drain(self) -> None:
        """Ctrl-C: begin nothing more, keep and record what the buyers have in hand, look for answers once more."""
        self.stopping = True
        if self.progress is not None:
            now = progress_of(self.campaign, self.began, self.clock.now(), self.bought)
            self.progress(replace(now, stage="stopping"))
        for future in [one for one in self.working if one.cancel()]:  # no buyer has begun with it
            self.working.pop(future).polling = False
        while self.working:
            self._collect()
        for desk in self.desks.values():
            desk.broken, desk.poll_due = desk.broken or "stopped", 0.0
        self._submit()
        while self.working:
            self._collect()

    def _complain(self) -> None:
        broken = {one.name: one.broken for one in self.desks.values() if one.broken}
        if broken and not self.stopping:
            name, why = next(iter(broken.items()))
            raise PlatformError(
                f"Nothing more can be bought from {', '.join(map(repr, broken))}: class {name!r} {why.rstrip('.')}.",
                hint="Everything bought is recorded. Mend the platform and run again (`resume` a halted class first),"
                " or pause the class to go on without it.",
            )
