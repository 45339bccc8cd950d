"""A server that runs: on an address, until it is told to stop."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from livejoin.database import Database
from livejoin.errors import SchemaError, StorageError
from livejoin.server.access import Access, Open
from livejoin.server.app import app, check_types
from livejoin.server.limits import Limits

_LAST_PORT = 65_535
_GRACE = 5  # seconds in which requests that are under way may end


class _Protocol(HttpToolsProtocol):
    """HTTP whose requests begin in time: one whose head comes a byte a minute holds a connection for no longer."""

    head_seconds = 10.0

    def connection_made(self, transport: Any) -> None:
        """Give the first head its time."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.head_seconds, self._too_slow)

    def on_message_begin(self) -> None:
        """Give each head its time."""
        self._head_timer.cancel()
        self._head_timer = self.loop.call_later(self.head_seconds, self._too_slow)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has come."""
        self._head_timer.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._head_timer.cancel()
        super().connection_lost(exc)

    def _too_slow(self) -> None:
        self.transport.close()


class _Uvicorn(uvicorn.Server):
    """A server that ends what would never end by itself when it is told to stop."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End those who follow, then wait for requests that are under way."""
        self.config.app.state.service.hub.stop()  # type: ignore[union-attr]
        await super().shutdown(sockets)


class Server:
    """A server of a database, on an address; a context manager.

    >>> import livejoin
    >>> with Server(livejoin.Database(), port=0) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True

    Args:
        db: The database; it stays open when the server ends.
        host: The address or name to listen at.
        port: The port; 0 for any that is free.
        access: Who may do what. Without tokens it listens on this machine alone.
        limits: As for `app`.
        origins: As for `app`.
        tick: As for `app`.
        history: As for `app`.
        certificate: The file of the certificate chain for TLS, and that of its key.

    Raises:
        SchemaError: The address is not of this machine, and there are no tokens; the port is none; the certificate and
            its key do not fit; or as for `app`.
        StorageError: The port is taken, or a file of the certificate cannot be read.
    """

    def __init__(  # noqa: PLR0913  # the options of a server
        self,
        db: Database,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        access: Access | None = None,
        limits: Limits | None = None,
        origins: Sequence[str] = (),
        tick: float = 0.02,
        history: int = 100_000,
        certificate: tuple[str | Path, str | Path] | None = None,
    ) -> None:
        if not isinstance(host, str):
            msg = f"host is {host!r}; give a name or an address, as '127.0.0.1'"
            raise SchemaError(msg)
        check_types(db, access, limits)
        access = access or Open()
        if access.is_open and not is_loopback(host):
            msg = (
                f"host is {host!r}, where others could come in, and there are no tokens; give a file of tokens "
                "(`livejoin token` makes one), or the host 127.0.0.1"
            )
            raise SchemaError(msg)
        if not isinstance(port, int) or not 0 <= port <= _LAST_PORT:
            msg = f"port is {port!r}; allowed are numbers from 0, for any that is free, to {_LAST_PORT}"
            raise SchemaError(msg)
        _check_readable(certificate)
        self.app = app(db, access=access, limits=limits, origins=origins, tick=tick, history=history)
        self._host = host
        chosen = limits or Limits()
        config = uvicorn.Config(
            self.app,
            host=host,
            port=port,
            http=_Protocol,
            ws="websockets-sansio",
            ws_max_size=65_536,
            ws_per_message_deflate=False,
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=chosen.requests + chosen.followers,
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=30,
            ssl_certfile=None if certificate is None else str(certificate[0]),
            ssl_keyfile=None if certificate is None else str(certificate[1]),
        )
        try:
            config.load()
        except ssl.SSLError as error:
            msg = f"the certificate {config.ssl_certfile!r} and its key {config.ssl_keyfile!r} do not fit: {error}"
            raise SchemaError(msg) from error
        try:
            self._socket = _bound(host, port)
            self._port = self._socket.getsockname()[1]
        except OSError as error:
            msg = f"the server cannot listen at {host}:{port}: {error}; give another port, or repair that"
            raise StorageError(msg) from error
        self._is_safe = certificate is not None
        self._server = _Uvicorn(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to ask at."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._is_safe else ''}://{host}:{self._port}"

    def run(self) -> None:
        """Serve in this thread, until Ctrl-C or SIGTERM."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass
        finally:
            self.app.state.service.close()

    def start(self) -> None:
        """Serve in a thread of its own; returns when it answers."""
        started = threading.Event()

        def serve() -> None:
            try:
                self._server.run(sockets=[self._socket])
            finally:
                started.set()

        self._thread = threading.Thread(target=serve, name="livejoin-server", daemon=True)
        self._thread.start()
        while not self._server.started and not started.wait(0.01):
            pass

    def stop(self) -> None:
        """End it: those who follow are told, requests that are under way are answered. Once more changes nothing."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.app.state.service.close()
        self._socket.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def is_loopback(host: str) -> bool:
    """Whether an address is one that this machine alone can ask at."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check_readable(certificate: tuple[str | Path, str | Path] | None) -> None:
    """Refuse files of a certificate that cannot be read.

    Raises:
        StorageError: One cannot; the message names it.
    """
    for what, path in zip(("certificate", "key of the certificate"), certificate or (), strict=False):
        try:
            Path(path).read_bytes()
        except OSError as error:
            msg = f"the {what}, {str(path)!r}, cannot be read: {error.strerror or error}"
            raise StorageError(msg) from error


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        OSError: The system refuses.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(2048)
        found.set_inheritable(True)
    except BaseException:
        found.close()
        raise
    return found


def serve(db: Database, **options: Any) -> None:
    """Serve a database until Ctrl-C or SIGTERM.

    Args:
        db: The database; it stays open afterwards.
        options: As for `Server`: ``host``, ``port``, ``access``, ``limits`` and others.

    Raises:
        SchemaError, StorageError: As for `Server`.
    """
    Server(db, **options).run()
