"""Expressions of a declaration, as DEFAULT has them: the text that is kept of them.

Law: the text is parsed to the expression that was written.
"""

from __future__ import annotations

from sqlglot import exp

from livejoin.errors import SqlError
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.source import Source, offset_of, shown


def expression_text(node: exp.Expr, source: Source, offset: int) -> str:
    """An expression as text on one line.

    Args:
        node: The expression.
        source: The text that it stands in.
        offset: A position for an expression without one.

    Raises:
        UnsupportedQueryError: No text says the same.
    """
    text = shown(node)
    try:
        again, _ = parse(f"SELECT {text}")
    except SqlError:
        again = None
    if again is None or len(again.expressions) != 1 or again.expressions[0] != node:
        msg = f"{text} cannot be kept in a declaration; write it with operators and plain functions"
        raise source.unsupported(text, msg, offset_of(node, offset))
    return text
