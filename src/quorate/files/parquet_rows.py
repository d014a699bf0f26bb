"""Parquet as rows, read by a child process; see `quorate.files.parquet_child` for why."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from quorate.errors import FileError, MissingExtra
from quorate.files import limits
from quorate.files.text_rows import Row, json_object


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "quorate.files.parquet_child", str(path.resolve())],
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
        )
        with child:
            assert child.stdout is not None
            try:
                row = 0
                while line := child.stdout.readline(4 * limits.ROW + 1):
                    row += 1
                    place = f"{path.name}, row {row}"
                    if len(line) > 4 * limits.ROW:
                        raise FileError(f"{place}: more than {limits.ROW:,} characters.", hint="Give links.")
                    if line.endswith(b"\n"):
                        yield place, json_object(line.decode(), place)
                child.wait()
            finally:
                child.kill()
        if child.returncode:
            errors.seek(0)
            raise _said(path, child.returncode, errors.read(10_000))


def _said(path: Path, code: int, words: bytes) -> FileError | MissingExtra:
    try:
        message, hint = json.loads(words)
    except (ValueError, TypeError):
        return FileError(
            f"{path.name}: the Parquet reader failed (exit code {code}).",
            hint="The file is damaged or needs more memory than is allowed; write it again, with smaller row groups.",
        )
    if code == MissingExtra.exit_code:
        return MissingExtra("Reading Parquet", "frames")
    return FileError(f"{path.name}: {message}", hint=hint)
