"""The changes of a view, followed over connections that break.

Law: the messages, one after the other, are the view: the first one, and each with ``reset``, has all rows, and every
other one has what changed since the message before. A connection that breaks leaves no gap and gives nothing twice,
since the next one begins behind the last message that came whole.
"""

from __future__ import annotations

import json
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Lock
from types import TracebackType
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from livejoin.client.answered import Answer
from livejoin.client.events import EventReader
from livejoin.client.exchange import BUSY, Ask, Exchange, whole_answer
from livejoin.client.patience import Patience
from livejoin.client.rows import read_arrow
from livejoin.client.web_socket import BrokenError, ClosedError, WebSocket, handshake
from livejoin.errors import AbsentNameError, LivejoinError, ReadError, ServerError

Shape: TypeAlias = Literal["changes", "upsert", "arrow"]

_SILENCE: Final = 45.0  # seconds without a word, of which the server has one each 15 or 20
_WELL: Final = 10.0  # seconds after which a connection counts as one that held
_PIECE = 1 << 16


@dataclass(frozen=True)
class Update:
    """What changed in a view, or all of it.

    Args:
        id: Where one goes on who comes back with it, as ``since``.
        version: The version of the database that it leads to.
        reset: Whether these are all rows: forget what you have.
        changes: The rows that came and went, as dicts with ``_change_type``. Values are those of JSON: texts for
            DECIMAL, DATE, TIMESTAMP and BINARY.
    """

    id: str
    version: int
    reset: bool
    changes: list[dict[str, Any]]


@dataclass(frozen=True)
class Upserts:
    """What changed in a view, for a store by key; ``id``, ``version`` and ``reset`` as in `Update`.

    Args:
        id: Where one goes on.
        version: The version.
        reset: Whether these are all rows.
        puts: The rows to be written over those with their keys.
        gone: The keys of the rows that are gone.
        key: With ``reset`` the columns of the view's key; else None, as it stays what it was.
    """

    id: str
    version: int
    reset: bool
    puts: list[dict[str, Any]]
    gone: list[dict[str, Any]]
    key: list[str] | None = None


@dataclass(frozen=True)
class ArrowUpdate:
    """What changed in a view, in Arrow; ``id``, ``version`` and ``reset`` as in `Update`.

    Args:
        id: Where one goes on.
        version: The version.
        reset: Whether these are all rows.
        changes: The rows that came and went, with ``_change_type`` and ``_commit_version``, in the types of the view.
    """

    id: str
    version: int
    reset: bool
    changes: pa.Table


Told = TypeVar("Told", bound=Update | Upserts | ArrowUpdate)
Told_co = TypeVar("Told_co", bound=Update | Upserts | ArrowUpdate, covariant=True)


class _EndedError(Exception):
    """The server tells nothing more of the view, and says why.

    Args:
        message: The reason.
        goes_on: Whether it is the server that ends, and not the view, so that what was told stands.
    """

    def __init__(self, message: str, goes_on: bool) -> None:
        super().__init__(message)
        self.goes_on = goes_on


class _BusyError(Exception):
    """The server has too many who follow, and asks to be asked again.

    Args:
        answer: The server's error.
        at_least: The seconds to wait.
    """

    def __init__(self, answer: LivejoinError, at_least: float = 0.0) -> None:
        self.answer = answer
        self.at_least = at_least
        super().__init__(str(answer))


class Stream(Protocol[Told_co]):
    """What a connection tells, message by message."""

    def next(self) -> Told_co:
        """The next message.

        Raises:
            _EndedError: The server tells nothing more.
            OSError, HTTPException: The connection broke.
            ServerError: No message came, but something else.
        """


Open: TypeAlias = Callable[[Exchange, HTTPConnection, str, str | None], Stream[Told]]


