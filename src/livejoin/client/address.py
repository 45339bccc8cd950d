"""Where a server is, and what opens a connection to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import quote, urlencode, urlsplit

from livejoin.errors import SchemaError

_LONGEST_CONNECT = 10.0  # seconds


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Args:
        host: The name or the number of its machine.
        port: The port; None for that of the scheme.
        path: The path before ``/v1``, without a slash at its end; of a server within another application.
        tls: How connections are encrypted; None if they are not.
    """

    host: str
    port: int | None
    path: str
    tls: ssl.SSLContext | None

    def open(self, timeout: float) -> HTTPConnection:
        """A connection, not connected yet.

        Args:
            timeout: The most seconds to wait for the other side; 10 at most are waited for the connection itself.
        """
        seconds = min(timeout, _LONGEST_CONNECT)
        if self.tls is None:
            return HTTPConnection(self.host, self.port, timeout=seconds)
        return HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)

    def target(self, parts: tuple[str, ...], query: Mapping[str, str]) -> str:
        """The path of a request.

        >>> read_address("http://localhost/live").target(("v1", "views", "a/b", "rows"), {"limit": "2"})
        '/live/v1/views/a%2Fb/rows?limit=2'
        """
        found = "/".join([self.path, *(quote(part, safe="") for part in parts)])
        return f"{found}?{urlencode(query)}" if query else found

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'http' if self.tls is None else 'https'}://{host}{port}{self.path}"


def read_address(url: str, tls: ssl.SSLContext | None = None) -> Address:
    """The address in a URL.

    Args:
        url: The URL, as ``https://data.example/live``.
        tls: Which certificates are trusted; None for those that the machine trusts.

    Raises:
        SchemaError: The URL is none of a server.

    >>> str(read_address("http://127.0.0.1:8000/"))
    'http://127.0.0.1:8000'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, AttributeError, TypeError) as error:
        msg = f"{url!r} is no URL: {error}"
        raise SchemaError(msg) from error
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        msg = f"{url!r} is no address of a server; allowed are URLs as http://127.0.0.1:8000 and https://data.example/live"
        raise SchemaError(msg)
    if parts.username is not None or parts.password is not None:
        msg = "the URL has a user or a password in it; give the token of the server as token="
        raise SchemaError(msg)
    if parts.scheme == "http":
        if tls is not None:
            msg = f"{url!r} is not encrypted, so that tls= says nothing; write https"
            raise SchemaError(msg)
        return Address(host, port, parts.path.rstrip("/"), None)
    return Address(host, port, parts.path.rstrip("/"), tls or ssl.create_default_context())
