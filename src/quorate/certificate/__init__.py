"""One page about a finished campaign, for whoever must rely on its labels: as HTML, Markdown or JSON."""

from quorate.certificate.facts import Certificate, certify
from quorate.certificate.page import html
from quorate.certificate.plain import json_text, markdown

WRITERS = {".html": html, ".md": markdown, ".json": json_text}

__all__ = ["WRITERS", "Certificate", "certify", "html", "json_text", "markdown"]
