"""Reading a view without enumerating it: the multiplicity of a row, a row by its position, a sample.

The cost depends on what the view keeps (`livejoin.dataflow.reading.access`). If nothing that is kept can tell, the call
is an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from livejoin.changes import Coerce
from livejoin.changes.convert import convert
from livejoin.database.arguments import check_number
from livejoin.dataflow.deltas.repeated import repeated
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.asked_rows import AskedRows
from livejoin.errors import ChangeValueError, ReadError
from livejoin.handlers import raised_by_handler
from livejoin.query.bound_query import Query
from livejoin.schema import Column, SqlType, Table, is_made_list
from livejoin.schema.names import backticked
from livejoin.shown import meant, shown, shown_row
from livejoin.state.codec import Codec
from livejoin.words import Words

_READ_ARROW = (
    "its dates and times are of the years 1 to 9999; read the result as Arrow, with to_arrow() or sample(), or as "
    "NumPy's, with to_arrow()[column].to_numpy()"
)
MOST_AT_ONCE = 1 << 20
"""Rows that are asked for at once."""
_LARGEST_SAMPLE = 1 << 32
_LARGEST_SEED = (1 << 64) - 1

Row: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""A row: its values in the order of the schema, or by their names."""


def no_order(name: str) -> str:
    """The message for who asks for the first rows of a view that has none."""
    return f"view {name!r} has no ORDER BY, and so no first rows; give it one, with LIMIT to keep the order"


def multiplicity(access: Access, row: Row, schema: pa.Schema, types: Sequence[SqlType], codec: Codec) -> int:
    """How often a row stands in a result.

    Args:
        access: Access to the result.
        row: The row, as a tuple in the order of the schema or a dict by its names.
        schema: The result's schema.
        types: The types of its columns.
        codec: The database's codec; nothing is added to it.

    Raises:
        ReadError: The row does not fit the schema, or the result has no index that tells.
    """
    given = zip(values_in_order(row, schema), schema, types, strict=True)
    columns = [_payload(v, field, kind) if _is_payload(field, kind) else _array(v, field) for v, field, kind in given]
    try:
        return int(access.multiplicities(AskedRows(codec.known(), types, columns, 1))[0])
    except ChangeValueError:  # the one value that stands for NULL, which no table and no store has
        return 0


def look_up(access: Access, values: Mapping[int, Any], query: Query, codec: Codec, coerce: Coerce) -> pa.Table:
    """The rows of a result that have some values, each as often as it stands there.

    Args:
        access: Access to the result, which has an index by these columns.
        values: The values by the positions of the columns.
        query: The query of the result.
        codec: The database's codec; nothing is added to it.
        coerce: As for `livejoin.changes.convert`.

    Raises:
        ReadError: A value is none of its column.
    """
    schema, types = query.schema, query.root.types
    columns = sorted(values)
    given = [_converted(values[column], schema.field(column), types[column], coerce) for column in columns]
    asked = AskedRows(codec.known(), [types[column] for column in columns], given, 1)
    rows, times, _ = access.rows_with(columns, asked)
    table = pa.table([rows.arrow(i) for i in range(len(schema))], schema=schema)
    if times.max(initial=1) == 1:
        return table
    return pa.concat_tables(repeated(table, times, MOST_AT_ONCE)).combine_chunks()


def by_name(values: Mapping[str, Any], view: str, names: Sequence[str]) -> dict[str, Any]:
    """Values by the names of columns, as these are spelled; case does not count.

    Args:
        values: The values.
        view: The view that has the columns.
        names: The names of its columns.

    Raises:
        ReadError: The view has no such column.
    """
    spelled = {name.lower(): name for name in names}
    for name in values:
        if str(name).lower() not in spelled:
            msg = f"view {view!r} has no column {name!r}{meant(name, names)}; it has {', '.join(names)}"
            raise ReadError(msg)
    return {spelled[str(name).lower()]: value for name, value in values.items()}


def asked_values(values: Mapping[str, Any], query: Query, coerce: Coerce) -> dict[int, pa.Array]:
    """Values by the names of a result's columns, as Arrow by the columns' positions.

    Args:
        values: The values.
        query: The query of the result.
        coerce: As for `livejoin.changes.convert`.

    Raises:
        ReadError: A value is none of its column.
    """
    found = {}
    for place, (field, kind) in enumerate(zip(query.schema, query.root.types, strict=True)):
        if field.name not in values:
            continue
        value = values[field.name]
        if is_made_list(field.type):
            found[place] = _array(value, field)
        elif kind.is_payload:
            found[place] = _payload(value, field, kind)
        else:
            found[place] = _converted(value, field, kind, coerce)
    return found


