"""Sites whose pages may ask a server, written as browsers name them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from livejoin.errors import SchemaError
from livejoin.shown import shown


def check_origins(origins: Sequence[str]) -> None:
    """Refuse what no browser names a site by, and what would so let nobody in.

    Raises:
        SchemaError: An origin has no scheme, or more than scheme, host and port.

    >>> check_origins(["https://shop.example", "http://localhost:5173"])
    """
    for origin in origins:
        parts = urlsplit(origin)
        plain = f"{parts.scheme}://{parts.netloc}".lower()
        if parts.scheme and parts.netloc and origin == plain:
            continue
        if parts.scheme and parts.netloc:
            advice = f"write {plain!r}: scheme, host and port in small letters, without a path or a slash behind"
        elif origin == "*":
            advice = "name each site, as 'https://shop.example'; all sites at once are not allowed"
        else:
            advice = "write the scheme too, as 'https://shop.example' or 'http://localhost:5173'"
        msg = f"{shown(origin)} is no site that a browser names; {advice}"
        raise SchemaError(msg)
