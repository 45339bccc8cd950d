"""Answers of a server, and the errors that some of them are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import responses
from inspect import isclass
from typing import Any, Final

from livejoin import errors
from livejoin.errors import LivejoinError, PipelineError, ServerError, SqlError

_PLACES: Final = ("table", "row", "line", "column", "clause", "path", "key", "assertion", "count", "rows")
_KINDS: Final[Mapping[str, type[LivejoinError]]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isclass(kind) and issubclass(kind, LivejoinError) and not issubclass(kind, ServerError | PipelineError)
}
_MOST_SHOWN = 200  # characters of an answer that is no JSON


@dataclass(frozen=True)
class Answer:
    """What a server answered.

    Args:
        status: The status of HTTP.
        headers: The headers, with names in lower case.
        body: The body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float:
        """The seconds to wait before asking again; 0 if nothing is said of that."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0

    def json(self) -> Any:
        """The value of the JSON text that the body is.

        Raises:
            ServerError: The body is none.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            msg = f"the server answered {self._shown()}, which is no JSON; is it one of livejoin?"
            raise ServerError(msg, status=self.status) from error

    def _shown(self) -> str:
        return repr(self.body[:_MOST_SHOWN].decode(errors="replace"))

    def error(self, sql: str = "") -> LivejoinError:
        """The error that the answer is: of the class that it had in the server, or a `ServerError`.

        Args:
            sql: The SQL text that was sent.
        """
        try:
            said = json.loads(self.body)["error"]
            kind, message = str(said["kind"]), str(said["message"])
        except (ValueError, TypeError, KeyError, LookupError):
            where = f" to {self.headers['location']}" if "location" in self.headers else ""
            msg = (
                f"the server answered {self.status} {responses.get(self.status, '')}{where}: {self._shown()}; what "
                "answers there is no server of livejoin"
            )
            return ServerError(msg, status=self.status)
        found = _KINDS.get(kind)
        if found is None:
            return ServerError(message, kind, self.status)
        error = found(message)  # the message says the place already
        for name in _PLACES:
            if name in said and hasattr(error, name):
                setattr(error, name, said[name])
        if isinstance(error, SqlError):
            error.sql = sql
        return error
