"""The certificate as one self-contained, printable HTML page: no script, nothing fetched, light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from quorate.certificate.facts import Certificate, ClassRow
from quorate.certificate.plain import (
    check_sentence,
    error_sentence,
    headline,
    level_sentence,
    money,
    money_sentence,
    repeat_sentence,
    undecided_sentences,
)

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c1d1f; --soft: #5a5d63; --line: #d9d9d4; --paper: #fdfdfb; --mark: #245c4f;
  --tint: #e7efec; --alarm: #8a3b12; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e4; --soft: #a5a8ad; --line: #3a3c40; --paper: #17181a;
  --mark: #8fc7b5; --tint: #24312d; --alarm: #e9a27c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.5rem 3rem; }
header { border-bottom: 2px solid var(--mark); padding-bottom: 1rem; margin-bottom: 1.4rem; }
.kind { font: 600 .78rem/1 system-ui, sans-serif; letter-spacing: .09em; text-transform: uppercase;
  color: var(--mark); margin: 0 0 .7rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; font-weight: 600; overflow-wrap: anywhere; }
.lead { font-size: 1.15rem; margin: 0; }
.soft, dt, th { color: var(--soft); }
h2 { font: 600 .95rem/1.3 system-ui, sans-serif; margin: 1.7rem 0 .45rem; }
p, ul { margin: .35rem 0; } ul { padding-left: 1.15rem; } li { margin: .15rem 0; }
dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1px; margin: 1.3rem 0 0; background: var(--line);
  border: 1px solid var(--line); }
dl div { background: var(--paper); padding: .6rem .8rem; }
dt { font: .76rem/1.3 system-ui, sans-serif; } dd { margin: .1rem 0 0; font-size: 1.28rem;
  font-variant-numeric: tabular-nums lining-nums; }
dd small { font-size: .8rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums lining-nums; }
th { font: .76rem/1.3 system-ui, sans-serif; text-align: right; padding: .3rem .5rem;
  border-bottom: 1px solid var(--line); vertical-align: bottom; }
td { text-align: right; padding: .32rem .5rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; }
th:last-child, td:last-child { padding-right: 0; }
.wide { overflow-x: auto; } .wide th:first-child { min-width: 4.5rem; }
.range { color: var(--soft); font-size: .85em; white-space: nowrap; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2.2rem; }
.bar { display: grid; grid-template-columns: 5.2rem 1fr 4rem; gap: .6rem; align-items: center; font-size: .9rem;
  font-variant-numeric: tabular-nums lining-nums; margin: .18rem 0; }
.bar i { display: block; height: .72rem; background: var(--mark); min-width: 1px; }
.bar span:last-child { text-align: right; } .bar span:first-child { overflow-wrap: anywhere; }
.promise { background: var(--tint); padding: .75rem 1rem; border-left: 3px solid var(--mark); }
.alarm { color: var(--alarm); }
code { font: .8rem/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr 1fr; } .pair { grid-template-columns: 1fr; } }
@media print {
  @page { size: A4; margin: 11mm 15mm; }
  :root { --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --mark: #245c4f; --tint: #f0f4f2;
    --alarm: #8a3b12; }
  body { font-size: 9pt; line-height: 1.28; } main { max-width: none; padding: 0; }
  h1 { font-size: 16pt; margin: 0; } .lead { font-size: 10.5pt; } dd { font-size: 11.5pt; }
  dl { margin-top: .4rem; } dl div { padding: .25rem .6rem; } .bar { margin: .05rem 0; }
  .kind { margin-bottom: .3rem; } p, ul { margin: .2rem 0; }
  h2 { margin: .55rem 0 .12rem; break-after: avoid; } header { margin-bottom: .6rem; padding-bottom: .5rem; }
  .promise { padding: .4rem .7rem; } td, th { padding-top: .15rem; padding-bottom: .15rem; }
  section { break-inside: avoid; } .promise, .bar i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def html(found: Certificate) -> str:
    """The whole page."""
    title = f"Certificate: {found.name}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>",
            _head(found),
            _promise(found),
            _labels(found),
            _classes(found),
            _health(found),
            _undecided(found),
            _check(found),
            _repeat(found),
            "</main></body></html>\n",
        ]
    )


def _head(found: Certificate) -> str:
    tiles = [
        ("Labelled", f"{found.labelled:,}", f"of {found.items:,}"),
        ("Promised", f"{found.accuracy:.4g}", "right"),
        ("Paid", money(found.spent), found.currency),
        ("Per item", money(found.spent / found.items) if found.items else "–", found.currency),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{value} <small>{escape(unit)}</small></dd></div>" for name, value, unit in tiles
    )
    state = "" if found.finished else ' <strong class="alarm">The campaign is not finished.</strong>'
    return (
        f'<header><p class="kind">Labelling certificate</p><h1>{escape(found.name)}</h1>'
        f'<p class="lead">{escape(headline(found))}{state}</p>'
        f'<p class="soft">As of {escape(found.as_of)}</p><dl>{cells}</dl></header>'
    )


def _promise(found: Certificate) -> str:
    promise = f"{found.promise[:1].upper()}{found.promise[1:]}."
    error = "" if found.error is None else f"<p>{escape(error_sentence(found))}</p>"
    return _section(
        "The promise",
        f'<p class="promise">{escape(promise)} {escape(level_sentence(found))}</p>'
        f"<p>It rests on these assumptions:</p>{_list(found.assumptions)}{error}",
    )


def _labels(found: Certificate) -> str:
    labels = {**found.by_label, **({"undecided": found.undecided} if found.undecided else {})}
    return (
        f'<div class="pair">{_section("Labels", _bars(labels))}'
        f"{_section('Answers that an item took', _bars(found.per_item))}</div>"
    )


def _classes(found: Certificate) -> str:
    names = [escape(name) for name in found.by_label]
    head = "".join(f'<th scope="col">right on<br>“{name}”</th>' for name in names)
    rows = "".join(_class_row(one, len(names)) for one in found.classes)
    return _section(
        "Who answered, and what it cost",
        '<div class="wide"><table><thead><tr><th scope="col">class</th><th scope="col">price</th>'
        f'<th scope="col">answers</th><th scope="col">cost</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"<p>{escape(money_sentence(found))}</p>",
    )


def _class_row(one: ClassRow, labels: int) -> str:
    cells = "".join(
        f'<td>{c:.3f} <span class="range">{low:.2f}–{high:.2f}</span></td>'
        for c, (low, high) in zip(one.accuracy, one.interval, strict=True)
    )
    note = f' <span class="range">{escape(one.note)}</span>' if one.note else ""
    return (
        f"<tr><td>{escape(one.name)}{note}</td><td>{money(one.price)}</td><td>{one.answers:,}</td>"
        f"<td>{money(one.cost)}</td>{cells or '<td>–</td>' * labels}</tr>"
    )


def _health(found: Certificate) -> str:
    return _section("What the data say about the assumptions", _list(found.diagnostics))


def _undecided(found: Certificate) -> str:
    return _section("Without a label", _list(undecided_sentences(found)))


def _check(found: Certificate) -> str:
    if found.check is None:
        return ""
    return _section("Beside a standard that the campaign never saw", f"<p>{escape(check_sentence(found))}</p>")


def _repeat(found: Certificate) -> str:
    return _section(
        "How to repeat it",
        f"<p>{escape(repeat_sentence(found))}</p>"
        f'<p class="soft">Decision log <code>{escape(found.decisions)}</code><br>'
        f"Ledger <code>{escape(found.ledger)}</code></p>",
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _list(lines: tuple[str, ...] | list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in lines) + "</ul>"


def _bars(counts: Mapping[str, int]) -> str:
    most = max([*counts.values(), 1])
    return "".join(
        f'<div class="bar"><span>{escape(str(name))}</span>'
        f'<span><i style="width:{100 * n / most:.1f}%"></i></span><span>{n:,}</span></div>'
        for name, n in counts.items()
    )
