"""What a view asserts: that it has no rows (SQL-92, section 11.34, CREATE ASSERTION)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Assertion:
    """How it is asserted that a query has no rows.

    Args:
        enforced: Whether a commit that gives it rows is refused; else the rows are shown, and the commit stands.
        deferred: Whether versions within a replay may give it rows that are gone at the end of the replay.
        table: The table of whose FOREIGN KEY it is, in lower case; empty if it is none.
    """

    enforced: bool = True
    deferred: bool = False
    table: str = ""
