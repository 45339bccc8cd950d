"""Errors as Flight says them: a status of gRPC, and our own message."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as fl

from livejoin.errors import LivejoinError
from livejoin.server.answers import status_of
from livejoin.server.flight.protobuf import MessageError

logger = logging.getLogger("livejoin")
Call = TypeVar("Call", bound=Callable[..., Any])

_STATUS: dict[HTTPStatus, type[Exception]] = {
    HTTPStatus.UNAUTHORIZED: fl.FlightUnauthenticatedError,
    HTTPStatus.FORBIDDEN: fl.FlightUnauthorizedError,
    HTTPStatus.NOT_FOUND: pa.ArrowKeyError,
    HTTPStatus.SERVICE_UNAVAILABLE: fl.FlightUnavailableError,
    HTTPStatus.NOT_IMPLEMENTED: pa.ArrowNotImplementedError,
    HTTPStatus.INTERNAL_SERVER_ERROR: fl.FlightInternalError,
}


class _Untraced:
    """An error without a trace: of other errors than its own, Flight would send where in our code they come from.

    Flight writes the trace by `traceback`, which reads this attribute, and where that fails it sends the class alone.
    """

    @property
    def __suppress_context__(self) -> bool:
        raise RuntimeError


@cache
def _untraced(base: type[Exception], name: str) -> type[Exception]:
    """A class of errors that says the kind of error by its name."""
    return base if issubclass(base, fl.FlightError) else type(name, (_Untraced, base), {})


def flight_error(error: Exception) -> Exception:
    """An error as one of Flight; what is no error of livejoin's is not told."""
    if isinstance(error, LivejoinError):
        status = HTTPStatus.BAD_REQUEST if isinstance(error, MessageError) else status_of(error)
        return _untraced(_STATUS.get(status, pa.ArrowInvalid), type(error).__name__)(str(error))
    if isinstance(error, pa.ArrowException | OverflowError):  # of the rows that came
        return _untraced(pa.ArrowInvalid, "ArrowError")(f"the Arrow data cannot be read: {str(error) or error!r}")
    logger.error("a call of Flight failed", exc_info=error)
    return _untraced(fl.FlightInternalError, "ServerError")("the server failed; its log says why")


def answering(call: Call) -> Call:
    """A method that answers a call, whose errors are those of Flight."""

    @wraps(call)
    def answer(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            raise flight_error(error) from None

    return answer  # type: ignore[return-value]  # the same parameters
