"""``quorate policies``: what there is to choose from, and what each promises."""

from __future__ import annotations

from quorate.interfaces.cli._app import Json, app
from quorate.interfaces.cli._output import print_json, print_table
from quorate.registry import lookup, names


@app.command()
def policies(json: Json = False) -> None:
    """List the policies: who decides what to buy next, and what each of them promises."""
    rows = [(name, lookup("policies", name).promise) for name in names("policies")]
    if json:
        print_json([{"name": name, "promise": promise} for name, promise in rows])
    else:
        print_table(["policy", "promise"], rows)
