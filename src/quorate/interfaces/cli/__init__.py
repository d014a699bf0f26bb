"""``quorate …``: each command module registers itself on the one app; heavy imports wait inside the commands."""

from quorate.interfaces.cli import policies
from quorate.interfaces.cli._app import main

COMMANDS = (policies,)

__all__ = ["COMMANDS", "main"]
