"""Inputs that R15 makes by hand: small monsters, monsters too large for memory, and damaged Parquet files."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

from _intake import SEEDS, mutated

Feed = Callable[[str, Callable[[], object]], bool]  # a name, what reads it -> whether it was taken


def monsters() -> Iterator[tuple[str, str, bytes]]:
    big = 9 << 20
    yield "one line of nine megabytes", "csv", b"id,text\na," + b"x" * big
    yield "a quote that never closes", "csv", b'id,text\na,"' + b"word\n" * (big // 5)
    yield "a row of many quoted lines", "csv", b'id,text\na,"' + b'","\n' * (big // 4)
    yield "a million columns", "csv", b",".join(b"c%d" % n for n in range(10**6)) + b"\n"
    yield "a thousand and one columns", "csv", b",".join(b"c%d" % n for n in range(1001)) + b"\n"
    yield "NUL", "csv", b"id,text\na,\x00\n"
    yield "only NULs", "csv", b"\x00" * 10**6
    yield "UTF-8 with its mark", "csv", b"\xef\xbb\xbfid,text\na,b\n"
    yield "UTF-16 with its mark", "csv", "id,text\na,é\n".encode("utf-16")
    yield "UTF-16 without a mark", "csv", "id,text\na,b\n".encode("utf-16-le")
    yield "UTF-16 that ends midway", "csv", "id,text\na,b\n".encode("utf-16")[:-1]
    yield "UTF-32", "csv", "id,text\na,b\n".encode("utf-32")
    yield "two marks", "csv", b"\xef\xbb\xbf\xef\xbb\xbfid,text\na,b\n"
    yield "Latin-1", "csv", "id,text\na,é\n".encode("latin-1")
    yield "nothing", "csv", b""
    yield "a header alone", "csv", b"id,text\n"
    yield "line ends alone", "csv", b"\n\r\n\r\n" * 10**5
    yield "old Macintosh line ends", "csv", b"id,text\ra,b\rc,d\r"
    yield "duplicate ids", "csv", b"id,text\n" + b"".join(b"%d,x\n" % (n % 50_000) for n in range(50_001))
    yield "duplicate columns", "csv", b"id,text,text\na,b,c\n"
    yield "a path as an id", "csv", b"id,text\n../../etc/passwd,x\n"
    yield "a formula as an id", "csv", b"id,text\n=1+1,x\n"
    yield "an id of a million characters", "csv", b"id,text\n" + b"a" * 10**6 + b",x\n"
    yield "an id that turns the writing round", "csv", "id,text\na\u202eb,x\n".encode()
    yield "a value too many", "csv", b"id,text\na,b,c\n"
    yield "depth 100,000", "jsonl", b'{"id": "a", "x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    yield "objects 100,000 deep", "jsonl", b'{"id": "a", "x": ' + b'{"y":' * 10**5
    yield "1e400", "jsonl", b'{"id": "a", "x": 1e400}'
    yield "NaN", "jsonl", b'{"id": "a", "x": NaN}'
    yield "a number of a million digits", "jsonl", b'{"id": "a", "x": ' + b"9" * 10**6 + b"}"
    yield "a million keys", "jsonl", json.dumps({str(n): 0 for n in range(10**6)}).encode()
    yield "a key twice", "jsonl", b'{"id": "a", "id": "b"}'
    yield "a lone surrogate", "jsonl", b'{"id": "\\ud800"}'
    yield "a list in place of rows", "jsonl", b'[{"id": "a"}]'
    yield (
        "a pickle",
        "csv",
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    )
    yield "a YAML object", "toml", b"!!python/object/apply:os.system ['true']"
    yield "nested TOML", "toml", b"a = " + b"[" * 50_000
    yield "a function that would end us", "toml", SEEDS["toml"].replace(b"math:floor", b"os:_exit")
    yield "gzip in disguise", "csv", gzip.compress(b"id,text\na,b\n")
    yield "an export a billion items long", "campaign", b'{"format": "quorate-campaign", "version": 1, "items": 1e9}'


def on_disk(q: SimpleNamespace, folder: Path, feed: Feed) -> Iterator[str]:
    """Monsters that are too large for memory, or not files at all; those that are taken."""
    disk = folder / "disk"
    disk.mkdir()
    with gzip.open(disk / "five.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"id,text\n")
        for n in range(5000):
            file.write(b"%d," % n + b"word " * 200_000 + b"\n")
    with gzip.open(disk / "line.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"id,text\na,")
        for _ in range(1000):
            file.write(b"x" * 10**6)
    (disk / "sparse.csv").open("wb").truncate(10 << 30)
    (disk / "link.csv").symlink_to("/etc/passwd")
    (disk / "loop.csv").symlink_to(disk / "loop.csv")
    (disk / "folder.csv").mkdir()
    os.mkfifo(disk / "pipe.csv")
    for name in ("five.csv.gz", "line.csv.gz", "sparse.csv", "link.csv", "loop.csv", "folder.csv", "pipe.csv"):
        began = time.process_time()
        if feed(name, lambda path=disk / name: q.files.open_items(path)):
            yield f"{name} in {time.process_time() - began:.0f} s"
    shutil.rmtree(disk)


def damaged_parquet(q: SimpleNamespace, folder: Path, number: int, seed: int, feed: Feed) -> dict[str, int]:
    """Mutated Parquet files, read as the product's own reading child does, many in one process.

    Refusals are errors of ours.  Anything else that a damaged file does to the child (an exception of the native
    library, a crash, memory) is the reason why there is a child; the file is then read again through the product,
    which must turn it into an error of ours.
    """
    counts = {"files": number, "taken": 0, "refused": 0, "contained": 0}
    made = folder / "disk"
    made.mkdir()
    at = 0
    while at < number:
        stop = min(number, at + 2000)
        command = [sys.executable, __file__, str(made), str(seed), str(at), str(stop)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        outcomes = done.stdout.split()
        counts["taken"] += outcomes.count("taken")
        counts["refused"] += outcomes.count("refused")
        at += len(outcomes)
        if at < stop:  # it ended with this file
            counts["contained"] += 1
            feed(f"Parquet number {at}", lambda: q.files.open_items(made / "a.parquet"))
            at += 1
    shutil.rmtree(made)
    return counts


def read_damaged(made: Path, seed: int, start: int, stop: int) -> None:
    """Read mutated files one after the other, and say what became of each, until one of them does something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from quorate.files import parquet_child as child

    path = made / "a.parquet"
    table = pa.table({"id": [str(n) for n in range(300)], "x": [[n] for n in range(300)], "t": ["é=1"] * 300})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    whole, tell = sink.getvalue(), os.dup(1)
    for n in range(start, stop):
        dice = random.Random(seed * 10**9 + n)
        content = bytearray(whole if n % 4 else mutated(whole, dice))
        for _ in range(dice.randint(1, 3)):  # half of them in the footer, which says what all the rest means
            content[-dice.randint(1, 900 if dice.random() < 0.5 else len(content))] = dice.randrange(256)
        path.write_bytes(content)
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            said = "refused" if child.main(str(path)) else "taken"
        os.write(tell, f"{said}\n".encode())


if __name__ == "__main__":
    read_damaged(Path(sys.argv[1]), *map(int, sys.argv[2:]))