class Following(Generic[Told]):
    """The messages of a view, in a loop; mutable.

    One thread reads it. Another one may close it, which ends the loop.

    Args:
        exchange: The server.
        view: The view's name.
        open_stream: Begins to listen over a connection.
        since: The id of the message behind which to begin; None to begin with all rows.

    Attributes:
        since: The id of the last message that was given.
    """

    def __init__(self, exchange: Exchange, view: str, open_stream: Open[Told], since: str | None) -> None:
        self.since = since
        self._exchange = exchange
        self._view = view
        self._open = open_stream
        self._patience = Patience(exchange.patience, exchange.closed)
        self._lock = Lock()
        self._is_closed = False
        self._connection: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._stream: Stream[Told] | None = None
        self._began = 0.0
        self._end = ""
        exchange.listeners.add(self)

    def __iter__(self) -> Iterator[Told]:
        return self

    def __next__(self) -> Told:
        """The next message; waits for it.

        Raises:
            StopIteration: This, or the client, is closed.
            ReadError: The view is gone, or has no such changes.
            ServerError: The server refuses.
            UnreachableError: The server is not there, and does not come back.
        """
        while not self._is_over():
            try:
                found = self._listened().next()
            except _EndedError as error:  # where the view has another query now, what was told before is void
                self._end, self.since = str(error), self.since if error.goes_on else None
                self._hang_up(ReadError(f"the changes of view {self._view!r} have ended: {error}"))
            except _BusyError as error:
                self._hang_up(error.answer, error.at_least)
            except (OSError, HTTPException) as error:
                self._hang_up(self._exchange.unreachable(error, False, True), cause=error)
            except LivejoinError as error:
                self._end_here()
                if self._end and isinstance(error, AbsentNameError):
                    msg = f"the changes of view {self._view!r} have ended: {self._end}"
                    raise ReadError(msg) from error
                raise
            except BaseException:  # Ctrl-C within a message
                self._drop()
                raise
            else:
                self.since, self._end = found.id, ""
                if found.reset:  # the server is there, but may give nothing but beginnings
                    self._patience.answered()
                else:
                    self._patience.went_well()
                return found
        self._end_here()
        raise StopIteration

    def _is_over(self) -> bool:
        return self._is_closed or self._exchange.closed.is_set()

    def _listened(self) -> Stream[Told]:
        if self._stream is None:
            connection = self._exchange.opened()
            with self._lock:
                self._connection, self._socket = connection, connection.sock
            if self._is_over():
                msg = "it is closed"
                raise BrokenError(msg)
            connection.sock.settimeout(_SILENCE)
            self._stream = self._open(self._exchange, connection, self._view, self.since)
            self._began = time.monotonic()
        return self._stream

    def _hang_up(self, error: LivejoinError, at_least: float = 0.0, cause: BaseException | None = None) -> None:
        """Wait before the next attempt.

        Raises:
            LivejoinError: The error; there was no time for another attempt.
        """
        if self._stream is not None and time.monotonic() - self._began >= _WELL:
            self._patience.went_well()
        self._drop()
        if not self._is_over() and not self._patience.wait(at_least) and not self._is_over():
            self._end_here()
            raise error from cause

    def _end_here(self) -> None:
        """End the loop, in the thread that reads it."""
        self.close()
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            connection, self._connection, self._socket = self._connection, None, None
        self._stream = None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """End the loop, also that of another thread. Once more changes nothing."""
        self._is_closed = True
        with self._lock:
            if self._socket is not None:
                with suppress(OSError):  # it is not connected any more
                    self._socket.shutdown(socket.SHUT_RDWR)  # wakes who reads

    def __enter__(self) -> Following[Told]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_here()


class _EventStream(Generic[Told]):
    """Messages as server-sent events.

    Args:
        response: The answer that goes on.
        read: Makes a message of an event's data and id.
    """

    def __init__(self, response: HTTPResponse, read: Callable[[Any, str], Told]) -> None:
        self._response = response
        self._read = read
        self._reader = EventReader()
        self._waiting: deque[Any] = deque()

    def next(self) -> Told:
        while True:
            while self._waiting:
                event = self._waiting.popleft()
                if event.name == "change":
                    return self._read(_parsed(event.data), event.id)
                if event.name == "end":
                    raise _EndedError(_message_of(event.data), '"again":true' in event.data)
            piece = self._response.read1(_PIECE)
            if not piece:
                msg = "the stream of events ended"
                raise BrokenError(msg)
            self._waiting.extend(self._reader.feed(piece))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        msg = f"the server told {text[:100]!r} of the view, which is no JSON"
        raise ServerError(msg) from error


def _message_of(text: str) -> str:
    found = _parsed(text)
    return str(found.get("message", "")) if isinstance(found, dict) else text


