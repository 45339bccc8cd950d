"""When changes come first-in-first-out, in words for the tables of a query."""

from __future__ import annotations

from livejoin.query import ConjunctiveQuery
from livejoin.schema import Table


def fifo_update(query: ConjunctiveQuery) -> str:
    """What a change costs where first-in-first-out sequences are cheap, with what the tables' windows mean for it.

    A sequence is first-in-first-out if no row of any table stays while one that came later, of whatever table, leaves
    (CROWN, section 6); tables that no row ever leaves do not count, as the bounds that are told so do not rest on them.
    One window over one table is such a sequence, and so are equal ranges of time over several.
    Windows that hold different numbers of rows are not, nor a window beside a table without one.
    """
    changing = (atom.table for atom in query.atoms if not (atom.table.static or atom.table.append_only))
    tables = list({table.name: table for table in changing}.values())
    windowed = [table for table in tables if table.has_window]
    if not windowed or _alike(tables):
        return "O(1) a change while rows leave in the order in which they came, as in a window, or never leave"
    names = [table.name for table in tables]
    return (
        "O(1) a change while rows leave in the order in which they came to all tables together, or never leave (not so "
        f"here: {', '.join(names[:-1])} and {names[-1]} have no window in common, so that a row of one may stay while "
        "later rows of another leave)"
    )


def _alike(tables: list[Table]) -> bool:
    """Whether the windows of some tables let rows leave in the order in which they came to all of them."""
    widths = {None if table.window_range is None else table.window_range.width for table in tables}
    return len(tables) == 1 or (len(widths) == 1 and None not in widths)
