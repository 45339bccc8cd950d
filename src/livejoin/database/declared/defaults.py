"""DEFAULT: what a column of a new row has where a change says nothing of it.

A default is a constant, or the time at which the change is read. What is computed is its value, which then stands in
the change: so a log has the value too, and never the expression.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np
import pyarrow as pa

from livejoin.changes import Defaults
from livejoin.changes.batch import NO_DEFAULTS
from livejoin.changes.convert import convert
from livejoin.database.declared.row_expression import row_expression
from livejoin.errors import ChangeValueError, ExpressionError, SchemaError, UnknownNameError, UnsupportedQueryError
from livejoin.schema import Column, Table
from livejoin.state.codec import Codec

_NOW = ("CURRENT_TIMESTAMP", "NOW")
_TODAY = ("CURRENT_DATE", "CURDATE")


def defaults_of(table: Table) -> Defaults:
    """The values of the columns that have a DEFAULT, as they are now.

    >>> from livejoin.sql import parse_create_table
    >>> defaults_of(parse_create_table("CREATE TABLE t (a INT, b DECIMAL(5, 2) DEFAULT 1 + 0.5)"))[1].as_py()
    Decimal('1.50')
    """
    if not table.has_defaults:
        return NO_DEFAULTS
    return {
        place: default_of(column, column.default)
        for place, column in enumerate(table.columns)
        if column.default is not None
    }


def check_defaults(table: Table) -> None:
    """Refuse a DEFAULT that is no constant, or none of its column.

    Raises:
        SchemaError: There is one; the message names the column.
    """
    for column in table.columns:
        if column.default is not None:
            _refuse_null(column, default_of(column, column.default, table.name), table)


def default_of(column: Column, text: str, table: str = "") -> pa.Scalar:
    """The value of a DEFAULT, as it is now.

    Raises:
        SchemaError: The text is no constant, or none of the column.
    """
    if is_time(text):
        name = text.upper().rstrip("() ")
        now = dt.datetime.now(dt.UTC)
        return _converted(pa.array([now if name in _NOW else now.date()]), column, text, table)
    return _constant(column, text, table)


def is_time(text: str) -> bool:
    """Whether a DEFAULT is the time at which a change comes.

    >>> is_time("CURRENT_TIMESTAMP()"), is_time("DATE '2026-01-01'")
    (True, False)
    """
    return text.upper().rstrip("() ") in (*_NOW, *_TODAY)


@lru_cache(maxsize=256)
def _constant(column: Column, text: str, table: str) -> pa.Scalar:
    what = f"DEFAULT of column {column.name!r}"
    try:
        found = row_expression(Table(table or "t", (Column("livejoin_no_column", column.type),)), text, what)
    except SchemaError as error:
        if isinstance(error.__cause__, (UnknownNameError, UnsupportedQueryError)):
            raise _no_constant(column, text, table) from error
        raise
    if found.columns:
        raise _no_constant(column, text, table)
    codec = Codec()
    try:
        values = found.values(found.evaluator(codec), codec, np.empty((1, 1), np.int64))
    except ExpressionError as error:
        msg = f"table {table!r}: {what} is {text}, which has no value: {error}"
        raise SchemaError(msg) from error
    if isinstance(values, np.ndarray):
        values = codec.decode(values, found.type)
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return _converted(whole, column, text, table)


def _no_constant(column: Column, text: str, table: str) -> SchemaError:
    msg = (
        f"table {table!r}: DEFAULT of column {column.name!r} is {text}; allowed are constants, CURRENT_TIMESTAMP and "
        "CURRENT_DATE"
    )
    return SchemaError(msg)


def _converted(value: pa.Array, column: Column, text: str, table: str) -> pa.Scalar:
    """The value of the column's type, as an INSERT would make it."""
    if value[0].as_py() is None:
        return pa.scalar(None, column.type.arrow)
    try:
        return convert(pa.chunked_array([value]), column, Table("t", (column,)), False, False, "json")[0]
    except ChangeValueError as error:
        msg = f"table {table!r}: DEFAULT of column {column.name!r} is {text}: {error.message}"
        raise SchemaError(msg) from error


def _refuse_null(column: Column, value: pa.Scalar, table: Table) -> None:
    if not value.is_valid and table.requires(table.position(column.name)):
        msg = f"table {table.name!r}: DEFAULT of column {column.name!r} is NULL, and the column is NOT NULL"
        raise SchemaError(msg)