def _converted(value: Any, field: pa.Field, kind: SqlType, coerce: Coerce) -> pa.Array:
    """A value as Arrow, as a change of a table with such a column would give it."""
    if is_made_list(field.type) or kind.is_payload:
        msg = f"column {field.name!r} has {kind}, by which no rows are looked up; give other columns"
        raise ReadError(msg)
    if isinstance(value, UUID):  # which a view has as text
        value = str(value)
    column, table = _as_declared(field.name, kind)
    try:
        return convert((value,), column, table, False, coerce=coerce)
    except ChangeValueError as error:
        msg = f"{shown(value)} is no value of the column {field.name!r}, which is {kind}: {error.message}"
        raise ReadError(msg) from None


@lru_cache(maxsize=256)
def _as_declared(name: str, kind: SqlType) -> tuple[Column, Table]:
    """A column of a result as one of a table."""
    column = Column(name, kind)
    return column, Table("the result", (column,))


def at(access: Access, position: int, schema: pa.Schema) -> tuple[Any, ...]:
    """The row at a position of a result; negative positions count from the end.

    Raises:
        ReadError: There is no such position, or the row has a value that Python cannot hold, as a DATE after 9999.
    """
    return only_row(_table(access, np.array([place_of(position, access.total())]), schema))


def place_of(position: int, total: int) -> int:
    """A position from 0 on.

    Args:
        position: A position; negative ones count from the end.
        total: How many there are.

    Raises:
        ReadError: There is no such position.
    """
    try:
        index = operator.index(position)
    except TypeError:
        msg = f"a position is an integer; found {shown(position)}"
        raise ReadError(msg) from None
    if not -total <= index < total:
        msg = f"there is no row at position {index:,}: the result has {total:,} rows"
        raise ReadError(msg)
    return index % total


def only_row(table: pa.Table) -> tuple[Any, ...]:
    """The row of a table of one.

    Raises:
        ReadError: The row has a value that Python cannot hold, as a DATE after 9999.
    """
    try:
        return tuple(column[0].as_py() for column in table.columns)
    except (ValueError, OverflowError) as error:
        row = shown_row(table, table.num_columns)
        msg = f"Python has no objects for {_without_objects(table)} of the row ({row}): {_READ_ARROW}"
        raise ReadError(msg) from error


def to_pandas(table: pa.Table) -> Any:
    """Rows as a pandas DataFrame.

    Raises:
        ReadError: The rows have a value that Python cannot hold, as a DATE after 9999; or pandas is not there.
    """
    with _objects_of(table, "pandas"):
        try:
            return table.to_pandas()
        except ImportError as error:
            msg = "a DataFrame needs pandas: pip install 'livejoin[notebook]'; to_arrow() and to_polars() do without it"
            raise ReadError(msg) from error


def to_polars(table: pa.Table) -> Any:
    """Rows as a Polars DataFrame.

    Raises:
        ReadError: A column is an INTERVAL YEAR TO MONTH, at which Polars fails or panics; lists have none. Or Polars
            is not there.
    """
    found = [field.name for field in table.schema if pa.types.is_interval(field.type)]
    if found:
        name = backticked(found[0])
        msg = (
            f"Polars has no type for INTERVAL YEAR TO MONTH, which column{'s' * (len(found) > 1)} "
            f"{', '.join(map(repr, found))} {'are' if len(found) > 1 else 'is'}; give the months in the view's query, "
            f"as CAST({name} AS INT) AS {name}, or read the result with to_arrow() or to_pandas()"
        )
        raise ReadError(msg)
    try:
        return import_module("polars").from_arrow(table)
    except ImportError as error:
        msg = "a Polars DataFrame needs Polars: pip install polars; to_arrow() and to_pylist() do without it"
        raise ReadError(msg) from error


