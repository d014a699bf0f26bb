"""The demonstration itself: plan, buy, be killed, resume, hand over, and face the gold."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quorate.campaign.engine import Campaign
from quorate.certificate import WRITERS, Certificate, certify
from quorate.demo.stage import LABELS, PEOPLE, read_gold, set_up
from quorate.errors import FileError, QuorateError
from quorate.files.atomic import write_text
from quorate.interfaces.exports import LABELS as COLUMNS
from quorate.interfaces.exports import PAYLOAD, label_rows
from quorate.interfaces.places import items_of, platforms_of
from quorate.platforms.recorded import NOT_RECORDED, Queue, read_recorded
from quorate.registry import lookup
from quorate.spec import read_campaign

ITEMS: Final = 3000
BUDGET: Final = "400"
SAFETY: Final = 0.3
KILLED_AFTER: Final = 0.4  # of what the campaign will have bought, roughly
SLICE: Final = 0.02  # seconds that the run may go on before we look again
VOTES: Final = (1, 3, 5)
PRICE: Final = 0.05  # of one person's answer
SOURCE: Final = "the critics' own verdicts"
MARK: Final = "_demo"  # a file that says that a folder is ours to replace


@dataclass(frozen=True, slots=True)
class Habit:
    """k people's votes for every item."""

    name: str
    cost: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Told:
    """What the demonstration showed."""

    folder: Path
    certificate: Certificate
    habits: tuple[Habit, ...]
    killed_at: int  # answers in the ledger when the process was killed
    same: bool  # the decision log is that of a run which nobody killed
    seconds: float


def tell(folder: Path, say: Callable[[str, str], None], *, items: int = ITEMS) -> Told:
    """Run it all in ``folder``; ``say(heading, words)`` tells the user what is going on."""
    began = time.monotonic()
    _prepare(folder)
    say("1  The job", f"Fetching {items:,} sentences from film reviews, with real people's ratings of each …")
    set_up(folder, items=items, budget=BUDGET, safety=SAFETY)
    file = folder / "campaign.toml"
    say("", f"{items:,} sentences in {folder / 'items.jsonl'}; the question: was the critic pleased?")
    say("", "Who may be asked: people at 0.05, a product-review classifier at 0.001, a word list at 0.0001.")
    say("", f"The promise asked for: 0.95, on each true label. All of it is in {file}.")

    say("2  Buying answers", f"$ quorate run {file}")
    killed_at = _run_and_kill(file, items)
    say("", f"Killed (SIGKILL) with {killed_at:,} answers in the ledger. Nobody was asked to tidy up.")

    say("3  Going on", f"$ quorate run {file}")
    for line in _run(file):
        say("", line)

    say("4  What came out", "")
    with Campaign.open(f"sqlite:///{folder / 'films.db'}", read_only=True) as campaign:
        found = certify(campaign, check=read_gold(folder), check_source=SOURCE)
        _hand_over(campaign, found, folder)
        digest = campaign.decisions().digest
    for name in ("labels.parquet", "certificate.html", "certificate.md"):
        say("", f"wrote {folder / name}")
    same = _never_killed(file).decisions().digest == digest
    habits = tuple(_habit(folder, k) for k in VOTES)
    return Told(folder, found, habits, killed_at, same, time.monotonic() - began)


def _prepare(folder: Path) -> None:
    """An empty folder; what an earlier demonstration left is replaced, anything else is not touched."""
    if folder.exists():
        if any(folder.iterdir()) and not (folder / MARK).is_file():
            raise FileError(f"{folder} is not empty.", hint="Name a new folder: --out demo")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARK).write_text("Made by `quorate demo`, which replaces this folder.\n")


def _command(file: Path) -> list[str]:
    return [sys.executable, "-c", "from quorate.interfaces.cli import main; main()", "run", str(file), "--json"]


def _run_and_kill(file: Path, items: int) -> int:
    """Start a run in a process of its own and kill it, unwarned, when it has bought enough; how much that was."""
    enough = int(KILLED_AFTER * 1.8 * items)
    child = subprocess.Popen(_command(file), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while child.poll() is None:
            child.send_signal(signal.SIGSTOP)  # so that it cannot finish while we count
            if _answers(file) >= enough:
                break
            child.send_signal(signal.SIGCONT)
            time.sleep(SLICE)
    finally:
        child.send_signal(signal.SIGKILL) if child.poll() is None else None
        words = child.communicate()[1]
    if child.returncode > 0:
        raise FileError(f"The run failed: {words.strip()[-500:]}", hint=f"Try it by hand: quorate run {file}")
    return _answers(file)


def _answers(file: Path) -> int:
    """How many answers the ledger holds, seen from outside."""
    place = read_campaign(file)
    try:
        with lookup("stores", "sqlite")(place.store, read_only=True) as store:
            return len(store.open(place.spec.name).changes().answers)
    except QuorateError:  # not there yet
        return 0


def _run(file: Path) -> list[str]:
    """Run to the end in a process of its own; its words."""
    command = [one for one in _command(file) if one != "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FileError(f"The run failed: {done.stderr.strip()[-500:]}", hint=f"Try it by hand: quorate run {file}")
    return [line for line in done.stdout.strip().splitlines() if not line.startswith("Done.")]


def _hand_over(campaign: Campaign, found: Certificate, folder: Path) -> None:
    from quorate.files import write_table

    write_table(folder / "labels.parquet", (*COLUMNS, PAYLOAD), label_rows(campaign, payload=True))
    for ending in (".html", ".md", ".json"):
        write_text(folder / f"certificate{ending}", WRITERS[ending](found))


def _never_killed(file: Path) -> Campaign:
    """The same campaign in memory, in one go."""
    place = read_campaign(file)
    campaign = Campaign.start(place.spec, "memory:", items=items_of(place), gold=place.gold)
    campaign.run(platforms_of(place))
    return campaign


def _habit(folder: Path, k: int) -> Habit:
    """The majority of the first ``k`` people's votes on each item, beside the gold."""
    recorded = read_recorded(folder / "ratings")
    gold: Mapping[str, str] = read_gold(folder)
    queue = Queue.of(recorded, 1)
    people = recorded.classes.index(PEOPLE)
    right = bought = 0
    for row, item in enumerate(recorded.items):
        rows: Any = queue.rows([row] * k, people, list(range(k)))
        votes = [recorded.labels[recorded.label[at]] for at in rows if at != NOT_RECORDED]
        bought += len(votes)
        right += max(LABELS, key=votes.count) == gold[item]
    return Habit(f"{k} vote{'s' * (k > 1)} each", bought * PRICE, right / len(recorded.items))
