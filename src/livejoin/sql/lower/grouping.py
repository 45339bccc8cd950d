"""GROUP BY and aggregates: expressions over groups in place of expressions over rows.

    SELECT ... GROUP BY g  =  Project(Aggregate(Join(g, arguments))),

where every expression of the SELECT list, of HAVING and of ORDER BY is rewritten over the columns of the Aggregate: an
expression of GROUP BY becomes its column, an aggregate becomes the column of its call. Equal arguments and equal calls
are kept once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.functions import is_known
from livejoin.query.relational import Aggregate, Call, Distinct, Function, Relation
from livejoin.schema import SqlType
from livejoin.sql.lower.aggregates import AggregateCall, Name, aggregate_call, refuse_windows
from livejoin.sql.lower.project import column_at, list_columns
from livejoin.sql.lower.select_block import key_of, place_of
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.lower.sums_of_products import count_of, never_null, product_of
from livejoin.sql.names.outputs import Item, distinct_names
from livejoin.sql.parse.source import offset_of, shown
from livejoin.sql.scalars.operands import BIGINT, BOOLEAN, DOUBLE
from livejoin.sql.to_duckdb.result_types import average_type, sum_type

_FUNCTIONS: dict[Name, Function] = {
    "count_if": "count",
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "var_pop": "var_pop",
    "var_samp": "var_samp",
    "stddev_pop": "var_pop",
    "stddev_samp": "var_samp",
    "min": "min",
    "max": "max",
    "bool_and": "bool_and",
    "bool_or": "bool_or",
    "array_agg": "array_agg",
    "array_unique": "array_agg",
}
_SUMS = ("sum", "avg", "var_pop", "var_samp")
_OF_NULLS = ("min", "max", "bool_and", "bool_or")  # NULL, of any type, where all arguments are


@dataclass(frozen=True)
class _Counted:
    """A call whose argument has no column yet; the value is NULL for rows that do not count, None for COUNT(*)."""

    value: exp.Expr | None
    call: Call


class Grouping:
    """The Aggregate of a SELECT while its expressions are rewritten; mutable.

    Args:
        groups: The expressions of GROUP BY, resolved, each once.
        joined: The join.
        start: The offset of the SELECT, for what does not know its own.
    """

    def __init__(self, groups: tuple[exp.Expr, ...], joined: Joined, start: int) -> None:
        self._joined = joined
        self._source = joined.source
        self._start = start
        self._columns: dict[str, int] = {}
        self._values: list[Item] = []
        for value in groups:
            self._column(value, offset_of(value, start), "group")
        self._grouped = dict(self._columns)
        self._groups = len(self._values)
        self._by_connector = any(isinstance(value.unnest(), exp.Connector) for value in groups)
        self._calls: list[Call] = []

    def over(self, value: exp.Expr, offset: int) -> exp.Expr:
        """A resolved expression over the columns of the Aggregate: column i is the `ColumnRef` (0, i).

        Raises:
            UnsupportedQueryError: A column neither grouped nor in an aggregate, or a call that is not maintained.
            SqlTypeError: The argument of an aggregate has a type that it does not take, or there is no such function.
        """
        refuse_windows(value, self._source, offset)
        return value.copy().transform(lambda part: self._exchanged(part, offset))

    def relation(self, is_global: bool) -> Relation:
        """The Aggregate with the calls that were met; without any, each group once."""
        names = distinct_names([item.name for item in self._values])
        items = [Item(name, item.value, item.offset, item.role) for name, item in zip(names, self._values, strict=True)]
        products = [call.product for call in self._calls if call.product is not None]
        rows, found = self._joined.rows_with(items, products)
        left = iter(found)
        placed = [call if call.product is None else replace(call, product=next(left, None)) for call in self._calls]
        for position in list_columns(rows.schema):
            item = items[position]
            msg = f"the {item.role} {item.name!r} is a list, which groups and aggregates would compare; leave it out"
            raise self._source.unsupported("GROUP BY", msg, item.offset)
        if not self._calls and not is_global:
            return Distinct(rows)
        calls = tuple(placed) or (Call("count", None, False, BIGINT),)
        return Aggregate(rows, self._groups, calls, is_global)

    def _exchanged(self, part: exp.Expr, offset: int) -> exp.Expr:
        if isinstance(part, exp.Null):
            return part  # it has any type, a column of NULLs has one
        if isinstance(part, exp.Connector) and not self._by_connector:
            return part  # a long condition would be written down once for each of its terms
        group = place_of(part, self._grouped)
        if group is not None:
            return column_at(group)
        call = aggregate_call(part, self._source, offset)
        if call is not None:
            return self._result(call)
        if isinstance(part, exp.Anonymous) and not is_known(part.name):
            msg = f"DuckDB, which evaluates expressions, refuses {shown(part)}: it has no function {part.name}"
            raise self._source.error(SqlTypeError, msg, offset_of(part, offset))
        if isinstance(part, exp.Column):
            raise self._not_grouped(part, offset_of(part, offset))
        return part

    def _not_grouped(self, column: exp.Column, offset: int) -> UnsupportedQueryError:
        where = "in GROUP BY" if self._groups else "grouped (there is no GROUP BY)"
        msg = (
            f"the column {shown(column)} is neither {where} nor within an aggregate, so that a group has no single "
            "value of it; add it to GROUP BY, or take MIN, MAX or another aggregate of it"
        )
        return self._source.unsupported("GROUP BY", msg, offset)

    def _result(self, call: AggregateCall) -> exp.Expr:
        """The result of a call as an expression over the column of the Aggregate that it becomes."""
        if call.name in _OF_NULLS and isinstance(call.arguments[0], exp.Null):
            return exp.null()
        counted = self._count(call) if call.name in ("count", "count_if") else self._value(call)
        place = counted.call
        if counted.value is not None:
            place = replace(place, argument=self._column(counted.value, call.offset, f"argument of {call.written}"))
        if place not in self._calls:
            self._calls.append(place)
        position = self._groups + self._calls.index(place)
        return _finished(call, column_at(position))

    def _column(self, value: exp.Expr, offset: int, role: str) -> int:
        """The position of a value among the columns of the join, which get it if they lack it."""
        key = key_of(value)
        if key not in self._columns:
            self._columns[key] = len(self._values)
            name = value.name if isinstance(value, exp.Column) else shown(value)
            self._values.append(Item(name, value, offset, role))
        return self._columns[key]

    def _count(self, call: AggregateCall) -> _Counted:
        """COUNT counts rows in which no argument is NULL, of DISTINCT arguments each combination once."""
        condition = call.condition
        values = call.arguments
        if call.name == "count_if":
            self._check(call, values[0], BOOLEAN)
            condition = values[0] if condition is None else exp.and_(condition, values[0])
            values = ()
        if condition is not None:
            self._check(call, condition, BOOLEAN, "condition")
        if call.distinct:
            value = values[0] if len(values) == 1 else self._combination(values, call)
            return _Counted(_where(value, condition), Call("count", None, True, BIGINT))
        values = tuple(value for value in values if not never_null(value, self._joined))
        if not values and condition is None:
            return _Counted(None, Call("count", None, False, BIGINT))
        product = count_of(values, condition, self._joined, call.offset)
        single = values[0] if len(values) == 1 and condition is None else None
        if not isinstance(single, exp.Column):
            present = [exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.null())) for value in values]
            single = _where(exp.Literal.number(1), exp.and_(*present, *([condition] if condition is not None else [])))
        return _Counted(single, Call("count", None, False, BIGINT, product))

    def _combination(self, values: tuple[exp.Expr, ...], call: AggregateCall) -> exp.Expr:
        """Several values as one text that no other combination has, NULL if one of them is."""
        text = exp.DataType.build(exp.DType.TEXT)
        parts: list[exp.Expr] = []
        for value in values:
            # 0.0 and -0.0 are one value with two texts; a sum with 0 has the first.
            is_double = self._joined.type_of(value, shown(value), f"argument of {call.written}", call.offset) == DOUBLE
            single = exp.Add(this=exp.paren(value), expression=exp.Literal.number(0)) if is_double else value
            written = exp.cast(exp.paren(single), text)
            parts += [exp.cast(exp.Length(this=written), text), exp.Literal.string(":"), written.copy()]
        combined, *rest = parts
        for part in rest:
            combined = exp.DPipe(this=combined, expression=part)
        return combined

    def _value(self, call: AggregateCall) -> _Counted:
        value = call.arguments[0]
        kind = self._joined.type_of(value, shown(value), f"argument of {call.written}", call.offset)
        if call.condition is not None:
            self._check(call, call.condition, BOOLEAN, "condition")
        function = _FUNCTIONS[call.name]
        result = self._result_type(function, kind)
        if result is None:
            raise self._no_argument(call, value, kind)
        product = None
        if function in _SUMS and not call.distinct:
            product = product_of(value, call.condition, kind, self._joined, call.offset)
        is_list = function == "array_agg"
        return _Counted(
            _where(value, call.condition), Call(function, None, call.distinct and not is_list, result, product)
        )

    def _result_type(self, function: Function, kind: SqlType) -> SqlType | None:
        match function:
            case "sum":
                return sum_type(kind)
            case "avg":
                return average_type(kind)
            case "var_pop" | "var_samp":
                return DOUBLE if sum_type(kind) else None
            case "bool_and" | "bool_or":
                return BOOLEAN if kind == BOOLEAN else None
            case _:
                return kind

    def _no_argument(self, call: AggregateCall, value: exp.Expr, kind: SqlType) -> SqlTypeError:
        allowed = "BOOLEAN" if call.name.startswith("bool") else "integers, DECIMAL and DOUBLE"
        msg = f"{call.written} of {shown(value)}, which is {kind}; allowed are {allowed}: CAST it"
        return self._source.error(SqlTypeError, msg, call.offset)

    def _check(self, call: AggregateCall, value: exp.Expr, kind: SqlType, role: str = "argument") -> None:
        if isinstance(value, exp.Null):
            return
        found = self._joined.type_of(value, shown(value), f"{role} of {call.written}", call.offset)
        if found != kind:
            msg = f"the {role} {shown(value)} of {call.written} has the type {found}; allowed is {kind}"
            raise self._source.error(SqlTypeError, msg, offset_of(value, call.offset))


def _where(value: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """A value where a condition is true, NULL elsewhere."""
    if condition is None:
        return value
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _finished(call: AggregateCall, column: exp.Column) -> exp.Expr:
    """The result of a call from the column of the Aggregate."""
    match call.name:
        case "stddev_pop" | "stddev_samp":
            return exp.Sqrt(this=column)
        case "array_agg" if not call.distinct:
            kept = exp.to_identifier("v")
            is_value = exp.Not(this=exp.Is(this=kept, expression=exp.null()))
            return _list(exp.ArrayFilter(this=column, expression=exp.Lambda(this=is_value, expressions=[kept.copy()])))
        case "array_agg" | "array_unique":
            return _list(exp.func("list_sort", exp.func("list_distinct", column)))
        case _:
            return column


def _list(values: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=values, expressions=[exp.Array()])
