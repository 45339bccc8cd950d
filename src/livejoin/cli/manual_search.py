"""What the manual says about some words, as text: for terminals without a browser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

_LATE = ("decisions", "extend", "benchmarks", "changes", "contributing", "architecture", "glossary")
"""Pages for those who change livejoin; they come behind the pages for users."""
_OWN = "livejoin"
_SKIPPED = frozenset(("script", "style", "nav", "aside", "head"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4"))
_IN_HEADING, _AROUND = 20, 70  # what a word in a heading counts; characters that are shown before and behind a word


@dataclass
class Section:
    """A heading of a page and the text below it.

    Args:
        address: The page and the anchor, relative to the manual.
        heading: The text of the heading.
        parts: The pieces of the text.
    """

    address: str
    heading: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text in one line."""
        return " ".join("".join(self.parts).split())


class _Page(HTMLParser):
    """Reads the sections of a page: what stands within ``<article>``."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._anchor = ""
        self._skipping = 0
        self._is_article = self._is_heading = False
        self.found: list[Section] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a section begins."""
        known = dict(attrs)
        self._is_article |= tag == "article"
        self._skipping += tag in _SKIPPED
        if tag == "section":
            self._anchor = known.get("id") or ""
        elif tag in _HEADINGS and self._is_article:
            anchor = f"#{self._anchor}" if self._anchor and self.found else ""
            self.found.append(Section(self._name + anchor))
            self._is_heading = True
        elif tag == "a" and "headerlink" in (known.get("class") or ""):
            self._is_heading = False

    def handle_endtag(self, tag: str) -> None:
        """Note where a heading or the article ends."""
        self._skipping -= tag in _SKIPPED
        self._is_article &= tag != "article"
        if tag in _HEADINGS:
            self._is_heading = False

    def handle_data(self, data: str) -> None:
        """Take a piece of text."""
        if not self._is_article or self._skipping > 0 or not self.found or data == "¶":
            return
        if self._is_heading:
            self.found[-1].heading += data
        self.found[-1].parts.append(data)


def hits(folder: Path, words: list[str], most: int = 6) -> list[Section]:
    """The sections that have all the words, the best ones first; those of pages for users before all others.

    Cost: reading each page that has the words.
    """
    wanted = [word.lower() for word in words]
    own = "" if any(_OWN in word for word in wanted) else _OWN  # which has "join" in it, and stands on every page
    found: list[tuple[tuple[bool, int, str], Section]] = []
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        html = path.read_text(encoding="utf-8")
        lower = _without(html, own)
        if name in ("search.html", "genindex.html") or not all(word in lower for word in wanted):
            continue
        page = _Page(name)
        page.feed(html)
        is_late = name.partition("/")[0].removesuffix(".html") in _LATE
        for section in page.found:
            text, heading = _without(section.text, own), _without(section.heading, own)
            if all(word in text for word in wanted):
                weight = sum(min(text.count(word), 5) + _IN_HEADING * (word in heading) for word in wanted)
                found.append(((is_late, -weight, section.address), section))
    return [section for _, section in sorted(found, key=lambda one: one[0])[:most]]


def _without(text: str, name: str) -> str:
    return text.lower().replace(name, "") if name else text.lower()


def excerpt(section: Section, words: list[str]) -> str:
    """The text around the first place of a word."""
    text = section.text.removeprefix(" ".join(section.heading.split())).strip()
    place = re.search("|".join(rf"(?<!live){re.escape(word)}" for word in words), text, re.IGNORECASE)
    middle = 0 if place is None else place.start()
    begin, end = max(0, middle - _AROUND), middle + 2 * _AROUND
    shown = text[begin:end]
    if begin:
        shown = "... " + shown.partition(" ")[2]
    if end < len(text):
        shown = shown.rpartition(" ")[0] + " ..."
    return shown
