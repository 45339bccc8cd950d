"""What columns take, in the words of errors."""

from __future__ import annotations

from livejoin.changes.intake import Coerce
from livejoin.errors import ChangeValueError
from livejoin.schema import Column, SqlType, Table


def misfit(table: Table, column: Column, row: int, value: str, coerce: Coerce) -> ChangeValueError:
    """The error for a value that its column does not take.

    Args:
        table: The table.
        column: The column.
        row: The position of the change.
        value: The value, as it is shown.
        coerce: The way in which the column was read.
    """
    overflow = column.type.kind == "integer" and value.removeprefix("-").isdigit()
    verb = "overflows" if overflow else "does not fit"
    msg = f"value {value} of column {column.name!r} {verb} {column.type}; allowed: {allowed(column.type, coerce)}"
    if coerce == "strict" and value.endswith("(str)") and (also := _also(column.type)):
        msg = f"{msg}; with coerce='json' also {also}"
    return ChangeValueError(msg, table.name, row)


def allowed(type: SqlType, coerce: Coerce) -> str:
    """What a column of a type takes.

    >>> allowed(SqlType.decimal(5, 2), "json")
    'decimals and whole numbers with 3 digits before and 2 behind the point, also as floats and texts'
    """
    own, also = _own(type), _also(type)
    return f"{own}, also {also}" if coerce == "json" and also else own


def _own(type: SqlType) -> str:
    match type.kind:
        case "boolean":
            return "true, false"
        case "integer":
            limit = 2 ** (type.bits - 1)
            return f"whole numbers from {-limit} to {limit - 1}"
        case "double" if type.bits:
            return (
                "floating-point numbers of 32 bits, and whole numbers that are such; other numbers of Arrow are cast "
                "to float32 first, Python's floats are rounded"
            )
        case "double":
            return "floating-point numbers, and whole numbers from -2^53 to 2^53"
        case "decimal":
            before = type.precision - type.scale
            return f"decimals and whole numbers with {before} digits before and {type.scale} behind the point"
        case "date":
            return "dates without a time of day"
        case "timestamp":
            return "timestamps in whole microseconds"
        case "interval":
            return "durations in whole microseconds"
        case "months":
            return "intervals of whole months, without days and time"
        case "string":
            return "text that UTF-8 can encode"
        case "binary":
            return "bytes"
        case _:
            return "values of its parts"


def _also(type: SqlType) -> str:
    """What a column takes with ``coerce="json"`` beside its own values; empty if nothing."""
    match type.kind:
        case "boolean":
            return "as texts"
        case "integer":
            return "as texts of digits, and as floats up to 2^53"
        case "double":
            return "other numbers, and texts of numbers, of which the nearest one is taken; none beyond the largest"
        case "decimal":
            return "as floats and texts"
        case "date":
            return "as texts like '2024-01-31', and as midnights"
        case "timestamp":
            return "dates, and texts like '2024-01-31T12:30:00.5' and '2024-01-31 12:30:00+01:00'"
        case _:
            return ""
