"""Which columns can be joined by their types, and what to do where they cannot.

Columns join if equal values have equal codes: both integers of any width, both decimals of one scale, or both of one
other type (`SqlType.join_class`). SQL would compare the others after a conversion, which a join on codes cannot do.
"""

from __future__ import annotations

from livejoin.errors import SqlTypeError
from livejoin.schema import SqlType
from livejoin.sql.names.from_clause import Equality
from livejoin.sql.names.scope import Scope
from livejoin.sql.parse.source import Source

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_MOST_DIGITS = 38


def can_join(equality: Equality, scope: Scope) -> bool:
    """Whether the types of two columns have equal codes for equal values."""
    return scope.declared(equality.left).type.join_class == scope.declared(equality.right).type.join_class


def cannot_join(equality: Equality, scope: Scope, source: Source) -> SqlTypeError:
    """The refusal of two columns that cannot be joined, with the types that can."""
    left, right = scope.declared(equality.left).type, scope.declared(equality.right).type
    msg = (
        f"cannot join columns of these types: {scope.qualified(equality.left)} is {left} and "
        f"{scope.qualified(equality.right)} is {right}; {_remedy(left, right)}. Columns join if both are integers, "
        "both are decimals of one scale, or both have one type"
    )
    return source.error(SqlTypeError, msg, equality.offset)


def _remedy(left: SqlType, right: SqlType) -> str:
    match sorted((left.kind, right.kind)):
        case ["decimal", "decimal"] | ["decimal", "integer"]:
            common = _common_decimal(left, right)
            if common is not None:
                return f"declare both as {common}, which holds all values of both"
            return f"no DECIMAL of {_MOST_DIGITS} digits holds all values of both: declare both with one scale"
        case ["double", "integer"]:
            return "declare both as DOUBLE, which holds whole numbers up to 2^53, or both as BIGINT if all are whole"
        case ["date", "timestamp"]:
            return "declare both as TIMESTAMP and give a date as its midnight, or both as DATE"
        case _:
            return f"declare both as {left} or both as {right}, and convert the rows before you apply them"


def _common_decimal(left: SqlType, right: SqlType) -> SqlType | None:
    """The shortest decimal that holds all values of two decimals, or of a decimal and an integer.

    >>> str(_common_decimal(SqlType.decimal(10, 2), SqlType.integer(64)))
    'DECIMAL(21, 2)'
    """
    scale = max(left.scale, right.scale)
    before = max(_INTEGER_DIGITS[t.bits] if t.kind == "integer" else t.precision - t.scale for t in (left, right))
    return SqlType.decimal(before + scale, scale) if before + scale <= _MOST_DIGITS else None
