"""PIVOT: rows with different values in one column become columns side by side.

    FROM t PIVOT (SUM(x) AS s, COUNT(*) AS n FOR a IN ('b' AS p, 'c'))

    =  FROM (SELECT k, SUM(x) FILTER (WHERE a <=> 'b') AS p_s,
                    CASE WHEN COUNT(*) FILTER (WHERE a <=> 'b') > 0 THEN COUNT(*) FILTER (WHERE a <=> 'b') END AS p_n,
                    ... AS c_s, ... AS c_n
             FROM t GROUP BY k)

The groups are all columns of FROM that neither FOR nor an aggregate reads. Without such columns there is one row, even
over no rows. A cell is NULL if the group has no row with its value. With one aggregate a column has the name of the
value, with several that of the value and the aggregate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import TokenType, exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.grouped.aggregates import find_aggregate
from livejoin.sql.lower.pivots.pivoted_rows import pivoted_rows
from livejoin.sql.lower.pivots.unpivot import unpivoted
from livejoin.sql.names.known import Names
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF, bound_column
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import outers
from livejoin.sql.resolved.query import Scope

_NULL_OVER_NOTHING = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_NUMBER, _DATE = re.compile(r"(0|[1-9]\d*)(\.\d+)?"), re.compile(r"\d{4}-\d\d-\d\d")
_LISTS = (exp.ArrayAgg, exp.ArrayUniqueAgg)


def pivoted(clause: FromClause, pivot: exp.Pivot, names: Names, source: Source) -> FromClause:
    """Apply a PIVOT or UNPIVOT to a FROM clause, or to the items before it.

    Args:
        clause: The items before it, numbered from 0.
        pivot: The PIVOT or UNPIVOT.
        names: The names in FROM.
        source: The tokens of the SELECT.

    Raises:
        UnknownNameError: A name is unknown, or a value names a column.
        UnsupportedQueryError: A form of PIVOT that is not supported.
    """
    is_back = bool(pivot.args.get("unpivot"))
    at = source.find({TokenType.UNPIVOT if is_back else TokenType.PIVOT})
    called = "UNPIVOT" if is_back else "PIVOT"
    written = [*clause.conditions, *(one for part in clause.parts for one in part.conditions)]
    correlated = any(one.nested is not None and one.nested.correlated is not None for one in clause.scope.relations)
    if correlated or any(True for condition in written for _ in outers(condition)):
        msg = (
            f"{called} of a query that reads columns of the query around is not supported; keep the columns that it "
            f"compares with these, and compare them behind {called}"
        )
        raise source.unsupported(called, msg, at)
    if clause.seen or clause.taken:
        msg = f"{called} behind a sub-query in ON is not supported; write what stands before it as a query in FROM"
        raise source.unsupported(called, msg, at)
    if is_back:
        return unpivoted(clause, pivot, names, source, at)
    if len(pivot.args["fields"]) != 1 or not isinstance(pivot.args["fields"][0], exp.In):
        msg = "PIVOT takes one list of values; write FOR column IN (value, ...) or FOR (a, b) IN ((1, 2), ...)"
        raise source.unsupported("PIVOT", msg, at)
    scope, chosen = clause.scope, pivot.args["fields"][0]
    columns = [resolve(column, scope, source) for column in _parts(chosen.this)]
    calls = [_call(node, scope, source, at) for node in pivot.expressions]
    read = {part.meta[REF] for node in (*columns, *(value for _, value in calls)) for part in node.find_all(exp.Column)}
    kept = [one for one in scope.shown if one.ref not in read]
    items = [Item(one.name, _column(one.ref, one.name), at, written=one.name) for one in kept]
    for value in chosen.expressions:
        alias = value.args["alias"].name if isinstance(value, exp.PivotAlias) else ""
        given = value.this if isinstance(value, exp.PivotAlias) else value
        name = alias or _text_of(given, source, at)
        condition = _is_value(columns, given, scope, source, at)
        for suffix, call in calls:
            column = name if len(calls) == 1 else f"{name}_{suffix or _refuse_nameless(call, source, at)}"
            items.append(Item(column, _cell(call, condition), at, written=column))
    groups = tuple(_column(one.ref, one.name) for one in kept)
    query = names.grouped(clause, tuple(items), groups, source)
    query = query.called(tuple(item.written for item in items))
    return pivoted_rows(query, scope, [one.ref for one in kept], pivot, names, source, at)


def _parts(node: exp.Expr) -> Sequence[exp.Expr]:
    """The columns, or the values, in parentheses or alone."""
    return node.expressions if isinstance(node, exp.Tuple) else [node.unnest()]


def _column(ref: ColumnRef, name: str) -> exp.Column:
    return bound_column(ref, name)


def _call(node: exp.Expr, scope: Scope, source: Source, at: int) -> tuple[str, exp.Expr]:
    """An aggregate, or an expression over some, and its part of column names; empty if it has none."""
    name = node.alias or _name_of(node)
    value = resolve(node.unalias(), scope, source)
    if find_aggregate(value) is None or value.find(exp.Window):
        msg = f"PIVOT takes aggregates, and {shown(value)} is none; write one around it, as in MAX({shown(value)})"
        raise source.unsupported("PIVOT", msg, offset_of(value, at))
    if value.find(*_LISTS):
        msg = "PIVOT with a list is not supported; write the list with FILTER (WHERE ...) for each column"
        raise source.unsupported("PIVOT", msg, offset_of(value, at))
    return name, value


def _name_of(node: exp.Expr) -> str:
    """Spark's name of an aggregate of one column, an integer or all rows; empty for others."""
    if not isinstance(node, exp.AggFunc) or len([one for one in node.args.values() if isinstance(one, exp.Expr)]) != 1:
        return ""
    name = node.sql("spark").partition("(")[0].lower()
    match node.this:
        case exp.Star():
            return f"{name}(1)"
        case exp.Column() if len(node.this.parts) == 1:
            return f"{name}({node.this.name})"
        case exp.Literal(is_string=False) if node.this.name.isdigit():
            return f"{name}({node.this.name})"
        case _:
            return ""


