"""Read a Parquet file in a process of its own, with bounded memory and time: its rows on stdout as JSON Lines.

Parquet is read by a large native library from files that strangers may have made.  If that goes wrong, it goes wrong
here, and the campaign's process reads an error message instead of going down with it.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from quorate.errors import FileError, MissingExtra, QuorateError
from quorate.files import limits
from quorate.files.values import NESTED, payload_of

BATCH: Final = 1000  # rows at a time
COMPLETE: Final = "Is the file complete?"


def main(path: str) -> int:
    """Write rows; a problem is one line of JSON on stderr and the exit code."""
    _bound()
    try:
        _write(path)
    except QuorateError as error:
        sys.stderr.write(json.dumps([error.message, error.hint]))
        return error.exit_code
    except MemoryError:
        sys.stderr.write(json.dumps(["needs more memory than is allowed.", "Write smaller row groups."]))
        return 1
    return 0


def _write(path: str) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("Reading Parquet", "frames") from None
    pa.set_cpu_count(1)
    try:
        file = ParquetFile(path)
        names = file.schema_arrow.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(f"not readable as Parquet: {_first_line(error)}", hint=COMPLETE) from None
    if len(names) > limits.COLUMNS or len(set(names)) != len(names):
        raise FileError(
            f"{len(names)} columns, {len(set(names))} different names.",
            hint=f"At most {limits.COLUMNS} columns, each with its own name.",
        )
    nested = [
        field.name for field in file.schema_arrow if field.metadata and NESTED.items() <= field.metadata.items()
    ]
    row = 0
    batches = file.iter_batches(batch_size=BATCH)
    while True:
        try:
            batch = next(batches, None)
            values = [] if batch is None else batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise FileError(f"after row {row}: {_first_line(error)}", hint=COMPLETE) from None
        if batch is None:
            return
        for one in values:
            row += 1
            one.update({name: json.loads(one[name]) for name in nested if one[name] is not None})
            sys.stdout.write(json.dumps(payload_of(one, f"row {row}"), ensure_ascii=False) + "\n")


def _bound() -> None:
    try:
        import resource
    except ImportError:  # not on Windows; the parent's check of every row still holds
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.PARQUET_MEMORY, limits.PARQUET_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.PARQUET_SECONDS, limits.PARQUET_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))  # an error message is all it writes


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1]))
