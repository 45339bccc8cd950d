"""What every call passes: who asks, and how many there are."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Mapping
from typing import Any

import pyarrow.flight as fl

from livejoin.server.access import UNKNOWN_TOKEN, Access, Who

NAME = "livejoin"
_NO_TOKEN = "a token is needed, as `authorization: Bearer TOKEN` or as the password; the call has none"


class Passed(fl.ServerMiddleware):  # type: ignore[misc]  # pyarrow has no types
    """A call that came in.

    Args:
        who: Who asks.
        bearer: The token to give back to one who came with a password, which the calls that follow have.
        places: The places of calls, of which one is freed when the call ends.
    """

    def __init__(self, who: Who, bearer: str | None, places: threading.Semaphore) -> None:
        self.who = who
        self._bearer = bearer
        self._places = places

    def sending_headers(self) -> Mapping[str, str]:
        """What the answer has beside it."""
        return {} if self._bearer is None else {"authorization": f"Bearer {self._bearer}"}

    def call_completed(self, exception: Exception | None) -> None:
        """The call has ended, its streams too."""
        del exception
        self._places.release()


class Door(fl.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Lets calls in that have a token: ``authorization: Bearer TOKEN``, or a password that is one.

    Args:
        access: Finds out who asks.
        calls: The most calls at a time.
    """

    def __init__(self, access: Access, calls: int) -> None:
        self._access = access
        self._calls = calls
        self._places = threading.Semaphore(calls)

    def start_call(self, info: Any, headers: Mapping[str, list[Any]]) -> Passed:
        """Let a call in.

        Raises:
            FlightUnauthenticatedError: The token is missing, or the server does not know it.
            FlightUnavailableError: There are too many calls.
        """
        del info
        token, is_password = _token(headers)
        who = self._access.who(token)
        if who is None:
            msg = UNKNOWN_TOKEN if token else _NO_TOKEN
            raise fl.FlightUnauthenticatedError(msg)
        if not self._places.acquire(blocking=False):
            msg = f"{self._calls} calls are being answered, as many as may be; ask again"
            raise fl.FlightUnavailableError(msg)
        return Passed(who, token if is_password else None, self._places)


def _token(headers: Mapping[str, list[Any]]) -> tuple[str | None, bool]:
    """The token of a call, and whether it came as a password."""
    for name, values in headers.items():
        if name.lower() != "authorization":
            continue
        for value in values:
            kind, _, said = (value.decode("utf-8", "replace") if isinstance(value, bytes) else value).partition(" ")
            if kind.lower() == "bearer" and said:
                return said.strip(), False
            if kind.lower() == "basic":
                try:
                    plain = base64.b64decode(
                        said + "=" * (-len(said) % 4), validate=True
                    ).decode()  # ADBC sends no padding
                except (binascii.Error, ValueError):
                    return None, False
                return plain.partition(":")[2], True
    return None, False


class NoHandshake(fl.ServerAuthHandler):  # type: ignore[misc]  # pyarrow has no types
    """The handshake of a client with a password; `Door` has looked at the password."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        """Nothing is left to do."""

    def is_valid(self, token: bytes) -> bytes:
        """Who it is stands in `Passed`."""
        del token
        return b""


def who_asks(context: Any) -> Who:
    """Who makes a call."""
    found: Who = context.get_middleware(NAME).who
    return found
