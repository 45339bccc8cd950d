"""Requests that say who asks and by which number, so that one that is sent again is not done again.

Who writes over a connection that can break does not know whether a request that had no answer was done. It gives each
request a number, and sends it again by the same one. Law: a request that is known changes nothing, and has the answer
that it had. Law: what is known stands if and only if the commit does, as both are in one record of the log.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

from livejoin.errors import ChangeError, ChangeFormatError
from livejoin.shown import shown

MOST_NUMBERS: Final = 1000
"""So many numbers of a client are known; older ones are refused."""
MOST_CLIENTS: Final = 10_000
"""So many clients are known; the one that has asked longest ago is forgotten first."""

_LONGEST = 200
_LARGEST = (1 << 63) - 1

Request = tuple[str, int] | tuple[str, int, int]
"""The name of a client, its number of a request, and where it is known a digest of what is asked."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A request that has a number.

    Args:
        client: The name of the client.
        number: The number that the client gave the request.
        digest: A number that another request would not have; 0 where it is unknown.
    """

    client: str
    number: int
    digest: int = 0

    def noted(self, bad_rows: int) -> list[Any]:
        """The request and how many of its changes were left out, as JSON values."""
        return [self.client, self.number, bad_rows, self.digest]

    @classmethod
    def of(cls, values: Sequence[Any]) -> tuple[Numbered, int]:
        """What `noted` gave: the request, and how many changes were left out."""
        client, number, bad_rows, *digest = values
        return cls(client, number, *digest), bad_rows


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered: the figures of its `livejoin.Commit`, and the digest of the request."""

    version: int
    changes: int
    ignored: int
    late: int
    bad_rows: int
    digest: int = 0


@dataclass(slots=True)
class _Client:
    answers: dict[int, Answer]
    forgotten: int = -1  # the largest number of which nothing is known any more


class Requests:
    """The requests of the clients that are known; mutable."""

    def __init__(self) -> None:
        self._clients = OrderedDict[str, _Client]()  # the one heard of last stands last

    def answer(self, request: Numbered) -> Answer | None:
        """What a request was answered; None if it is a new one.

        Raises:
            ChangeError: The request is older than those of its client that are known, or its number is that of another
                request of the client.
        """
        name, number = request.client, request.number
        client = self._clients.get(name)
        if client is None:
            return None
        found = client.answers.get(number)
        if found is None and number <= client.forgotten:
            msg = (
                f"request {number} of client {name!r} is older than the last {MOST_NUMBERS} of it, so that nobody "
                "knows whether it was done; give each request a larger number than the ones before"
            )
            raise ChangeError(msg)
        if found is not None and request.digest and found.digest and request.digest != found.digest:
            msg = (
                f"request {number} of client {name!r} was another one, in version {found.version}, so that this one is "
                "not done; give each request a larger number than the ones before, also after a restart"
            )
            raise ChangeError(msg)
        return found

    def note(self, request: Numbered, answer: Answer) -> None:
        """Know a request; once more changes nothing."""
        name, number = request.client, request.number
        client = self._clients.get(name) or _Client({})
        client.answers[number] = answer
        while len(client.answers) > MOST_NUMBERS:
            oldest = min(client.answers)
            client.forgotten = max(client.forgotten, oldest)  # before it goes
            del client.answers[oldest]
        self._clients[name] = client
        self._clients.move_to_end(name)
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


def check_request(request: object) -> Numbered:
    """A request, from its name, its number, and its digest if that is given.

    Raises:
        ChangeFormatError: The value is none of these.
    """
    if isinstance(request, tuple | list) and len(request) in (2, 3):
        name, *numbers = request
        are_numbers = all(type(one) is int and 0 <= one <= _LARGEST for one in numbers)
        if isinstance(name, str) and 0 < len(name) <= _LONGEST and are_numbers:
            return Numbered(name, *numbers)
    msg = (
        f"request is {shown(request)}; allowed is the name of a client, of {_LONGEST} characters at most, and its "
        "number of the request, from 0 on, as ('till-3', 17)"
    )
    raise ChangeFormatError(msg)
