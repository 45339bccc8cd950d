"""A query over rows that are there: a database of its own with these rows as tables, which is asked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from livejoin.database.statements.beside import beside
from livejoin.database.statements.script import ask
from livejoin.database.versions.rows_at import Named
from livejoin.errors import ReadError
from livejoin.schema import Column, SqlType, Table, is_made_list
from livejoin.sql import names_read


def read_by(query: str, named: Mapping[str, Named]) -> list[Named]:
    """What a query reads of that which it may name."""
    rows = {name.lower(): one for name, one in named.items()}
    return [rows[name] for name in sorted(names_read(query) & rows.keys())]


def queried(
    query: str, parameters: Any, named: Iterable[Named], memory_limit: int | None = None
) -> tuple[pa.Table, tuple[SqlType, ...]]:
    """The result of a query over rows, and the types of its columns.

    Args:
        query: The query.
        parameters: The values of its places.
        named: The rows that it reads.
        memory_limit: The most bytes that it may take; None for no limit.

    Raises:
        LivejoinError: As for `livejoin.database.versions.snapshot.Snapshot.sql`.
    """
    tables = list[tuple[Table, pa.Table]]()
    for one in named:
        for field in one.schema:
            if is_made_list(field.type):
                msg = (
                    f"{one.name!r} has the column {field.name!r}, a list that an aggregate made, which no query over a "
                    "snapshot reads; read it as Arrow, or create a view of the query"
                )
                raise ReadError(msg)
        columns = zip(one.schema.names, one.types, strict=True)
        tables.append((Table(one.name, tuple(Column(column, type) for column, type in columns)), one.read()))
    return ask(beside(tables, memory_limit), query, parameters)
