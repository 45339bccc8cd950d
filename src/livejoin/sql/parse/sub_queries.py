"""Sub-queries in the expressions of a SELECT: finding them, and putting a mark in the place of each.

Code that resolves names, finds aggregates or compares expressions treats a mark as any other node; the query itself is
read separately, with its own tokens. The arguments of a mark are the operands that the sub-query is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from livejoin.sql.parse.source import Source
from livejoin.sql.parse.spans import inside
from livejoin.sql.parse.walking import nodes_of

Form = Literal["exists", "in", "any", "all", "scalar"]

_MARK = "livejoin_sub_query"
_FOLDED = "livejoin_folded"
_MODIFIERS = ("order", "limit", "offset", "with_")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


@dataclass(frozen=True, eq=False)
class SubQuery:
    """A sub-query as the text has it.

    Args:
        form: ``EXISTS (q)``, ``x IN (q)``, ``x < ANY (q)`` or ``x < SOME (q)``, ``x < ALL (q)``, or a value.
        query: The query in the parentheses.
        comparison: The comparison of ANY and ALL.
        offset: The offset of the query.
    """

    form: Form
    query: exp.Expr
    comparison: type[exp.Expr] | None
    offset: int


def in_expressions(select: exp.Select) -> Iterator[exp.Expr]:
    """The sub-queries with their operands in a SELECT's own expressions, from the left.

    Sub-queries in the operands of others are included, those within others are not.
    """
    for root in _roots(select):
        waiting = [root]
        while waiting:
            node = waiting.pop()
            is_sub_query = _query_of(node) is not None
            if is_sub_query:
                yield node
            children = _operands(node) if is_sub_query else list(node.iter_expressions())
            waiting += reversed(children)


def fold(select: exp.Select) -> None:
    """Replace sub-queries without FROM, which have one row or, because of WHERE, none, by expressions.

    ``x < ANY (SELECT e WHERE c)`` becomes ``CASE WHEN c THEN x < e ELSE FALSE END``; e and c are over the query around.
    """
    folded = True
    while folded:
        folded = False
        for node in reversed(list(in_expressions(select))):  # those in operands before what has these operands
            query = _one_row(query_of(node))
            width = 1 if isinstance(node, exp.Query) else len(_operands(node))
            if query is not None and (isinstance(node, exp.Exists) or len(query.expressions) == width):
                value = exp.paren(_folded(node, query))
                value.meta[_FOLDED] = True
                node.replace(value)
                folded = True


def is_folded(node: exp.Expr) -> bool:
    """Whether an expression in parentheses replaced a sub-query without FROM."""
    return _FOLDED in node.meta


def _one_row(query: exp.Expr) -> exp.Select | None:
    """The SELECT of a query if it has no FROM and no aggregates; else None."""
    while isinstance(query, exp.Subquery) and not any(query.args.get(name) for name in _MODIFIERS):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    others = {name for name, value in query.args.items() if value and name not in ("expressions", "where", "distinct")}
    parts = (part for item in query.expressions for part in item.walk(prune=lambda node: isinstance(node, exp.Query)))
    computes = any(isinstance(part, (exp.AggFunc, exp.Star, exp.Window)) for part in parts)
    return None if others or computes else query


def _folded(node: exp.Expr, query: exp.Select) -> exp.Expr:
    """The expression for a sub-query of one row and its operands; a query of another width is left for later."""
    items = [item.unalias() for item in query.expressions]
    operands = _operands(node)
    where = query.args.get("where")
    value: exp.Expr
    otherwise: exp.Expr
    match _form(node):
        case "scalar":
            value, otherwise = items[0], exp.null()
        case "exists":
            value, otherwise = exp.true(), exp.false()
        case form:
            comparison = type(node) if isinstance(node, _COMPARISONS) else exp.EQ
            pairs = [
                comparison(this=exp.paren(left), expression=exp.paren(right))
                for left, right in zip(operands, items, strict=True)
            ]
            for pair in pairs:
                pair.expression.meta[_FOLDED] = True
            value, otherwise = exp.and_(*pairs), exp.true() if form == "all" else exp.false()
    if where is not None and isinstance(node, exp.Exists) and _is_conjunct(node):
        condition: exp.Expr = where.this
        return condition
    return value if where is None else exp.Case(ifs=[exp.If(this=where.this, true=value)], default=otherwise)


def _is_conjunct(node: exp.Expr) -> bool:
    """Whether a node is a conjunct of WHERE or HAVING, where NULL counts as FALSE."""
    above = node.parent
    while isinstance(above, (exp.And, exp.Paren)):
        above = above.parent
    return isinstance(above, (exp.Where, exp.Having))


def take_out(select: exp.Select, source: Source) -> tuple[SubQuery, ...]:
    """Replace the sub-queries in a SELECT's expressions by marks.

    Returns:
        The sub-queries, each at the number of its mark. Equal ones share a mark, but not across two joins, which see
        different tables.
    """
    found: list[SubQuery] = []
    places: dict[tuple[Form, type[exp.Expr] | None, str, int | None], int] = {}
    for node in reversed(list(in_expressions(select))):  # operands before what they are compared with
        query = query_of(node)
        start, _ = inside(query)
        offset = source.tokens[start].start
        comparison = type(node) if isinstance(node, _COMPARISONS) else None
        place = places.setdefault((_form(node), comparison, query.sql(), _join_of(node, select)), len(found))
        node.replace(mark_of(place, _operands(node), offset))
        _leave_out_order(query, is_exists=isinstance(node, exp.Exists))
        if place == len(found):
            found.append(SubQuery(_form(node), query.pop(), comparison, offset))
    return tuple(found)


def mark_of(number: int, operands: list[exp.Expr], offset: int) -> exp.Expr:
    """The mark of a sub-query with its operands."""
    mark = exp.Anonymous(this=f"sub-query {number}", expressions=operands)
    mark.meta.update({_MARK: number, "start": offset})
    return mark


def _join_of(node: exp.Expr, select: exp.Select) -> int | None:
    """The number of the join whose ON contains a node; None in other clauses."""
    above: exp.Expr | None = node
    while above is not None and above is not select and not isinstance(above, exp.Join):
        above = above.parent
    return next((number for number, join in enumerate(_joins(select)) if join is above), None)


def marks(node: exp.Expr) -> list[int]:
    """The numbers of the sub-queries in an expression."""
    return [number for part in nodes_of(node, exp.Anonymous) if (number := marked(part)) is not None]


def renumbered(node: exp.Expr, numbers: Mapping[int, int]) -> exp.Expr:
    """An expression with new numbers of marks."""

    def exchanged(part: exp.Expr) -> exp.Expr:
        number = marked(part)
        if number is None:
            return part
        operands = [operand.transform(exchanged) for operand in part.expressions]
        return mark_of(numbers[number], operands, part.meta["start"])

    return node.transform(exchanged)


def marked(node: exp.Expr) -> int | None:
    """The number of a mark, None if the node is none."""
    number: int | None = node.meta.get(_MARK)
    return number


def has_marks(node: exp.Expr) -> bool:
    """Whether an expression has a mark of a sub-query."""
    return any(marked(part) is not None for part in nodes_of(node, exp.Anonymous))


def _roots(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    for clause in ("where", "group", "having", "order", "distinct"):
        if select.args.get(clause):
            yield select.args[clause]
    yield from (join.args["on"] for join in _joins(select) if join.args.get("on"))


def _joins(node: exp.Expr) -> Iterator[exp.Join]:
    """The joins of a FROM clause, also those in parentheses."""
    items = [node.args["from_"].this] if node.args.get("from_") else []
    for join in node.args.get("joins") or ():
        yield join
        items.append(join.this)
    for item in items:
        yield from _joins(item)
        if isinstance(item, exp.Subquery) and not isinstance(item.this, exp.Query):
            yield from _joins(item.this)


def query_of(node: exp.Expr) -> exp.Expr:
    """The query of a sub-query from `in_expressions`."""
    query = _query_of(node)
    assert query is not None, "it is a sub-query"
    return query


def _query_of(node: exp.Expr) -> exp.Expr | None:
    """The query that a node compares with something, tests for rows, or takes as a value; else None."""
    match node:
        case exp.Exists():
            return node.this if isinstance(node.this, exp.Query) else None
        case exp.In():
            return node.args.get("query")
        case exp.Query():
            return node
        case _ if isinstance(node, _COMPARISONS):
            return _quantified(node.expression)
        case _:
            return None


def _quantified(node: exp.Expr) -> exp.Expr | None:
    """The query after ANY, SOME or ALL; else None."""
    if isinstance(node, (exp.Any, exp.All)):
        return node.this if isinstance(node.this, exp.Query) else None
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ALL" and len(node.expressions) == 1:
        return node.expressions[0] if isinstance(node.expressions[0], exp.Query) else None
    return None


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands that a sub-query is compared with."""
    if not isinstance(node, (exp.In, *_COMPARISONS)):
        return []
    operand = node.this.unnest()
    return list(operand.expressions) if isinstance(operand, exp.Tuple) else [operand]


def _form(node: exp.Expr) -> Form:
    match node:
        case exp.Exists():
            return "exists"
        case exp.In():
            return "in"
        case exp.Query():
            return "scalar"
        case _:
            return "any" if isinstance(node.expression, exp.Any) else "all"


def is_distinct_on(query: exp.Expr) -> bool:
    """Whether a query is a SELECT DISTINCT ON, whose ORDER BY decides which rows it takes."""
    distinct = query.args.get("distinct")
    return isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None


def _leave_out_order(query: exp.Expr, *, is_exists: bool) -> None:
    """Remove ORDER BY without LIMIT, and both if only the existence of a row counts."""
    while isinstance(query, exp.Subquery) and not query.args.get("limit"):
        query.set("order", None)
        query = query.this
    limit = query.args.get("limit")
    if query.args.get("offset") or is_distinct_on(query):
        return
    number = limit.expression if isinstance(limit, exp.Limit) else None
    is_some = isinstance(number, exp.Literal) and number.name.isdigit() and int(number.name) > 0
    if is_exists and is_some:
        query.set("limit", None)
    if not query.args.get("limit"):
        query.set("order", None)
