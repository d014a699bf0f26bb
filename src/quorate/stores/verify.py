"""Reading everything again: rows against checksums, tables against digests, money against rows."""

from __future__ import annotations

import numpy as np

from quorate.errors import StoreDamaged
from quorate.stores.head import Look
from quorate.stores.tables import TABLES, checksums, digest_of

_HINT = "Nothing was changed.  Restore a backup, or import the last export."


def verify(look: Look) -> int:
    """The number of rows, all of them right; `StoreDamaged` names the table and row that is not."""
    head = look.head
    here = np.zeros(head.seq + 1, np.bool_)
    here[0] = True
    price = np.zeros(head.seq + 1, np.int64)
    spent = reserved = 0
    damaged = []
    for place, table in enumerate(TABLES.values()):
        digest = 0
        for rows in look.rows(table):
            seq = rows.ints["seq"]
            digest += digest_of(seq, checksums(table, head.uid, rows.ints, rows.text_hash))
            if len(seq) and (seq.min() < 1 or seq.max() > head.seq or here[seq].any()):
                raise StoreDamaged(f"Table {table.name!r} has a row that the ledger does not know.", hint=_HINT)
            here[seq] = True
            if table.name == "ask":
                price[seq] = rows.ints["price"]
                reserved += int(rows.ints["price"].sum())
            elif table.name == "answer":
                reserved -= int(price[rows.ints["ask"]].sum())
            if table.name in ("answer", "conflict"):
                spent += int(rows.ints["charged"].sum())
        if digest % 2**64 != head.digests[place]:
            damaged.append(table.name)
    gone = np.flatnonzero(~here)
    if damaged:
        row = f"row {int(gone[0])} is missing" if len(gone) else "its rows are not those that were written"
        raise StoreDamaged(f"Table {damaged[0]!r}: {row}.", hint=_HINT)
    if (spent, reserved) != (head.spent, head.reserved):
        raise StoreDamaged(
            f"The rows say that {spent} micros are spent and {reserved} reserved; table 'campaign', row"
            f" {head.name!r}, says {head.spent} and {head.reserved}.",
            hint=_HINT,
        )
    return head.seq
