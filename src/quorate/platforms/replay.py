"""Recorded answers as a platform: each ask gets the next unused answer of its class, until there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from quorate.errors import PlatformError, SpecError
from quorate.model import Answer, Ask, Receipt
from quorate.platforms.recorded import NOT_RECORDED, Queue, Recorded, read_recorded
from quorate.ports import Platform

OPTIONS: Final = ("dataset", "seed", "source")


@dataclass(slots=True)
class Replay:
    """A `Recorded` set that is asked; which answer an ask gets depends on the ask and the seed alone.

    ``classes`` maps a campaign's class names to the set's; left out, they are the same.
    """

    recorded: Recorded
    seed: int = 0
    classes: Mapping[str, str] = field(default_factory=dict)
    name: str = "replay"
    _queue: Queue = field(init=False, repr=False)
    _item: dict[str, int] = field(init=False, repr=False)
    _class: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._queue = Queue.of(self.recorded, self.seed)
        self._item = {one: row for row, one in enumerate(self.recorded.items)}
        self._class = {one: k for k, one in enumerate(self.recorded.classes)}

    def post(self, asks: Sequence[Ask]) -> list[Receipt]:
        """Name the question; nothing is used up here, the ask itself says which answer is next."""
        return [
            Receipt(
                one.key,
                self.name,
                {"item": one.item, "class": one.worker_class, "repeat": one.repeat, "price": one.price},
            )
            for one in asks
        ]

    def poll(self, receipts: Sequence[Receipt]) -> list[Answer]:
        """The recorded answers, all at once; ``exhausted`` where the class has said all it ever said."""
        return [self._answer(one) for one in receipts]

    def cancel(self, receipts: Sequence[Receipt]) -> None:
        """What was said was said."""

    def _answer(self, receipt: Receipt) -> Answer:
        data = receipt.data
        k = self._class.get(self.classes.get(data["class"], data["class"]))
        if k is None:
            raise PlatformError(
                f"The label set {self.recorded.name!r} has no class {data['class']!r}.",
                hint=f"Its classes are {', '.join(self.recorded.classes)}.",
            )
        item = self._item.get(data["item"])
        row = NOT_RECORDED if item is None else int(self._queue.rows(item, k, data["repeat"]))
        if row == NOT_RECORDED:
            return Answer(receipt.key, None, failure="exhausted")
        label = self.recorded.labels[self.recorded.label[row]]
        return Answer(
            receipt.key, label, worker=self.recorded.workers[self.recorded.worker[row]], price=data["price"]
        )


def build(
    classes: Mapping[str, Mapping[str, Any]], *, seed: int, labels: Sequence[str], folder: Path
) -> Mapping[str, Platform]:
    """One replay for the classes whose ``[class.platform]`` table says ``kind = "replay"``.

    ``dataset`` is a folder, relative to the campaign's file; ``source`` is the class's name in it, if it differs.
    """
    said: dict[str, Any] = {}
    names = {}
    for name, options in classes.items():
        unknown = set(options) - set(OPTIONS) - {"kind"}
        if unknown:
            raise SpecError(
                f"The replay of class {name!r} does not know {sorted(unknown)}.",
                hint=f"It takes {', '.join(OPTIONS)}.",
            )
        names[name] = str(options.get("source", name))
        for key in ("dataset", "seed"):
            if key in options and said.setdefault(key, options[key]) != options[key]:
                raise SpecError(
                    f"Two classes of one replay say {key} = {said[key]!r} and {options[key]!r}.", hint="Say it once."
                )
    if "dataset" not in said:
        raise SpecError("The replay needs a dataset.", hint='Add dataset = "folder", which holds labels.csv.')
    recorded = read_recorded(folder / said["dataset"])
    for name, source in names.items():
        if source not in recorded.classes:
            raise SpecError(
                f"The label set {recorded.name!r} has no class {source!r} (for {name!r}).",
                hint=f"Its classes are {', '.join(recorded.classes)}; set source = to one of them.",
            )
    strange = sorted(set(recorded.labels) - set(labels))
    if strange:
        raise SpecError(
            f"The label set {recorded.name!r} uses the labels {', '.join(strange)}.",
            hint=f"The campaign's labels are {', '.join(labels)}: name them as the set does.",
        )
    return dict.fromkeys(classes, Replay(recorded, int(said.get("seed", seed)), names))
