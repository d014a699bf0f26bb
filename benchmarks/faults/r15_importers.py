"""R15: whatever comes in, it is taken whole or refused with an error of ours that says what to do; nothing else.

What comes in: items as CSV and JSON Lines, answers, campaign files with their platforms, recorded sets, exports with
their sidecars, whole campaigns, and the replies of platforms.  Small seeds are mutated for a while, each kind for as
long; with --guided, atheris looks at which lines of Quorate an input reaches (pip install atheris).  Then come
hand-made monsters and damaged Parquet files.  One JSON line.

    python benchmarks/faults/r15_importers.py --seconds 60 [--seed 1] [--mutant leaky|half]
    python benchmarks/faults/r15_importers.py --guided --seconds 600 --kinds csv jsonl toml replies --parquet 100000
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _intake import PIECES, SEEDS, exported, importers, mutated, product
from _monsters import damaged_parquet, monsters, on_disk

LONGEST = 2.0  # seconds for one input of less than a megabyte
MEMORY = 512 << 20
STOP_AFTER = 5  # failures


@dataclass(slots=True)
class Judge:
    """Feeds inputs, and keeps what must not have happened."""

    feeds: dict[str, Callable[[bytes], None]]
    refusal: type[Exception]
    tried: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SEEDS, 0))
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SEEDS, 0))
    slowest: float = 0.0
    bad: list[dict[str, str]] = field(default_factory=list)

    def feed(self, kind: str, content: bytes, what: str = "mutated") -> bool:
        """Whether it was taken."""
        began = time.process_time()
        fine = self.watch(kind, lambda: self.feeds[kind](content), what, content[:400].hex())
        self.slowest = max(self.slowest, (time.process_time() - began) / max(len(content) / 1e6, 1))
        self.tried[kind] += 1
        self.taken[kind] += fine
        return fine

    def watch(self, kind: str, read: Callable[[], object], what: str, content: str = "") -> bool:
        """Whether a reader took what it read; anything but that or a refusal with a way out is kept."""
        wrong = ""
        try:
            read()
            return True
        except self.refusal as error:
            wrong = "" if error.message and error.hint else "no way out"  # type: ignore[attr-defined]
        except Exception as error:  # what must not happen
            wrong = repr(error)[:200]
        if wrong:
            self.bad.append({"what": what, "kind": kind, "error": wrong, "input": content})
        return False


def run(given: argparse.Namespace) -> dict[str, Any]:
    guided = {kind: guide(kind, given) for kind in given.kinds} if given.guided else {}
    dice = random.Random(given.seed)
    q = product()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        judge = Judge(importers(q, folder, given.mutant), q.errors.QuorateError)
        seeds = {**SEEDS, "campaign": exported(q)}
        for kind in () if given.guided else given.kinds:
            end = time.process_time() + given.seconds
            while time.process_time() < end and len(judge.bad) < STOP_AFTER:
                judge.feed(kind, mutated(seeds[kind], dice))
        for kind in given.kinds:
            if not judge.feed(kind, seeds[kind], "the seed"):
                judge.bad.append({"what": "the seed was refused", "kind": kind})
        held = [what for what, kind, content in monsters() if judge.feed(kind, content, what)]
        large = [] if given.quick else list(on_disk(q, folder, lambda name, read: judge.watch("disk", read, name)))
        parquet = damaged_parquet(
            q, folder, given.parquet, given.seed, lambda name, read: judge.watch("parquet", read, name)
        )
        known = {"a.csv", "a.jsonl", "answers.csv", "set", "export.csv", "export.csv.meta.json", "disk"}
        outside = sorted(one.name for one in folder.iterdir() if one.name not in known)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tried = {kind: one["tried"] for kind, one in guided.items()} or {k: judge.tried[k] for k in given.kinds}
    taken = {kind: one["taken"] for kind, one in guided.items()} or {k: judge.taken[k] for k in given.kinds}
    bad = judge.bad + [bad for one in guided.values() for bad in one["bad"]]
    slowest = max([judge.slowest, *(one["slowest"] for one in guided.values())])
    return {
        "bar": "R15", "pass": not bad and not outside and slowest < LONGEST and peak < MEMORY, "seed": given.seed,
        "mutant": given.mutant, "guided": given.guided, "cpu_seconds_each": given.seconds, "tried": tried,
        "taken": taken, "monsters": sum(1 for _ in monsters()) + len(large), "monsters_taken": held + large,
        "parquet": parquet, "slowest_s_per_MB": round(slowest, 3), "peak_MiB": peak >> 20, "bad": bad[:3],
    }  # fmt: skip


def guide(kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """A process in which atheris chooses the inputs of one kind."""
    options = ["--seed", str(given.seed), "--seconds", str(given.seconds), "--child", kind]
    mutant = ["--mutant", given.mutant] if given.mutant else []
    done = subprocess.run([sys.executable, __file__, *options, *mutant], stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def guided_child(given: argparse.Namespace) -> None:
    """Coverage-guided: as atheris never returns, the process ends when its time is up."""
    import atheris

    with atheris.instrument_imports(include=["quorate", "csv", "json", "tomllib"]):
        q = product()
    scratch = tempfile.TemporaryDirectory()
    folder, corpus = Path(scratch.name), Path(scratch.name) / "corpus"
    corpus.mkdir()
    kind: str = given.child
    seed = exported(q) if kind == "campaign" else SEEDS[kind]
    (corpus / "seed").write_bytes(seed)
    words = folder / "words"
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in one[:60]) + '"\n' for one in PIECES))
    judge = Judge(importers(q, folder, given.mutant), q.errors.QuorateError)
    end = time.process_time() + given.seconds

    def one(content: bytes) -> None:
        judge.feed(kind, content)
        if time.process_time() > end or len(judge.bad) >= STOP_AFTER:
            found = {
                "tried": judge.tried[kind],
                "taken": judge.taken[kind],
                "slowest": judge.slowest,
                "bad": judge.bad,
            }
            print(json.dumps(found), flush=True)
            scratch.cleanup()
            os._exit(0)

    longest = max(4096, 2 * len(seed))
    options = [f"-seed={given.seed}", f"-max_len={longest}", f"-dict={words}", "-verbosity=0", "-timeout=60"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60, help="processor time for each kind")
    options.add_argument("--kinds", nargs="+", choices=SEEDS, default=list(SEEDS))
    options.add_argument("--parquet", type=int, default=1000, help="damaged Parquet files")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--guided", action="store_true")
    options.add_argument("--mutant", choices=("leaky", "half"))
    options.add_argument("--child", choices=SEEDS, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        guided_child(given)
    if given.quick:
        given.seconds, given.parquet = 0.5, 50
    found = run(given)
    print(json.dumps(found))
    sys.exit(0 if found["pass"] else 1)


if __name__ == "__main__":
    main()
