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
from quorate.interfaces.cli._app import main

COMMANDS = (campaign, files, doctor, plan, policies, simulate, replay, estimate, aggregate, bounds, reproduce, demo)

__all__ = ["COMMANDS", "main"]
