"""The tokens of a SELECT, a set operation or a query in parentheses.

sqlglot's nodes do not know their tokens. The parser notes them in a node's ``meta`` (`livejoin.sql.parse.parse`), as
positions in the list of all tokens, so that a clause is looked for in its own SELECT and in no inner one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from sqlglot import Token, TokenType, exp

from livejoin.sql.parse.source import Source
from livejoin.sql.parse.walking import nodes_of

_SPAN = "livejoin_span"
_END = "livejoin_end"
_INSIDE = "livejoin_inside"
_KEYWORD = "livejoin_keyword"

Node = TypeVar("Node", bound=exp.Expr)


def mark_end(node: exp.Expr | None, end: int) -> None:
    """Note the end of a SELECT, if the node is one and has none yet: a set operation may follow."""
    if isinstance(node, exp.Select):
        node.meta.setdefault(_END, end)


def mark_select(query: Node | None, start: int, end: int) -> Node | None:
    """Note the tokens of the first SELECT of a query, if it has none yet."""
    first: exp.Expr | None = query
    while isinstance(first, exp.SetOperation):
        first = first.this
    if isinstance(first, exp.Select):
        first.meta.setdefault(_SPAN, (start, first.meta.get(_END, end)))
    return query


def mark_keyword(operation: exp.SetOperation | None, keyword: int) -> exp.SetOperation | None:
    """Note the keyword of a set operation."""
    if operation is not None:
        operation.meta[_KEYWORD] = keyword
    return operation


def mark_inside(content: Node | None, start: int, end: int) -> Node | None:
    """Note the tokens in the innermost parentheses around a query or around tables."""
    if content is not None:
        content.meta.setdefault(_INSIDE, (start, end))
    return content


VALUES_ALONE = "VALUES as a query of its own is not supported; write SELECT * FROM VALUES (...), (...) AS v(a, b)"


def has_text(select: exp.Select) -> bool:
    """Whether a SELECT stands in the text; sqlglot makes one for VALUES in place of a query."""
    return _SPAN in select.meta


def query_within(node: exp.Expr | None) -> exp.Expr | None:
    """The SELECT or set operation of a node, in parentheses or not; None for tables."""
    while isinstance(node, exp.Subquery) and not (node.args.get("joins") or node.args.get("alias")):
        node = node.this
    return node if isinstance(node, (exp.Select, exp.SetOperation)) else None


def sub_queries(select: exp.Select) -> Iterator[exp.Subquery]:
    """The sub-queries in the FROM clause of a SELECT, in order, without those within them."""
    if select.args.get("from_"):
        yield from _below(select.args["from_"].this)
    for join in select.args.get("joins") or ():
        yield from _below(join.this)


def _below(item: exp.Expr) -> Iterator[exp.Subquery]:
    if isinstance(item, exp.Lateral) and lateral_query(item) is not None:
        yield item.this
    if isinstance(item, exp.Subquery):
        if query_within(item.this) is not None:
            yield item
        else:
            yield from _below(item.this)
    for join in item.args.get("joins") or ():
        yield from _below(join.this)


def mark_expression(query: exp.Expr, source: Source) -> None:
    """Note the tokens in the parentheses around a query in an expression; ``source`` has all tokens of the text."""
    nodes = [query]
    while isinstance(nodes[-1], exp.Subquery):
        nodes.append(nodes[-1].this)
    spans = [select.meta[_SPAN] for select in nodes_of(nodes[-1], exp.Select) if has_text(select)]
    if not spans:
        raise source.unsupported("VALUES", VALUES_ALONE, source.find({TokenType.VALUES}))
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    for node in reversed(nodes):
        if any(node.args.get(clause) for clause in ("order", "limit", "offset")) and node is not nodes[-1]:
            start, end = _around(start - 1, end + 1, source)
        else:
            start, end = _around(start, end, source)
        mark_inside(node, start, end)


def _around(start: int, end: int, source: Source) -> tuple[int, int]:
    """The tokens in the innermost parentheses around some tokens."""
    depth, first = 0, start
    while True:
        while depth >= 0:
            first -= 1
            kind = source.tokens[first].token_type
            depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
        depth, last = 0, first
        while depth >= 0:
            last += 1
            kind = source.tokens[last].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if last >= end:
            return first + 1, last
        depth = 0


def lateral_query(item: exp.Lateral) -> exp.Expr | None:
    """The query of a LATERAL sub-query; None for VALUES, a function or LATERAL VIEW."""
    query = query_within(item.this)
    return None if query is None or any(not has_text(select) for select in nodes_of(query, exp.Select)) else query


def laterals(select: exp.Select) -> list[exp.Expr]:
    """The queries of the LATERAL sub-queries in the FROM clause of a SELECT, without those within them."""
    return [node.this for node in sub_queries(select) if isinstance(node.parent, exp.Lateral)]


def inside(query: exp.Expr) -> tuple[int, int]:
    """The positions of the tokens in the parentheses around a query, among all tokens of the text."""
    found: tuple[int, int] = query.meta[_INSIDE]
    return found


def select_source(select: exp.Select, apart: Iterable[exp.Expr], source: Source) -> Source:
    """The tokens of a SELECT without those of inner queries.

    Args:
        select: The SELECT.
        apart: The queries in its expressions; those in its FROM clause are found.
        source: All tokens of the text.
    """
    start, end = select.meta[_SPAN]
    tokens: list[Token] = []
    for begin, behind in sorted(inside(query) for query in (*(node.this for node in sub_queries(select)), *apart)):
        tokens += source.tokens[start:begin]
        start = max(start, behind)
    return Source(source.sql, (*tokens, *source.tokens[start:end]))


def inner_source(query: exp.Expr, source: Source) -> Source:
    """The tokens in the parentheses around a query; all of the text's if it has none."""
    start, end = query.meta.get(_INSIDE, (0, len(source.tokens)))
    return Source(source.sql, source.tokens[start:end])


def keyword_offset(operation: exp.SetOperation, source: Source) -> int:
    """The offset of UNION, EXCEPT or INTERSECT; ``source`` has all tokens of the text."""
    return int(source.tokens[operation.meta[_KEYWORD]].start)
