"""Answers that exist already, from files and frames: ``item,class,label`` and, if known, ``worker`` and ``price``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from quorate.errors import FileError, SpecError
from quorate.files.sources import rows_of
from quorate.files.values import id_of, plain, shown, text
from quorate.money import micros

_NAMES: Final = {  # what a column may be called
    "item": ("item", "task", "id"),
    "worker_class": ("class", "worker_class", "annotator_type"),
    "label": ("label", "answer"),
    "worker": ("worker", "annotator"),
    "price": ("price", "cost"),
}


class AnswerRow(NamedTuple):
    """One answer to start from; ``price`` in micros (old answers cost nothing unless the file says so)."""

    item: str
    worker_class: str
    label: str
    worker: str | None = None
    price: int = 0


def read_answers(source: Any, *, worker_class: str | None = None, encoding: str | None = None) -> list[AnswerRow]:
    """All answers of a source, or an error and none; ``worker_class`` is for sources without a column ``class``.

    >>> read_answers([{"task": "a", "worker": "w1", "label": 1}], worker_class="crowd")
    [AnswerRow(item='a', worker_class='crowd', label='1', worker='w1', price=0)]
    """
    return list(_answers(source, worker_class, encoding))


def _answers(source: Any, worker_class: str | None, encoding: str | None) -> Iterator[AnswerRow]:
    for place, row in rows_of(source, encoding=encoding):
        columns = {key: next((name for name in names if name in row), None) for key, names in _NAMES.items()}
        for key in ("item", "label") if worker_class else ("item", "worker_class", "label"):
            if columns[key] is None:
                raise FileError(
                    f"{place}: no column {shown(_NAMES[key][0])}; there are {', '.join(map(shown, list(row)[:20]))}.",
                    hint="Answers need the columns item, class, label; worker and price are welcome.",
                )

        def value(key: str, row: dict[str, Any] = row, columns: dict[str, str | None] = columns) -> Any:
            name = columns[key]
            return None if name is None else plain(row[name], name)

        def word(key: str, place: str = place, columns: dict[str, str | None] = columns) -> str:
            return id_of(value(key), f"{place}, column {shown(columns[key])}")

        yield AnswerRow(
            word("item"),
            word("worker_class") if columns["worker_class"] is not None else str(worker_class),
            label_of(value("label"), f"{place}, column {shown(columns['label'])}"),
            None if value("worker") in (None, "") else word("worker"),
            _price(value("price"), f"{place}, column {shown(columns['price'])}"),
        )


def label_of(value: Any, place: str) -> str:
    """A label as text: whole numbers and booleans are labels too."""
    if isinstance(value, bool) or (isinstance(value, float) and value == int(value)):
        value = int(value)
    if not isinstance(value, (str, int)) or value == "":
        raise FileError(f"{place}: the label is {shown(value)}.", hint="Write one of the campaign's labels.")
    return text(str(value), place)


def _price(value: Any, place: str) -> int:
    if value in (None, ""):
        return 0
    try:
        return micros(value)
    except SpecError as error:
        raise FileError(f"{place}: {error.message}", hint=error.hint) from None
