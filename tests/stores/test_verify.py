"""Reading everything again finds whatever was changed, and says where."""

from pathlib import Path

import apsw
import pytest

from quorate.errors import StoreDamaged
from quorate.stores import open_store
from quorate.stores.verify import verify
from quorate.testing.store_contract import answers, asks, some_items

DAMAGE = {
    "a price": ("update ask set price = price + 1 where ordinal = 0", r"'ask', row \d+"),
    "a label": ("update answer set label = 1 - label where id = (select min(id) from answer)", r"'answer', row \d+"),
    "a label that is a text": ("update answer set label = 'x'", "'answer', row .*no number"),
    "a worker where there was none": ("update answer set worker = 'w' where ask % 2", r"'answer', row \d+"),
    "an item's text": ("update item set payload = '{}' where id % 7 = 3", r"'item', row \d+"),
    "an item's text as bytes": ("update item set payload = x'7b7d' where id % 7 = 3", "'item', a row: holds bytes"),
    "a row that is gone": ("delete from answer where id = (1 << 40) + 8901", "'answer': row 8901 is missing"),
    "money": ("update campaign set spent = spent + 1", "'campaign', row 1"),
    "an index": (
        "pragma writable_schema = on;"
        "update sqlite_schema set rootpage = (select rootpage from sqlite_schema where name = 'conflict_item')"
        " where name = 'one_ask'",
        "reference to page",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_verify_names_what_was_changed(tmp_path: Path, what: str) -> None:
    sql, said = DAMAGE[what]
    path = tmp_path / "campaign.db"
    with open_store(f"sqlite:///{path}") as store:
        ledger = store.create("news", uid="news", spec={}, budget=10**9, items=some_items(3000))
        ledger.claim(asks(range(3000)))
        ledger.record(answers(range(2900)))
        assert ledger.verify() == 1 + 3000 + 3000 + 2900
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()
    with pytest.raises(StoreDamaged, match=said), open_store(f"sqlite:///{path}", read_only=True) as store:
        store.open("news").verify()


def test_what_the_database_itself_finds_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its check runs beside the reading of the rows: neither may hide the other."""
    with open_store("memory:") as store:
        ledger = store.create("news", uid="news", spec={}, budget=10**9, items=some_items(3))

        def broken() -> None:
            raise StoreDamaged("its structure", hint="")

        monkeypatch.setattr(ledger._shelf, "check", broken)
        with pytest.raises(StoreDamaged, match="its structure"):
            ledger.verify()
        with ledger._shelf.read() as look:
            assert verify(look) == 4
