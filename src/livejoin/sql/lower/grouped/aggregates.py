"""Aggregate calls as the text has them: Spark's names, DISTINCT, ORDER BY, and FILTER (WHERE ...).

A call is recognised by its node; `aggregate_call` reads it and refuses unsupported forms. Where Spark leaves the result
open, as for FIRST, the result here depends on the rows alone. Aggregates that Spark approximates are exact here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import TokenType, exp

from livejoin.errors import UnsupportedQueryError
from livejoin.sql.lower.grouped.aggregate_parts import PLAIN, Form, parts_of
from livejoin.sql.lower.grouped.unmaintained import OVER, Kind, instead_of, spellings, unmaintained
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.parse.walking import nodes, nodes_of
from livejoin.sql.resolved.outer import outers

Name = Literal[
    "count",
    "count_if",
    "sum",
    "avg",
    "var_pop",
    "var_samp",
    "stddev_pop",
    "stddev_samp",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "array_agg",
    "array_unique",
    "string_agg",
    "try_sum",
    "try_avg",
    "covar_pop",
    "covar_samp",
    "corr",
    "regr_count",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "skewness",
    "kurtosis",
    "min_by",
    "max_by",
    "percentile_cont",
    "percentile_disc",
    "percentile_approx",
    "mode",
    "bit_and",
    "bit_or",
    "bit_xor",
]

_NODES: dict[type[exp.Expr], Name] = {
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.Stddev: "stddev_samp",
    exp.Min: "min",
    exp.Max: "max",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.ArrayAgg: "array_agg",
    exp.ArrayUniqueAgg: "array_unique",
    exp.GroupConcat: "string_agg",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.Corr: "corr",
    exp.RegrCount: "regr_count",
    exp.RegrAvgx: "regr_avgx",
    exp.RegrAvgy: "regr_avgy",
    exp.RegrSxx: "regr_sxx",
    exp.RegrSyy: "regr_syy",
    exp.RegrSxy: "regr_sxy",
    exp.RegrSlope: "regr_slope",
    exp.RegrIntercept: "regr_intercept",
    exp.RegrR2: "regr_r2",
    exp.Skewness: "skewness",
    exp.Kurtosis: "kurtosis",
    exp.ArgMin: "min_by",
    exp.ArgMax: "max_by",
    exp.Median: "percentile_cont",
    exp.Quantile: "percentile_cont",
    exp.PercentileCont: "percentile_cont",
    exp.PercentileDisc: "percentile_disc",
    exp.ApproxQuantile: "percentile_approx",
    exp.Mode: "mode",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    # Of the rows of a group, which have no order, any one is the first: the one with the least value, not NULL.
    exp.First: "min",
    exp.FirstValue: "min",
    exp.AnyValue: "min",
    exp.Last: "max",
    exp.LastValue: "max",
    exp.ApproxDistinct: "count",
}
# Names of Spark's that sqlglot leaves as they are.
_NAMES: dict[str, Name] = {
    "mean": "avg",
    "std": "stddev_samp",
    "some": "bool_or",
    "every": "bool_and",
    "try_sum": "try_sum",
    "try_avg": "try_avg",
    "arbitrary": "min",
}

_IGNORES_DUPLICATES = frozenset(
    {"min", "max", "min_by", "max_by", "bool_and", "bool_or", "bit_and", "bit_or", "array_unique"}
)
_OF_ONE_ROW = (exp.First, exp.FirstValue, exp.AnyValue, exp.Last, exp.LastValue)


@dataclass(frozen=True)
class WrittenAggregate:
    """An aggregate call as the text has it.

    Args:
        name: The name of the aggregate.
        written: The name in the text, for messages.
        arguments: The resolved arguments; none for COUNT(*), several for COUNT, two for aggregates of two columns.
        distinct: Whether equal arguments count once; False if that changes nothing.
        condition: The condition of its FILTER clause, resolved.
        offset: The offset of the call.
        form: The options of the call.
    """

    name: Name
    written: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool
    condition: exp.Expr | None
    offset: int
    form: Form = PLAIN


def find_aggregate(node: exp.Expr) -> exp.Expr | None:
    """The first aggregate call in an expression, or the expression itself; window functions do not count.

    A sub-query in the expression is not searched.
    """
    parts = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return next((part for part in parts if _is_aggregate(part) and not is_windowed(part)), None)


def is_windowed(node: exp.Expr) -> bool:
    """Whether OVER follows a call, after its FILTER clause if it has one."""
    above = node.parent
    if isinstance(above, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)) and node.arg_key == "this":
        node, above = above, above.parent
    return isinstance(above, exp.Window) and node.arg_key == "this"


def is_within_aggregate(node: exp.Expr) -> bool:
    """Whether a node stands within an aggregate call or its FILTER clause."""
    above = node.parent
    while above is not None:
        if _is_aggregate(above) or isinstance(above, exp.Filter):
            return True
        above = above.parent
    return False


def aggregate_call(node: exp.Expr, source: Source, default: int) -> WrittenAggregate | None:
    """The aggregate call of a node, with its FILTER clause; None if the node is none.

    Args:
        node: A resolved expression.
        source: The SQL text.
        default: The offset to use for a call without one.

    Raises:
        UnsupportedQueryError: An aggregate within this one, or an unsupported function or form.
    """
    refuse_unmaintained(node, source, default)
    condition: exp.Expr | None = None
    outer = node
    if isinstance(node, exp.Filter) and _within(node.this) is not None:
        outer, condition = node.this, _condition(node.expression.this)
    inner = _within(outer)
    name = None if inner is None else _name(inner)
    if inner is None or name is None:
        return None
    at = call_offset(inner, source, default)
    written = written_name(inner, source, at)
    if isinstance(outer, (exp.IgnoreNulls, exp.RespectNulls)) and not _takes_option(outer):
        option = "IGNORE NULLS" if isinstance(outer, exp.IgnoreNulls) else "RESPECT NULLS"
        raise source.unsupported(option, f"{written} with {option} is not supported; leave that out", at)
    parts = parts_of(outer, inner, written, source, at)
    arguments, distinct, form = parts.arguments, parts.distinct, parts.form
    ordered = [form.order.value] if form.order is not None else []
    for part in (*arguments, *ordered, *([condition] if condition is not None else [])):
        if nested := find_aggregate(part):
            below = call_offset(nested, source, at)
            msg = (
                f"{written_name(nested, source, below)} stands within {written}: an aggregate is over rows, and not "
                "over aggregates; take the one that is wanted"
            )
            raise source.unsupported(written_name(nested, source, below), msg, below)
    if name == "count_if":
        arguments = tuple(_condition(argument) for argument in arguments)
    distinct = distinct and name not in _IGNORES_DUPLICATES
    return WrittenAggregate(name, written, arguments, distinct, condition, at, form)


def _within(node: exp.Expr) -> exp.Expr | None:
    """The call in a node, maybe with an option around it; None if there is none."""
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        node = node.this
    return None if _name(node) is None else node


def _takes_option(node: exp.Expr) -> bool:
    """Whether IGNORE NULLS changes nothing for a call."""
    return isinstance(node, exp.IgnoreNulls) and isinstance(node.this, _OF_ONE_ROW)


def _condition(node: exp.Expr) -> exp.Expr:
    """A condition; a bare NULL becomes a condition too."""
    return exp.cast(node, exp.DType.BOOLEAN) if isinstance(node.unnest(), exp.Null) else node


def refuse_aggregates(node: exp.Expr, clause: str, remedy: str, source: Source, default: int) -> None:
    """Refuse aggregates and window functions in a clause that selects rows before they are grouped.

    Raises:
        UnsupportedQueryError: The clause has one.
    """
    refuse_windows(node, source, default)
    if found := find_aggregate(node):
        raise refuse_aggregate(found, clause, remedy, source, call_offset(found, source, default))


def refuse_aggregate(call: exp.Expr, clause: str, remedy: str, source: Source, offset: int) -> UnsupportedQueryError:
    """The refusal of an aggregate at an offset."""
    if (kind := _kind_outside(call)) is not None:
        return _unmaintained(call, kind, source, offset)
    name = written_name(call, source, call_offset(call, source, offset))
    msg = f"{name} is an aggregate, and {clause} is decided for each row before aggregates; {remedy}"
    return source.unsupported(name, msg, offset)


def refuse_outer_aggregates(node: exp.Expr, source: Source, default: int) -> None:
    """Refuse an aggregate over outer columns alone: it would be one of the query around, not of the sub-query.

    Raises:
        UnsupportedQueryError: The node has one.
    """
    for call in (part for part in nodes(node) if _is_aggregate(part)):
        if any(outers(call)) and call.find(exp.Column) is None:
            at = call_offset(call, source, default)
            name = written_name(call, source, at)
            msg = f"{name} is over columns of the query around alone, where it belongs; compute it in FROM there"
            raise source.unsupported(name, msg, at)


def refuse_unmaintained(node: exp.Expr, source: Source, default: int) -> None:
    """Refuse an aggregate or window function that is not supported.

    Raises:
        UnsupportedQueryError: The node is such a call.
    """
    if (kind := _kind_outside(node)) is not None:
        raise _unmaintained(node, kind, source, call_offset(node, source, default))


def _unmaintained(call: exp.Expr, kind: Kind, source: Source, offset: int) -> UnsupportedQueryError:
    name = written_name(call, source, offset)
    if kind == "window":
        msg = f"{name} without OVER is no function: {OVER}"
    else:
        msg = f"the aggregate {name} is not maintained: {instead_of(name, call)}"
    return source.unsupported(name, msg, offset)


def refuse_windows(node: exp.Expr, source: Source, default: int) -> None:
    """Refuse OVER.

    Raises:
        UnsupportedQueryError: The node has a window function.
    """
    for window in nodes_of(node, exp.Window):
        at = call_offset(window.this, source, default)
        name = written_name(window.this, source, at)
        msg = f"{name} OVER is a window function, which stands in SELECT and in QUALIFY; write the condition as QUALIFY"
        raise source.unsupported(name, msg, at)


def call_offset(node: exp.Expr, source: Source, default: int) -> int:
    """The offset of a call; ``default`` for functions whose nodes have none."""
    at = offset_of(node, default)
    if isinstance(node, exp.Any):
        return source.find_back({TokenType.ANY}, at, at)
    return at if "start" in node.meta else source.call_around(spellings(node), at)


def written_name(node: exp.Expr, source: Source, offset: int) -> str:
    """The name of a call as the text has it, in upper case."""
    written = source.text_at(offset)
    if not written.isidentifier():
        written = (
            node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
        )
    return (written or node.key).upper()


def _name(node: exp.Expr) -> Name | None:
    match node:
        case exp.Any():
            above = node.parent  # x = ANY (...) is a comparison, ANY(x) = TRUE one of an aggregate
            compared = isinstance(above, exp.Predicate) and node.arg_key == "expression"
            return None if compared or isinstance(node.this, (exp.Tuple, exp.Query)) else "bool_or"
        case exp.Anonymous():
            return _NAMES.get(node.name.lower())
        case _:
            return _NODES.get(type(node))


def _is_aggregate(node: exp.Expr) -> bool:
    return _name(node) is not None or _kind_outside(node) is not None


def _kind_outside(node: exp.Expr) -> Kind | None:
    """Whether a call is an unsupported aggregate or window function, and which of the two; None for other nodes."""
    return None if _name(node) is not None else unmaintained(node)
