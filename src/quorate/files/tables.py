"""Tables out: CSV, JSON Lines or Parquet, complete under their final name or not there at all."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from quorate.errors import FileError, MissingExtra
from quorate.files.atomic import complete_or_absent
from quorate.files.sidecar import KIND, defused, sidecar_path
from quorate.files.sources import format_of, rows_of
from quorate.files.values import NESTED, plain

_BATCH: Final = 10_000  # rows of Parquet at a time
Kind = Literal["text", "integer", "number", "boolean", "json"]


class Column(NamedTuple):
    """A column of an export and what its cells are; any cell may be None."""

    name: str
    kind: Kind


def write_table(
    path: str | Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], *, overwrite: bool = False
) -> int:
    """Write rows and return their number; the format follows the name: .csv, .jsonl or .parquet.

    ``read_table`` gives back exactly what was written, from any of the three.
    """
    path = Path(path)
    kind = format_of(path)
    if path.suffix == ".gz":
        raise FileError(f"{path.name}: exports are not compressed.", hint="Leave .gz out, or write .parquet.")
    with complete_or_absent(path, overwrite=overwrite) as temporary:
        write = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[kind]
        count = write(temporary, columns, (_clean(row, columns, number) for number, row in enumerate(rows, 1)))
        if kind == "csv":
            _write_sidecar(path, temporary, columns, count)
    return count


def read_table(path: str | Path) -> list[dict[str, Any]]:
    """The rows of an export."""
    return [row for _, row in rows_of(Path(path))]


def _write_csv(path: Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([defused(one.name) for one in columns])
        for row in rows:
            count += 1
            writer.writerow([_cell(row.get(one.name), one.kind) for one in columns])
    return count


def _clean(row: Mapping[str, Any], columns: Sequence[Column], number: int) -> dict[str, Any]:
    """The row's cells as plain values; nan is a missing value."""
    cells = {one.name: plain(row.get(one.name), f"row {number}, column {one.name}") for one in columns}
    for one in columns:
        if one.kind == "text" and cells[one.name] is not None:
            cells[one.name] = str(cells[one.name])
        elif one.kind == "number" and cells[one.name] is not None:
            cells[one.name] = float(cells[one.name])
    return cells


def _cell(value: Any, kind: Kind) -> Any:
    if value is None:
        return ""
    if kind == "text":
        return defused(value)
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "json":
        return defused(_json(value))
    return repr(value) if kind == "number" else value


def _write_sidecar(path: Path, data: Path, columns: Sequence[Column], rows: int) -> None:
    """Before the data gets its name: a CSV without its sidecar would be misread, the other way round is harmless."""
    with data.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    meta = {
        "kind": KIND,
        "rows": rows,
        "sha256": digest,
        "columns": {defused(one.name): one.kind for one in columns},
        "note": "Text cells that begin with an apostrophe had one put in front, so that no spreadsheet runs them "
        "as a formula; take one apostrophe away to get the text. An empty cell is a missing value.",
    }
    with complete_or_absent(sidecar_path(path), overwrite=True) as temporary:
        temporary.write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_jsonl(path: Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            count += 1
            file.write(_json({one.name: row.get(one.name) for one in columns}) + "\n")
    return count


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _write_parquet(path: Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> int:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingExtra("Writing Parquet", "frames") from None
    text = pa.string()
    types = {"text": text, "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "json": text}
    nested = {one.name for one in columns if one.kind == "json"}
    schema = pa.schema(
        [pa.field(one.name, types[one.kind], metadata=NESTED if one.name in nested else None) for one in columns]
    )
    count = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in _batched(rows):
            count += len(batch)
            cells = {
                name: [_json(row[name]) if name in nested and row[name] is not None else row[name] for row in batch]
                for name in schema.names
            }
            writer.write_table(pa.table(cells, schema=schema))
    return count


def _batched(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
