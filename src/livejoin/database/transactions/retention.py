"""Tables with ``retain = "used"``, or that keep no rows: which columns of their rows are kept, or read.

A column is kept if a view reads it, or if the table needs it: for its keys, the order of its changes or its window.
Every other column is NULL in all rows, so that its values take no time and no room in the dictionaries. Law: the rows
of a table are the multiset of their kept columns, and all rows keep the same columns. So the columns are chosen when
the first row comes into an empty table. Of a table that keeps no rows they are the columns that views read now.
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
    """The columns to keep of rows that come now; None for all. Cost: O(views) for an empty table, else O(1)."""
    if table.retain == "all" and (not table.is_trusted or table.generated):  # these read other columns
        return None
    base = contents.tables[table.name.lower()]
    if base.rows == 0 and not (table.is_trusted and base.kept_for is contents.views):
        kept = {column for column in range(len(table.columns)) if table.needs(column)}
        for view in contents.views.values():
            kept |= view._query.used_columns().get(table.name, set())
        base.kept, base.kept_for = frozenset(kept), contents.views
    return base.kept


def refuse_dropped(contents: Contents, query: Query) -> None:
    """Refuse a query of columns that were not kept.

    Raises:
        SchemaError: The query reads a column that the rows of a table have lost.
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
