"""What R15 feeds: everything of Quorate that reads something, by kind, with a small good input of each to mutate."""

from __future__ import annotations

import importlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

SEEDS = {
    "csv": b'id,text,n\na,"x, ""y""\nz",1\nb;2,,3\n\xc3\xa9,\xc3\xa9,4\n',
    "jsonl": b'{"id": "a", "x": [1, {"y": null}], "t": "\\u00e9"}\n{"id": 2, "x": 1e5}\n',
    "answers": b"item,class,label,worker,price\n1,crowd,yes,w,0.05\n2,crowd,no,,\n",
    "toml": b'name = "a"\nlabels = ["no", "yes"]\nbudget = "9 USD"\n[[class]]\nname = "c"\nprice = "0.05"\n'
    b'belief = [[3, 1], [3, 1]]\n[class.platform]\nkind = "simulator"\naccuracy = [0.9, 0.8]\nhard = 5\n'
    b'[[class]]\nname = "f"\nprice = 1\n[class.platform]\nkind = "callable"\nfunction = "math:floor"\nretries = 1\n'
    b'[items]\nfile = "i.csv"\n[limits]\nitem_cap = 9\n',
    "recorded": b"item,worker,label\n1,w1,yes\n1,w2,no\n2,w1,no\n---\n"
    b"item,label\n1,yes\n---\nworker,class\nw1,a\nw2,b\n",
    "export": b'item,cost,fine,more\r\n\'=1+1,0.5,true,"{""a"": 1}"\r\n---\n'
    b'{"kind": "quorate-csv-1", "rows": 1, "columns": {"item": "text", "cost": "number", "fine": "boolean",'
    b' "more": "json"}}',
    "campaign": b"",  # an export, made at the start
    "replies": b'["yes", "no", null, {"label": "yes", "price": "0.01", "worker": "w", "raw": {"a": [1]}},'
    b' {"key": 1, "label": "no", "price": 5}, {"key": "k-1-0-0", "failure": "expired"}]',
}
PIECES = [
    b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff", b"{", b"}",
    b"[", b"]", b":", b"=", b"#", b"NaN", b"1e999", b"-0", b"\\ud800", b"\\u0000", b"null", b"true", b"9" * 5000,
    b"[" * 2000, b'"id"', b"\xf0\x9f\x98\x80", b"\\", b"../", b"!!python/object", b"=1+1", b"-1", b"1e30", b'""',
    b"yes", b"---\n",
]  # fmt: skip
MODULES = {
    "files": "quorate.files", "spec": "quorate.spec.file", "places": "quorate.interfaces.places",
    "recorded": "quorate.platforms.recorded", "callable": "quorate.platforms.callable", "errors": "quorate.errors",
    "engine": "quorate.campaign.engine", "model": "quorate.model", "memory": "quorate.stores.memory",
    "transfer": "quorate.stores.transfer", "simulator": "quorate.platforms.simulator",
}  # fmt: skip


class Half(Exception):
    """Some of a file was handed out, and then an error came."""


def product() -> SimpleNamespace:
    """The parts of Quorate that read something; imported late, so that atheris can watch them."""
    return SimpleNamespace(**{name: importlib.import_module(module) for name, module in MODULES.items()})


