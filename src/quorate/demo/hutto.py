"""Film sentences and what people made of them, from the archive inside the vaderSentiment source distribution.

C.J. Hutto and E.E. Gilbert: VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text.
ICWSM-14, 2014.  The package is under the MIT licence.  Nothing of it is kept in this project: it is fetched from the
package index when the demonstration first runs, and stays in the user's cache.

The sentences are Pang and Lee's (2005) in their order: the critic was pleased with the first 5,151 and not with the
next 5,151; that, the critic's own verdict, is the gold.  15 to 29 people rated each from -4 to 4; 0 is an abstention.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from quorate.errors import FileError

PACKAGE: Final = "vaderSentiment==3.3.2"
INNER: Final = "hutto_ICWSM_2014.tar.gz"
FILMS: Final = "movieReviewSnippets"
PRODUCTS: Final = "amazonReviewSnippets"
PLEASED: Final = 5151  # sentences by critics who were pleased come first
JUDGED: Final = 10302  # the critic's verdict is known of these


class Sentence(NamedTuple):
    """One text with its ratings."""

    id: str
    text: str
    ratings: tuple[int, ...]


def sentences(kind: str) -> Iterator[Sentence]:
    """All sentences of a kind: `FILMS` or `PRODUCTS`."""
    ratings = {}
    for line in _file(f"{kind}_anonDataRatings.txt"):
        one, _, _, given = line.split("\t", 3)
        ratings[one] = tuple(int(r) for r in ast.literal_eval(given))
    for line in _file(f"{kind}_GroundTruth.txt"):
        one, _, text = line.split("\t", 2)
        yield Sentence(one, re.sub(r"\s+", " ", text.replace("''", '"')).strip(), ratings.get(one, ()))


def critic(one: Sentence) -> str | None:
    """What the critic who wrote a film sentence thought of the film; None where that is not known."""
    row = int(one.id)
    return None if row > JUDGED else "pleased" if row <= PLEASED else "displeased"


def _file(name: str) -> list[str]:
    with tarfile.open(archive()) as inner:
        member = inner.extractfile(f"hutto_ICWSM_2014/{name}")
        assert member is not None
        return member.read().decode("utf-8", "replace").splitlines()


@cache
def archive() -> Path:
    """The archive, fetched if it is not in the cache."""
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / INNER
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            _download(Path(folder))
            [outer] = Path(folder).glob("*.tar.gz")
            with tarfile.open(outer) as source:
                [name] = [one for one in source.getnames() if one.endswith(f"/{INNER}")]
                member = source.extractfile(name)
                assert member is not None
                partial = kept.with_suffix(".part")
                partial.write_bytes(member.read())
        partial.replace(kept)
    return kept


def _download(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", PACKAGE]
    done = subprocess.run([*command, "--dest", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise FileError(
            f"The texts of the demonstration could not be fetched from the package index: {last[:300]}",
            hint=f"Check the connection; or put {INNER}, from the source of {PACKAGE}, into the folder"
            " ~/.cache/quorate.",
        )
