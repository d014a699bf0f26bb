"""EM beside crowd-kit's, and beside one pass over memory: same data, same tolerance, one process.

    pip install '.[bench]' && python benchmarks/peers.py [--items 10000 100000 1000000] [--skip-mmsr]

Five classes (the paper's matrices), one answer each, prior 1/2.  Every cell is the best processor time of several
runs, ours and the peers' interleaved; data are already in each library's own format.  Writes
benchmarks/results/peers.json and peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from quorate.core.estimators.dawid_skene import dawid_skene, full, one_coin, one_hot
from quorate.core.estimators.map_em import EM
from quorate.core.estimators.one_coin import OneCoin
from quorate.core.estimators.patterns import patterns, to_items
from quorate.studies.instances import BUILT_IN

SEED = 20261118
TOL = 1e-5
RESULTS = Path(__file__).parent / "results"


def world(items: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers (5, N) and true labels."""
    rng = np.random.default_rng([SEED, items])
    accuracy = BUILT_IN["p1-asym"].accuracy
    truth = (rng.random(items) < 0.5).astype(np.int8)
    right = rng.random((5, items)) < accuracy[:, truth]
    return np.where(right, truth, 1 - truth).astype(np.int8), truth


def memory_pass(answers: np.ndarray) -> int:
    """Read every answer once, as fast as numpy can: a sum over words."""
    return int(answers.reshape(-1).view(np.uint64).sum())


def ours(answers: np.ndarray, shape: Callable[..., Any], rounds: int | None = None) -> Any:
    """Matrices and prior."""
    found = patterns(answers)
    stop = {"tol": TOL} if rounds is None else {"tol": -np.inf, "max_iter": rounds}
    return found, dawid_skene(one_hot(found.answers, 2), 2, weight=found.weight.astype(float), shape=shape, **stop)


def ours_with_labels(answers: np.ndarray, shape: Callable[..., Any]) -> np.ndarray:
    """The same, and every item's label."""
    found, fit = ours(answers, shape)
    return to_items(answers, found, fit.posterior.argmax(axis=1).astype(np.int8))


def ours_with_probabilities(answers: np.ndarray, shape: Callable[..., Any]) -> np.ndarray:
    """The same, and every item's P(label 1)."""
    found, fit = ours(answers, shape)
    return to_items(answers, found, fit.posterior[:, 1])


def best(run: Callable[[], Any], seconds: float) -> float:
    """The shortest of as many runs as fit into the time; a run is repeated until the clock can tell."""
    start = time.process_time()
    run()
    repeat = max(1, int(2e-3 / max(time.process_time() - start, 1e-6)))
    times: list[float] = []
    while not times or (sum(times) * repeat < seconds and len(times) < 200):
        start = time.process_time()
        for _ in range(repeat):
            run()
        times.append((time.process_time() - start) / repeat)
    return min(times)


def compare(items: int, skip_mmsr: bool) -> dict[str, Any]:
    import pandas as pd
    from crowdkit.aggregation import MMSR, DawidSkene, OneCoinDawidSkene

    answers, truth = world(items)
    frame = pd.DataFrame(
        {"task": np.tile(np.arange(items), 5), "worker": np.repeat(np.arange(5), items), "label": answers.ravel()}
    )
    mine: dict[str, Callable[[], Any]] = {
        "one pass over memory": lambda: memory_pass(answers),
        "pattern histogram": lambda: patterns(answers),
        "Dawid-Skene": lambda: ours(answers, full),
        "Dawid-Skene + labels": lambda: ours_with_labels(answers, full),
        "Dawid-Skene + probabilities": lambda: ours_with_probabilities(answers, full),
        "one-coin Dawid-Skene": lambda: ours(answers, one_coin),
        "one-coin Dawid-Skene + labels": lambda: ours_with_labels(answers, one_coin),
        "one-coin moments": lambda: OneCoin().estimate(answers, rng=np.random.default_rng(1)),
        "MAP-EM + 400 posterior draws": lambda: EM().estimate(answers, rng=np.random.default_rng(1)),
    }
    peers = {
        "crowd-kit DawidSkene": DawidSkene(n_iter=100, tol=TOL),
        "crowd-kit OneCoinDawidSkene": OneCoinDawidSkene(n_iter=100, tol=TOL),
        "crowd-kit MMSR": MMSR(),
    }
    if skip_mmsr:
        del peers["crowd-kit MMSR"]
    for run in mine.values():
        run()  # warm
    seconds = dict.fromkeys((*mine, *peers), np.inf)
    labels = {}
    for _ in range(2):  # interleaved
        for name, run in mine.items():
            seconds[name] = min(seconds[name], best(run, 0.3))
        for name, peer in peers.items():
            if name != "crowd-kit MMSR" or seconds[name] == np.inf:
                start = time.process_time()
                labels[name] = peer.fit_predict(frame)
                seconds[name] = min(seconds[name], time.process_time() - start)
    return {
        "items": items,
        "seconds": seconds,
        "same": [
            same_answers(answers, truth, peers[name], labels[name], shape)
            for name, shape in (("crowd-kit DawidSkene", full), ("crowd-kit OneCoinDawidSkene", one_coin))
        ],
        "ratios": ratios(seconds),
    }


