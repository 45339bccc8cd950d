"""Spark's implicit conversions in ANSI mode: the common type of two types, and the conversion of arguments.

Sources: Spark 4, ``AnsiTypeCoercion`` and ``Cast.canAnsiCast``. `tests/conformance` compares with a real Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.query.scalar import Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.decimals import decimal_for, wider
from livejoin.sql.scalars.operands import (
    BIGINT,
    DOUBLE,
    LOCAL_TIME,
    TIMESTAMP,
    Mismatch,
    Operand,
    Type,
    Void,
    as_value,
    cast,
    is_kind,
    is_number,
    type_of,
)


def common_type(left: Type, right: Type) -> Type | None:
    """The type in which values of two types are compared or chosen from; None if there is none.

    >>> from livejoin.sql.scalars.operands import DATE, STRING
    >>> str(common_type(BIGINT, STRING)), str(common_type(DATE, TIMESTAMP)), common_type(DATE, BIGINT)
    ('BIGINT', 'TIMESTAMP', None)
    """
    if right in (left, "VOID"):
        return left
    if left == "VOID":
        return right
    if not (isinstance(left, SqlType) and isinstance(right, SqlType)):
        return None
    match left.kind, right.kind:
        case "integer", "integer":
            return SqlType.integer(max(left.bits, right.bits))
        case ("integer" | "decimal", "integer" | "decimal"):
            return wider(decimal_for(left), decimal_for(right))
        case ("integer" | "decimal" | "double", "integer" | "decimal" | "double"):
            return DOUBLE
        case ("date" | "timestamp", "date" | "timestamp"):
            return LOCAL_TIME if TIMESTAMP not in (left, right) else TIMESTAMP
        case "string", _:
            return _beside_string(right)
        case _, "string":
            return _beside_string(left)
        case _:
            return None


def _beside_string(kind: SqlType) -> SqlType | None:
    """The type of a string beside another type: that type, or the widest of its kind; None for intervals."""
    match kind.kind:
        case "interval" | "months":
            return None
        case "integer":
            return BIGINT
        case "decimal" | "double":
            return DOUBLE
        case _:
            return kind


def to_common(operands: Sequence[Operand]) -> list[Scalar] | Sequence[Void] | None:
    """Operands in their common type; unchanged if all are untyped NULLs.

    Returns:
        None if there is no common type.
    """
    operands = [as_value(operand) for operand in operands]
    found: Type | None = "VOID"
    for kind in map(type_of, operands):
        found = None if found is None else common_type(found, kind)
    if found == "VOID":
        return [Void()] * len(operands)
    return [cast(operand, found) for operand in operands] if isinstance(found, SqlType) else None


def accepted(operand: Operand, wanted: SqlType) -> Scalar:
    """An argument in the type that its function takes.

    Raises:
        Mismatch: Spark does not convert to this type implicitly.
    """
    kind = type_of(operand)
    if kind in (wanted, "VOID") or is_kind(kind, "string") or _is_assignable(kind, wanted):
        return cast(operand, wanted)
    msg = f"{wanted} is wanted, and {kind} is found"
    raise Mismatch(msg)


def _is_assignable(kind: Type, to: SqlType) -> bool:
    """Whether a value of a type may stand where another type is wanted (``Cast.canANSIStoreAssign``)."""
    match to.kind:
        case "integer" | "decimal" | "double":
            return is_number(kind)
        case "string":
            return kind != "INTERVAL" and not is_kind(kind, "interval", "months")
        case "date" | "timestamp":
            return is_kind(kind, "date", "timestamp")
        case _:
            return False


def can_cast(kind: Type, to: SqlType) -> bool:
    """Whether CAST takes a value of a type to another type (``Cast.canAnsiCast``).

    >>> from livejoin.sql.scalars.operands import DATE
    >>> can_cast(DATE, BIGINT), can_cast(TIMESTAMP, BIGINT)
    (False, True)
    """
    if kind == "INTERVAL" or (kind not in (to, "VOID") and (is_kind(kind, "interval") or to.kind == "interval")):
        return False
    if kind not in (to, "VOID") and (is_kind(kind, "months") or to.kind == "months"):
        return is_kind(kind, "months") and to.kind == "integer"
    if kind in ("VOID", to) or is_kind(kind, "string") or to.kind == "string":
        return True
    match to.kind:
        case "boolean":
            return is_number(kind)
        case "integer" | "decimal" | "double":
            return is_number(kind) or is_kind(kind, "boolean") or kind == TIMESTAMP
        case "date":
            return is_kind(kind, "timestamp")
        case "timestamp":
            return is_kind(kind, "date", "timestamp") or (is_number(kind) and to == TIMESTAMP)
        case _:
            return False