def importers(q: SimpleNamespace, folder: Path, mutant: str | None) -> dict[str, Callable[[bytes], None]]:
    def items(name: str) -> Callable[[bytes], None]:
        path = folder / name

        def feed(content: bytes) -> None:
            path.write_bytes(content)
            source = q.files.open_items(path)
            if mutant == "leaky" and len(content) % 7 == 0:
                raise KeyError("a mutant lets it through")
            got = [one.id for one in source]
            if mutant == "half" and len(got) > 1:
                got.pop()
            if len(got) != len(source) or len(set(got)) != len(got):
                raise Half(name)

        return feed

    def answers(content: bytes) -> None:
        path = folder / "answers.csv"
        path.write_bytes(content)
        q.files.read_answers(path)

    def toml(content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
        q.places.platforms_of(q.spec.parse_campaign(text, folder / "campaign.toml"))

    def recorded(content: bytes) -> None:
        place = folder / "set"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name, part in zip(("labels", "truth", "workers"), content.split(b"---\n"), strict=False):
            (place / f"{name}.csv").write_bytes(part)
        q.recorded.read_recorded(place)

    def export(content: bytes) -> None:
        path = folder / "export.csv"
        data, _, meta = content.partition(b"---\n")
        path.write_bytes(data)
        path.with_name("export.csv.meta.json").write_bytes(meta)
        q.files.read_table(path)

    def campaign(content: bytes) -> None:
        store = q.memory.MemoryStore()
        lines = content.decode("utf-8", "replace").split("\n")
        try:
            store.import_campaign(lines)
        except q.errors.QuorateError:
            if store.campaigns():
                raise Half("an import that was refused left a campaign behind") from None
            raise

    return {
        "csv": items("a.csv"), "jsonl": items("a.jsonl"), "answers": answers, "toml": toml, "recorded": recorded,
        "export": export, "campaign": campaign, "replies": replies(q),
    }  # fmt: skip


def replies(q: SimpleNamespace) -> Callable[[bytes], None]:
    """What a platform says: through a function's return value, and told to a campaign; none may be half recorded."""
    said: list[Any] = []
    platform = q.callable.CallablePlatform(lambda _: said[0], labels=["no", "yes"], retries=0)
    spec = json.loads(json.dumps({"name": "r", "labels": ["no", "yes"], "budget": "1000 USD"}))
    one = q.engine.Campaign.create(
        "memory:", items=[f"i{n}" for n in range(50)], classes=[q.model.WorkerClass("c", price="0.01")], **spec
    )
    asked = one.ask(50)

    def feed(content: bytes) -> None:
        try:
            values = json.loads(content)
        except (ValueError, RecursionError):
            return
        for value in values if isinstance(values, list) else [values]:
            said[:] = [q.callable.Reply(**value) if _is_reply(value) else value]
            for answer in platform.poll(platform.post(asked[:1])):
                if answer.failure is None and answer.label not in ("no", "yes", None):
                    raise Half("a label that does not exist came through")
            if isinstance(value, dict):
                key = asked[len(content) % 50].key if value.get("key") == 1 else value.get("key", "")
                rest = {name: value[name] for name in ("label", "price", "failure", "worker", "raw") if name in value}
                before = one.ledger.campaign().head
                try:
                    one.tell(q.model.Answer(key, **{"label": None, **rest}))
                except q.errors.QuorateError:
                    if one.ledger.campaign().head != before:
                        raise Half("an answer that was refused left a row behind") from None

    return feed


def _is_reply(value: Any) -> bool:
    return isinstance(value, dict) and "label" in value and set(value) <= {"label", "price", "worker", "raw"}


def exported(q: SimpleNamespace) -> bytes:
    """A small campaign that has run, as its export."""
    one = q.engine.Campaign.create(
        "memory:", name="x", items=["a", "b", "c"], labels=["no", "yes"], budget="9 USD", policy="votes-3",
        classes=[q.model.WorkerClass("c", price="0.01")],
    )  # fmt: skip
    one.run({"c": q.simulator.Simulator.of({"c": (0.9, 0.8)}, seed=1, labels=["no", "yes"])})
    return "\n".join(q.transfer.export_campaign(one.ledger)).encode()


def mutated(seed: bytes, dice: random.Random) -> bytes:
    content = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(content) + 1)
        what = dice.randrange(5)
        if what == 0:
            content[at:at] = dice.choice(PIECES)
        elif what == 1:
            del content[at : at + dice.randint(1, 9)]
        elif what == 2 and content:
            content[min(at, len(content) - 1)] = dice.randrange(256)
        elif what == 3:
            content[at:at] = content[dice.randrange(len(content) + 1) :][: dice.randint(1, 30)]
        else:
            content[at:at] = dice.randbytes(dice.randint(1, 8))
    return bytes(content)
