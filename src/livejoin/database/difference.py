"""The changes that turn one multiset of rows into another, computed by a database with one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from livejoin.database.contents import Contents
from livejoin.database.row_words import nested_codes
from livejoin.database.transactions import transaction
from livejoin.database.view import ViewOptions
from livejoin.families.cells.workers import Workers
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Column, SqlType, Table, is_made_list
from livejoin.search.statistics import Statistics

if TYPE_CHECKING:
    from livejoin.database.engine import Database


def difference(before: pa.Table, now: pa.Table, types: Sequence[SqlType]) -> pa.Table:
    """The net changes from some rows to others: deletions of rows that go, insertions of rows that come.

    Args:
        before: Rows.
        now: Rows of the same columns.
        types: The types of the columns.

    Returns:
        The columns ``c0``, ``c1``, ..., and ``_change_type``.

    Cost: O(rows of both); lists that aggregates have made are sorted, O(rows * log(rows)).
    """
    lists = [place for place, field in enumerate(now.schema) if is_made_list(field.type)]
    coded = {place: _coded(pa.chunked_array([*before[place].chunks, *now[place].chunks])) for place in lists}
    for place, (codes, _) in coded.items():
        name = now.schema.names[place]
        before = before.set_column(place, name, codes.slice(0, before.num_rows))
        now = now.set_column(place, name, codes.slice(before.num_rows))
    types = [SqlType.integer(64) if place in coded else type for place, type in enumerate(types)]
    contents = Contents(Workers(1))
    names = [f"c{place}" for place in range(len(types))]
    contents.add_table(Table("T", tuple(map(Column, names, types))))
    query = contents.bind(f"SELECT {', '.join(names)} FROM T")
    contents.add_view("changes", query, ViewOptions(True, "auto", False, Statistics()))
    batches = transaction.read(contents, {"T": before.rename_columns(names)}, False, "error")
    transaction.commit(contents, batches, "error")
    rows = [
        rows.rename_columns(names).append_column(CHANGE_TYPE, pa.repeat(pa.scalar(kind), rows.num_rows))
        for kind, rows in (("delete", before), ("insert", now))
    ]
    batches = transaction.read(contents, {"T": pa.concat_tables(rows)}, False, "error")
    found = transaction.commit(contents, batches, "error")["changes"].drop_columns([COMMIT_VERSION])
    for place, (_, distinct) in coded.items():
        found = found.set_column(place, names[place], distinct.take(found[place]))
    return found


def _coded(lists: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Lists that aggregates have made, which no table has, as numbers from 0 on; and the list of each number."""
    codes = nested_codes(lists)
    _, first = np.unique(codes.to_numpy(), return_index=True)
    return codes, lists.take(pa.array(first)).combine_chunks()


def types_of(database: Database, view: str) -> tuple[SqlType, ...]:
    """The types of a view's columns."""
    return database.views[view]._query.root.types
