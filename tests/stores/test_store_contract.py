"""The contract over all three stores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quorate.ports_store import Store
from quorate.stores import open_store
from quorate.testing.store_contract import StoreContract


class TestMemory(StoreContract):
    @pytest.fixture
    def opener(self) -> Callable[[], Store]:
        store = open_store("memory:")
        return lambda: store


class TestSqlite(StoreContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Callable[[], Store]:
        return lambda: open_store(f"sqlite:///{tmp_path}/campaign.db")


@pytest.mark.postgres
class TestPostgres(StoreContract):
    @pytest.fixture
    def opener(self, postgres_url: str) -> Callable[[], Store]:
        return lambda: open_store(postgres_url)
