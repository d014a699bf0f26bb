"""``python -m quorate`` is ``quorate``."""

from quorate.interfaces.cli import main

main()
