"""How Sphinx makes the manual of these pages; `make docs` runs it, and a warning is an error.

The text is Markdown, by MyST. `tools/manual` has what is ours: links to files that are no pages, the API from
docstrings, and pages without a script or a style of their own, which the server's content policy would refuse.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = SETTINGS["name"]
release = version = SETTINGS["version"]
author = "The livejoin authors"
copyright = "The livejoin authors"  # without a year, so that a build tomorrow gives the same pages

extensions = ["myst_parser", "manual.links", "manual.api", "manual.plain"]
exclude_patterns = ["**/*.patch"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
highlight_language = "text"
language = "en"

html_theme = "furo"
html_title = f"livejoin {release}"
html_short_title = "livejoin"
html_static_path = ["manual-static"]
html_css_files = ["manual.css"]
html_favicon = str(ROOT / "src/livejoin/server/static/console/icon.svg")
html_search_scorer = str(ROOT / "tools/manual/search_order.js")  # user pages before decisions
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0969da",
        "color-brand-content": "#0969da",
        "font-stack": "system-ui, sans-serif",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {"color-brand-primary": "#4493f8", "color-brand-content": "#4493f8"},
}
