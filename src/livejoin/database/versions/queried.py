"""A query over the rows of a snapshot: a database of its own with these rows as tables, which is asked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from livejoin.database.contents import Contents
from livejoin.database.statements.script import ask
from livejoin.database.transactions import transaction
from livejoin.errors import ReadError
from livejoin.families.cells.workers import Workers
from livejoin.schema import Column, Table, is_made_list
from livejoin.sql import names_read

if TYPE_CHECKING:
    from livejoin.database.versions.snapshot import RowsAt


def queried(query: str, parameters: Any, named: Mapping[str, RowsAt]) -> pa.Table:
    """The result of a query over rows; as `livejoin.database.versions.snapshot.Snapshot.sql`.

    Args:
        query: The query.
        parameters: The values of its places.
        named: The rows that it may name.
    """
    contents = Contents(Workers(1))
    rows = {name.lower(): one for name, one in named.items()}
    for name in sorted(names_read(query) & rows.keys()):
        one = rows[name]
        shape = one._shape
        for field in shape.schema:
            if is_made_list(field.type):
                msg = (
                    f"{one.name!r} has the column {field.name!r}, a list that an aggregate made, which no query over a "
                    "snapshot reads; read it as Arrow, or create a view of the query"
                )
                raise ReadError(msg)
        columns = zip(shape.schema.names, shape.types, strict=False)  # what is not shown comes behind
        contents.add_table(Table(one.name, tuple(Column(column, type) for column, type in columns)))
        batches = transaction.read(contents, {one.name: one.to_arrow()}, False, "error")
        transaction.commit(contents, batches, "error")
    return ask(contents, query, parameters)
