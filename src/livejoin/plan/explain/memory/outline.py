"""The expected memory of a view as plain values, and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from livejoin.state.budget import shown_bytes

ALLOCATED = 1.75
"""Bytes allocated for each one in use: buffers double when they grow, and hash tables leave places free."""

LEAST = 16_384.0
"""Bytes of the smallest arena."""

_OF_JOIN = 16_384.0
_OF_FIRST = 1_024.0

STORED = 2.5
"""Words of a stored row beside its columns: multiplicity, version, and for some the way to find it."""


@dataclass(frozen=True)
class MemoryPart:
    """What one block keeps.

    Args:
        name: The kind of the block, as ``groups``.
        of: The word for its rows.
        rows: The rows, groups or values that it keeps; None if that is not known.
        is_bound: Whether there may be fewer.
        bytes: The bytes that it is expected to allocate; None if that is not known.
        unknown: The reason why the bytes are not known; empty if they are told.
        used: The bytes among these that are expected to be in use; None if that is not known.
    """

    name: str
    of: str
    rows: float | None
    is_bound: bool
    bytes: float | None
    unknown: str = ""
    used: float | None = None


@dataclass(frozen=True)
class Memory:
    """What a view keeps beside the tables.

    Args:
        parts: Each block that keeps something, from below.
    """

    parts: tuple[MemoryPart, ...] = ()

    @property
    def bytes(self) -> float | None:
        """The bytes of all parts; None if one of them is not known."""
        known = [one.bytes for one in self.parts if one.bytes is not None]
        return sum(known) if len(known) == len(self.parts) else None

    @property
    def known_bytes(self) -> float:
        """The bytes of the parts that are known."""
        return sum(one.bytes for one in self.parts if one.bytes is not None)

    def lines(self) -> Iterator[str]:
        """The total, and a line for each part."""
        if not self.parts:
            yield "nothing beside the tables"
            return
        unknown = sum(one.bytes is None for one in self.parts)
        bound = "up to " if any(one.is_bound for one in self.parts) else ""
        if not unknown:
            yield f"{bound}about {size(self.known_bytes)} allocated beside the tables, in all"
        elif unknown == len(self.parts):
            yield "not known beside the tables, in all"
        else:
            yield f"about {size(self.known_bytes)} allocated and what is not known, beside the tables, in all"
        yield from map(part_line, self.parts)


def part_line(part: MemoryPart) -> str:
    """What a block keeps, on one line."""
    bound = "up to " if part.is_bound else ""
    if part.bytes is None:
        return f"{part.name}: not known, as {part.unknown}"
    return f"{part.name}: about {size(part.bytes)} for {bound}{part.rows or 0:,.0f} {part.of}"


def begun(rows: float) -> float:
    """Bytes that a join has beside those of its rows: headers, and the first places of its keys.

    >>> begun(0), begun(4), begun(1e6)
    (0.0, 4096.0, 16384.0)
    """
    return min(_OF_JOIN, _OF_FIRST * rows)


def size(number: float) -> str:
    """About so many bytes, for people.

    >>> [size(one) for one in (900, 12_345, 2_100_000, 3.2e9)]
    ['900 bytes', '12.3 KB', '2.1 MB', '3.2 GB']
    """
    return shown_bytes(int(float(f"{number:.3g}")))