def same_answers(
    answers: np.ndarray, truth: np.ndarray, peer: Any, labels: Any, shape: Callable[..., Any]
) -> dict[str, Any]:
    """Rounds, matrices and labels of both."""
    theirs = peer.errors_.sort_index().sort_index(axis=1).to_numpy().reshape(5, 2, 2)
    _, same_rounds = ours(answers, shape, rounds=len(peer.loss_history_))
    _, free = ours(answers, shape)
    own = ours_with_labels(answers, shape)
    return {
        "peer": type(peer).__name__,
        "rounds": len(peer.loss_history_),
        "our_rounds": free.iterations,
        "largest_difference_after_the_same_rounds": float(np.abs(theirs - same_rounds.confusion).max()),
        "largest_difference": float(np.abs(theirs - free.confusion).max()),
        "labels_that_differ": int((labels.sort_index().to_numpy() != own).sum()),
        "label_accuracy": float((own == truth).mean()),
    }


def ratios(seconds: dict[str, float]) -> dict[str, float]:
    found = {
        "crowd-kit DawidSkene / ours": seconds["crowd-kit DawidSkene"] / seconds["Dawid-Skene"],
        "crowd-kit DawidSkene / ours + labels": seconds["crowd-kit DawidSkene"] / seconds["Dawid-Skene + labels"],
        "crowd-kit OneCoinDawidSkene / ours + labels": seconds["crowd-kit OneCoinDawidSkene"]
        / seconds["one-coin Dawid-Skene + labels"],
        "ours / one pass over memory": seconds["Dawid-Skene"] / seconds["one pass over memory"],
        "ours + labels / one pass over memory": seconds["Dawid-Skene + labels"] / seconds["one pass over memory"],
    }
    if "crowd-kit MMSR" in seconds:
        found["crowd-kit MMSR / our one-coin + labels"] = (
            seconds["crowd-kit MMSR"] / seconds["one-coin Dawid-Skene + labels"]
        )
    return found


def table(record: dict[str, Any]) -> str:
    cells = record["cells"]
    head = ["", *(f"N = {cell['items']:,}" for cell in cells)]
    rows = [[name, *(f"{1e3 * cell['seconds'][name]:.3g} ms" for cell in cells)] for name in cells[0]["seconds"]]
    rows += [[f"**{name}**", *(f"{cell['ratios'][name]:,.1f}" for cell in cells)] for name in cells[0]["ratios"]]
    for at, peer in enumerate(("DawidSkene", "OneCoinDawidSkene")):
        same = [cell["same"][at] for cell in cells]
        rows.append([f"{peer}: rounds, theirs / ours", *(f"{one['rounds']} / {one['our_rounds']}" for one in same)])
        rows.append(
            [
                f"{peer}: largest difference of matrices after the same rounds",
                *(f"{one['largest_difference_after_the_same_rounds']:.1g}" for one in same),
            ]
        )
        rows.append([f"{peer}: labels that differ", *(str(one["labels_that_differ"]) for one in same)])
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return f"Five classes, one answer each, tolerance {TOL:g}; {record['machine']}.\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--skip-mmsr", action="store_true")
    options = parser.parse_args()
    record = {
        "seed": SEED,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("numpy", "crowd-kit", "pandas")},
        "cells": [compare(items, options.skip_mmsr) for items in options.items],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps(record, indent=2) + "\n")
    (RESULTS / "peers.md").write_text(table(record))
    print(table(record))


if __name__ == "__main__":
    main()
