"""The normal form of a query's text, to find out whether two texts are the same query."""

from __future__ import annotations

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

_NAMED = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER)


def normal_text(sql: str) -> tuple[tuple[str, str], ...]:
    """The tokens of a query, equal for texts that differ only in white space, comments and the case of keywords.

    A text that cannot be split into tokens stands for itself.

    >>> normal_text("select a -- all\\nFROM R") == normal_text("SELECT  a from R")
    True
    >>> normal_text("SELECT 'a'") == normal_text("SELECT 'A'")
    False
    """
    try:
        tokens = Spark().tokenize(sql)
    except TokenError:
        return (("text", sql),)
    return tuple(
        (token.token_type.name, token.text if token.token_type in _NAMED else token.text.upper()) for token in tokens
    )