def update_of(said: Any, identity: str) -> Update:
    """A message of rows that came and went.

    Raises:
        ServerError: The value is none.
    """
    try:
        return Update(identity, said["version"], said["reset"], said["changes"])
    except (TypeError, LookupError) as error:
        raise _other(said) from error


def upserts_of(said: Any, identity: str) -> Upserts:
    """A message of rows to be written and of keys that are gone.

    Raises:
        ServerError: The value is none.
    """
    try:
        return Upserts(identity, said["version"], said["reset"], said["puts"], said["gone"], said.get("key"))
    except (TypeError, LookupError) as error:
        raise _other(said) from error


def _other(said: Any) -> ServerError:
    msg = f"the server told {str(said)[:200]!r} of the view, which this client does not understand"
    return ServerError(msg)


def events(shape: Literal["changes", "upsert"], read: Callable[[Any, str], Told]) -> Open[Told]:
    """Listens to server-sent events.

    Args:
        shape: The shape of each message.
        read: Makes a message of an event's data and id.
    """

    def open_stream(exchange: Exchange, connection: HTTPConnection, view: str, since: str | None) -> Stream[Told]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if since is not None:
            headers["Last-Event-ID"] = since
        exchange.send(connection, Ask("GET", ("v1", "views", view, "changes"), {"shape": shape}, headers=headers))
        response = connection.getresponse()
        if response.status != HTTPStatus.OK:
            raise _refused(response)
        kind = response.headers.get_content_type()
        if kind != "text/event-stream":
            _refuse_cut_off(response)
            msg = f"the server answered {kind} where text/event-stream was asked for; is it one of livejoin?"
            raise ServerError(msg, status=response.status)
        return _EventStream(response, read)

    return open_stream


def _refuse_cut_off(response: HTTPResponse) -> None:
    """Tell a head that was cut off from one of something else: nothing comes behind it.

    Raises:
        OSError: The head was cut off.
    """
    if not response.fp.read(1):
        msg = "the connection ended within the head of the answer"
        raise BrokenError(msg)


def _told(text: str) -> Exception:
    """The error that a text of a WebSocket is."""
    said = _parsed(text)
    status = said["error"].get("status", 0) if isinstance(said, dict) and isinstance(said.get("error"), dict) else 0
    return _error_of(Answer(status, {}, text.encode()))


def _refused(response: HTTPResponse) -> Exception:
    return _error_of(whole_answer(response))


def _error_of(answer: Answer) -> Exception:
    error = answer.error()
    is_passing = answer.status in (*BUSY, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
    return _BusyError(error, answer.retry_after) if is_passing else error


class _ArrowStream:
    """Messages as Arrow, over a WebSocket.

    Args:
        websocket: The WebSocket.
    """

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    def next(self) -> ArrowUpdate:
        try:
            found = self._websocket.receive()
        except ClosedError as error:
            match error.code:
                case 1000 | 1001:
                    raise _EndedError(error.reason, error.code == 1001) from error
            raise BrokenError(str(error)) from error
        if isinstance(found, str):
            raise _told(found)
        rows = read_arrow(found)
        said = dict(rows.schema.metadata or {})
        try:
            identity, version, reset = (said.pop(name).decode() for name in (b"id", b"version", b"reset"))
            return ArrowUpdate(identity, int(version), reset == "true", rows.replace_schema_metadata(said or None))
        except (LookupError, ValueError) as error:
            raise _other(rows.schema) from error


def arrow(exchange: Exchange, connection: HTTPConnection, view: str, since: str | None) -> Stream[ArrowUpdate]:
    """Listens to a WebSocket.

    Raises:
        LivejoinError: The server refuses.
        OSError, HTTPException: The connection broke.
    """
    headers, accepted = handshake()
    query = {"format": "arrow"} | ({} if since is None else {"since": since})
    source = connection.sock
    exchange.send(connection, Ask("GET", ("v1", "views", view, "changes"), query, headers=headers))
    response = connection.getresponse()
    if response.status != HTTPStatus.SWITCHING_PROTOCOLS:
        raise _refused(response)
    if response.headers.get("sec-websocket-accept") != accepted:
        _refuse_cut_off(response)
        msg = "the server does not answer as a WebSocket does; is there a proxy that does not know them?"
        raise ServerError(msg, status=response.status)
    return _ArrowStream(WebSocket(source, response.fp))