def to_pylist(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as dicts; errors as for `to_pandas`."""
    with _objects_of(table, "Python"):
        found: list[dict[str, Any]] = table.to_pylist()
        return found


def to_columns(table: pa.Table) -> list[list[Any]]:
    """Columns as lists; errors as for `to_pandas`."""
    with _objects_of(table, "Python"):
        return [column.to_pylist() for column in table.columns]


@contextmanager
def _objects_of(table: pa.Table, owner: str) -> Iterator[None]:
    """A context in which rows become objects.

    Raises:
        ReadError: The owner of the objects has none for some value.
    """
    try:
        yield
    except (ValueError, OverflowError, pa.ArrowException) as error:
        msg = f"{owner} has no objects for {_without_objects(table)}: {_READ_ARROW}"
        raise ReadError(msg) from error


def _without_objects(table: pa.Table) -> str:
    """The columns with a value for which Python has no object."""
    found = [name for name, column in zip(table.column_names, table.columns, strict=True) if not _has_objects(column)]
    return f"column{'s' * (len(found) > 1)} {', '.join(map(repr, found))}" if found else "a value"


def _has_objects(column: pa.ChunkedArray) -> bool:
    try:
        column.to_pylist()
    except (ValueError, OverflowError):
        return False
    return True


def sample(access: Access, rows: int, seed: int | None, schema: pa.Schema) -> pa.Table:
    """Rows drawn uniformly and independently of each other.

    Raises:
        ReadError: The number of rows or the seed is no natural number, or the result is empty.
    """
    found = drawn(rows, seed, access.total() if rows else 0)
    return _table(access, found, schema) if found.size else schema.empty_table()


def slice_of(access: Access, position: int, rows: int, schema: pa.Schema) -> pa.Table:
    """The rows from a position on."""
    last = min(position + rows, access.total()) if rows else position
    found = np.arange(position, last)
    return _table(access, found, schema) if found.size else schema.empty_table()


def drawn(rows: int, seed: int | None, total: int) -> Words:
    """Positions drawn uniformly and independently of each other.

    Args:
        rows: How many positions are drawn.
        seed: A seed of the draws; None for other ones each time.
        total: How many positions there are.

    Raises:
        ReadError: As for `sample`.
    """
    check_number(rows, "rows", 0, _LARGEST_SAMPLE)
    if seed is not None:
        check_number(seed, "seed", 0, _LARGEST_SEED)
    if rows and total == 0:
        msg = f"the result is empty, and there are no {rows:,} rows to draw"
        raise ReadError(msg)
    return np.random.default_rng(seed).integers(0, total, rows) if rows else np.empty(0, np.int64)


def _table(access: Access, ranks: np.ndarray, schema: pa.Schema) -> pa.Table:
    found = access.at(ranks)
    return pa.table([found.arrow(i) for i in range(len(schema))], schema=schema)


def values_in_order(row: Row, schema: pa.Schema) -> Sequence[Any]:
    """The values in the order of the schema."""
    if isinstance(row, Mapping):
        if row.keys() != set(schema.names):
            missing = [name for name in schema.names if name not in row]
            unknown = [name for name in row if name not in schema.names]
            msg = f"a row has the columns {', '.join(schema.names)}; missing are {missing}, unknown are {unknown}"
            raise ReadError(msg)
        return [row[name] for name in schema.names]
    if isinstance(row, str) or not isinstance(row, Sequence):
        msg = f"a row is a tuple in the order {', '.join(schema.names)} or a dict by these names; found {shown(row)}"
        raise ReadError(msg)
    if len(row) != len(schema):
        msg = f"a row has {len(schema)} columns, {', '.join(schema.names)}; found {len(row)} values"
        raise ReadError(msg)
    return row


def _is_payload(field: pa.Field, kind: SqlType) -> bool:
    return kind.is_payload and not is_made_list(field.type)


def _payload(value: Any, field: pa.Field, kind: SqlType) -> pa.Array:
    """A value of an array, struct, map or variant as Arrow, in the form in which it is stored."""
    column = Column(field.name, kind)
    try:
        return convert((value,), column, Table("the result", (column,)), required=False)
    except ChangeValueError as error:
        msg = f"{shown(value)} is no value of the column {field.name!r}, which is {kind}: {error.message}"
        raise ReadError(msg) from None


def _array(value: Any, field: pa.Field) -> pa.Array:
    """A value as Arrow, or an error if Arrow would round it: 2.5 would become 2 in a column of integers."""
    what = f"{shown(value)} is no value of the column {field.name!r}, which has the type {field.type}"
    try:
        array = pa.array([value], field.type)
        kept = array[0].as_py()
        is_nan = isinstance(value, float) and math.isnan(value)
        same = is_nan or bool(kept == value) or pa.types.is_nested(field.type)
    except MemoryError:
        raise
    except Exception as error:  # an object of anybody's class may raise anything
        if raised_by_handler(error):
            raise
        msg = f"{what}: {error}"
        raise ReadError(msg) from None
    if same:
        return array
    msg = f"{what}; the nearest one is {shown(kept)}"
    raise ReadError(msg)
