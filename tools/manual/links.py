"""Links of pages to files of the checkout.

The same Markdown is read in the checkout, where ``../CHANGELOG.md`` is a file, and in the manual, where it may be a
page. A page that says ```` ```{include} ../CHANGELOG.md ```` has that file's text; links to such a file lead to it. A
link to any other file outside of ``docs`` becomes its text and its path. A file that is not there is a warning.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s:#]+)(#[\w-]+)?\)")
_PICTURE = re.compile(r"(!\[[^\]]*\]\()([^)\s:#]+)(\))")
_INCLUDED = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
_FENCE = re.compile(r"^( *)(```+).*?^\1\2$", re.MULTILINE | re.DOTALL)
_BEYOND_THE_TREE = re.compile(r"decisions/\d|extend/")
"""Pages that one finds by the page which lists them, so that the tree at the side stays short."""
_LOG = logging.getLogger(__name__)


def pages_of(docs: Path) -> dict[Path, Path]:
    """The page of each file that a page includes."""
    found: dict[Path, Path] = {}
    for page in sorted(docs.rglob("*.md")):
        for name in _INCLUDED.findall(page.read_text(encoding="utf-8")):
            found[(page.parent / name).resolve()] = page
    return found


def for_page(text: str, source: Path, page: Path, docs: Path, included: dict[Path, Path]) -> tuple[str, list[str]]:
    """A text of a file with its links as they are from a page, and the targets that are not there."""
    absent: list[str] = []

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    def link(match: re.Match[str]) -> str:
        said, target, anchor = match[1], match[2], match[3] or ""
        path = (source.parent / target).resolve()
        if not path.exists():
            absent.append(target)
            return match[0]
        readme = path / "README.md"
        path = included.get(path, included.get(readme, path))
        if path.is_relative_to(docs) and path.is_file():
            return f"[{said}]({relative(path)}{anchor})"
        shown = path.relative_to(docs.parent).as_posix()
        return said if shown in said else f"{said} (`{shown}`)"

    def picture(match: re.Match[str]) -> str:
        path = (source.parent / match[2]).resolve()
        if not path.exists():
            absent.append(match[2])
        return f"{match[1]}{relative(path)}{match[3]}"

    def plain(part: str) -> str:
        return _PICTURE.sub(picture, _LINK.sub(link, part))

    pieces, at = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [plain(text[at : fence.start()]), fence[0]]
        at = fence.end()
    pieces.append(plain(text[at:]))
    return "".join(pieces), absent


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    docs = Path(app.srcdir).resolve()
    page = Path(app.env.doc2path(name)).resolve()
    included = pages_of(docs)
    text, absent = for_page(source[0], page, page, docs, included)
    for target in absent:
        _LOG.warning("%s links to %s, which is not there", page, target)

    def whole(match: re.Match[str]) -> str:
        other = (page.parent / match[1]).resolve()
        app.env.note_dependency(str(other))
        found, missing = for_page(other.read_text(encoding="utf-8"), other, page, docs, included)
        for target in missing:
            _LOG.warning("%s links to %s, which is not there", other, target)
        return found

    text = _INCLUDED.sub(whole, text)
    source[0] = f"---\norphan: true\n---\n{text}" if _BEYOND_THE_TREE.match(name) else text


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
