"""What the fault scripts share: lives of an engine that can be killed, servers, the judge, and one JSON line.

A *life* is a process of its own (forked, so that it starts at once) that opens the campaign from its store and runs
it.  It dies by SIGKILL: at a call of the platform, at a write to its ledger, or by the clock.  The judge believes
nobody's totals: it adds up the rows of our ledger and the lines of the platform's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

import quorate.core.policies.calibrated
import quorate.core.policies.explore_exploit
import quorate.stores.sqlite  # noqa: F401  # lives begin with everything loaded
from quorate.campaign import desk as desk_module
from quorate.campaign import labels, runner  # noqa: F401
from quorate.campaign.engine import Campaign
from quorate.errors import PlatformError, SpecError
from quorate.facts import FAILURES
from quorate.model import Answer, Ask, Receipt, WorkerClass
from quorate.ports_store import Ledger
from quorate.stores import open_store

HERE = Path(__file__).parent
LONGEST_REPLY = 2**20
CLASSES: Final = (
    {"name": "small", "price": 400}, {"name": "large", "price": 900}, {"name": "crowd", "price": 1500},
)  # fmt: skip
ACCURACY = {"small": 0.86, "large": 0.9, "crowd": 0.93}
PLENTY = 10**9


# -------------------------------------------------------------------------------------------- one JSON line


def main(bar: str, run: Callable[[argparse.Namespace], dict[str, Any]], mutants: Sequence[str]) -> None:
    """Parse the options, run the bar, print its one line and exit: 0 if it passed."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a short version, as the tests run it")
    parser.add_argument("--mutant", choices=mutants, help="break the product on purpose: the bar must fail")
    parser.add_argument("--store", choices=("sqlite", "postgres"), help="one store instead of all that are there")
    parser.add_argument("--campaigns", type=int, help="how many, where the script's own number is not wanted")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        found = run(options)
    except Exception:
        found = {"failures": [traceback.format_exc()[-1500:]]}
    line = {"bar": bar, "pass": not found["failures"], "seed": options.seed, "mutant": options.mutant, **found,
            "seconds": round(time.monotonic() - began, 1)}  # fmt: skip
    line["failures"] = line["failures"][:5]
    print(json.dumps(line))
    sys.exit(0 if line["pass"] else 1)


# --------------------------------------------------------------------------------------------- the connector


class ServerError(PlatformError):
    """The platform said 5xx."""


class TooManyRequests(PlatformError):
    """The platform said 429, and when to come again."""

    retry_after = 0.0


class KeyConflict(PlatformError):
    """The platform said 409."""


class BodyTooLarge(PlatformError):
    """The platform sent more than any answer can be."""


class Client:
    """The connector to `paying_platform.py`: what it says becomes answers, and what it does wrong an error."""

    name = "paying"
    default_batch = 5

    def __init__(self, place: str, *, keyless: bool = False, find_delay: float = 0.0, batch: int = default_batch,
                 timeout: float = 5.0, key_memory: float | None = None) -> None:  # fmt: skip
        self.place, self.keyless, self.find_delay, self.batch = place, keyless, find_delay, batch
        self.timeout, self.key_memory = timeout, key_memory

    def call(self, **request: Any) -> Any:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(self.timeout)
            line.connect(self.place)
            line.sendall(json.dumps(request).encode() + b"\n")
            parts, size = [], 0
            while part := line.recv(1 << 16):
                parts.append(part)
                size += len(part)
                if size > LONGEST_REPLY:
                    raise BodyTooLarge(f"The reply is longer than {LONGEST_REPLY} bytes.")
        if not parts:
            raise ConnectionResetError("The line broke without a reply.")
        reply = json.loads(b"".join(parts))
        if reply["status"] == 429:
            error = TooManyRequests("The platform wants fewer requests.")
            error.retry_after = reply["retry_after"]
            raise error
        if reply["status"] == 409:
            raise KeyConflict(reply["error"])
        if reply["status"] != 200:
            raise ServerError(f"The platform said {reply['status']}.")
        return reply

    def post(self, asks: Sequence[Ask]) -> list[Receipt]:
        wire = [{"key": one.key, "item": one.item, "class": one.worker_class, "ordinal": one.ordinal,
                 "price": one.price} for one in asks]  # fmt: skip
        return self._receipts(self.call(op="post", asks=wire))

    def find(self, keys: Sequence[str]) -> list[Receipt]:
        return self._receipts(self.call(op="list", references=list(keys)))

    def poll(self, receipts: Sequence[Receipt]) -> list[Answer]:
        reply = self.call(op="poll", ids=[one.data["id"] for one in receipts])
        return [Answer(one["key"], one["label"], price=one["price"]) for one in reply["answers"]]

    def cancel(self, receipts: Sequence[Receipt]) -> None:
        """What was bought is paid for."""

    def _receipts(self, reply: Any) -> list[Receipt]:
        first: dict[str, str] = {}  # a key that was bought twice has one receipt; the judge will see the other
        for one in reply["receipts"]:
            first.setdefault(one["key"], one["id"])
        return [Receipt(key, self.name, {"id": id_}) for key, id_ in first.items()]


