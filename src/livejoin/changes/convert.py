"""Lossless conversion of one column of changes to its declared type.

Law: the converted value equals the given one, or the change is refused with its row, column and value.

==========  ============================================  =====================================================
Column      Arrow (pandas, Polars, DuckDB, Spark)         Python object in a tuple or dict
==========  ============================================  =====================================================
BOOLEAN     bool                                          bool
integers    integers of any width in range; floats, if    int, not bool and not float
            all are whole and within 2^53 (pandas turns
            integers with NULLs into floats)
DOUBLE      floats; integers within 2^53                  float; int within 2^53
FLOAT       floats and integers that binary32 has         float, rounded to the nearest one; int within 2^24
DECIMAL     decimals of any width and integers that fit   Decimal and int that fit the digits
            the digits
DATE        date32; date64 in whole days                  date, not datetime
TIMESTAMP   any unit in whole microseconds                datetime, in whole microseconds
STRING      string, large_string, string_view             str
VARCHAR(n)  the same with n characters at most            str
CHAR(n)     the same, blanks behind the nth aside; it is  str
            filled with blanks up to n
BINARY      binary of any kind                            bytes, bytearray
ARRAY, ...  see `livejoin.changes.payload`
INTERVAL    durations in whole microseconds               timedelta
..., MONTH  intervals of months alone; integers of 32     MonthDayNano of pyarrow, of months alone
            bits as months
UUID        see `livejoin.changes.uuids`
==========  ============================================  =====================================================

Dictionary-encoded and run-end encoded columns count as their values, and a column of Arrow's null type is NULL in any
type. A column without rows fits any type. TIMESTAMP has no time zone: a value with one (as from Spark's ``toArrow``)
stands for its instant and is taken in UTC. In pandas NaN is NULL, as pandas itself says, and a column of nothing else
fits any type. What `livejoin.changes.coerce` takes beside this is made such a value first, where it is asked for.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.aside import import_what_arrow_wants
from livejoin.changes.allowed import allowed, misfit
from livejoin.changes.coerce import Misfit, coerced_arrow, coerced_objects
from livejoin.changes.encoding import fails, first_failure, plain, too_long
from livejoin.changes.intake import Coerce
from livejoin.changes.payload import Payload
from livejoin.changes.source import ARROW_ERRORS, Values
from livejoin.changes.uuids import uuid_texts
from livejoin.errors import ChangeValueError
from livejoin.handlers import raised_by_handler
from livejoin.schema import Column, Kind, SqlType, Table
from livejoin.shown import shown, shown_scalar

_EXACT_IN_DOUBLE = 2**53
_FLOAT = SqlType.real()
_INTEGER_DIGITS = pa.decimal128(20, 0)  # holds every int64 and uint64

_types = pa.types
_ARROW_CLASSES: dict[Kind, tuple[Callable[[pa.DataType], bool], ...]] = {
    "boolean": (_types.is_boolean,),
    "integer": (_types.is_integer, _types.is_floating, _types.is_decimal),
    "double": (_types.is_floating, _types.is_integer),
    "decimal": (_types.is_decimal, _types.is_integer),
    "date": (_types.is_date,),
    "timestamp": (_types.is_timestamp,),
    "interval": (_types.is_duration,),
    "months": (_types.is_interval, _types.is_integer),
    "string": (_types.is_string, _types.is_large_string, _types.is_string_view),
    "binary": (_types.is_binary, _types.is_large_binary, _types.is_binary_view, _types.is_fixed_size_binary),
}
_PYTHON_CLASSES: dict[Kind, tuple[type, ...]] = {
    "boolean": (bool, np.bool_),
    "integer": (int, np.integer),
    "double": (float, np.floating, int, np.integer),
    "decimal": (Decimal, int),
    "date": (dt.date,),
    "timestamp": (dt.datetime,),
    "interval": (dt.timedelta,),
    "months": (pa.MonthDayNano,),
    "string": (str,),
    "binary": (bytes, bytearray),
}
# Sub-classes in Python, but other types in SQL; Arrow rounds long doubles.
_PYTHON_EXCEPT: dict[Kind, tuple[type, ...]] = {
    "integer": (bool,),
    "double": (bool, np.longdouble),
    "decimal": (bool,),
    "date": (dt.datetime,),
}


def convert(
    values: Values, column: Column, table: Table, required: bool, sound: bool = False, coerce: Coerce = "strict"
) -> pa.Array:
    """Convert a column, into one chunk.

    Args:
        values: The column as given.
        column: The declaration of the column.
        table: Named in errors.
        required: Whether NULL is refused.
        sound: Whether Arrow has validated the values in full.
        coerce: Whether also values are taken that `livejoin.changes.coerce` makes those of the type.

    Raises:
        ChangeValueError: A value outside of the column's type, or NULL where it is refused.
        CapacityError: More than 2 GiB of strings.

    Cost: O(values), without a copy where the type and the chunks fit already.
    """
    if column.is_uuid:
        values, sound = uuid_texts(values, column, table, sound), True
    if column.type.is_payload:
        given = values if isinstance(values, tuple) else _whole(plain(values, column, table, sound))
        converted = Payload(column, table, partial(_single, coerce)).convert(given)
    elif isinstance(values, tuple):
        converted = _from_python(values, column, table, coerce)
    elif sound and values.num_chunks == 1 and values.type == column.type.arrow and column.type.kind != "months":
        converted = values.chunk(0)
    else:
        converted = _from_arrow(values, column, table, sound, coerce)
    if required:
        refuse_null(converted, column, table)
    if column.is_char:
        converted = _filled(converted, column)
    if column.length:
        _refuse_long(converted, column, table)
    return _one_zero(converted) if column.type.kind == "double" else converted


def in_one_form(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Values in the form that `convert` gives, where equal values may come in several forms: blanks of CHAR, UUIDs.

    Rows are routed by their values before they are converted. Equal values must take the same way.

    >>> column = Column("c", SqlType("string"), length=3, is_char=True)
    >>> in_one_form(pa.chunked_array([["a", "a "]]), column).to_pylist()
    ['a  ', 'a  ']
    """
    if not column.is_char:
        return values
    return pa.chunked_array([_filled(chunk, column) for chunk in values.chunks], values.type)


