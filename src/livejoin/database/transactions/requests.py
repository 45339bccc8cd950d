"""Requests that say who asks and by which number, so that one that is sent again is not done again.

Who writes over a connection that can break does not know whether a request that had no answer was done. It gives each
request a number, and sends it again by the same one. Law: a request that is known changes nothing, and has the answer
that it had. Law: what is known stands if and only if the commit does, as both are in one record of the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final

from livejoin.errors import ChangeFormatError
from livejoin.shown import shown

MOST_NUMBERS: Final = 1000
"""So many numbers of a client are known; older ones are refused."""
MOST_CLIENTS: Final = 10_000
"""So many clients are known; the one that has asked longest ago is forgotten first."""

_LONGEST = 200
_LARGEST = (1 << 63) - 1

Request = tuple[str, int]
"""The name of a client, and its number of a request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered; the figures are those of its `livejoin.Commit`."""

    version: int
    changes: int
    ignored: int
    late: int
    bad_rows: int


@dataclass(slots=True)
class _Client:
    answers: dict[int, Answer]
    forgotten: int = -1  # the largest number of which nothing is known any more


class Requests:
    """The requests of the clients that are known; mutable."""

    def __init__(self) -> None:
        self._clients: dict[str, _Client] = {}

    def answer(self, request: Request) -> Answer | None:
        """What a request was answered; None if it is a new one.

        Raises:
            ChangeFormatError: The request is older than those of its client that are known.
        """
        name, number = request
        client = self._clients.get(name)
        if client is None:
            return None
        found = client.answers.get(number)
        if found is None and number <= client.forgotten:
            msg = (
                f"request {number} of client {name!r} is older than the last {MOST_NUMBERS} of it, so that nobody "
                "knows whether it was done; give each request a larger number than the ones before"
            )
            raise ChangeFormatError(msg)
        return found

    def note(self, request: Request, answer: Answer) -> None:
        """Know a request; once more changes nothing."""
        name, number = request
        client = self._clients.pop(name, None) or _Client({})
        client.answers[number] = answer
        while len(client.answers) > MOST_NUMBERS:
            oldest = min(client.answers)
            del client.answers[oldest]
            client.forgotten = max(client.forgotten, oldest)
        self._clients[name] = client
        while len(self._clients) > MOST_CLIENTS:
            del self._clients[next(iter(self._clients))]

    def plain(self) -> dict[str, Any]:
        """What is known, as JSON values."""
        return {
            name: [client.forgotten, *([number, *astuple(one)] for number, one in client.answers.items())]
            for name, client in self._clients.items()
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Requests:
        """What `plain` gave.

        Raises:
            ValueError, TypeError: The values are none of it.
        """
        found = cls()
        for name, (forgotten, *answers) in values.items():
            known = {int(number): Answer(*map(int, rest)) for number, *rest in answers}
            found._clients[str(name)] = _Client(known, int(forgotten))
        return found


def check_request(request: object) -> Request:
    """The name and number of a request.

    Raises:
        ChangeFormatError: The value is no pair of these.
    """
    if isinstance(request, tuple | list) and len(request) == 2:
        name, number = request
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if isinstance(name, str) and 0 < len(name) <= _LONGEST and is_number and 0 <= number <= _LARGEST:
            return name, number
    msg = (
        f"request is {shown(request)}; allowed is the name of a client, of {_LONGEST} characters at most, and its "
        "number of the request, from 0 on, as ('till-3', 17)"
    )
    raise ChangeFormatError(msg)
