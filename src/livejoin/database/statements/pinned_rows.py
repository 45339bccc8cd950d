"""The rows of a table or a view that a query names by a key, so that asking about them costs the same however many rows
there are.

Law: a query whose condition demands ``column = constant`` has over the rows with this value the result that it has over
all rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from livejoin.changes.convert import convert
from livejoin.database.statements.beside import beside
from livejoin.errors import ChangeValueError, ReadError
from livejoin.schema import Column, Table, is_made_list
from livejoin.sql import Pins

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.view import View


@dataclass(frozen=True)
class PinnedRows:
    """Rows that a query is asked of in place of all.

    Args:
        declared: The columns, as a table without keys.
        rows: The rows.
        query: The query, without the conditions that all of these rows meet.
    """

    declared: Table
    rows: pa.Table
    query: str

    @property
    def contents(self) -> Contents:
        """A database that has nothing but these rows."""
        return beside([(self.declared, self.rows)])


def pinned_rows(contents: Contents, pins: Pins, values: Mapping[str, Any]) -> PinnedRows | None:
    """The rows of the table or view of a query that have some of the values that it names.

    Args:
        contents: The database's contents.
        pins: The values that the query's condition names.
        values: The values, by columns in lower case.

    Returns:
        The rows; None if there is no such table or view, or no index by these columns.

    Cost: that of a look-up by a key.
    """
    name = pins.name.lower()
    view = contents.views.get(name)
    if view is not None:
        return _of_view(view, pins, values)
    return _of_table(contents, name, pins, values) if name in contents.tables else None


def _of_table(contents: Contents, name: str, pins: Pins, values: Mapping[str, Any]) -> PinnedRows | None:
    base = contents.tables[name]
    table = base.table
    if table.retain != "all":
        return None
    for key in table.keys:
        columns = [table.columns[place] for place in key]
        named = [values.get(column.name.lower()) for column in columns]
        if any(value is None for value in named):
            continue
        try:
            given = [convert((value,), column, table, True) for value, column in zip(named, columns, strict=True)]
        except ChangeValueError:  # no value of the column's: the query says what it means
            continue
        known = contents.codec.known()
        words = np.stack([known.encode_column(one, column) for one, column in zip(given, columns, strict=True)])
        ids = base.find_key(words, key)
        met = [column.name.lower() for column in columns if not column.is_uuid and _is_exact(pins, column)]
        declared = Table(table.name, table.columns)
        return PinnedRows(declared, contents.rows_of(base, ids[ids >= 0]), pins.without(met))
    return None


def _of_view(view: View, pins: Pins, values: Mapping[str, Any]) -> PinnedRows | None:
    schema, types = view.schema, view.types
    if any(is_made_list(field.type) for field in schema):
        return None
    columns = [Column(name, type) for name, type in zip(schema.names, types, strict=True)]
    known = {column.name.lower(): column for column in columns}
    for asked in _sets(view, [name for name in values if name in known]):
        try:
            rows = view.lookup({known[name].name: values[name] for name in asked})
        except ReadError:  # no index by these, or no value of a column's
            continue
        met = [name for name in asked if _is_exact(pins, known[name])]
        return PinnedRows(Table(view.name, tuple(columns)), rows, pins.without(met))
    return None


def _sets(view: View, names: list[str]) -> Iterator[list[str]]:
    """Sets of columns that an index may be by, of those whose values are known: all of them, then keys."""
    if names:
        yield names
    for key in view.keys:
        lower = [name.lower() for name in key]
        if lower and set(lower) < set(names):
            yield lower


def _is_exact(pins: Pins, column: Column) -> bool:
    """Whether SQL's equality with the value that is written is that of the values that are stored."""
    value = pins.columns[column.name.lower()].value
    match column.type.kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int)
        case "decimal":
            return isinstance(value, int | Decimal)
        case "date":
            return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        case "timestamp":
            return isinstance(value, dt.datetime)
        case _:
            return False
