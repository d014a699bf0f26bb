"""R17: no cell of an export runs in a spreadsheet, and an export that is killed is complete or absent.

500 hostile texts go through CSV and back.  Where LibreOffice is installed, it opens the file, too: no cell may be a
formula to it, and what it saves must say what was there.  Exports are killed with SIGKILL at moments spread over
their time, and the final name is looked at.  One JSON line.

    python benchmarks/faults/r17_exports.py [--seed 1] [--kills 100] [--mutant raw|direct]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from quorate.files import Column, read_table, tables, write_table
from quorate.files.sidecar import sidecar_path

HEADS = [
    "=",
    "+",
    "-",
    "@",
    "\t=",
    "\r=",
    "\n=",
    "\ufeff=",
    '"=',
    "'=",
    " =",
    "\u00a0@",
    "＝",
    "|",
    "%",
    "==",
    "=-",
    "+-@",
]
TAILS = [
    "1+1",
    "cmd|' /C calc'!A0",
    'HYPERLINK("http://x","y")',
    "SUM(A1:A9)",
    "",
    "A1",
    "\n2+2",
    ',"x"',
    "é",
    "DDE()",
]
COLUMNS = [Column("item", "text"), Column("cost", "number")]
ROWS = 20_000


def texts(dice: random.Random) -> list[str]:
    return [dice.choice(HEADS) + dice.choice(TAILS) + str(n) for n in range(500)]


def formulas(folder: Path, dice: random.Random) -> dict[str, Any]:
    """Which cells a spreadsheet would run, and whether the way back is exact."""
    given = [{"item": text, "cost": -0.5} for text in texts(dice)]
    path = folder / "hostile.csv"
    write_table(path, COLUMNS, given)
    with path.open(newline="", encoding="utf-8") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    live = [cell for cell in cells if cell.lstrip(' \ufeff"\u00a0')[:1] in set("=+-@\t\r\n＝＋－＠")]
    exact = read_table(path) == given
    return {"live_cells": len(live), "round_trip": exact, "office": office(path, folder)}


def office(path: Path, folder: Path) -> dict[str, object]:
    """What LibreOffice makes of the file, if it is here: cells that are formulas to it, and cells that it changed."""
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if program is None:
        return {"version": "not installed"}
    out = folder / "office"
    home = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    for ending in ("fods", "csv"):
        command = [program, home, "--headless", "--convert-to", ending, "--outdir", str(out), str(path)]
        subprocess.run(command, capture_output=True, timeout=300, check=True)
    version = subprocess.run([program, home, "--version"], capture_output=True, text=True, check=True).stdout
    changed = sum(a != b for a, b in zip(_first_cells(path), _first_cells(out / path.name), strict=True))
    formulas = out.joinpath(f"{path.stem}.fods").read_text("utf-8").count("table:formula=")
    return {"version": " ".join(version.split()[:2]), "formulas": formulas, "changed": changed}


def _first_cells(path: Path) -> list[str]:
    """The first column; LibreOffice writes every line end inside a cell as a line feed, which is no change."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row[0].replace("\r\n", "\n").replace("\r", "\n") for row in csv.reader(file)]


def export(path: Path, mutant: str | None) -> None:
    """What the child does until it is killed."""
    rows = ({"item": f"item-{n}", "cost": n / 4} for n in range(ROWS))
    if mutant == "direct":  # straight into the final name
        tables._write_csv(path, COLUMNS, rows)
    else:
        write_table(path, COLUMNS, rows, overwrite=True)


def kills(folder: Path, number: int, mutant: str | None) -> dict[str, object]:
    """Kill exports at different moments: how many left a torn file, and how many finished in time."""
    torn, whole, absent = 0, 0, 0
    began = time.perf_counter()
    export(folder / "whole.csv", None)
    full = time.perf_counter() - began
    for n in range(number):
        path = folder / f"{n}.csv"
        command = [sys.executable, __file__, "--child", str(path), *(["--mutant", mutant] if mutant else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(full * 1.2 * n / number)
            os.kill(child.pid, signal.SIGKILL)
        if not path.exists():
            absent += 1
        elif path.read_bytes() == (folder / "whole.csv").read_bytes() and sidecar_path(path).exists():
            whole += 1
        else:
            torn += 1
    return {"torn": torn, "whole": whole, "absent": absent}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--mutant", choices=("raw", "direct"))
    options.add_argument("--child", type=Path)
    given = options.parse_args()
    if given.child:
        print("go", flush=True)
        export(given.child, given.mutant)
        return
    if given.mutant == "raw":
        tables.defused = str
    with tempfile.TemporaryDirectory() as name:
        seen = formulas(Path(name), random.Random(given.seed))
        stopped = kills(Path(name), 6 if given.quick else given.kills, given.mutant)
    good = (
        seen["live_cells"] == 0
        and seen["round_trip"]
        and stopped["torn"] == 0
        and not seen["office"].get("formulas")
        and not seen["office"].get("changed")
    )
    print(
        json.dumps({"bar": "R17", "pass": bool(good), "seed": given.seed, "mutant": given.mutant, **seen, **stopped})
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
