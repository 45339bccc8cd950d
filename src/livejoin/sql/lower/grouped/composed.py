"""Aggregates as expressions over the maintained ones: types, FILTER conditions, and composed aggregates.

A row that FILTER leaves out has a NULL argument. An aggregate of two arguments is over the rows in which neither is
NULL. Covariances and moments are those of the arguments as DOUBLEs, as in Spark. With v the variance and c the
covariance of such rows

    CORR = c / (SQRT(v_x) SQRT(v_y)),  REGR_SLOPE = c / v_x,  SKEWNESS = m_3 / v**1.5,  KURTOSIS = m_4 / v**2 - 3,

each input is rounded once before, and the result is NULL where it would divide by 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.query.aggregates import AggregateCall, Function
from livejoin.schema import SqlType
from livejoin.sql.lower.grouped.aggregates import Name, WrittenAggregate
from livejoin.sql.lower.grouped.sums_of_products import product_of
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.parse.source import shown
from livejoin.sql.resolved.column import key_of
from livejoin.sql.scalars.bind import filtered
from livejoin.sql.scalars.labels import text_of
from livejoin.sql.scalars.operands import BIGINT, BOOLEAN, DOUBLE, STRING
from livejoin.sql.scalars.result_types import average_type, sum_type

_PLAIN: dict[Name, Function] = {
    "sum": "sum",
    "avg": "avg",
    "var_pop": "var_pop",
    "var_samp": "var_samp",
    "stddev_pop": "var_pop",
    "stddev_samp": "var_samp",
    "min": "min",
    "max": "max",
    "mode": "mode",
    "bool_and": "bool_and",
    "bool_or": "bool_or",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
    "bit_xor": "bit_xor",
    "array_agg": "array_agg",
    "array_unique": "array_agg",
}
_INTERVALS = ("interval", "months")
_SUMS = ("sum", "avg", "var_pop", "var_samp")
_TRIED_DIGITS = 28  # a sum of so many digits has ten more, which no number of rows passes
_SQRT, _COUNT = exp.Sqrt, AggregateCall("count", None, False, BIGINT)


@dataclass(frozen=True)
class Wanted:
    """A call whose arguments are not columns yet; a value is NULL for rows that do not count, None for COUNT(*)."""

    call: AggregateCall
    value: exp.Expr | None = None
    other: exp.Expr | None = None


Add = Callable[[Wanted], exp.Column]
"""Gives the column of a call."""


def where(value: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """A value where a condition is true, else NULL."""
    if condition is None:
        return value
    return filtered(condition, value)


def composed(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    """The result of a call other than COUNT, as an expression over the columns of maintained calls.

    Args:
        call: The call.
        joined: The rows.
        add: Gives the column of a maintained call.

    Raises:
        SqlTypeError: An argument has a type that the aggregate does not accept.
    """
    match call.name:
        case "min_by" | "max_by":
            value, by = call.arguments
            found = AggregateCall(call.name, None, False, _type(call, value, joined))
            _type(call, by, joined)
            return add(Wanted(found, value, where(by, call.condition)))
        case "percentile_cont" | "percentile_disc" | "percentile_approx":
            return _percentiles(call, joined, add)
        case "string_agg" | "array_agg" if call.name == "string_agg" or call.form.order is not None:
            return _in_order(call, joined, add)
        case "skewness" | "kurtosis":
            return _shape(call, joined, add)
        case "try_sum" | "try_avg":
            return _tried(call, joined, add)
        case _ if call.name in _PLAIN:
            return _plain(call, joined, add)
        case _:
            return _of_two(call, joined, add)


def _plain(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    value = call.arguments[0]
    kind = _type(call, value, joined)
    function = _PLAIN[call.name]
    result = _result_type(function, kind)
    if result is None:
        raise _no_argument(call, value, kind, joined)
    product = None
    if function in _SUMS and not call.distinct:
        product = product_of(value, call.condition, kind, joined, call.offset)
    distinct = call.distinct and function not in ("array_agg", "mode")
    descending = call.form.order is not None and call.form.order.descending
    found = AggregateCall(function, None, distinct, result, product, descending=descending and function == "mode")
    column = add(Wanted(found, where(value, call.condition)))
    match call.name:
        case "stddev_pop" | "stddev_samp":
            return _SQRT(this=column)
        case "array_agg" if not call.distinct:
            return _list(_present(column))
        case "array_agg" | "array_unique":
            return _list(exp.func("list_sort", exp.func("list_distinct", column)))
        case _:
            return column


def _result_type(function: Function, kind: SqlType) -> SqlType | None:
    match function:
        case "sum":
            return sum_type(kind)
        case "avg":
            return average_type(kind)
        case "var_pop" | "var_samp":
            return DOUBLE if kind.kind in ("integer", "decimal", "double") else None
        case "bool_and" | "bool_or":
            return BOOLEAN if kind == BOOLEAN else None
        case "bit_and" | "bit_or" | "bit_xor":
            return kind if kind.kind == "integer" else None
        case "array_agg" | "list_by":  # DuckDB, which makes the lists of results, has one type for all intervals
            return None if kind.kind in _INTERVALS else kind
        case _:
            return kind


def _percentiles(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    """Percentiles, several as an array; DOUBLEs, except for PERCENTILE_APPROX, which gives one of the values."""
    value = call.arguments[0]
    kind = _type(call, value, joined)
    if call.name != "percentile_approx":
        value, kind = _double(call, value, joined), DOUBLE
    elif kind.kind not in ("integer", "decimal", "double", "date", "timestamp"):
        raise _no_argument(call, value, kind, joined)
    function: Function = "percentile_cont" if call.name == "percentile_cont" else "percentile_disc"
    descending = call.form.order is not None and call.form.order.descending
    found = AggregateCall(function, None, call.distinct, kind, descending=descending)
    argument = where(value, call.condition)
    columns = [add(Wanted(replace(found, fraction=fraction), argument)) for fraction in call.form.fractions]
    if not call.form.is_array:
        return columns[0]
    is_there = exp.Not(this=exp.Is(this=columns[0].copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=is_there, true=exp.Array(expressions=columns))])


def _in_order(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    """A list in the order of another expression, or a text joined from it; without an order, that of the values."""
    value, order = call.arguments[0], call.form.order
    kind = _type(call, value, joined)
    if (call.name == "string_agg" and kind != STRING) or kind.kind in _INTERVALS:
        raise _no_argument(call, value, kind, joined)
    argument = where(value, call.condition)
    if order is None or key_of(order.value) == key_of(value):
        column: exp.Expr = add(Wanted(AggregateCall("array_agg", None, False, kind), argument))
        column = exp.func("list_sort", exp.func("list_distinct", column)) if call.distinct else _present(column)
    elif call.distinct:
        msg = f"{call.written} of DISTINCT values is ordered by another expression; order by {shown(value)}"
        raise joined.source.unsupported("ORDER BY", msg, order.offset)
    else:
        _type(call, order.value, joined)
        column = add(Wanted(AggregateCall("list_by", None, False, kind), argument, order.value))
    if order is not None and order.descending:
        column = exp.func("list_reverse", column)
    if call.name == "array_agg":
        return _list(column)
    joined_up = exp.ArrayToString(this=column, expression=exp.Literal.string(call.form.separator))
    is_there = exp.GT(this=exp.ArraySize(this=column.copy()), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=is_there, true=joined_up)])


def _shape(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    argument = where(_double(call, call.arguments[0], joined), call.condition)
    variance = add(Wanted(AggregateCall("var_pop", None, False, DOUBLE), argument))
    if call.name == "skewness":
        third = add(Wanted(AggregateCall("moment_3", None, False, DOUBLE), argument))
        return _over(third, _product(variance, _SQRT(this=variance.copy())), variance)
    fourth = add(Wanted(AggregateCall("moment_4", None, False, DOUBLE), argument))
    ratio = exp.Sub(this=_quotient(fourth, _product(variance, variance)), expression=_literal(3.0))
    return _unless_zero(ratio, variance)


def _tried(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    """TRY_SUM: NULL where SUM overflows. Only sums of integers do, and these are summed as decimals."""
    value = call.arguments[0]
    kind = _type(call, value, joined)
    if kind.kind == "decimal" and kind.precision > _TRIED_DIGITS:
        msg = (
            f"{call.written} of {text_of(value)}, which is {kind}: a sum of more than {_TRIED_DIGITS + 10} digits is "
            f"refused, and not NULL. CAST it to DECIMAL({_TRIED_DIGITS}, {min(kind.scale, _TRIED_DIGITS)}) or write SUM"
        )
        raise joined.source.unsupported(call.written, msg, call.offset)
    if kind.kind in ("interval", "months"):
        plain = call.written.upper().removeprefix("TRY_")
        msg = (
            f"{call.written} of {text_of(value)}, an {kind}: what does not fit is refused, and not NULL. Write {plain}"
        )
        raise joined.source.unsupported(call.written, msg, call.offset)
    if call.name == "try_avg" or kind.kind != "integer":
        return _plain(replace(call, name="sum" if call.name == "try_sum" else "avg"), joined, add)
    wide = exp.cast(value, f"DECIMAL({_TRIED_DIGITS}, 0)")
    total = _plain(replace(call, name="sum", arguments=(wide,)), joined, add)
    return exp.TryCast(this=total, to=exp.DataType.build(exp.DType.BIGINT), safe=True)


def _of_two(call: WrittenAggregate, joined: Joined, add: Add) -> exp.Expr:
    """Covariance, correlation and regression of y, which is written first, on x."""
    y, x = (_double(call, value, joined) for value in call.arguments)
    both = exp.and_(
        *(exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.null())) for value in call.arguments),
        *([call.condition] if call.condition is not None else []),
    )
    y, x = where(y, both), where(x, both)

    def of(function: Function, value: exp.Expr) -> exp.Column:
        return add(Wanted(AggregateCall(function, None, False, DOUBLE), value))

    def covariance(function: Function = "covar_pop") -> exp.Column:
        return add(Wanted(AggregateCall(function, None, False, DOUBLE), y, x))

    def count() -> exp.Column:
        return add(Wanted(_COUNT, where(exp.Literal.number(1), both)))

    match call.name:
        case "covar_pop" | "covar_samp":
            return covariance(call.name)
        case "regr_count":
            return count()
        case "regr_avgx" | "regr_avgy":
            return of("avg", x if call.name == "regr_avgx" else y)
        case "regr_sxx" | "regr_syy":
            return _product(of("var_pop", x if call.name == "regr_sxx" else y), count())
        case "regr_sxy":
            return _product(covariance(), count())
        case "corr":
            return _correlation(of("var_pop", x), of("var_pop", y), covariance())
        case "regr_r2":
            correlation = _correlation(of("var_pop", x), of("var_pop", y), covariance())
            is_flat = exp.EQ(this=of("var_pop", y), expression=_literal(0.0))
            flat = exp.If(this=is_flat, true=_literal(1.0))
            found = exp.Case(ifs=[flat], default=_product(exp.paren(correlation), exp.paren(correlation.copy())))
            return _unless_zero(found, of("var_pop", x))
        case _:
            slope = _over(covariance(), of("var_pop", x), of("var_pop", x))
            if call.name == "regr_slope":
                return slope
            return exp.Sub(this=of("avg", y), expression=_product(exp.paren(slope), of("avg", x)))


def _correlation(of_x: exp.Expr, of_y: exp.Expr, both: exp.Expr) -> exp.Expr:
    roots = _product(_SQRT(this=of_x), _SQRT(this=of_y))
    return _over(both, roots, roots)


def _over(value: exp.Expr, divisor: exp.Expr, variance: exp.Expr) -> exp.Expr:
    """A quotient, NULL where a variance is 0."""
    return _unless_zero(_quotient(value, divisor), variance)


def _unless_zero(value: exp.Expr, variance: exp.Expr) -> exp.Expr:
    is_some = exp.GT(this=variance.copy(), expression=_literal(0.0))
    return exp.Case(ifs=[exp.If(this=is_some, true=value)])


def _product(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Mul(this=left.copy(), expression=right.copy())


def _quotient(value: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    return exp.Div(this=value.copy(), expression=exp.paren(divisor.copy()))


def _literal(value: float) -> exp.Expr:
    return exp.cast(exp.Literal.number(value), exp.DType.DOUBLE)


def _present(column: exp.Expr) -> exp.Expr:
    """The values of a list that are not NULL."""
    kept = exp.to_identifier("v")
    is_value = exp.Not(this=exp.Is(this=kept, expression=exp.null()))
    return exp.ArrayFilter(this=column, expression=exp.Lambda(this=is_value, expressions=[kept.copy()]))


def _list(values: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=values, expressions=[exp.Array()])


def _type(call: WrittenAggregate, value: exp.Expr, joined: Joined) -> SqlType:
    kind = joined.type_of(value, text_of(value), f"argument of {call.written}", call.offset)
    if kind.is_payload:
        msg = (
            f"{call.written} of the column {text_of(value)!r}, which is {kind} and only passed through: it may be "
            "selected, counted and tested for NULL; keep what is aggregated in a column of its own"
        )
        raise joined.source.unsupported(call.written, msg, call.offset)
    return kind


def _double(call: WrittenAggregate, value: exp.Expr, joined: Joined) -> exp.Expr:
    """A number as a DOUBLE."""
    kind = _type(call, value, joined)
    if kind.kind not in ("integer", "decimal", "double"):
        raise _no_argument(call, value, kind, joined)
    return value if kind == DOUBLE else exp.cast(exp.paren(value), exp.DType.DOUBLE)


def _no_argument(call: WrittenAggregate, value: exp.Expr, kind: SqlType, joined: Joined) -> SqlTypeError:
    allowed = "integers, DECIMAL and DOUBLE"
    if call.name.startswith("bool"):
        allowed = "BOOLEAN"
    elif call.name.startswith("bit"):
        allowed = "integers"
    elif call.name == "string_agg":
        allowed = "STRING"
    elif call.name.startswith("array"):
        allowed = "all types but intervals"
    elif call.name in ("sum", "avg"):
        allowed = "integers, DECIMAL, DOUBLE and intervals"
    elif call.name == "percentile_approx":
        allowed = "integers, DECIMAL, DOUBLE, DATE and TIMESTAMP"
    msg = f"{call.written} of {text_of(value)}, which is {kind}; allowed are {allowed}: CAST it"
    return joined.source.error(SqlTypeError, msg, call.offset)
