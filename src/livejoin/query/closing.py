"""Which windows of a query with EMIT FINAL are closed, and which rows of its table no open window has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Closing:
    """The windows of a query over a table that keeps the rows of open ones alone; times are microseconds since 1970.

    Args:
        table: The table's name in lower case.
        sealed: The name of the table that has the closed windows of rows that are freed.
        duration: The length of a window.
        slide: From the start of a window to that of the next one.
        offset: The start of a window from 1970-01-01 00:00 UTC.
    """

    table: str
    sealed: str
    duration: int
    slide: int
    offset: int

    def first_open(self, watermark: int) -> int:
        """The start of the first window that a watermark has not closed: it ends behind it.

        Law: no row before it is in an open window.

        >>> Closing("t", "s", 10, 10, 0).first_open(30), Closing("t", "s", 10, 4, 0).first_open(30)
        (30, 24)
        """
        return self.offset + ((watermark - self.duration - self.offset) // self.slide + 1) * self.slide
