"""``livejoin docs``: the manual that came with livejoin, in a browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from urllib.parse import urlencode

from livejoin.errors import StorageError
from livejoin.manual import INDEX, manual


def docs(words: Sequence[str], is_opened: bool) -> str:
    """Open the manual, or what it has about some words, and give its address.

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
    if is_opened:
        webbrowser.open(address)
    return address
