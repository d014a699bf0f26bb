"""How large one thing may be before it is a mistake or an attack; a file as a whole may be as large as it likes."""

from __future__ import annotations

from typing import Final

FIELD: Final = 1 << 20  # characters of one value
ROW: Final = 8 << 20  # characters of one row, quoted line breaks included
COLUMNS: Final = 1000
DEPTH: Final = 32  # lists and objects within each other
ID: Final = 512  # characters of an item's id
PARQUET_MEMORY: Final = 4 << 30  # bytes of address space of the process that reads a Parquet file
PARQUET_SECONDS: Final = 3600  # of its processor time
