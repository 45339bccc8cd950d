"""Pages without a script or a style within them, and the licences of what is in them.

The server sends ``script-src 'self'; style-src 'self'``, so that nothing in a page's text can run. Furo writes one
script and one style sheet into each page, the same in all: they become files. What else is within a page is an error.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

SCRIPT = 'document.body.dataset.theme = localStorage.getItem("theme") || "auto";'
_SCRIPT = re.compile(rf"<script>\s*{re.escape(SCRIPT)}\s*</script>")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_FORBIDDEN = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>|<style|<[a-z][^>]*\son[a-z]+=|<[a-z][^>]*\sstyle=")
_ATTRIBUTES = ((' style="opacity: 50%"', ' opacity="0.5"'), (' style="display: none;"', ' display="none"'))
_SHIPPED = ("Sphinx", "furo", "sphinx-basic-ng", "snowballstemmer")


def plain(html: str, up: str) -> tuple[str, str]:
    """A page without what is within it, ``up`` leading to the top of the manual; and the style sheet that it had."""
    text = _SCRIPT.sub(f'<script src="{up}_static/theme.js"></script>', html)
    styles = _STYLE.findall(text)
    text = _STYLE.sub(f'<link rel="stylesheet" href="{up}_static/theme.css">', text)
    for old, new in _ATTRIBUTES:
        text = text.replace(old, new)
    return text, "".join(styles)


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    styles = set()
    for page in sorted(out.rglob("*.html")):
        text, style = plain(page.read_text(encoding="utf-8"), "../" * (len(page.relative_to(out).parts) - 1))
        found = _FORBIDDEN.search(text)
        if found:
            msg = f"{page}: a script or a style within a page, {found[0]!r}; tools/manual/plain.py makes files of them"
            raise SphinxError(msg)
        styles.add(style)
        page.write_text(text, encoding="utf-8")
    styles.discard("")
    if len(styles) > 1:
        msg = f"pages have {len(styles)} different style sheets within them; one is expected"
        raise SphinxError(msg)
    if styles:  # else nothing was written anew
        (out / "_static" / "theme.css").write_text(styles.pop(), encoding="utf-8")
    (out / "_static" / "theme.js").write_text(SCRIPT + "\n", encoding="utf-8")
    (out / "LICENSES.txt").write_text(_licences(), encoding="utf-8")
    for path in (out / ".buildinfo", out / "objects.inv"):
        path.unlink(missing_ok=True)


def _licences() -> str:
    """The licences of what others made of the manual's scripts and styles."""
    parts = []
    for name in _SHIPPED:
        found = metadata.distribution(name)
        files = [path for path in found.files or () if re.match(r"(LICEN[CS]E|COPYING)", path.name, re.IGNORECASE)]
        if not files:
            msg = f"{name} has no file with its licence, which the manual must bring"
            raise SphinxError(msg)
        text = "\n\n".join(Path(str(found.locate_file(path))).read_text(encoding="utf-8").strip() for path in files)
        parts.append(f"{name}\n{'=' * len(name)}\n\n{text}\n")
    return "\n\n".join(parts)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("build-finished", _finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
