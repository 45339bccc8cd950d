"""How much of a source a batch takes at most."""

from __future__ import annotations

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from livejoin.errors import SchemaError


def checked(limit: int | None, argument: str) -> int | None:
    """A limit that may stand.

    Raises:
        SchemaError: It is no whole number, or less than 1.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        msg = f"{argument}={limit!r} limits a batch; give 1 or more, or None for all that is there"
        raise SchemaError(msg)
    return limit


def read_limit(most: int | None) -> ReadLimit:
    """The same as Spark asks for it."""
    return ReadAllAvailable() if most is None else ReadMaxRows(most)


def most_of(limit: ReadLimit | None) -> int | None:
    """What Spark asks for, which may be everything whatever the source would like."""
    return limit.max_rows if isinstance(limit, ReadMaxRows) else None
