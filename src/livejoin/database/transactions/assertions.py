"""Assertions: queries that have no rows after any commit, or the commit is refused.

Law: an enforced assertion has no rows between two commits. So what a commit gives it is what violates it, and this is
the delta that the commit makes anyway: nothing is looked for where nothing has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.versions.rolling import netted
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.errors import ViolationError
from livejoin.schema import COMMIT_VERSION, Assertion
from livejoin.shown import shown_row

if TYPE_CHECKING:
    from livejoin.database.view import View

VIOLATIONS = "livejoin_violations"
"""The view that says which of the assertions that only warn have rows."""

MOST_ROWS = 100
"""Rows that an error has."""
_MOST_COLUMNS = 8  # of the row that a message shows
_CONDITION = ["violated"]  # the columns of a condition that is no NOT EXISTS


def asserts(assertion: Assertion) -> str:
    """What an assertion does, in a sentence; what its query costs is said behind it."""
    if not assertion.enforced:
        return f"An assertion that warns: its rows are what violates it, and {VIOLATIONS} counts them."
    later = ", at the end of a replay" if assertion.deferred else ""
    return (
        f"An assertion: a commit that gives this query a row is refused{later}. One that does not pays what keeping "
        "the query up costs, and nothing more."
    )


def violations(
    asserted: Sequence[View], deltas: Mapping[str, ViewDelta], versions: int, *, refuses: bool
) -> list[ViolationError]:
    """The assertions that a commit violates.

    Args:
        asserted: The enforced assertions that the commit may reach.
        deltas: The deltas of the views that it may reach, by name.
        versions: How many versions it is.
        refuses: Whether the commit is refused then.

    Raises:
        ViolationError: An assertion would not hold, and ``refuses`` is set.

    Cost: O(1) an assertion that holds.
    """
    found = []
    for view in asserted:
        if deltas[view.name].num_rows and (came := _came(view, deltas[view.name], versions)) is not None:
            found.append(violation(view, *came, "nothing of the commit stands"))
    if refuses:
        refuse_violations(found)
    return found


def refuse_violations(found: Sequence[ViolationError]) -> None:
    """Refuse a commit that violates assertions, by the first of them.

    Raises:
        ViolationError: There is one.
    """
    if found:
        names = ", ".join(repr(error.assertion) for error in found[1:])
        raise found[0].with_more(f"; neither would {names} hold" if names else "") from None


def refuse_violated(view: View, what: str) -> None:
    """Refuse an enforced assertion that has rows.

    Args:
        view: The assertion; its guard lets the caller read it.
        what: The end of the message: what becomes of what was asked for.

    Raises:
        ViolationError: The assertion has rows.
    """
    if view.assertion is None or not view.assertion.enforced:
        return
    rows = _first(view.batches(MOST_ROWS), view.schema)
    if rows.num_rows:
        raise violation(view, view.count(), rows, what)


def _came(view: View, delta: ViewDelta, versions: int) -> tuple[int, pa.Table] | None:
    """How many rows violate an assertion, and the first of them; None if none is left where only the end counts."""
    columns = range(len(view.schema))
    if versions == 1:
        return delta.num_rows, _first(delta.batches(MOST_ROWS), view.delta_schema).select(columns)
    rows = delta.table()
    assert view.assertion is not None
    if view.assertion.deferred:
        rows = netted([rows], view.types)
        if not rows.num_rows:
            return None
    else:
        rows = rows.filter(pc.equal(rows[COMMIT_VERSION], pc.min(rows[COMMIT_VERSION])))  # what was there were none
    return rows.num_rows, rows.slice(0, MOST_ROWS).select(columns)


def _first(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The first rows of some batches, of which each may have few."""
    found, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        found.append(batch)
        rows += batch.num_rows
        if rows >= MOST_ROWS:
            break
    return pa.Table.from_batches(found, schema).slice(0, MOST_ROWS)


def violation(view: View, count: int, rows: pa.Table, what: str) -> ViolationError:
    """That an assertion does not hold.

    Args:
        view: The assertion.
        count: How many rows violate it.
        rows: The first of them.
        what: The end of the message, as for `refuse_violated`.
    """
    assert view.assertion is not None
    if rows.column_names == _CONDITION:
        said = "its condition is false"
    else:
        many = f"{count:,} rows violate it, the first of them" if count > 1 else "a row violates it"
        said = f"{many}: {shown_row(rows, _MOST_COLUMNS)}"
    msg = f"assertion {view.name!r} does not hold: {said}; {what}"
    return ViolationError(msg, view.assertion.table, assertion=view.name, count=count, rows=rows)
