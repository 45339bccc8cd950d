"""Tables with ``retain = "used"``: which columns of their rows are kept.

A column is kept if a view reads it, or if the table itself needs it: for its keys, the order of its changes or its
window. In the place of any other one a row has NULL, so that its values take no room in the dictionaries and no time.
Law: the rows of a table are the multiset of what is kept of each, and all of them have values of the same columns. So
these are decided when the first row comes, and again when one comes after the table was empty.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from livejoin.errors import SchemaError
from livejoin.query.bound_query import Query
from livejoin.schema import Table

if TYPE_CHECKING:
    from livejoin.database.contents import Contents


def kept_columns(contents: Contents, table: Table) -> Collection[int] | None:
    """The columns that are kept of rows that come now; None for all. Cost: O(views) for an empty table, else O(1)."""
    if table.retain == "all":
        return None
    base = contents.tables[table.name.lower()]
    if base.rows == 0:
        kept = {column for column in range(len(table.columns)) if table.needs(column)}
        for view in contents.views.values():
            kept |= view._query.used_columns().get(table.name, set())
        base.kept = frozenset(kept)
    return base.kept


def refuse_dropped(contents: Contents, query: Query) -> None:
    """Refuse a query of columns that rows have lost.

    Raises:
        SchemaError: There are rows of a table that it reads, and a column of it is not kept.
    """
    for name, used in query.used_columns().items():
        base = contents.tables[name.lower()]
        if base.kept is None or base.rows == 0 or used <= base.kept:
            continue
        columns = ", ".join(repr(base.table.columns[column].name) for column in sorted(used - base.kept))
        msg = (
            f"the view reads {columns} of table {name!r}, which has retain = 'used' and rows without it, because no "
            "view read it when they came; create the view before the rows come, delete them and bring them "
            "again, or declare the table without retain"
        )
        raise SchemaError(msg)
