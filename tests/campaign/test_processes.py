"""Several engine processes on one PostgreSQL campaign, some of them killed: one log, nothing bought twice."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.campaign.worlds import create, reference

from quorate.campaign.engine import Campaign
from quorate.stores import open_store

PLAIN = {"policy": "asym-imcw", "items": 60, "item_cap": 25, "lease": 2.0}
BUYER = """
import json, sys
from pathlib import Path
from quorate.campaign.engine import Campaign
from tests.campaign.worlds import Simulated

class Selling(Simulated):
    "Each post is a line in this process's own book."
    def post(self, asks):
        with open(sys.argv[2], "a") as book:
            book.writelines(f"{one.key} {one.price}\\n" for one in asks)
        return super().post(asks)

with Campaign.open(sys.argv[1], "test") as campaign:
    print(json.dumps(campaign.run(dict.fromkeys("abc", Selling()), in_flight=15).done))
"""


def buyer(url, book):
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", BUYER, url, str(book)], cwd=root, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("budget", [10**9, 1500])
def test_processes_share_a_campaign_and_some_die(postgres_url, tmp_path, budget):
    with open_store(postgres_url) as store:
        create(store, budget=budget, **PLAIN)
    books = [tmp_path / f"book-{at}" for at in range(5)]
    doomed = [buyer(postgres_url, book) for book in books[:2]]
    others = [buyer(postgres_url, book) for book in books[2:4]]
    for one, book in zip(doomed, books, strict=False):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not (book.exists() and book.stat().st_size > 400):
            time.sleep(0.01)
        one.kill()
        one.communicate()
    done = [json.loads(one.communicate(timeout=90)[0]) for one in others]
    assert done == [True, True]
    with open_store(postgres_url) as store:
        campaign = Campaign.open(store, "test")
        assert campaign.decisions().digest == reference(budget=budget, **PLAIN).digest
        money = campaign.ledger.money()
        assert money.reserved == 0
        campaign.ledger.verify()
    bought = {}
    for book in books:
        for line in book.read_text().splitlines() if book.exists() else ():
            key, price = line.split()
            bought[key] = int(price)
    assert sum(bought.values()) == money.spent <= budget
