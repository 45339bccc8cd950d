"""Requests and answers, over connections that are kept and can break."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Final, Protocol
from weakref import WeakSet

from livejoin.client.address import Address
from livejoin.client.answered import Answer
from livejoin.client.patience import Patience
from livejoin.errors import ReadError, ServerError, StateError, UnreachableError

BUSY: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""The server does nothing, and asks to be asked again."""
_GATEWAY: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
"""A proxy has no answer of the server: nobody knows whether it did something."""
BROKEN: Final = (OSError, HTTPException)
"""What a connection that breaks raises."""
_MOST_IDLE = 8


@dataclass(frozen=True)
class Ask:
    """A request.

    Args:
        method: The method of HTTP.
        parts: The parts of the path, from ``v1`` on.
        query: The query of the path.
        body: The body; None for none.
        headers: Headers, beside those that all requests have.
        is_repeatable: Whether it may be sent again where nobody knows whether it was done.
        sql: The SQL text in the body, for errors that show it.
    """

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    sql: str = ""


class Listener(Protocol):
    """One who listens to the server over a connection of its own."""

    def close(self) -> None:
        """Listen no longer; called in any thread."""


class Exchange:
    """Sends requests, also from several threads at once; mutable.

    Args:
        address: Where the server is.
        token: The token that the server knows; None for nothing.
        timeout: The most seconds to wait for the other side.
        patience: The most seconds in which a request is tried again.

    Attributes:
        address: As given.
        patience: As given.
        closed: Set when nothing more is to be sent.
        listeners: All who listen over connections of their own, which end with the others.
    """

    def __init__(self, address: Address, token: str | None, timeout: float, patience: float) -> None:
        self.address = address
        self.patience = patience
        self.closed = threading.Event()
        self.listeners: WeakSet[Listener] = WeakSet()
        self._timeout = timeout
        self._said = {"Accept-Encoding": "identity", "User-Agent": "livejoin"}
        if token is not None:
            self._said["Authorization"] = f"Bearer {token}"
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(self, asked: Ask) -> Answer:
        """The answer to a request, tried again while the server is busy or out of reach.

        A request that may have been done, and that may not be done twice, is not sent again.

        Raises:
            LivejoinError: The error that the answer is.
            UnreachableError: There is no answer.
            ReadError: The client is closed.
        """
        patience = Patience(self.patience, self.closed)
        while True:
            self.refuse_closed()
            connection, is_used = self._connection(asked)
            is_sent = False
            try:
                self._connect(connection)
                is_sent = True
                found = self._answer(connection, asked)
            except BROKEN as error:
                connection.close()
                if is_used and not isinstance(error, TimeoutError):  # it was idle, and the server had ended it
                    continue
                if (is_sent and not asked.is_repeatable) or not _may_pass(error) or not patience.wait():
                    self.refuse_closed()
                    raise self.unreachable(error, is_sent and asked.method != "GET", asked.is_repeatable) from error
            except BaseException:  # Ctrl-C: what would come over the connection is the answer to nothing
                connection.close()
                raise
            else:
                if found.status < HTTPStatus.MULTIPLE_CHOICES:
                    return found
                failure = found.error(asked.sql)
                is_passing = (found.status in BUSY and not isinstance(failure, StateError)) or (
                    found.status in (*BUSY, *_GATEWAY) and asked.is_repeatable
                )
                if not is_passing or not patience.wait(found.retry_after):
                    raise failure

    def _connection(self, asked: Ask) -> tuple[HTTPConnection, bool]:
        """A connection, and whether it was used before."""
        if asked.is_repeatable:
            with self._lock:
                if self._idle:
                    return self._idle.pop(), True
        return self.address.open(self._timeout), False

    def opened(self) -> HTTPConnection:
        """A new connection.

        Raises:
            OSError: There is no way to the server.
        """
        found = self.address.open(self._timeout)
        self._connect(found)
        return found

    def _connect(self, connection: HTTPConnection) -> None:
        if connection.sock is None:
            connection.connect()
            assert connection.sock is not None
            connection.sock.settimeout(self._timeout)

    def _answer(self, connection: HTTPConnection, asked: Ask) -> Answer:
        self.send(connection, asked)
        with connection.getresponse() as response:
            found = whole_answer(response)
        with self._lock:
            if connection.sock is not None and len(self._idle) < _MOST_IDLE and not self.closed.is_set():
                self._idle.append(connection)
                return found
        connection.close()
        return found

    def send(self, connection: HTTPConnection, asked: Ask) -> None:
        """Send a request over a connection.

        Raises:
            OSError, HTTPException: The connection broke.
        """
        target = self.address.target(asked.parts, asked.query)
        connection.request(asked.method, target, asked.body, {**self._said, **asked.headers})

    def unreachable(self, error: BaseException, may_be_done: bool, was_repeated: bool) -> ServerError:
        """The error that there is no answer.

        Args:
            error: The failure.
            may_be_done: Whether the server may have done what was asked.
            was_repeated: Whether the request was sent again in vain.
        """
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        rest = "; nobody knows whether the request was done" if may_be_done else ""
        again = f", and was asked again for {self.patience:g} s" if was_repeated and _may_pass(error) else ""
        return UnreachableError(f"the server at {self.address} gave no answer{again} ({what}){rest}")

    def refuse_closed(self) -> None:
        """Refuse to go on when the client is closed.

        Raises:
            ReadError: The client is closed.
        """
        if self.closed.is_set():
            msg = f"the client of {self.address} is closed; connect again"
            raise ReadError(msg)

    def close(self) -> None:
        """Send nothing more; pauses before another attempt end. Once more changes nothing."""
        self.closed.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for one in list(self.listeners):
            one.close()


def whole_answer(response: HTTPResponse) -> Answer:
    """An answer with its body.

    `http.client` takes a head that was cut off for a whole one, and what comes until the end for the body. So an answer
    that does not say how long it is counts as cut off; a server of livejoin always says it.

    Raises:
        OSError, HTTPException: The answer was cut off.
    """
    if "content-length" not in response.headers and not response.chunked:
        msg = "an answer without its length"
        raise HTTPException(msg)
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def _may_pass(error: BaseException) -> bool:
    """Whether it may go well next time; a certificate that is not trusted never is."""
    return not isinstance(error, ssl.SSLCertVerificationError)