# ------------------------------------------------------------------------------------------------ servers


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Paying:
    """A paying platform, started and stopped."""

    def __init__(self, folder: Path, name: str, **options: Any) -> None:
        self.place, self.ledger = str(folder / f"{name}.sock"), folder / f"{name}.ledger"
        options.setdefault("accuracy", ACCURACY)
        self.process = subprocess.Popen(
            [sys.executable, "-S", str(HERE / "paying_platform.py"), self.place, str(self.ledger),
             "--options", json.dumps(options)], stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("the paying platform did not start")

    def control(self, **what: Any) -> Any:
        return Client(self.place).call(op="control", **what)

    def charges(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Paying:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def has_postgres() -> bool:
    """Whether there is a server to start, and a store that speaks to it."""
    with suppress(ImportError):
        import quorate.stores.postgres  # noqa: F401

        return bool(list(Path("/usr/lib/postgresql").glob("*/bin/initdb")))
    return False


@contextmanager
def postgres() -> Iterator[str]:
    """Debian's PostgreSQL on a socket in a folder of its own; the URL of an empty database."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    folder = Path(tempfile.mkdtemp(prefix="faults-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    subprocess.run([programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "-E", "UTF8"],
                   check=True, **_as_postgres())  # fmt: skip
    server = postgres_server(folder)
    try:
        url = f"postgresql://postgres@/postgres?host={folder}"
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def postgres_server(folder: Path) -> subprocess.Popen[bytes]:
    """A server over the data in this folder, ready to be spoken to."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    server = subprocess.Popen(
        [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=",
         "-c", "max_connections=100"], **_as_postgres(),
    )  # fmt: skip
    _wait_for(lambda: subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False).returncode == 0)
    return server


