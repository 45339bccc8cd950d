"""The type that a CAST names."""

from __future__ import annotations

from sqlglot import exp

from livejoin.errors import SchemaError
from livejoin.schema import SqlType
from livejoin.sql.parse.column_types import TYPES, declared_type
from livejoin.sql.parse.source import shown
from livejoin.sql.scalars.operands import STRING, Mismatch


def type_named(node: exp.DataType) -> SqlType | None:
    """The type that CAST names; None if nothing is cast to it.

    Raises:
        Mismatch: It is a decimal of too many digits.
    """
    if node.this == exp.DType.DECIMAL:
        if not all(part.name.isdecimal() for part in node.expressions):
            raise Mismatch(f"{shown(node)} has no numbers of digits; write DECIMAL(precision, scale)")
        digits = [int(part.name) for part in node.expressions]
        precision, scale = (*digits, 0)[:2] if digits else (10, 0)
        try:
            return SqlType.decimal(precision, scale)
        except SchemaError as error:
            raise Mismatch(str(error)) from error
    if node.this in (exp.DType.VARCHAR, exp.DType.CHAR) and node.expressions:
        return STRING  # Spark's own CAST neither cuts nor fills
    if isinstance(node.this, exp.Interval) and (found := declared_type(node)) is not None:
        return found
    found = TYPES.get(node.this, SqlType("timestamp") if node.this == exp.DType.TIMESTAMPLTZ else None)
    return None if found == STRING and node.expressions else found
