"""Where campaigns are kept: ``memory:``, ``sqlite:///file``, ``postgresql://…``."""

from quorate.stores.registry import open_store
from quorate.stores.transfer import export_campaign

__all__ = ["export_campaign", "open_store"]