def _as_postgres() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    quiet: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return quiet | ({"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {})


def _wait_for(ready: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError("a server did not start")
        time.sleep(0.05)


@contextmanager
def stores(chosen: str | None, folder: Path) -> Iterator[dict[str, Callable[[str], str]]]:
    """Name → url of a store, for each kind that can be used here."""
    urls: dict[str, Callable[[str], str]] = {}
    if chosen in (None, "sqlite"):
        urls["sqlite"] = lambda name: f"sqlite:///{folder / name}.db"
    if chosen == "postgres" or (chosen is None and has_postgres()):
        with postgres() as url:
            urls["postgres"] = lambda name: url
            yield urls
    else:
        yield urls


# --------------------------------------------------------------------------------------------------- lives


def in_child(work: Callable[[], Any], say: Path) -> int:
    """Run something in a process of its own; what it raises is written to ``say``.  The pid."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        say.write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def ended(pid: int, seconds: float = 120.0) -> int:
    """How a child ended: 0, its exit code, or −signal.  One that does not end is killed: −SIGALRM."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -signal.SIGALRM
        time.sleep(0.002)


def from_child(work: Callable[[], Any], folder: Path) -> Any:
    """What a function returns, computed in a process of its own."""
    out, say = folder / "from-child.json", folder / "from-child.error"
    out.unlink(missing_ok=True)
    pid = in_child(lambda: out.write_text(json.dumps(work())), say)
    if ended(pid) != 0:
        raise RuntimeError(say.read_text() if say.exists() else "a child died")
    return json.loads(out.read_text())


@contextmanager
def hurry() -> Iterator[None]:
    """Pauses that suit a platform on the same machine."""
    before = desk_module.FIRST_PAUSE
    desk_module.FIRST_PAUSE = 0.01  # type: ignore[misc]
    try:
        yield
    finally:
        desk_module.FIRST_PAUSE = before  # type: ignore[misc]


def opened(url: str, name: str, items: int, **fields: Any) -> Campaign:
    """The campaign, made if it is not there yet; ``fields`` are of the spec."""
    try:
        return Campaign.open(url, name)
    except SpecError:
        fields = {"policy": "sym-imcw", "budget": PLENTY, "in_flight": 40, "seed": 7, "lease": 0.5, **fields}
        classes = [WorkerClass(**one) for one in fields.pop("classes", CLASSES)]
        return Campaign.create(url, name=name, items={f"i{j}": f"text {j}" for j in range(items)},
                               labels=["0", "1"], classes=classes, **fields)  # fmt: skip


def live(url: str, name: str, platform: Client, *, items: int, buyers: int = 4, digest: Path | None = None,
         **fields: Any) -> None:  # fmt: skip
    """One life: open or create the campaign, run it to its end, write its decision log's digest."""
    with hurry(), opened(url, name, items, **fields) as campaign:
        campaign.run({one.name: platform for one in campaign.spec.classes}, buyers=buyers)
        if digest is not None:
            digest.write_text(campaign.decisions().digest)


WRITES = ("claim", "keep", "record", "append")


def kill_at_write(n: int, after: bool) -> None:
    """This process dies at the n-th write to a ledger from now: just before it, or just after it was committed."""
    from quorate.stores.ledger import Ledger as OurLedger

    left = [n]

    def deadly(write: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = write(self, *args, **more)
            if left[0] == 0 and after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in WRITES:
        setattr(OurLedger, name, deadly(getattr(OurLedger, name)))


# --------------------------------------------------------------------------------------------------- judge


def judge(url: str, name: str, charges: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """What is wrong between two ledgers, row by row.  Run it where no other process has the store open."""
    with open_store(url) as store:
        return judge_ledger(store.open(name), charges, **more)


def judge_ledger(ledger: Ledger, charges: Sequence[Mapping[str, Any]], *, parked: bool = False) -> dict[str, Any]:
    """The failures found, and the figures: rows, money, conflicts.

    What is ``parked`` counts as spent though it may not have been charged; everything else must agree to the micro.
    """
    wrong: list[str] = []
    rows = list(ledger.facts())
    row = ledger.campaign()
    budget, reserved, spent, highest = row.money.budget, 0, 0, 0
    asks: dict[int, Mapping[str, Any]] = {}
    answers: dict[int, Mapping[str, Any]] = {}
    extra: Counter[int] = Counter()
    slots: Counter[tuple[int, int]] = Counter()
    caps = [fact.row for fact in rows if fact.table == "event" and fact.row["kind"] == "budget"]
    cap = json.loads(caps[0]["payload"])["from"] if caps else budget
    for fact in rows:
        if fact.table == "ask":
            asks[fact.seq] = fact.row
            slots[fact.row["item"], fact.row["ordinal"]] += 1
            reserved += fact.row["price"]
        elif fact.table == "answer":
            answers[fact.row["ask"]] = fact.row
            reserved -= asks[fact.row["ask"]]["price"]
            spent += fact.row["charged"]
        elif fact.table == "conflict":
            extra[fact.row["ask"]] += fact.row["charged"]
            spent += fact.row["charged"]
        elif fact.table == "event" and fact.row["kind"] == "budget":
            cap = json.loads(fact.row["payload"])["to"]
        highest = max(highest, spent + reserved - cap)
    if [fact.seq for fact in rows] != list(range(1, len(rows) + 1)):
        wrong.append("rows are missing")
    if highest > 0:
        wrong.append(f"{highest} micros above the budget")
    twice = [slot for slot, times in slots.items() if times > 1]
    if twice:
        wrong.append(f"asked twice: {twice[:3]}")
    open_ = [seq for seq in asks if seq not in answers]
    if open_ or reserved:
        wrong.append(f"{len(open_)} asks without an answer, {reserved} micros reserved")
    if (spent, reserved) != (row.money.spent, row.money.reserved):
        wrong.append(f"the rows say {spent} spent, {reserved} reserved; the head {row.money}")
    bought = Counter((one["item"], one["ordinal"]) for one in charges)
    double = [slot for slot, times in bought.items() if times > 1]
    if double:
        wrong.append(f"{len(double)} bought twice: {double[:3]}")
    paid = sum(one["charged"] for one in charges)
    recorded = sum(one["charged"] for one in answers.values()) + sum(extra.values())
    if parked:
        names = {row.index: row.id for row in ledger.items(range(row.items))}
        doubt = [one for one in answers.values() if FAILURES[one["failure"]] == "parked"]
        recorded -= sum(one["charged"] for one in doubt if not bought[names[one["item"]], one["ordinal"]])
    if paid != recorded:
        wrong.append(f"the platform charged {paid}, {recorded} are recorded")
    if paid > cap:
        wrong.append(f"the platform charged {paid} of a budget of {cap}")
    return {"wrong": wrong, "asks": len(asks), "answers": len(answers), "charges": len(charges), "paid": paid,
            "budget": budget, "failed": int(np.sum([one["failure"] > 0 for one in answers.values()]))}  # fmt: skip


def dice(seed: int) -> random.Random:
    """The harness's own dice."""
    return random.Random(seed)
