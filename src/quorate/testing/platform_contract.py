"""What every platform must keep to, as a test class: inherit, provide ``platform`` and ``asks``, and run pytest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from quorate.model import Answer, Ask, Receipt
from quorate.ports import Platform


class PlatformContract:
    """Inherit and say how a platform is made.

    ``live`` marks platforms whose annotators may answer differently when asked again (people, sampled models): what
    is bound to the same answers is then not asked of them, what concerns money still is.
    """

    live = False
    patience = 1000  # polls until everything must be answered

    def platform(self) -> Platform:
        """A platform as a new process would make it."""
        raise NotImplementedError

    def asks(self) -> Sequence[Ask]:
        """At least three asks that the platform can answer, with different keys."""
        raise NotImplementedError

    def restarted(self, platform: Platform) -> Platform:
        """Another process's connection to the same outside world; by default just another platform."""
        return self.platform()

    def test_it_has_a_name(self) -> None:
        assert isinstance(self.platform().name, str)
        assert self.platform().name

    def test_nothing_in_nothing_out(self) -> None:
        platform = self.platform()
        assert list(platform.post([])) == []
        assert list(platform.poll([])) == []
        platform.cancel([])

    def test_every_ask_gets_one_receipt_of_plain_json(self) -> None:
        asks = self.asks()
        receipts = self.platform().post(asks)
        assert [one.key for one in receipts] == [one.key for one in asks]
        assert [_through_json(one) for one in receipts] == list(receipts)

    def test_every_ask_is_answered_or_fails_in_the_end(self) -> None:
        platform, asks = self.platform(), self.asks()
        answers = self._all(platform, platform.post(asks))
        assert set(answers) == {one.key for one in asks}

    def test_answers_are_well_formed(self) -> None:
        platform, asks = self.platform(), self.asks()
        for one in self._all(platform, platform.post(asks)).values():
            assert one.label is None or isinstance(one.label, str)
            assert one.price is None or (isinstance(one.price, int) and one.price >= 0)
            assert one.failure in (None, "exhausted", "refused", "expired")
            assert one.failure is None or one.label is None
            assert json.loads(json.dumps(dict(one.raw))) == dict(one.raw)

    def test_posting_the_same_key_again_is_harmless(self) -> None:
        platform, asks = self.platform(), self.asks()
        first = platform.post(asks)
        again = platform.post(asks)
        assert [one.key for one in again] == [one.key for one in first]
        once, twice = self._all(platform, first), self._all(platform, again)
        assert set(once) == set(twice)
        if not self.live:
            assert _heart(once) == _heart(twice)

    def test_another_process_can_poll_the_receipts(self) -> None:
        platform, asks = self.platform(), self.asks()
        kept = [_through_json(one) for one in platform.post(asks)]
        theirs = self._all(self.restarted(platform), kept)
        assert set(theirs) == {one.key for one in asks}
        assert _heart(theirs) == _heart(self._all(platform, kept))

    def test_polling_again_never_changes_an_answer(self) -> None:
        platform = self.platform()
        receipts = platform.post(self.asks())
        first = self._all(platform, receipts)
        for one in platform.poll(receipts):
            assert (one.label, one.failure) == _heart(first)[one.key]

    def test_only_what_was_asked_is_answered(self) -> None:
        platform, asks = self.platform(), self.asks()
        receipts = platform.post(asks)
        assert set(self._all(platform, receipts[:1])) == {asks[0].key}

    def test_the_order_of_asks_does_not_matter(self) -> None:
        if self.live:
            return
        asks = self.asks()
        there, back = self.platform(), self.platform()
        forward = self._all(there, there.post(asks))
        backward = self._all(back, [one for ask in reversed(asks) for one in back.post([ask])])
        assert _heart(forward) == _heart(backward)

    def test_cancelling_is_harmless_before_and_after_the_answer(self) -> None:
        platform, asks = self.platform(), self.asks()
        receipts = platform.post(asks)
        platform.cancel(receipts[:1])
        platform.cancel(receipts[:1])
        answers = self._all(platform, receipts)
        platform.cancel(receipts)
        assert set(answers) == {one.key for one in asks}

    def _all(self, platform: Platform, receipts: Sequence[Receipt]) -> dict[str, Answer]:
        """Poll until every receipt is answered; the first answer to each key stands."""
        answers: dict[str, Answer] = {}
        for _ in range(self.patience):
            waiting = [one for one in receipts if one.key not in answers]
            if not waiting:
                break
            for one in platform.poll(waiting):
                assert one.key in {receipt.key for receipt in waiting}, f"nobody asked for {one.key}"
                answers.setdefault(one.key, one)
        return answers


def _through_json(receipt: Receipt) -> Receipt:
    data: dict[str, Any] = json.loads(json.dumps(dict(receipt.data)))
    return Receipt(receipt.key, receipt.platform, data)


def _heart(answers: dict[str, Answer]) -> dict[str, tuple[str | None, str | None]]:
    return {key: (one.label, one.failure) for key, one in answers.items()}