def _single(coerce: Coerce, values: Values, column: Column, table: Table, required: bool) -> pa.Array:
    """A part of payload that is a single value; Arrow has validated it with the whole."""
    return convert(values, column, table, required, sound=True, coerce=coerce)


def _whole(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def refuse_null(values: pa.Array, column: Column, table: Table, among: npt.NDArray[np.bool_] | None = None) -> None:
    """Refuse NULL in a column that requires a value.

    Args:
        values: The values of the column.
        column: The declaration of the column.
        table: The table.
        among: The rows that must have a value; None for all.

    Raises:
        ChangeValueError: A required value is NULL.
    """
    if not values.null_count:
        return
    null = values.is_null().to_numpy(zero_copy_only=False)
    if among is not None:
        null &= among
        if not null.any():
            return
    why = "NOT NULL or in the primary key"
    if table.window_range is not None and table.columns[table.window_range.column].name == column.name:
        why = "the time that window_range goes by"
    elif table.sequence_by is not None and table.columns[table.sequence_by].name == column.name:
        why = "what sequence_by orders the changes by"
    msg = f"NULL in column {column.name!r}, which is {why}; give a value of type {column.type}"
    raise ChangeValueError(msg, table.name, int(np.argmax(null)))


def _refuse_long(values: pa.Array, column: Column, table: Table) -> None:
    """Refuse a string that is longer than its column allows; Spark would cut trailing blanks instead."""
    lengths = pc.utf8_length(values)
    if (pc.max(lengths).as_py() or 0) <= column.length:
        return
    row = pc.index(pc.greater(lengths, column.length), True).as_py()
    msg = (
        f"value {shown_scalar(values[row])} of column {column.name!r} has {lengths[row].as_py()} characters; "
        f"{column.declared} takes at most {column.length}"
    )
    raise ChangeValueError(msg, table.name, row)


def _filled(values: pa.Array, column: Column) -> pa.Array:
    """Texts of CHAR(n) with exactly n characters: blanks are added or cut off; longer texts stay as they are.

    >>> column = Column("c", SqlType("string"), length=3, is_char=True)
    >>> _filled(pa.array(["a", "ab   ", "abcd ", None]), column).to_pylist()
    ['a  ', 'ab ', 'abcd ', None]
    """
    lengths = pc.utf8_length(values)
    extremes = pc.min_max(lengths)
    if (extremes["max"].as_py() or 0) > column.length:
        cut = pc.utf8_slice_codeunits(values, 0, column.length)
        trimmed = pc.utf8_length(pc.utf8_rtrim(values, " "))
        values = pc.if_else(pc.less_equal(trimmed, column.length), cut, values)
    least = extremes["min"].as_py()
    if least is not None and least < column.length:
        values = pc.utf8_rpad(values, column.length, " ")
    return values


def _one_zero(values: pa.Array) -> pa.Array:
    """Doubles with one zero and one NaN, so that equal rows are equal to predicates too, whatever their bits were."""
    return pc.if_else(
        pc.is_nan(values), pa.scalar(float("nan"), values.type), pc.add(values, pa.scalar(0.0, values.type))
    )


def _from_arrow(given: pa.ChunkedArray, column: Column, table: Table, sound: bool, coerce: Coerce) -> pa.Array:
    if not len(given):
        return pa.array([], column.type.arrow)
    values = plain(given, column, table, sound)
    if coerce == "json" and values.type != column.type.arrow:
        try:
            values = coerced_arrow(values, column.type)
        except Misfit as error:
            raise misfit(table, column, error.row, error.value, coerce) from None
    exact = values.type == column.type.arrow
    fitting = (_types.is_null, *_ARROW_CLASSES[column.type.kind])
    if not exact and not any(fits(values.type) for fits in fitting):
        row = -1 if values.null_count == len(values) else pc.index(values.is_valid(), True).as_py()
        first = f" (first value: {shown_scalar(values[row])})" if row >= 0 else ""
        msg = (
            f"column {column.name!r} is {column.type}, but its data has the Arrow type {values.type}{first}; "
            f"allowed: {allowed(column.type, coerce)}; cast the data first"
        )
        raise ChangeValueError(msg, table.name, row)
    try:
        cast = values if exact and column.type.kind != "months" else _cast(values, column.type)
        return cast.chunk(0) if cast.num_chunks == 1 else cast.combine_chunks()
    except ARROW_ERRORS as error:
        if column.type.word_kind == "string":
            raise too_long(column, table) from error  # strings cannot fail in another way
        row = first_failure(len(values), lambda low, high: _cast(values.slice(low, high - low), column.type))
        raise misfit(table, column, row, shown_scalar(values[row]), coerce) from error


def _cast(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """Cast, or raise what Arrow raises where one value does not fit."""
    if type.kind == "integer" and _types.is_floating(values.type):
        bounds = pc.min_max(values.cast(pa.float64())).as_py()
        if max(abs(bounds["min"] or 0), abs(bounds["max"] or 0)) > _EXACT_IN_DOUBLE:
            msg = "a float beyond 2^53 may stand for several integers"
            raise ValueError(msg)
    if type.kind == "decimal":
        if _types.is_integer(values.type):
            values = values.cast(_INTEGER_DIGITS)
        if _types.is_decimal(values.type):
            shift = type.scale - values.type.scale
            if shift > 0 and values.type.precision + shift > 38:
                # Arrow multiplies without a check for overflow, so what may exceed 128 bits goes by way of 256.
                values = values.cast(pa.decimal128(38, values.type.scale)).cast(pa.decimal256(76, type.scale))
    if type == _FLOAT:
        return _as_floats(values)
    if type.kind == "months":
        return pa.chunked_array([_as_months(chunk) for chunk in values.chunks], type.arrow)
    return values.cast(type.arrow)


def _as_months(values: pa.Array) -> pa.Array:
    """Integers as numbers of months, or a ValueError if one does not fit; intervals have nothing but months."""
    if not _types.is_interval(values.type):
        found = np.zeros((len(values), 4), np.int32)
        found[:, 0] = values.cast(pa.int32()).fill_null(0).to_numpy()
        mask = None if not values.null_count else pa.py_buffer(np.packbits(values.is_valid(), bitorder="little"))
        return pa.Array.from_buffers(
            pa.month_day_nano_interval(), len(values), [mask, pa.py_buffer(found)], values.null_count
        )
    parts = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)[values.offset : values.offset + len(values), 1:]
    odd = parts.any(axis=1)
    if values.null_count:
        odd &= values.is_valid().to_numpy(zero_copy_only=False)
    if odd.any():
        msg = "an interval has days or time beside its months"
        raise ValueError(msg)
    return values


def _as_floats(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as FLOATs, or a ValueError if one is not representable."""
    doubles = values.cast(pa.float64())
    found = doubles.cast(pa.float32())
    differs = pc.and_(pc.invert(pc.is_nan(doubles)), pc.not_equal(found.cast(pa.float64()), doubles))
    if pc.any(differs).as_py():
        msg = "a number is not one of binary32"
        raise ValueError(msg)
    return found


def _from_python(given: tuple[Any, ...], column: Column, table: Table, coerce: Coerce) -> pa.Array:
    kind = column.type.kind
    import_what_arrow_wants()
    try:
        values = coerced_objects(given, column.type) if coerce == "json" else given
    except Misfit as error:
        raise misfit(table, column, error.row, error.value, coerce) from None
    fitting, excluded = _PYTHON_CLASSES[kind], _PYTHON_EXCEPT.get(kind, ())
    wrong = {
        found
        for found in set(map(type, values)) - {type(None)}
        if not issubclass(found, fitting) or issubclass(found, excluded)
    }
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        raise misfit(table, column, row, f"{shown(given[row])} ({type(given[row]).__name__})", coerce)
    try:
        built = _build(values, column.type)
    except MemoryError:
        raise
    except Exception as error:  # an object may be of a sub-class whose methods fail in any way
        if raised_by_handler(error):
            raise
        row = first_failure(len(values), lambda low, high: _build(values[low:high], column.type))
        is_known = isinstance(error, (pa.ArrowException, ValueError, TypeError))
        if not is_known and not fails(lambda: _build(values[row : row + 1], column.type)):
            raise  # another thread set the error, which says nothing of the values
        raise misfit(table, column, row, shown(given[row]), coerce) from error
    if isinstance(built, pa.ChunkedArray):  # pyarrow's answer to more strings than fit an array
        raise too_long(column, table)
    return built


def _build(values: tuple[Any, ...], type: SqlType) -> pa.Array | pa.ChunkedArray:
    """Build, or raise what Arrow raises where one value does not fit."""
    unseen = {"timestamp": "nanosecond", "interval": "nanoseconds"}.get(type.kind)
    if unseen and any(getattr(value, unseen, 0) for value in values):
        msg = "Arrow would drop the nanoseconds of pandas"
        raise ValueError(msg)
    if type.kind == "double":  # Arrow would round integers of NumPy
        values = tuple(int(value) if isinstance(value, np.integer) else value for value in values)
    if type.kind == "timestamp":  # Arrow would drop microseconds of a zone's offset
        values = tuple(v.astimezone(dt.UTC).replace(tzinfo=None) if v is not None and v.tzinfo else v for v in values)
    if type == _FLOAT:
        return _rounded_floats(values)
    import_what_arrow_wants()
    if type.kind == "months":
        return _as_months(pa.array(values, type.arrow))
    return pa.array(values, type.arrow)


def _rounded_floats(values: tuple[Any, ...]) -> pa.Array:
    """The nearest FLOATs of Python floats; a ValueError for an integer or a size that FLOAT does not have."""
    doubles = np.array([math.nan if value is None else float(value) for value in values], np.float64)
    with np.errstate(over="ignore"):
        found = doubles.astype(np.float32)
    too_large = bool((np.isinf(found) & np.isfinite(doubles)).any())
    if too_large or any(
        isinstance(value, int) and number != value for value, number in zip(values, found.tolist(), strict=True)
    ):
        msg = "a number is not one of binary32"
        raise ValueError(msg)
    return pa.array(found, pa.float32(), mask=np.array([value is None for value in values], bool))
