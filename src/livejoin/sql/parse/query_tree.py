"""The set operations of a query, and the SELECTs that they combine, each with its own part of the text.

    query := SELECT ... | query (UNION | EXCEPT | INTERSECT) [ALL] query | (query) ORDER BY ... LIMIT ...

INTERSECT binds stronger than UNION and EXCEPT, which bind alike from left to right. A SELECT's source holds its own
tokens only, so that a clause is looked for in its own SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import Token, TokenType, exp

from livejoin.query.relational import SetKind
from livejoin.sql.parse.refuse import SET_OPERATIONS, check_select, refuse_modifiers, refuse_statement
from livejoin.sql.parse.source import Source

_KINDS: dict[type[exp.SetOperation], SetKind] = {
    exp.Union: "union",
    exp.Except: "except",
    exp.Intersect: "intersect",
}


@dataclass(frozen=True)
class Block:
    """A SELECT without set operations; ``source`` has its tokens."""

    select: exp.Select
    source: Source


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


QueryTree: TypeAlias = Block | Combined | Sorted


def query_tree(tree: exp.Expr, source: Source) -> QueryTree:
    """The tree of set operations of a parsed statement.

    Raises:
        UnsupportedQueryError: It is no query, or has a clause outside.

    >>> from livejoin.sql.parse.parse import parse
    >>> found = query_tree(*parse("SELECT a FROM R UNION ALL SELECT a FROM S INTERSECT SELECT a FROM T"))
    >>> found.kind, found.right.kind, found.right.right.source.sql[found.offset :][:9]
    ('union', 'intersect', 'UNION ALL')
    """
    return _node(tree, source, _parts(source.tokens))


def _node(tree: exp.Expr, source: Source, parts: Iterator[tuple[Token, ...]]) -> QueryTree:
    """``parts`` are the SELECTs and the set operations in their order in the text, which is that of the tree."""
    match tree:
        case exp.SetOperation():
            refuse_modifiers(tree, source)
            left = _node(tree.this, source, parts)
            keyword = next(parts)[0]
            right = _node(tree.expression, source, parts)
            combined = Combined(
                _KINDS[type(tree)], tree.args.get("distinct") is False, left, right, source, keyword.start
            )
            return _sorted(combined, tree, source)
        case exp.Subquery() if isinstance(tree.this, exp.Query) and not tree.args.get("alias"):
            refuse_modifiers(tree, source)
            return _sorted(_node(tree.this, source, parts), tree, source)
        case exp.Select():
            block = Block(tree, Source(source.sql, next(parts)))
            check_select(tree, block.source)
            return block
        case _:
            raise refuse_statement(tree, source)


def _sorted(query: QueryTree, node: exp.Expr, source: Source) -> QueryTree:
    has_order = any(node.args.get(clause) for clause in ("order", "limit", "offset"))
    return Sorted(query, node, source) if has_order else query


def _parts(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The tokens of each SELECT, and the keyword of each set operation between them.

    Parentheses at the beginning of a SELECT are around queries; those within one are skipped.
    """
    begin: int | None = None
    depth, expected, before = 0, True, TokenType.SEMICOLON
    for position, token in enumerate(tokens):
        kind = token.token_type
        if begin is None:
            if kind in SET_OPERATIONS:
                yield (token,)
                expected = True
            elif expected and kind not in (TokenType.L_PAREN, TokenType.ALL, TokenType.DISTINCT):
                begin, expected = position, False
        elif depth == 0 and (kind == TokenType.R_PAREN or (kind in SET_OPERATIONS and before != TokenType.STAR)):
            yield tokens[begin:position]
            begin = None
            if kind in SET_OPERATIONS:
                yield (token,)
                expected = True
        else:
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        before = kind
    if begin is not None:
        yield tokens[begin:]