def _refuse_nameless(call: exp.Expr, source: Source, at: int) -> str:
    msg = f"PIVOT with several aggregates needs a name for {shown(call)}; write AS behind it"
    raise source.unsupported("PIVOT", msg, offset_of(call, at))


def _text_of(value: exp.Expr, source: Source, at: int) -> str:
    """Spark's name of a column of a value without alias: the value as a STRING."""
    match value:
        case exp.Tuple():
            return "{" + ", ".join(_text_of(part, source, at) for part in value.expressions) + "}"
        case exp.Paren():
            return _text_of(value.this, source, at)
        case exp.Literal() if value.is_string or _NUMBER.fullmatch(value.name):
            return str(value.name)
        case exp.Neg(this=exp.Literal(is_string=False)) if _NUMBER.fullmatch(value.this.name):
            return f"-{value.this.name}"
        case exp.Null():
            return "null"
        case exp.Boolean():
            return "true" if value.this else "false"
        case exp.Cast(this=exp.Literal(is_string=True)) if value.to.this == exp.DType.DATE and _DATE.fullmatch(
            value.this.name
        ):
            return str(value.this.name)
        case _:
            msg = f"PIVOT needs a name for the value {shown(value)}; write AS behind it"
            raise source.unsupported("PIVOT", msg, offset_of(value, at))


def _is_value(columns: Sequence[exp.Expr], value: exp.Expr, scope: Scope, source: Source, at: int) -> exp.Expr:
    """The condition that the columns equal the value, which is cast to their types."""
    values = _parts(value)
    if len(values) != len(columns):
        msg = f"PIVOT is FOR {len(columns)} columns, and {shown(value)} has {len(values)} values"
        raise source.unsupported("PIVOT", msg, offset_of(value, at))
    conditions = []
    for column, one in zip(columns, values, strict=True):
        if not isinstance(column, exp.Column):
            msg = f"PIVOT is FOR columns, and {shown(column)} is none; compute it in a query in FROM"
            raise source.unsupported("PIVOT", msg, offset_of(column, at))
        kind = exp.DataType.build(str(scope.declared(column.meta[REF]).type), dialect="spark")
        constant = resolve(one.unnest().copy(), Scope(), source)
        conditions.append(exp.NullSafeEQ(this=column.copy(), expression=exp.Cast(this=constant, to=kind)))
    return exp.and_(*conditions, copy=False)


def _cell(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The aggregates of an expression over the rows of one value; NULL if there are none."""
    root = exp.Paren(this=call.copy())
    for aggregate in _aggregates(root):
        around = aggregate.parent
        if isinstance(around, exp.Filter):
            both = exp.and_(around.expression.this.copy(), condition.copy())
            around.set("expression", exp.Where(this=both))
        else:
            aggregate.replace(exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition.copy())))
    value: exp.Expr = root.this
    plain = value.this if isinstance(value, exp.Filter) else value
    if isinstance(plain, _NULL_OVER_NOTHING):
        return value.copy()
    count = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition.copy()))
    some = exp.GT(this=count, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=value.copy())])


def _aggregates(node: exp.Expr) -> list[exp.Expr]:
    """The outermost aggregates of an expression."""
    found = find_aggregate(node)
    if found is node:
        return [node]
    if found is None:
        return []
    return [one for part in node.iter_expressions() for one in _aggregates(part)]
