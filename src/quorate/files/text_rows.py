"""CSV and JSON Lines as rows, streamed: however large the file, only a row at a time is in memory."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from quorate.errors import FileError
from quorate.files import limits
from quorate.files.values import column_name, shown

Row = tuple[str, dict[str, Any]]  # where it stands, and its values by column
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with the other's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS: Final = ",;\t|"
_ESCAPED: Final = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of a wrong byte


class Lines:
    """The lines of a text file, none longer than a row may be; counts them, and the length of the row under way."""

    def __init__(self, path: Path, encoding: str | None) -> None:
        self.path = path
        self.number = 0
        self.row = 0  # characters since the last row was complete
        self._raw: IO[bytes] = gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[assignment]
        try:
            head = self._raw.read(4)
            self._raw.seek(0)
        except (OSError, EOFError, zlib.error) as error:
            self._raw.close()
            raise FileError(f"{path.name} cannot be read: {error}.", hint="Is the file complete?") from None
        self._encoding = encoding or next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
        try:
            self._text = io.TextIOWrapper(self._raw, self._encoding, newline="")
        except (LookupError, ValueError):  # ValueError: a NUL in the name
            self._raw.close()
            raise FileError(
                f"{path.name}: {shown(self._encoding)} is no encoding of texts.",
                hint='Write one like encoding = "latin-1" or "cp1252"; left out, UTF-8 and UTF-16 are found out.',
            ) from None

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()

    def __iter__(self) -> Iterator[str]:
        while line := self._next():
            self.number += 1
            self.row += len(line)
            if self.row > limits.ROW:
                raise FileError(
                    f"{self.place}: a row of more than {limits.ROW:,} characters.",
                    hint="Is a closing quote or a line break missing?",
                )
            yield line

    @property
    def place(self) -> str:
        """Where we are, for people."""
        return f"{self.path.name}, line {self.number}"

    def _next(self) -> str:
        try:
            return self._text.readline(limits.ROW + 1)
        except UnicodeError as error:
            where, what = self._undecodable() or (f"after line {self.number}", str(error))
            raise FileError(
                f"{self.path.name}, {where}: the text is not {self._encoding} ({what}).",
                hint="Save the file as UTF-8, or say its encoding, in a campaign file under [items]:"
                ' encoding = "latin-1".',
            ) from None
        except (OSError, EOFError, zlib.error) as error:
            raise FileError(
                f"{self.path.name}, after line {self.number}: cannot be read: {error}.", hint="Is the file complete?"
            ) from None

    def _undecodable(self) -> tuple[str, str] | None:
        """The line and the byte at which the encoding fails; the reader, who decodes in blocks, knows the block."""
        again = gzip.GzipFile(self.path) if self.path.suffix == ".gz" else self.path.open("rb")
        try:
            with io.TextIOWrapper(again, self._encoding, errors="surrogateescape", newline="") as text:
                number = 0
                while line := text.readline(limits.ROW + 1):
                    number += 1
                    if bad := _ESCAPED.search(line):
                        behind = shown(line[: bad.start()][-20:])
                        return f"line {number}", f"the byte 0x{ord(bad[0]) - 0xDC00:02x} behind {behind}"
        except (UnicodeError, OSError, EOFError, zlib.error):  # UTF-16 and its kind have no bytes to point at
            pass
        return None


def csv_rows(path: Path, *, encoding: str | None = None) -> Iterator[Row]:
    """The rows of a CSV file with a header; comma, semicolon, tab or bar, whichever the header uses most."""
    csv.field_size_limit(max(csv.field_size_limit(), limits.FIELD))
    with Lines(path, encoding) as lines:
        source = iter(lines)
        first = next(source, "")
        delimiter = max(_DELIMITERS, key=first.count)
        reader = csv.reader(_with(first, source), delimiter=delimiter, strict=True)
        header: list[str] | None = None
        while True:
            try:
                values = next(reader, None)
            except csv.Error as error:
                raise FileError(f"{lines.place}: {error}.", hint="Is a closing quote missing?") from None
            if values is None:
                break
            lines.row = 0
            if not values:
                continue
            if header is None:
                header = _header(values, lines.place)
            elif len(values) != len(header):
                raise FileError(
                    f"{lines.place}: {len(values)} values, but the header has {len(header)} columns.",
                    hint=f"The row begins with {shown(values[0])}. Quote values that contain {delimiter!r}.",
                )
            else:
                yield lines.place, dict(zip(header, values, strict=True))
    if header is None:
        raise FileError(f"{path.name} is empty.", hint="It needs a header line with the names of the columns.")


def json_rows(path: Path, *, encoding: str | None = None) -> Iterator[Row]:
    """The objects of a JSON Lines file, one a line."""
    with Lines(path, encoding) as lines:
        for line in lines:
            lines.row = 0
            if line.strip():
                yield lines.place, json_object(line, lines.place)


def json_object(line: str, place: str) -> dict[str, Any]:
    """One line of JSON as an object; nan, infinity and a key said twice are errors."""
    try:
        value = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise FileError(f"{place}: more than {limits.DEPTH} levels deep.", hint="Flatten the value.") from None
    except ValueError as error:
        raise FileError(
            f"{place}: not JSON: {error}.", hint="Each line must be one JSON object, in double quotes."
        ) from None
    if not isinstance(value, dict):
        raise FileError(
            f"{place}: {shown(value)} is not an object.", hint='Each line must look like {"id": "a", "text": "..."}.'
        )
    return value


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _header(values: list[str], place: str) -> list[str]:
    if len(values) > limits.COLUMNS:
        raise FileError(f"{place}: {len(values):,} columns.", hint=f"At most {limits.COLUMNS} are taken.")
    names = [column_name(one, place) for one in values]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise FileError(f"{place}: two columns are called {shown(twice)}.", hint="Rename one of them.")
    return names


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {shown(next(one for one in names if names.count(one) > 1))} stands twice")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
