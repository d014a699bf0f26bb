"""A campaign that is killed again and again, beside the same one that is not, judged by the ledgers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _harness as h

LIST_DELAY, FIND_DELAY = 0.05, 0.25


@dataclass(frozen=True)
class Shape:
    """What a campaign buys, from which platform, with what money."""

    seed: int
    keys: bool = True
    budget: int = h.PLENTY
    items: int = 40
    policy: str = "sym-imcw"
    faults: float = 0.2
    batch: int = h.Client.default_batch
    platform: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """How a life is to end: at the n-th event of a kind (for the clock: after so many milliseconds)."""

    kind: str  # "write", "call", "clock", or the name of a system call
    n: int
    after: bool = False


Break = Callable[[h.Client], None]  # breaks the product, in the process that is about to run it


def whole(url: str, name: str, folder: Path, shape: Shape) -> dict[str, Any]:
    """The campaign without a single kill."""
    return torn(url, name, folder, shape, iter(()))


def torn(
    url: str, name: str, folder: Path, shape: Shape, ends: Iterator[End], *, break_it: Break | None = None,
    honoured: bool | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The campaign, one life after another as long as there are ends, then to its own end; and the judge's word."""
    digest, say = folder / f"{name}.digest", folder / f"{name}.error"
    died: Counter[str] = Counter()
    options = {"seed": shape.seed, "faults": shape.faults, "list_delay": 0.0 if shape.keys else LIST_DELAY,
               "keys": shape.keys if honoured is None else honoured, **shape.platform}  # fmt: skip
    wrong: list[str] = []
    lives = 0
    with h.Paying(folder, name, **options) as platform:

        def life(end: End | None, gate: int) -> None:
            client = h.Client(platform.place, keyless=not shape.keys, find_delay=0.0 if shape.keys else FIND_DELAY,
                              batch=shape.batch, timeout=2.0)  # fmt: skip
            if break_it is not None:
                break_it(client)
            if end is not None and end.kind == "write":
                h.kill_at_write(end.n, end.after)
            elif end is not None and end.kind not in ("call", "clock"):
                os.read(gate, 1)  # until strace has come
            h.live(url, name, client, items=shape.items, seed=shape.seed, budget=shape.budget, policy=shape.policy,
                   digest=digest)  # fmt: skip

        while True:
            end = next(ends, None)
            closed, opened = os.pipe()
            pid = h.in_child(lambda end=end, gate=closed: life(end, gate), say)  # type: ignore[misc]
            lives += 1
            code = _end(pid, end, platform, opened)
            os.close(closed)
            os.close(opened)
            if code == -signal.SIGKILL:
                died[end.kind if end else "?"] += 1
                continue
            if code != 0:
                wrong.append(say.read_text()[-600:] if code == 1 else f"life {lives} ended by {code}")
            break
        charges = platform.charges()
    if wrong and not digest.exists():
        return {"wrong": wrong, "digest": "", "died": died, "charges": len(charges), "lives": lives}
    found: dict[str, Any] = h.from_child(lambda: h.judge(url, name, charges), folder)
    return {**found, "wrong": wrong + found["wrong"], "died": died, "digest": digest.read_text(), "lives": lives}


def _end(pid: int, end: End | None, platform: h.Paying, gate: int) -> int:
    """Bring a life to its end; how it went."""
    if end is None:
        platform.control(kill=None)
    elif end.kind == "call":
        platform.control(kill={"pid": pid, "calls": end.n, "when": "after" if end.after else "before"})
    elif end.kind == "clock":
        time.sleep(end.n / 1000)
        os.kill(pid, signal.SIGKILL)
    elif end.kind != "write":
        return _end_by_strace(pid, end, gate)
    return h.ended(pid)


def _end_by_strace(pid: int, end: End, gate: int) -> int:
    """Let strace kill it as it enters its n-th system call of this kind.

    It waits at a gate, not stopped by a signal: strace, as it attaches, can lose the signal that makes it go on.
    """
    strace = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={end.kind}",
         "-e", f"inject={end.kind}:signal=SIGKILL:when={end.n}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    status = Path(f"/proc/{pid}/status")
    until = time.monotonic() + 10
    while "TracerPid:\t0\n" in status.read_text():
        if time.monotonic() > until or strace.poll() is not None:
            os.kill(pid, signal.SIGKILL)
            h.ended(pid)
            raise RuntimeError("strace could not be attached")
        time.sleep(0.005)
    os.write(gate, b"!")
    code = h.ended(pid)
    strace.wait()
    return code


def compared(
    url: Callable[[str], str], name: str, folder: Path, shape: Shape, ends: Iterator[End], **more: Any
) -> tuple[list[str], dict[str, Any]]:
    """What is wrong with a torn campaign, itself and beside the whole one; and its figures."""
    one = whole(url(f"{name}-whole"), f"{name}-whole", folder, shape)
    two = torn(url(name), name, folder, shape, ends, **more)
    wrong = [f"{name}, never killed: {w}" for w in one["wrong"]] + [f"{name}: {w}" for w in two["wrong"]]
    if one["digest"] != two["digest"]:
        figures = [
            "{asks} asks, {failed} failed".format_map(log) if "asks" in log else "no log" for log in (one, two)
        ]
        wrong.append(f"{name}: another decision log ({figures[1]}) than if it is never killed ({figures[0]})")
    return wrong, two
