"""Result types of aggregates and of set operations, as Spark 4 has them with ANSI on.

SUM and AVG of decimals widen within 38 digits: DECIMAL(p, s) sums to DECIMAL(p + 10, s) and averages to DECIMAL(p + 4,
s + 4). The sides of a set operation get the narrowest type that holds the integral digits of both; digits after the
point are dropped if 38 do not suffice.
"""

from __future__ import annotations

import pyarrow as pa

from livejoin.schema import ELEMENT, Kind, SqlType, is_made_list, is_variant
from livejoin.sql.scalars import coercion
from livejoin.sql.scalars.decimals import MOST_DIGITS
from livejoin.sql.scalars.operands import BIGINT, DOUBLE

_PLAIN: dict[pa.DataType, SqlType] = {
    kind.arrow: kind
    for kind in (
        *(SqlType.integer(bits) for bits in (8, 16, 32, 64)),
        SqlType.real(),
        *(
            SqlType(kind)
            for kind in ("boolean", "double", "date", "timestamp", "string", "binary", "interval", "months")
        ),
    )
}


def column_type(found: pa.DataType) -> SqlType | None:
    """The type of a column of an Arrow type; None if no column has it.

    >>> str(column_type(pa.decimal128(10, 2))), column_type(pa.list_(pa.int64()))
    ('DECIMAL(10, 2)', None)
    """
    if pa.types.is_decimal128(found) and 0 <= found.scale <= found.precision:
        return SqlType.decimal(found.precision, found.scale)
    return _payload_type(found) if pa.types.is_nested(found) else _PLAIN.get(found)


def duckdb_type(kind: SqlType) -> str:
    """A type in DuckDB's terms, whose TIMESTAMP has no zone.

    >>> duckdb_type(SqlType.local_time()), duckdb_type(SqlType.decimal(5, 2))
    ('TIMESTAMP', 'DECIMAL(5, 2)')
    """
    return "TIMESTAMP" if kind.kind == "timestamp" else str(kind)


def _payload_type(found: pa.DataType) -> SqlType | None:
    """The payload type of an Arrow type; None if there is none."""
    if is_variant(found):
        return SqlType("variant")
    if is_made_list(found):
        return None
    kind: Kind
    match found:
        case pa.MapType():
            kind, inner = "map", [("key", found.key_type), ("value", found.item_type)]
        case pa.ListType():
            kind, inner = "array", [(ELEMENT, found.value_type)]
        case pa.StructType():
            kind, inner = "struct", [(found.field(i).name, found.field(i).type) for i in range(found.num_fields)]
        case _:
            return None
    known = [(name, column_type(within)) for name, within in inner]
    whole = tuple((name, within) for name, within in known if within is not None)
    return SqlType(kind, inner=whole) if len(whole) == len(known) else None


def sum_type(argument: SqlType) -> SqlType | None:
    """The type of SUM over a type; None if it cannot be summed.

    >>> str(sum_type(SqlType.decimal(10, 2))), str(sum_type(SqlType.integer(8)))
    ('DECIMAL(20, 2)', 'BIGINT')
    """
    match argument.kind:
        case "integer":
            return BIGINT
        case "double":
            return DOUBLE
        case "decimal":
            return SqlType.decimal(min(argument.precision + 10, MOST_DIGITS), argument.scale)
        case "interval" | "months":
            return argument
        case _:
            return None


def average_type(argument: SqlType) -> SqlType | None:
    """The type of AVG over a type; None if it has no average.

    >>> str(average_type(SqlType.decimal(10, 2))), str(average_type(SqlType.integer(8)))
    ('DECIMAL(14, 6)', 'DOUBLE')
    """
    match argument.kind:
        case "integer" | "double":
            return DOUBLE
        case "decimal":
            return SqlType.decimal(min(argument.precision + 4, MOST_DIGITS), min(argument.scale + 4, MOST_DIGITS))
        case "interval" | "months":
            return argument
        case _:
            return None


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The type to which both sides of a set operation are cast, None if there is none.

    Spark also casts strings to the other side's type, and fails for rows that do not fit. Here the query has to write
    that cast.

    >>> str(common_type(SqlType.integer(64), SqlType.decimal(10, 2)))
    'DECIMAL(22, 2)'
    """
    if left != right and "string" in (left.kind, right.kind):
        return None
    found = coercion.common_type(left, right)
    return found if isinstance(found, SqlType) else None
