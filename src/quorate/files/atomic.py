"""Files that are complete under their final name, or not there at all: whatever happens while they are written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorate.errors import FileError


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a whole text."""
    with complete_or_absent(path, overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_lines(path: Path, lines: Iterable[str], *, overwrite: bool = False) -> int:
    """Write lines as they come; how many."""
    count = 0
    with complete_or_absent(path, overwrite=overwrite) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
    return count


@contextmanager
def complete_or_absent(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary file beside ``path`` that becomes it once it is complete and on disk."""
    if not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}.", hint="Make it first.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise FileError(f"{path} is not a plain file.", hint="Name another file.")
    if path.exists() and not overwrite:
        raise FileError(f"{path} exists already.", hint="Name another file, or say to overwrite it (--force).")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise FileError(
            f"{path} cannot be written: {error.strerror}.", hint="Check the folder's permissions."
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        _to_disk(temporary)
        os.replace(temporary, path)
        _to_disk(path.parent)
    except OSError as error:
        raise FileError(
            f"{path} could not be written: {error.strerror or error}.",
            hint="Nothing was left behind; make room and try again.",
        ) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
