"""How a campaign begins, and begins again from a backup: the checks and first facts that all stores share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quorate.errors import SpecError
from quorate.facts import NewItems
from quorate.money import LARGEST
from quorate.stores.entries import add_event, add_items
from quorate.stores.head import Desk, Head

_UID = re.compile(r"[a-z0-9]{1,24}")


def new_head(name: str, uid: str, budget: int, others: Iterable[Head], *, epoch: int = 1) -> Head:
    """The row of a new campaign, or `SpecError`."""
    if not name or len(name) > 200 or not name.isprintable():
        raise SpecError(f"{name!r} cannot name a campaign.", hint="Use 1 to 200 printable characters.")
    if not _UID.fullmatch(uid):
        raise SpecError(f"{uid!r} cannot be a campaign's uid.", hint="Use 1 to 24 lower-case letters and digits.")
    if not 0 <= budget <= LARGEST:
        raise SpecError(f"The budget of {budget} micros is out of range.", hint=f"It must be 0 … {LARGEST}.")
    for other in others:
        if name == other.name or uid == other.uid:
            raise SpecError(
                f"There is a campaign {other.name!r} with the uid {other.uid!r} in this store already.",
                hint="Open it; or choose another store, or, for another campaign, another name.",
            )
    return Head(0, name, uid, spec_version=1, epoch=epoch, state="running", budget=budget)


def found(desk: Desk, spec: Mapping[str, Any], items: NewItems | Iterable[NewItems] | None) -> None:
    """The first facts: the spec, and the items."""
    add_event(desk, "spec", spec, 1)
    for piece in (items,) if isinstance(items, NewItems) else items or ():
        add_items(desk, piece, before=desk.head.items)


def bump_epoch(desk: Desk) -> None:
    """The ledger came from a backup: asks from now on carry keys of a new epoch."""
    desk.head.epoch += 1
    add_event(desk, "restored", {"epoch": desk.head.epoch}, desk.head.epoch)


def no_such(name: str, there: Sequence[str], url: str) -> SpecError:
    """The error for a name that is not in the store."""
    names = ", ".join(repr(one) for one in sorted(there)) or "none"
    return SpecError(f"There is no campaign {name!r} in {url}.", hint=f"Campaigns there: {names}.")
