"""CAST: its type, and constants that are converted when they are bound."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from livejoin.errors import SchemaError
from livejoin.schema import SqlType
from livejoin.sql.parse.column_types import CAST_TYPES, TYPES, cast_type, declared_type
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.scalars import literals
from livejoin.sql.scalars.functions.by_name import converted
from livejoin.sql.scalars.operands import STRING, Mismatch, Operand, Unsayable, type_of

_WORDS_OF_TODAY = frozenset({"now", "today", "yesterday", "tomorrow", "epoch"})


def cast_operand(node: exp.Cast | exp.TryCast, operand_of: Callable[[exp.Expr], Operand], source: Source) -> Operand:
    """The operand of a CAST or TRY_CAST.

    Args:
        node: The cast.
        operand_of: Gives the operand of the argument's node.
        source: The SQL text.

    Raises:
        Mismatch: Spark does not cast the argument's type to the other one.
        Unsayable: livejoin does not cast to the type, or not that constant.
    """
    found = literals.suffixed(node)
    if found is not None:
        return found
    is_try, inner = isinstance(node, exp.TryCast), node.this
    to = (declared_type(node.to) if isinstance(inner, exp.Null) else None) or type_named(node.to)
    if to is None:
        raise Unsayable(f"CAST to {_type_written(node, source)}", f"livejoin casts to {CAST_TYPES}")
    is_bare = node.to.this == exp.DType.TIMESTAMPNTZ
    if isinstance(inner, exp.Literal) and inner.is_string and to.kind in ("date", "timestamp") and not is_try:
        if inner.name.strip().lower() in _WORDS_OF_TODAY:
            raise Unsayable(str(to), f"{inner.name!r} may not be the same tomorrow; write the time")
        known = literals.typed_text(inner.name, to)
        if known is not None and not (is_bare and literals.names_zone(inner.name)):
            return known
        if literals.type_before(source.sql, inner.meta.get("start", 0)):
            literals.check_time(inner.name, to)
    operand = operand_of(inner)
    if is_bare and type_of(operand) == STRING:
        # Spark leaves out a zone that the string has.
        raise Unsayable("CAST to TIMESTAMP_NTZ", "it reads no strings; cast to TIMESTAMP, in which a zone counts")
    return converted("try_cast" if is_try else "cast", operand, to)


def _type_written(node: exp.Cast, source: Source) -> str:
    """The type of a cast as written, if it is found: sqlglot makes a TIMESTAMP of TIME."""
    start = offset_of(node.this, -1)
    if start < 0 or node.this.find(exp.Cast):
        return shown(node.to)
    return literals.type_before(source.sql, start) or cast_type(start, source) or shown(node.to)


def type_named(node: exp.DataType) -> SqlType | None:
    """The type of a CAST; None if livejoin does not cast to it.

    Raises:
        Mismatch: The type is a decimal of too many digits.
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
