"""Whatever rows come in — a file, a frame, a list, a mapping — as one stream of (place, row)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from quorate.errors import FileError
from quorate.files.parquet_rows import parquet_rows
from quorate.files.sidecar import restored, sidecar
from quorate.files.text_rows import Row, csv_rows, json_rows
from quorate.files.values import shown

FORMATS: Final = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


def rows_of(source: Any, *, encoding: str | None = None) -> Iterator[Row]:
    """Rows with their places, from a path, a frame (pandas, polars, Arrow), dicts, or a mapping id -> payload."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), encoding)
    if isinstance(source, Mapping):
        return _mapping(source)
    if hasattr(source, "iter_rows"):  # polars
        return _numbered(source.iter_rows(named=True))
    if hasattr(source, "to_batches"):  # Arrow
        return _numbered(row for batch in source.to_batches(1000) for row in batch.to_pylist())
    if hasattr(source, "columns") and hasattr(source, "itertuples"):  # pandas
        return _pandas(source)
    if isinstance(source, Iterable):
        return _numbered(source)
    raise FileError(
        f"Rows cannot be read from a {type(source).__name__}.",
        hint="Give the path of a CSV, JSONL or Parquet file, a data frame, a list of dicts, or a dict id -> payload.",
    )


def format_of(path: Path) -> str:
    """csv, jsonl or parquet, by the file's name."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in FORMATS:
        raise FileError(
            f"{path.name}: the format is not known by the name's end {shown(path.suffix)}.",
            hint=f"Name it {', '.join(FORMATS)} (the text formats also with .gz).",
        )
    return FORMATS[suffix.lower()]


def _file(path: Path, encoding: str | None) -> Iterator[Row]:
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder.", hint="Name the file in it.")
        kind = format_of(path)
        if not path.is_file():
            raise FileError(f"There is no file {path}.", hint="Check the path; it is relative to where you are.")
        path.open("rb").close()
    except OSError as error:
        raise FileError(f"{path} cannot be opened: {error.strerror}.", hint="Check its permissions.") from None
    except ValueError as error:  # a NUL in the name
        raise FileError(f"{shown(str(path))} is not a path: {error}.", hint="Check the path.") from None
    if kind == "parquet":
        return parquet_rows(path)
    if kind == "jsonl":
        return json_rows(path, encoding=encoding)
    meta = sidecar(path)
    rows = csv_rows(path, encoding=encoding)
    return rows if meta is None else ((place, restored(row, meta, place)) for place, row in rows)


def _mapping(source: Mapping[Any, Any]) -> Iterator[Row]:
    for key, payload in source.items():
        place = f"item {shown(key)}"
        row = dict(payload) if isinstance(payload, Mapping) else {"text": payload}
        if row.get("id", key) != key:
            raise FileError(f"{place}: its payload says id {shown(row['id'])}.", hint="Take one of the two away.")
        yield place, {"id": key, **row}


def _numbered(rows: Iterable[Any]) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise FileError(
                f"row {number}: {shown(row)} is not a mapping of columns.",
                hint='Rows look like {"id": "a", "text": "…"}.',
            )
        yield f"row {number}", dict(row)


def _pandas(frame: Any) -> Iterator[Row]:
    names = list(frame.columns)
    if len(set(names)) != len(names):
        raise FileError("The frame has two columns of one name.", hint="Rename one of them.")
    for number, values in enumerate(frame.itertuples(index=False, name=None), 1):
        yield f"row {number}", dict(zip(names, values, strict=True))
