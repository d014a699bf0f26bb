"""``quorate …``: each command module registers itself on the one app; heavy imports wait inside the commands."""

from quorate.interfaces.cli import (
    aggregate,
    bounds,
    campaign,
    demo,
    doctor,
    estimate,
    files,
    plan,
    policies,
    replay,
    reproduce,
    simulate,
)
from quorate.interfaces.cli._app import app, main, shelve

COMMANDS = (campaign, files, doctor, plan, policies, simulate, replay, estimate, aggregate, bounds, reproduce, demo)

shelve(
    app,
    {
        "Campaigns": ("init", "doctor", "plan", "run", "status", "explain", "budget", "pause", "resume", "policies"),
        "What comes out": ("labels", "answers", "certificate", "export", "import", "demo"),
        "Answers that exist already": ("estimate", "aggregate", "replay"),
        "Known worlds and the paper": ("simulate", "exact", "bounds", "oracle", "reproduce"),
    },
)

__all__ = ["COMMANDS", "main"]
