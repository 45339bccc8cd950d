"""Refuse strings in place of a table's name or alias.

Spark SQL reads "a" as a string, like 'a', and quotes names with backticks; other databases quote names with ". A string
has no columns, so a string before a dot is a name in the wrong quotes.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.schema.names import backticked
from livejoin.sql.parse.source import Source


def refuse_quoted_qualifiers(source: Source) -> None:
    """Refuse a string that is followed by a dot.

    Raises:
        SqlSyntaxError: There is such a string; the position is that of the string.
    """
    for position, (token, behind) in enumerate(pairwise(source.tokens)):
        if token.token_type == TokenType.STRING and behind.token_type == TokenType.DOT:
            parts = _dotted(source.tokens[position:])
            written = source.sql[token.start : parts[-1].end + 1]
            quotes = "double quotes" if source.sql[token.start] == '"' else "single quotes"
            name = "".join(map(_as_name, parts))
            msg = f"{written}: {quotes} are strings in Spark SQL; names are quoted with backticks: write {name}"
            raise source.error(SqlSyntaxError, msg, token.start)


def _dotted(tokens: tuple[Token, ...]) -> list[Token]:
    """The tokens of a dotted name from its first part on: parts at even positions, dots at odd ones."""
    parts = [tokens[0]]
    for dot, part in zip(tokens[1::2], tokens[2::2], strict=False):
        if dot.token_type != TokenType.DOT:
            break
        parts += [dot, part]
    return parts


def _as_name(token: Token) -> str:
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return backticked(token.text)
    return token.text
