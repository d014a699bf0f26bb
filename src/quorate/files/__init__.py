"""Files in and out: items and answers from CSV, JSON Lines, Parquet and frames; labels and answers to the same."""

from quorate.files.answers import AnswerRow, read_answers
from quorate.files.items import Item, ItemSource, open_items
from quorate.files.tables import Column, read_table, write_table

__all__ = ["AnswerRow", "Column", "Item", "ItemSource", "open_items", "read_answers", "read_table", "write_table"]
