"""The changes that turn one multiset of rows into another, computed by a database with one table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from livejoin.database.contents import Contents
from livejoin.database.engine import Database
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Column, SqlType, Table


def difference(before: pa.Table, now: pa.Table, types: Sequence[SqlType]) -> pa.Table:
    """The net changes from some rows to others: deletions of rows that go, insertions of rows that come.

    Args:
        before: Rows.
        now: Rows of the same columns.
        types: The types of the columns.

    Returns:
        The columns ``c0``, ``c1``, ..., and ``_change_type``.

    Cost: O(rows of both).
    """
    database = Database()
    contents: Contents = database._contents
    names = [f"c{place}" for place in range(len(types))]
    contents.add_table(Table("T", tuple(map(Column, names, types))))
    database.create_view("changes", f"SELECT {', '.join(names)} FROM T")
    database.apply("T", before.rename_columns(names))
    kinds = [pa.repeat(pa.scalar(kind), rows.num_rows) for kind, rows in (("delete", before), ("insert", now))]
    rows = [
        rows.rename_columns(names).append_column(CHANGE_TYPE, kind)
        for rows, kind in zip((before, now), kinds, strict=True)
    ]
    return database.apply("T", pa.concat_tables(rows))["changes"].drop_columns([COMMIT_VERSION])


def types_of(database: Database, view: str) -> tuple[SqlType, ...]:
    """The types of a view's columns."""
    return database.views[view]._query.root.types
