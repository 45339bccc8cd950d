"""``livejoin docs``: the manual that came with livejoin, in a browser or as text."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from livejoin.cli.manual_search import excerpt, hits
from livejoin.errors import StorageError
from livejoin.manual import INDEX, manual


def docs(words: Sequence[str], is_opened: bool) -> Iterator[str]:
    """Open the manual, or what it has about some words; give lines with its address and with what was found.

    Raises:
        StorageError: The manual is not there, as in a checkout where nobody has built it.
    """
    folder = manual()
    if folder is None:
        msg = "the manual is not here: it comes with the wheel, and `make docs` builds it in a checkout"
        raise StorageError(msg)
    address = (folder / ("search.html" if words else INDEX)).as_uri()
    if words:
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
