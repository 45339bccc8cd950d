"""The structure of a query: its WITH clauses, set operations and SELECTs, each with its part of the text.

    query := SELECT ... | query (UNION | EXCEPT | INTERSECT) [ALL] query | (query) ORDER BY ... LIMIT ...
           | WITH name AS (query), ... query

INTERSECT binds stronger than UNION and EXCEPT, which have one precedence and associate to the left. The source of a
SELECT has its own tokens only, so that a clause is looked for in its own SELECT. Queries in its FROM clause and in its
expressions are trees of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import TokenType, exp

from livejoin.errors import UnknownNameError
from livejoin.query.relational import SetKind
from livejoin.sql.parse.first_by_order import first_by_order
from livejoin.sql.parse.named_windows import named_windows
from livejoin.sql.parse.pivots import take_pivots
from livejoin.sql.parse.refuse import check_select, check_with, refuse_modifiers, refuse_statement
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.parse.spans import (
    VALUES_ALONE,
    has_text,
    inner_source,
    keyword_offset,
    laterals,
    mark_expression,
    select_source,
)
from livejoin.sql.parse.sub_queries import fold, in_expressions, query_of

_KINDS: dict[type[exp.SetOperation], SetKind] = {
    exp.Union: "union",
    exp.Except: "except",
    exp.Intersect: "intersect",
}


@dataclass(frozen=True)
class Block:
    """A SELECT without set operations; ``source`` has its tokens, ``text`` those of the whole text."""

    select: exp.Select
    source: Source
    text: Source


@dataclass(frozen=True)
class Combined:
    """Two queries under a set operation; ``offset`` is that of its keyword."""

    kind: SetKind
    all: bool
    left: QueryTree
    right: QueryTree
    source: Source
    offset: int


@dataclass(frozen=True)
class Sorted:
    """A query in parentheses or a set operation with ORDER BY and LIMIT, which ``node`` carries."""

    input: QueryTree
    node: exp.Expr
    source: Source


@dataclass(frozen=True)
class Definition:
    """``name (columns) AS (query)`` in a WITH clause; ``offset`` is that of the name, ``columns`` may be empty."""

    name: str
    columns: tuple[exp.Identifier, ...]
    query: QueryTree
    source: Source
    offset: int


@dataclass(frozen=True)
class With:
    """A query after a WITH clause; a definition sees earlier ones."""

    definitions: tuple[Definition, ...]
    query: QueryTree


QueryTree: TypeAlias = Block | Combined | Sorted | With


def query_tree(tree: exp.Expr, text: Source) -> QueryTree:
    """The tree of a parsed query.

    Args:
        tree: The query of a statement, of a definition in WITH, or in parentheses in FROM.
        text: The whole text, with all of its tokens.

    Raises:
        UnsupportedQueryError: The tree is no query, or has a clause that is not supported.
        UnknownNameError: WITH defines a name twice.

    >>> from livejoin.sql.parse.parse import parse
    >>> found = query_tree(*parse("SELECT a FROM R UNION ALL SELECT a FROM S INTERSECT SELECT a FROM T"))
    >>> found.kind, found.right.kind, found.right.right.source.sql[found.offset :][:9]
    ('union', 'intersect', 'UNION ALL')
    """
    return _node(tree, inner_source(tree, text), text)


def _node(tree: exp.Expr, source: Source, text: Source) -> QueryTree:
    """``source`` has the tokens in the parentheses around the query."""
    match tree:
        case exp.SetOperation():
            refuse_modifiers(tree, source)
            left, right = (_node(side, source, text) for side in (tree.this, tree.expression))
            keep_all = tree.args.get("distinct") is False
            combined = Combined(_KINDS[type(tree)], keep_all, left, right, source, keyword_offset(tree, text))
            return _with(_sorted(combined, tree, source), tree, source, text)
        case exp.Subquery() if isinstance(tree.this, exp.Query) and not tree.args.get("alias"):
            refuse_modifiers(tree, source)
            return _with(_sorted(query_tree(tree.this, text), tree, source), tree, source, text)
        case exp.Select() if not has_text(tree):
            raise source.unsupported("VALUES", VALUES_ALONE, source.find({TokenType.VALUES}))
        case exp.Select():
            named_windows(tree, source)
            take_pivots(tree)
            fold(tree)
            first_by_order(tree)
            within = []
            for node in in_expressions(tree):
                within.append(query_of(node))
                if isinstance(node, exp.In):
                    _in_order(within[-1])
            for query in (*within, *laterals(tree)):
                mark_expression(query, text)
            block = Block(tree, select_source(tree, within, text), text)
            check_select(tree, block.source)
            return _with(block, tree, source, text)
        case _:
            raise refuse_statement(tree, source)


def _in_order(query: exp.Expr) -> None:
    """Order the rows of a query by all columns, if LIMIT or OFFSET stands without ORDER BY."""
    if isinstance(query, exp.Subquery):
        _in_order(query.this)
    if (query.args.get("limit") or query.args.get("offset")) and not query.args.get("order"):
        every = exp.Ordered(this=exp.Var(this="ALL"), desc=False, nulls_first=True)
        query.set("order", exp.Order(expressions=[every]))


def _sorted(query: QueryTree, node: exp.Expr, source: Source) -> QueryTree:
    has_order = any(node.args.get(clause) for clause in ("order", "limit", "offset"))
    return Sorted(query, node, source) if has_order else query


def _with(query: QueryTree, node: exp.Expr, source: Source, text: Source) -> QueryTree:
    clause = node.args.get("with_")
    if clause is None:
        return query
    start = source.find({TokenType.WITH}, default=source.tokens[0].start)
    check_with(clause, source, start)
    definitions: list[Definition] = []
    for part in clause.expressions:
        alias = part.args["alias"]
        at = offset_of(alias.this, start)
        if any(other.name.lower() == alias.name.lower() for other in definitions):
            msg = f"WITH defines {alias.name!r} twice; give each query its own name"
            raise source.error(UnknownNameError, msg, at)
        inner = inner_source(part.this, text)
        definitions.append(Definition(alias.name, tuple(alias.columns), query_tree(part.this, text), inner, at))
    return With(tuple(definitions), query)
