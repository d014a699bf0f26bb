"""A platform that takes money, as a process of its own, with its own ledger and a seed for its moods.

It speaks JSON lines over a Unix socket, one call a connection, and is faithful to what real platforms do: with keys
honoured a repeated key gives the stored receipt again and costs nothing, a repeated key with another question is
a 409, and keys may be forgotten after a while; without keys every call is a new purchase, and the list call shows
a purchase only some time after it was charged.  Every charge is one line of the ledger, written before anything else.

Its troubles (``MOODS``) come with the share of calls that they befall, drawn from a hash of the seed, the first ask
of the call and how often that ask was tried: so a campaign that is repeated meets the same troubles.  Answers and
prices are a hash of the seed, the item and the ordinal, whatever the key: who asks alike is answered alike.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

POST = ("500-before", "500-after", "500-half", "dead-line-before", "dead-line-after", "429", "hang", "409")
POLL = (
    "reply-twice", "out-of-order", "slow-answer", "unknown-id", "another-campaign", "wrong-class", "label-outside",
    "malformed-json", "huge-body", "poll-500", "poll-dead-line",
)  # fmt: skip
MOODS = (*POST, *POLL)
PLAIN = ("500-before", "500-after", "500-half", "dead-line-before", "dead-line-after", "429", "poll-500",
         "poll-dead-line", "reply-twice", "out-of-order")  # fmt: skip
HUGE = 10 * 2**20


def dice(*parts: Any) -> float:
    """A uniform number that is a hash of its parts."""
    digest = blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


class DeadLine(Exception):
    """The connection breaks without a reply."""


class Platform:
    """Purchases, what they cost and what they answer; one lock, so that every call is one step."""

    def __init__(self, path: str, options: Mapping[str, Any]) -> None:
        self.seed = int(options.get("seed", 0))
        self.faults = float(options.get("faults", 0.0))
        self.moods = tuple(options.get("moods", PLAIN))
        self.keys = bool(options.get("keys", True))
        self.key_memory = options.get("key_memory")  # seconds, None: for ever
        self.list_delay = float(options.get("list_delay", 0.0))
        self.hang = float(options.get("hang", 1.0))
        self.latency = float(options.get("latency", 0.0))
        self.slow = float(options.get("slow", 1.0))
        self.accuracy: dict[str, float] = options.get("accuracy", {})
        self.markup = dict(options.get("markup", {}))  # micros above the asked price, by class, from a purchase on
        self.markup_from = int(options.get("markup_from", 0))
        self.ledger = Path(path).open("a", encoding="utf-8")  # noqa: SIM115
        self.lock = threading.Lock()
        self.bought: dict[str, dict[str, Any]] = {}  # by id
        self.by_key: dict[str, str] = {}
        self.tried: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.told: set[str] = set()
        self.sent: Counter[str] = Counter()  # how often each ask was posted
        self.kill: dict[str, Any] | None = None

    # ------------------------------------------------------------------------------------------- calls

    def call(self, request: Mapping[str, Any]) -> tuple[Any, str]:
        """The reply, and the mood that spoils it on its way back."""
        if request["op"] == "control":
            return self.control(request), ""
        with self.lock:
            self.calls[request["op"]] += 1
            self._strike("before")
            reply, mood = getattr(self, request["op"])(request)
            self._strike("after")
        if mood == "hang":
            time.sleep(self.hang)
        return reply, mood

    def control(self, request: Mapping[str, Any]) -> Any:
        """What a judge or a harness may say: whom to kill at which call, which moods, and how it went."""
        with self.lock:
            for name in ("faults", "markup", "markup_from", "list_delay"):
                if name in request:
                    setattr(self, name, request[name])
            if "kill" in request:
                self.kill = request["kill"]
            return {"status": 200, "calls": dict(self.calls), "met": dict(self.met), "bought": len(self.bought),
                    "most_tries": max(self.sent.values(), default=0)}  # fmt: skip

    def _strike(self, when: str) -> None:
        if self.kill is None or self.kill["when"] != when:
            return
        self.kill["calls"] -= 1
        if self.kill["calls"] <= 0:
            with suppress(ProcessLookupError):
                os.kill(self.kill["pid"], signal.SIGKILL)
            self.kill = None

    def _mood(self, op: str, who: str) -> str:
        self.tried[op + who] += 1
        if dice(self.seed, op, who, self.tried[op + who]) >= self.faults:
            return ""
        able = [one for one in self.moods if (one in POST) == (op == "post")]
        if not able:
            return ""
        mood = able[int(len(able) * dice(self.seed, op, who, self.tried[op + who], "which"))]
        self.met[mood] += 1
        return mood

    def post(self, request: Mapping[str, Any]) -> tuple[Any, str]:
        asks = request["asks"]
        self.sent.update(f"{one['item']}/{one['ordinal']}" for one in asks)
        mood = self._mood("post", f"{asks[0]['item']}/{asks[0]['ordinal']}")
        if mood == "dead-line-before":
            raise DeadLine
        if mood == "500-before":
            return {"status": 500}, mood
        if mood == "429":
            return {"status": 429, "retry_after": 0.05}, mood
        if mood == "409":
            return {"status": 409, "error": "a request with this key is being worked on"}, mood
        charged = asks[: (len(asks) + 1) // 2] if mood == "500-half" else asks
        receipts = [self._buy(ask) for ask in charged]
        if mood == "dead-line-after":
            self._strike("after")
            raise DeadLine
        if mood in ("500-after", "500-half"):
            return {"status": 500}, mood
        clash = [one for one in receipts if one is None]
        if clash:
            return {"status": 409, "error": "this key was used for another question"}, mood
        return {"status": 200, "receipts": receipts}, mood

    def _buy(self, ask: Mapping[str, Any]) -> dict[str, Any] | None:
        key, now = ask["key"], time.time()
        known = self.bought.get(self.by_key.get(key, "")) if self.keys else None
        if known is not None and self.key_memory is not None and now - known["at"] > self.key_memory:
            known = None
        if known is not None:
            same = all(known[name] == ask[name] for name in ("item", "class", "ordinal", "price"))
            return {"key": key, "id": known["id"]} if same else None
        more = self.markup.get(ask["class"], 0) if len(self.bought) >= self.markup_from else 0
        row = {**ask, "id": f"t{len(self.bought) + 1}", "charged": ask["price"] + more, "at": now}
        self.ledger.write(json.dumps(row) + "\n")
        self.ledger.flush()
        self.bought[row["id"]] = row
        self.by_key[key] = row["id"]
        return {"key": key, "id": row["id"]}

    def list(self, request: Mapping[str, Any]) -> tuple[Any, str]:
        """What was bought under these references, as far as the list has caught up."""
        seen = time.time() - self.list_delay
        wanted = set(request["references"])
        rows = [one for one in self.bought.values() if one["key"] in wanted and one["at"] <= seen]
        return {"status": 200, "receipts": [{"key": one["key"], "id": one["id"]} for one in rows]}, ""

    def poll(self, request: Mapping[str, Any]) -> tuple[Any, str]:
        ids = request["ids"]
        mood = self._mood("poll", ids[0] if ids else "")
        if mood == "poll-dead-line":
            raise DeadLine
        if mood == "poll-500":
            return {"status": 500}, mood
        now = time.time()
        due = [self.bought[one] for one in ids if one in self.bought and self._due(self.bought[one]) <= now]
        answers = [self._answer(one) for one in due]
        self.told.update(one["key"] for one in answers)
        return {"status": 200, "answers": self._spoil(mood, answers)}, mood

    def _due(self, row: Mapping[str, Any]) -> float:
        wait = self.latency * dice(self.seed, "wait", row["item"], row["ordinal"])
        if "slow-answer" in self.moods and dice(self.seed, "slow", row["item"], row["ordinal"]) < self.faults:
            wait += self.slow
        return float(row["at"]) + wait

    def _answer(self, row: Mapping[str, Any]) -> dict[str, Any]:
        truth = dice(self.seed, "truth", row["item"]) < 0.5
        right = dice(self.seed, "label", row["item"], row["ordinal"]) < self.accuracy.get(row["class"], 0.8)
        return {"key": row["key"], "label": str(int(truth == right)), "price": row["charged"], "class": row["class"]}

    def _spoil(self, mood: str, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not answers:
            return answers
        first = answers[0]
        if mood == "reply-twice":
            return answers + answers
        if mood == "out-of-order":
            return answers[::-1]
        if mood == "unknown-id":
            return [*answers, {**first, "key": "nobody-asked-this"}]
        if mood == "another-campaign":
            return [*answers, {**first, "key": "0ther" + first["key"][5:]}]
        if mood == "wrong-class":
            others = [one for one in self.bought.values() if one["class"] != first["class"]]
            waiting = [one for one in others if one["key"] not in self.told]
            self.met["forged"] += len(waiting)
            return [*answers, *({**self._answer(one), "label": "1"} for one in waiting)]
        if mood == "label-outside":
            return [{**first, "label": "maybe"}, *answers[1:]]
        return answers


class Handler(socketserver.StreamRequestHandler):
    """One call."""

    def handle(self) -> None:
        platform: Platform = self.server.platform  # type: ignore[attr-defined]
        with suppress(DeadLine, BrokenPipeError, ConnectionResetError):
            line = self.rfile.readline()
            if not line.endswith(b"\n"):
                return  # whoever called has died
            request = json.loads(line)
            reply, mood = platform.call(request)
            text = json.dumps(reply).encode()
            if mood == "malformed-json":
                text = text[: len(text) // 2] + b"}{"
            if mood == "huge-body":
                text = b'{"status": 200, "answers": [], "padding": "' + b"x" * HUGE + b'"}'
            self.wfile.write(text + b"\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A thread a call."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("socket", help="where to listen")
    parser.add_argument("ledger", help="the file of charges, appended to")
    parser.add_argument("--options", default="{}", help="JSON: seed, faults, moods, keys, list_delay, …")
    given = parser.parse_args()
    with Server(given.socket, Handler) as server:
        server.platform = Platform(given.ledger, json.loads(given.options))  # type: ignore[attr-defined]
        print("ready", flush=True)
        server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
