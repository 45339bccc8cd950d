"""The most rows that a batch takes from a source."""

from __future__ import annotations

from livejoin.errors import SchemaError
from livejoin.spark.limited_streams import ReadAllAvailable, ReadLimit, ReadMaxRows


def checked(limit: int | None, argument: str) -> int | None:
    """Check a limit.

    Raises:
        SchemaError: The limit is no integer, or less than 1.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        msg = f"{argument}={limit!r} limits a batch; give 1 or more, or None for all that is there"
        raise SchemaError(msg)
    return limit


def read_limit(most: int | None) -> ReadLimit:
    """The limit as Spark's object."""
    return ReadAllAvailable() if most is None else ReadMaxRows(most)


def most_of(limit: ReadLimit | None) -> int | None:
    """The limit that Spark asks for; None for everything, whatever the source prefers."""
    return limit.max_rows if isinstance(limit, ReadMaxRows) else None
