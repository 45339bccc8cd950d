"""Server-sent events, as the HTML standard defines them (section 9.2.6, "Interpreting an event stream")."""

from __future__ import annotations

import re
from dataclasses import dataclass

_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Event:
    """An event.

    Args:
        name: The kind of event; ``message`` where none is said.
        data: The data.
        id: The last id that was said up to this event, also by an earlier one.
    """

    name: str
    data: str
    id: str


class EventReader:
    """Makes events of the bytes of a stream, in whatever pieces they come; mutable.

    Law: the events do not depend on how the bytes are cut into pieces. One without its empty line at the end is none,
    so that what a broken connection cut off is not seen.

    >>> reader = EventReader()
    >>> reader.feed(b"id: 7\\ndata: a\\nda"), reader.feed(b"ta: b\\n\\n: ping\\n")
    ([], [Event(name='message', data='a\\nb', id='7')])
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._seen = 0  # bytes of the rest in which no line ends
        self._is_first = True
        self._name = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, piece: bytes) -> list[Event]:
        """The events that a piece completes; O(bytes), also of a line in many pieces."""
        self._rest += piece
        found, begin = [], 0
        while (end := _END.search(self._rest, max(begin, self._seen))) is not None:
            if end.end() == len(self._rest) and end.group() == b"\r":
                break  # a line feed may follow
            event = self._line(self._rest[begin : end.start()].decode(errors="replace"))
            if event is not None:
                found.append(event)
            begin = end.end()
        del self._rest[:begin]
        self._seen = max(0, len(self._rest) - 1)
        return found

    def _line(self, line: str) -> Event | None:
        if self._is_first:
            self._is_first, line = False, line.removeprefix("\ufeff")
        if not line:
            event = Event(self._name or "message", "\n".join(self._data), self._id) if self._data else None
            self._name, self._data = "", []
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
        return None
