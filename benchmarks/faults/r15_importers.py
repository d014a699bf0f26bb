"""R15: whatever a file holds, an importer loads it whole or raises an error of ours; never anything else.

Mutates small seed files for a while (coverage-guided with atheris where it is installed and --atheris is given), then
feeds hand-made monsters.  Prints one JSON line; exits non-zero on failure.

    python benchmarks/faults/r15_importers.py --seconds 60 [--seed 1] [--atheris] [--mutant leaky|half]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from quorate.errors import QuorateError
from quorate.files import open_items, read_answers
from quorate.spec.file import parse_campaign

LONGEST = 2.0  # seconds for one input of less than a megabyte
MEMORY = 512 << 20
SEEDS = {
    "csv": b'id,text,n\na,"x, ""y""\nz",1\nb;2,,3\n\xef\xbb\xbfc,\xc3\xa9,4\n',
    "jsonl": b'{"id": "a", "x": [1, {"y": null}], "t": "\\u00e9"}\n{"id": 2, "x": 1e5}\n',
    "answers": b"item,class,label,worker,price\n1,crowd,yes,w,0.05\n2,crowd,no,,\n",
    "toml": b'name = "a"\nlabels = ["no", "yes"]\nbudget = "9 USD"\n[[class]]\nname = "c"\nprice = "0.05"\n'
    b'[class.platform]\nkind = "simulator"\naccuracy = [0.9, 0.8]\n[items]\nfile = "i.csv"\n[limits]\nitem_cap = 9\n',
}
PIECES = [
    b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff", b"{", b"}",
    b"[", b"]", b":", b"=", b"#", b"NaN", b"1e999", b"-0", b"\\ud800", b"\\u0000", b"null", b"true", b"9" * 5000,
    b"[" * 2000, b'"id"', b"\xf0\x9f\x98\x80", b"\\", b"../", b"!!python/object", b"=1+1",
]  # fmt: skip


class Half(Exception):
    """Some of a file was handed out, and then an error came."""


def importers(folder: Path, mutant: str | None) -> dict[str, Callable[[bytes], None]]:
    def items(name: str) -> Callable[[bytes], None]:
        path = folder / name

        def feed(content: bytes) -> None:
            path.write_bytes(content)
            source = open_items(path)
            if mutant == "leaky" and len(content) % 7 == 0:
                raise KeyError("a mutant lets it through")
            got = [one.id for one in source]
            if mutant == "half" and len(got) > 1:
                got.pop()
            if len(got) != len(source) or len(set(got)) != len(got):
                raise Half(name)

        return feed

    def answers(content: bytes) -> None:
        path = folder / "answers.csv"
        path.write_bytes(content)
        read_answers(path)

    def toml(content: bytes) -> None:
        parse_campaign(content.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode())

    return {"csv": items("a.csv"), "jsonl": items("a.jsonl"), "answers": answers, "toml": toml}


def mutated(seed: bytes, dice: random.Random) -> bytes:
    content = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(content) + 1)
        what = dice.randrange(5)
        if what == 0:
            content[at:at] = dice.choice(PIECES)
        elif what == 1:
            del content[at : at + dice.randint(1, 9)]
        elif what == 2 and content:
            content[min(at, len(content) - 1)] = dice.randrange(256)
        elif what == 3:
            content[at:at] = content[dice.randrange(len(content) + 1) :][: dice.randint(1, 30)]
        else:
            content[at:at] = dice.randbytes(dice.randint(1, 8))
    return bytes(content)


def monsters() -> Iterator[tuple[str, str, bytes]]:
    big = 9 << 20
    yield "one line of nine megabytes", "csv", b"id,text\na," + b"x" * big
    yield "a quote that never closes", "csv", b'id,text\na,"' + b"word\n" * (big // 5)
    yield "a row of many quoted lines", "csv", b'id,text\na,"' + b'","\n' * (big // 4)
    yield "a million columns", "csv", b",".join(b"c%d" % n for n in range(10**6)) + b"\n"
    yield "NUL", "csv", b"id,text\na,\x00\n"
    yield "UTF-16 without a mark", "csv", "id,text\na,b\n".encode("utf-16-le")
    yield "UTF-32", "csv", "id,text\na,b\n".encode("utf-32")
    yield "duplicate ids", "csv", b"id,text\n" + b"".join(b"%d,x\n" % (n % 50_000) for n in range(50_001))
    yield "a path as an id", "csv", b"id,text\n../../etc/passwd,x\n"
    yield "depth 100,000", "jsonl", b'{"id": "a", "x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    yield "objects 100,000 deep", "jsonl", b'{"id": "a", "x": ' + b'{"y":' * 10**5
    yield "1e400", "jsonl", b'{"id": "a", "x": 1e400}'
    yield "NaN", "jsonl", b'{"id": "a", "x": NaN}'
    yield "a number of a million digits", "jsonl", b'{"id": "a", "x": ' + b"9" * 10**6 + b"}"
    yield "a million keys", "jsonl", json.dumps({str(n): 0 for n in range(10**6)}).encode()
    yield "a lone surrogate", "jsonl", b'{"id": "\\ud800"}'
    yield (
        "a pickle",
        "csv",
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    )
    yield "a YAML object", "toml", b"!!python/object/apply:os.system ['true']"
    yield "nested TOML", "toml", b"a = " + b"[" * 50_000
    yield "gzip in disguise", "csv", gzip.compress(b"id,text\na,b\n")


def run(given: argparse.Namespace) -> dict[str, object]:
    dice = random.Random(given.seed)
    tried, loaded, slowest, bad = dict.fromkeys(SEEDS, 0), 0, 0.0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feeds = importers(folder, given.mutant)

        def feed(kind: str, content: bytes, what: str) -> bool:
            nonlocal slowest
            began = time.process_time()
            try:
                feeds[kind](content)
                fine = True
            except QuorateError as error:
                fine = False
                if not error.message or not error.hint:
                    bad.append({"what": what, "kind": kind, "error": "no way out", "input": content[:80].hex()})
            except Exception as error:  # what must not happen
                fine = False
                bad.append({"what": what, "kind": kind, "error": repr(error)[:200], "input": content[:200].hex()})
            slowest = max(slowest, (time.process_time() - began) / max(len(content) / 1e6, 1))
            tried[kind] += 1
            return fine

        if given.atheris:
            return guided(feeds, given)
        end = time.process_time() + given.seconds
        kinds = list(SEEDS)
        while time.process_time() < end and len(bad) < 5:
            kind = dice.choice(kinds)
            loaded += feed(kind, mutated(SEEDS[kind], dice), "mutated")
        held = [what for what, kind, content in monsters() if feed(kind, content, what)]
        outside = sorted(one.name for one in folder.iterdir() if one.name not in ("a.csv", "a.jsonl", "answers.csv"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "bar": "R15", "pass": not bad and not outside and slowest < LONGEST and peak < MEMORY, "seed": given.seed,
        "mutant": given.mutant, "tried": tried, "loaded": loaded, "monsters": sum(1 for _ in monsters()),
        "monsters_loaded": held, "slowest_s_per_MB": round(slowest, 3), "peak_MiB": peak >> 20, "bad": bad[:3],
    }  # fmt: skip


def guided(feeds: dict[str, Callable[[bytes], None]], given: argparse.Namespace) -> dict[str, object]:
    """Coverage-guided: atheris ends the process itself, and prints what it found."""
    import atheris

    kinds = list(feeds)

    def one(content: bytes) -> None:
        if content:
            try:
                feeds[kinds[content[0] % len(kinds)]](content[1:])
            except QuorateError:
                return

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-max_total_time={given.seconds}", f"-seed={given.seed}", "-max_len=4096"], one)
    atheris.Fuzz()
    return {"bar": "R15", "pass": True, "atheris": True}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--atheris", action="store_true")
    options.add_argument("--mutant", choices=("leaky", "half"))
    given = options.parse_args()
    if given.quick:
        given.seconds = 3
    found = run(given)
    print(json.dumps(found))
    sys.exit(0 if found["pass"] else 1)


if __name__ == "__main__":
    main()
