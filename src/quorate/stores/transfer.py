"""A whole campaign as JSON Lines, and back: a header, every fact in the order of seq, and nothing else.

The checksums are functions of the facts and the campaign's uid, so an import that ends at the header's digest holds
exactly what was exported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from quorate.errors import FileError
from quorate.facts import State
from quorate.ports_store import Ledger
from quorate.stores.founding import new_head
from quorate.stores.head import Desk, Head
from quorate.stores.tables import TABLES, Rows, checksums, digest_of, rows_of

FORMAT: Final = "quorate-campaign"
_CHUNK: Final = 20_000
_NUMBERS: Final = ("spec_version", "epoch", "budget", "spent", "reserved", "items", "facts", "digest")
_HINT: Final = "Export it again; nothing was imported."


def export_campaign(ledger: Ledger) -> Iterator[str]:
    """The lines of a campaign, without their line ends."""
    row = ledger.campaign()
    yield _line(
        {
            "format": FORMAT,
            "version": 1,
            "name": row.name,
            "uid": row.uid,
            "spec_version": row.spec_version,
            "epoch": row.epoch,
            "state": row.state,
            "budget": row.money.budget,
            "spent": row.money.spent,
            "reserved": row.money.reserved,
            "items": row.items,
            "facts": row.head,
            "digest": row.digest,
        }
    )
    for fact in ledger.facts():
        if fact.seq > row.head:
            return
        yield _line({"table": fact.table, **fact.row})


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the campaign's row as it was."""

    values: Mapping[str, Any]

    def head(self, name: str | None, others: Iterable[Head]) -> Head:
        """A row to import into, with nothing in it yet."""
        value = self.values
        head = new_head(name or value["name"], value["uid"], value["budget"], others, epoch=value["epoch"])
        head.spec_version, head.state = value["spec_version"], value["state"]
        return head

    def enter(self, desk: Desk, chunks: Iterable[Rows]) -> None:
        """Insert the facts; refuse unless they add up to what the header says."""
        head = desk.head
        order = list(TABLES)
        count = 0
        versions = [0]
        price: dict[int, int] = {}  # of asks without an answer
        for rows in chunks:
            hashes = rows.text_hash
            sums = checksums(rows.table, head.uid, rows.ints, hashes)
            desk.insert(rows, hashes, sums)
            place = order.index(rows.table.name)
            head.digests[place] = (head.digests[place] + digest_of(rows.ints["seq"], sums)) % 2**64
            count += len(rows)
            head.seq = max(head.seq, int(rows.ints["seq"].max()))
            if rows.table.name == "item":
                head.items += len(rows)
            elif rows.table.name == "ask":
                price.update(zip(rows.ints["seq"].tolist(), rows.ints["price"].tolist(), strict=True))
            elif rows.table.name == "answer":
                for ask in rows.ints["ask"].tolist():
                    price.pop(ask, None)
            elif rows.table.name == "event":
                versions += [row["number"] for row in rows.dicts() if row["kind"] == "spec"]
            if rows.table.name in ("answer", "conflict"):
                head.spent += int(rows.ints["charged"].sum())
        head.reserved = sum(price.values())
        money = {"items": head.items, "spent": head.spent, "reserved": head.reserved}
        found = {"facts": count, "digest": head.digest, "spec_version": max(versions), **money}
        for name, value in found.items():
            if value != self.values[name]:
                raise FileError(f"Line 1 says {name} {self.values[name]}; the file holds {value}.", hint=_HINT)
        if head.seq != count:
            raise FileError(f"The file holds {count} facts, numbered up to {head.seq}: some are missing.", hint=_HINT)


def read_lines(lines: Iterable[str]) -> tuple[Header, Iterator[Rows]]:
    """The header, and the facts in chunks of rows of one table, parents before children."""
    numbered = enumerate(lines, start=1)
    values = _parse(*next(numbered, (1, "")))
    if values.get("format") != FORMAT or values.get("version") != 1:
        raise FileError(
            f"Line 1 is not the header of a campaign's export (format {FORMAT!r}, version 1).", hint=_HINT
        )
    for name in _NUMBERS:
        if type(values.get(name)) is not int or not 0 <= values[name] < (2**64 if name == "digest" else 2**62):
            raise FileError(f"Line 1: {name} cannot be {str(values.get(name))[:40]!r}.", hint=_HINT)
    for name in ("name", "uid"):
        if not isinstance(values.get(name), str):
            raise FileError(f"Line 1: {name} cannot be {str(values.get(name))[:40]!r}.", hint=_HINT)
    if values.get("state") not in get_args(State):
        raise FileError(f"Line 1: state cannot be {str(values.get('state'))[:40]!r}.", hint=_HINT)
    return Header(values), _chunks(numbered)


def _chunks(numbered: Iterable[tuple[int, str]]) -> Iterator[Rows]:
    waiting: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    held = 0

    def flush() -> Iterator[Rows]:
        for name, dicts in waiting.items():
            if dicts:
                yield rows_of(TABLES[name], dicts)
                dicts.clear()

    for number, line in numbered:
        row = _parse(number, line)
        table = TABLES.get(str(row.get("table")))
        if table is None or not {"seq", *table.ints, *table.texts} <= row.keys():
            raise FileError(f"Line {number} is not a fact of a campaign: {line[:60]!r}.", hint=_HINT)
        wrong = [
            name for name in ("seq", *table.ints) if type(row[name]) is not int or not -(2**63) <= row[name] < 2**63
        ]
        wrong += [name for name in table.texts if not isinstance(row[name], str | None)]
        if wrong:
            raise FileError(f"Line {number}: {wrong[0]} cannot be {str(row[wrong[0]])[:40]!r}.", hint=_HINT)
        waiting[table.name].append(row)
        held += 1
        if held == _CHUNK:
            yield from flush()
            held = 0
    yield from flush()


def _parse(number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FileError(f"Line {number} is not a JSON object: {line[:60]!r}.", hint=_HINT)
    return value
