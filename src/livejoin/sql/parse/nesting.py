"""Refuse texts that are nested too deeply for Python's stack.

The parser and the code that reads its trees call themselves for each level of parentheses, function calls and CASE,
some twenty Python frames a level. AND, OR, +, lists and SELECT lists are not nested, however long they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlglot import TokenType, exp

from livejoin.errors import SqlError, UnsupportedQueryError
from livejoin.sql.parse.source import Source

P = ParamSpec("P")
Result = TypeVar("Result")

_MOST_QUERIES = 200
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE, TokenType.LT})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END, TokenType.GT})


def within_depth(function: Callable[P, Result]) -> Callable[P, Result]:
    """Make a function of a SQL text refuse deep nesting, in place of a ``RecursionError``.

    Raises:
        UnsupportedQueryError: Python's stack ended.
    """

    @wraps(function)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass  # the error is raised where the stack is short again
        raise _refusal(Source(str(args[0]) if args else "", ()))

    return bounded


def too_deep(source: Source) -> SqlError:
    """The error for a text that is nested too deeply; the position is that of the innermost parenthesis."""
    return _refusal(source, _deepest(source))


def refuse_nested_queries(tree: exp.Expr, source: Source) -> None:
    """Refuse too many nested queries, in parentheses or in set operations.

    Raises:
        UnsupportedQueryError: There are more than 200 levels.
    """
    depth, level = 0, [tree]
    while level:
        depth += 1
        if depth > _MOST_QUERIES:
            start = source.tokens[0]
            msg = (
                f"more than {_MOST_QUERIES} queries stand within each other, as those on the left of UNION, EXCEPT and "
                "INTERSECT do; make views of parts of them"
            )
            raise source.unsupported(start.text.upper(), msg, start.start)
        level = [inner for query in level for inner in _inner(query)]


def _inner(query: exp.Expr) -> list[exp.Expr]:
    if isinstance(query, exp.SetOperation):
        return [query.this, query.expression]
    return [query.this] if isinstance(query, exp.Subquery) else []


def _refusal(source: Source, offset: int | None = None) -> UnsupportedQueryError:
    msg = (
        f"the SQL text is nested too deeply for Python's stack of {sys.getrecursionlimit()} calls; take out "
        "parentheses that are not needed, or compute inner parts as columns of a table, or raise the limit with "
        "sys.setrecursionlimit"
    )
    if offset is None:
        return UnsupportedQueryError(msg, source.sql, clause="nesting")
    return source.unsupported("nesting", msg, offset)


def _deepest(source: Source) -> int:
    """The offset of the innermost opening token; that of the first token if none opens."""
    depth, deepest, found = 0, 0, source.tokens[0].start
    for token in source.tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > deepest:
            deepest, found = depth, token.start
    return found
