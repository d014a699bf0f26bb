"""How the documentation is built: `make docs`."""

from importlib import metadata

project = "Quorate"
author = "The Quorate maintainers"
release = metadata.version("quorate")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
extensions += ["sphinx-mathjax-offline"]  # so that formulas are drawn without a network
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
autodoc_member_order = "bysource"
exclude_patterns = ["_build", "conftest.py"]
html_theme = "furo"
html_title = "Quorate"
html_static_path = ["_static"]
html_css_files = ["quorate.css"]
suppress_warnings = ["myst.header"]
nitpicky = False
