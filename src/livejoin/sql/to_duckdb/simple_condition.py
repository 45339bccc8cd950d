"""Recognise predicates and factors that Arrow's kernels evaluate as DuckDB does.

These are AND, OR and NOT over: a column, or an integer column's remainder by a positive constant, compared with a
constant (also BETWEEN and IN); two columns of one type compared; IS NULL; a BOOLEAN column. A constant is any
expression without columns; DuckDB evaluates it once, and it must be a value of the column's type, exactly.

Factors are the texts that `livejoin.sql.lower.sums_of_products` and the plans write for annotations: a column, a whole
number, either of them in CASE WHEN, and whether they are not NULL.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
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
    IsIn,
    IsNull,
    IsTrue,
    Measure,
    Not,
    Remainder,
    Term,
)
from livejoin.query.expression import evaluate
from livejoin.sql.to_duckdb.scalar_text import NARROW_DIGITS, unscaled

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
_MOST_CONNECTIVES = 64  # conditions are evaluated by recursion, and beyond some 100 calls DuckDB is as fast
_ROW = pa.table({"": [True]})


class _NotSimple(Exception):
    """The predicate has a part that is not simple."""


@lru_cache(maxsize=1024)
def simple_condition(predicate: str, schema: pa.Schema) -> Condition | None:
    """The condition that a predicate is, None if it is not a simple one.

    Args:
        predicate: A DuckDB expression of type BOOLEAN over columns of the schema, which it names as they are there.
        schema: The columns, whose types are those of livejoin.

    Cost: parsing, and one DuckDB call (about 1 ms) for each constant that is not a plain number or string; nothing for
    one of the last 1,024 predicates.

    >>> simple_condition('"a" > 1 + 1', pa.schema([("a", pa.int64())]))
    Compare(comparison='greater', term=Column(position=0), constant=<pyarrow.Int64Scalar: 2>)
    >>> simple_condition('abs("a") > 2', pa.schema([("a", pa.int64())]))
    """
    try:
        return _Reader(schema).condition(_parsed(predicate))
    except _NotSimple:
        return None


def simple_measure(factor: str, schema: pa.Schema) -> Measure | None:
    """The measure that a factor of an annotation is, None if it is not a simple one; cost as for `simple_condition`.

    Args:
        factor: A DuckDB expression over columns of the schema whose values fit BIGINT; NULL counts as zero.
        schema: The columns.

    >>> simple_measure('CASE WHEN NOT "a" IS NULL THEN 1 ELSE 0 END', pa.schema([("a", pa.int64())]))
    Measure(value=1, condition=Not(condition=IsNull(column=Column(position=0))))
    """
    try:
        return _Reader(schema).measure(_parsed(factor))
    except _NotSimple:
        return None


def _parsed(text: str) -> exp.Expr:
    node = sqlglot.parse_one(text, read="duckdb")
    if sum(1 for _ in node.find_all(exp.And, exp.Or, exp.Not)) > _MOST_CONNECTIVES:
        return _refuse()
    return node


class _Reader:
    """Reads the nodes of one predicate or factor."""

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
                return self._one_of(node)
            case exp.Column():
                column = self._column(node)
                return IsTrue(column) if self._type(column) == pa.bool_() else _refuse()
            case _ if type(node) in _COMPARISONS:
                return self._compare(_COMPARISONS[type(node)], node.this, node.expression)
            case _:
                return _refuse()

    def measure(self, node: exp.Expr) -> Measure:
        """A node whose value is a whole number.

        Raises:
            _NotSimple: It is not simple.
        """
        node = node.unnest()
        if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1 and _none_or_zero(node):
            only = node.args["ifs"][0]
            inner, condition = self.measure(only.args["true"]), self.condition(only.this)
            return Measure(inner.value, Both(condition, inner.condition) if inner.condition else condition)
        if isinstance(node, exp.Cast) and isinstance(node.this.unnest(), exp.Not):
            return Measure(1, self._present(node.this.unnest().this.unnest()))
        number = _number(node)
        return Measure(self._narrow(node) if number is None else number)

    def _present(self, node: exp.Expr) -> Condition:
        """``factor IS NULL``, as the condition that the factor is not."""
        if not (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
            return _refuse()
        factor = node.this.unnest()
        if any(case.args.get("default") for case in factor.find_all(exp.Case)):
            return _refuse()
        measure = self.measure(factor)
        there = None if isinstance(measure.value, int) else Not(IsNull(measure.value))
        if measure.condition is None:
            return there or _refuse()
        return Both(measure.condition, there) if there else measure.condition

    def _narrow(self, node: exp.Expr) -> Column:
        """A column of integers, or the unscaled value of a column of decimals of at most 18 digits."""
        named = node.find(exp.Column) or _refuse()
        column = self._column(named)
        kind = self._type(column)
        if pa.types.is_decimal(kind) and kind.precision <= NARROW_DIGITS:
            value = sqlglot.parse_one(unscaled(named.sql("duckdb"), kind.scale), read="duckdb")
            return column if node == value else _refuse()
        return column if pa.types.is_integer(kind) and node == named else _refuse()

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

    def _one_of(self, node: exp.Expr) -> Condition:
        term, kind = self._term(node.this.unnest())
        if pa.types.is_floating(kind):
            return _refuse()
        return IsIn(term, pa.array([_constant(value, kind).as_py() for value in node.expressions], kind))

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


def _none_or_zero(node: exp.Expr) -> bool:
    """Whether a CASE has no ELSE, or 0 there."""
    default = node.args.get("default")
    return default is None or _number(default.unnest()) == 0


def _number(node: exp.Expr) -> int | None:
    """A whole number that is written as such."""
    if isinstance(node, exp.Neg):
        inner = _number(node.this.unnest())
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and int(node.name) < _TOO_LARGE:
        return int(node.name)
    return None


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
    number = _number(node)
    if number is not None and pa.types.is_integer(kind):
        return pa.scalar(number)
    if isinstance(node, exp.Literal) and node.is_string:
        if pa.types.is_string(kind):
            return pa.scalar(node.name)
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
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
