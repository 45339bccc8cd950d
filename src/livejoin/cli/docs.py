"""``livejoin docs``: the manual that came with livejoin, in a browser or as text."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

from livejoin.cli.manual_search import excerpt, hits
from livejoin.errors import StorageError
from livejoin.manual import INDEX, manual


def docs(words: Sequence[str], is_opened: bool) -> Iterator[str]:
    """Open the manual, the page of a name, or what is found of some words; give lines with its address and with that.

    Raises:
        StorageError: The manual is not there, as in a checkout where nobody has built it.
    """
    folder = manual()
    if folder is None:
        msg = "the manual is not here: it comes with the wheel, and `make docs` builds it in a checkout"
        raise StorageError(msg)
    page = _page(folder, words)
    address = (page or folder / "search.html").as_uri()
    if page is None:
        address += "?" + urlencode({"q": " ".join(words)})
        wanted = " ".join(words).split()
        found = hits(folder, wanted)
        if not found:
            yield f"no page has all of the words: {' '.join(wanted)}"
        for section in found:
            yield " ".join(section.heading.split())
            yield f"  {excerpt(section, wanted)}"
            yield f"  {(folder / INDEX).as_uri().removesuffix(INDEX)}{section.address}"
            yield ""
    yield address
    if is_opened and not webbrowser.open(address):
        yield "no browser was found here; open the address in one"


def _page(folder: Path, words: Sequence[str]) -> Path | None:
    """The page that a word names, as messages of errors do, or the first one; None for words to be searched."""
    if not words:
        return folder / INDEX
    named = folder / f"{words[0]}.html"
    is_page = len(words) == 1 and re.fullmatch(r"[a-z-]+(/[a-z-]+)?", words[0]) and named.is_file()
    return named if is_page else None
