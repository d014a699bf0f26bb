"""What a campaign is to do: the value, and the readable file that says it."""

from quorate.spec.campaign import Spec
from quorate.spec.file import CampaignFile, read_campaign
from quorate.spec.template import template

__all__ = ["CampaignFile", "Spec", "read_campaign", "template"]
