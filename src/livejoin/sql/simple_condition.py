"""Recognise predicates that Arrow's kernels evaluate as DuckDB does.

These are AND, OR and NOT over: a column, or an integer column's remainder by a positive constant, compared with a
constant (also BETWEEN and IN); two columns of one type compared; IS NULL; a BOOLEAN column. A constant is any
expression without columns; DuckDB evaluates it once, and it must be a value of the column's type, exactly.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import Never

import pyarrow as pa
import sqlglot
from sqlglot import exp

from livejoin.errors import ExpressionError
from livejoin.query.condition import (
    Both,
    Column,
    Compare,
    CompareColumns,
    Comparison,
    Condition,
    Either,
    IsNull,
    IsTrue,
    Not,
    Remainder,
    Term,
)
from livejoin.query.expression import evaluate

_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
_MIRRORED: dict[Comparison, Comparison] = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_LARGEST_DIVISOR = 2**62
_TOO_LARGE = 2**63
_ROW = pa.table({"": [True]})


class _NotSimple(Exception):
    """The predicate has a part that is not simple."""


def simple_condition(predicate: str, schema: pa.Schema) -> Condition | None:
    """The condition that a predicate is, None if it is not a simple one.

    Args:
        predicate: A DuckDB expression of type BOOLEAN over columns of the schema, which it names as they are there.
        schema: The columns, whose types are those of livejoin.

    Cost: parsing, and one DuckDB call (about 1 ms) for each constant that is not a plain number or string.

    >>> simple_condition('"a" > 1 + 1', pa.schema([("a", pa.int64())]))
    Compare(comparison='greater', term=Column(position=0), constant=<pyarrow.Int64Scalar: 2>)
    >>> simple_condition('abs("a") > 2', pa.schema([("a", pa.int64())]))
    """
    try:
        return _Reader(schema).condition(sqlglot.parse_one(predicate, read="duckdb"))
    except _NotSimple:
        return None


class _Reader:
    """Reads the nodes of one predicate."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def condition(self, node: exp.Expr) -> Condition:
        """A node of type BOOLEAN.

        Raises:
            _NotSimple: It is not simple.
        """
        node = node.unnest()
        match node:
            case exp.And():
                return Both(self.condition(node.this), self.condition(node.expression))
            case exp.Or():
                return Either(self.condition(node.this), self.condition(node.expression))
            case exp.Not():
                return Not(self.condition(node.this))
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(self._column(node.this))
            case exp.Between() if not node.args.get("symmetric"):
                low, high = node.args["low"], node.args["high"]
                return Both(
                    self._compare("greater_equal", node.this, low), self._compare("less_equal", node.this, high)
                )
            case exp.In() if node.expressions and set(_given(node)) == {"this", "expressions"}:
                return reduce(Either, (self._compare("equal", node.this, value) for value in node.expressions))
            case exp.Column():
                column = self._column(node)
                return IsTrue(column) if self._type(column) == pa.bool_() else _refuse()
            case _ if type(node) in _COMPARISONS:
                return self._compare(_COMPARISONS[type(node)], node.this, node.expression)
            case _:
                return _refuse()

    def _compare(self, comparison: Comparison, left: exp.Expr, right: exp.Expr) -> Condition:
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            one, other = self._column(left), self._column(right)
            kind = self._type(one)
            comparable = kind == self._type(other) and not pa.types.is_floating(kind) and not pa.types.is_nested(kind)
            return CompareColumns(comparison, one, other) if comparable else _refuse()
        if not left.find(exp.Column):
            return self._compare(_MIRRORED[comparison], right, left) if right.find(exp.Column) else _refuse()
        term, kind = self._term(left)
        return Compare(comparison, term, _constant(right, kind))

    def _term(self, node: exp.Expr) -> tuple[Term, pa.DataType]:
        if not isinstance(node, exp.Mod):
            column = self._column(node)
            return column, self._type(column)
        column, divisor = self._column(node.this.unnest()), _constant(node.expression, pa.int64()).as_py()
        if not pa.types.is_integer(self._type(column)) or not 0 < divisor <= _LARGEST_DIVISOR:
            return _refuse()
        return Remainder(column, divisor), pa.int64()

    def _column(self, node: exp.Expr) -> Column:
        node = node.unnest()
        if not isinstance(node, exp.Column) or node.table:
            return _refuse()
        position = self._schema.get_field_index(node.name)
        return Column(position) if position >= 0 else _refuse()

    def _type(self, column: Column) -> pa.DataType:
        return self._schema.types[column.position]


def _refuse() -> Never:
    raise _NotSimple


def _given(node: exp.Expr) -> list[str]:
    """The names of the arguments that a node has."""
    return [name for name, value in node.args.items() if value]


def _constant(node: exp.Expr, kind: pa.DataType) -> pa.Scalar:
    """A constant as a value of a column's type.

    Raises:
        _NotSimple: It uses columns or has no such value, or DuckDB would compare it otherwise than as one.
    """
    if node.find(exp.Column):
        return _refuse()
    value = _value(node.unnest(), kind)
    if not value.is_valid or not _compares(kind, value.type):
        return _refuse()
    try:
        found = pa.scalar(Decimal(value.as_py()), kind) if pa.types.is_decimal(kind) else value.cast(kind)
        back = found if pa.types.is_decimal(kind) else found.cast(value.type)
    except pa.ArrowInvalid:
        return _refuse()
    if back.as_py() != value.as_py():  # NaN does not either
        return _refuse()
    return found


def _value(node: exp.Expr, kind: pa.DataType) -> pa.Scalar:
    """What DuckDB makes of a constant that is compared with a column of a type."""
    text = node.sql("duckdb")
    if isinstance(node, exp.Literal):
        if node.is_string and pa.types.is_string(kind):
            return pa.scalar(node.name)
        if not node.is_string and pa.types.is_integer(kind) and node.name.isdecimal() and int(node.name) < _TOO_LARGE:
            return pa.scalar(int(node.name))
        if node.is_string and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            text = f"CAST({text} AS {'DATE' if pa.types.is_date(kind) else 'TIMESTAMP'})"
    if pa.types.is_floating(kind):
        text = f"CAST({text} AS DOUBLE)"
    try:
        return evaluate([text], _ROW)[0][0]
    except ExpressionError:
        return _refuse()


def _compares(kind: pa.DataType, given: pa.DataType) -> bool:
    """Whether a comparison of a column and a constant of these types is one of values of the column's type."""
    if pa.types.is_decimal(kind):
        return bool(pa.types.is_decimal(given) or pa.types.is_integer(given))
    if pa.types.is_integer(kind):
        return bool(pa.types.is_integer(given))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return bool(pa.types.is_date(given) or (pa.types.is_timestamp(given) and given.tz is None))
    return bool(kind == given)
