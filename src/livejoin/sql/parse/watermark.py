"""WATERMARK FOR among the columns of CREATE TABLE, which is taken out before the statement is parsed.

    CREATE TABLE events (id BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '10 minutes')

The words are Flink's.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.sql.parse.source import Source

WATERMARK = "livejoin_watermark"
"""Where the clause is in the ``meta`` of a CREATE TABLE."""

_CLOSES = (TokenType.COMMA, TokenType.R_PAREN)
_ALLOWED = "allowed is WATERMARK FOR ts AS ts - INTERVAL '10 minutes', or WATERMARK FOR ts AS ts for no delay"


@dataclass(frozen=True)
class WatermarkClause:
    """A clause.

    Args:
        column: The column's name.
        delay: The text of the interval, without its quotes; empty if there is none.
        offset: Where the clause begins in the text.
    """

    column: str
    delay: str
    offset: int


def without_watermark(source: Source) -> tuple[Source, WatermarkClause | None]:
    """A text without the clause, and the clause; the same object if there is none.

    Raises:
        SqlSyntaxError: The clause is another one, or there twice.

    >>> from sqlglot import tokenize
    >>> sql = "CREATE TABLE t (a TIMESTAMP, WATERMARK FOR a AS a - INTERVAL '10' MINUTE)"
    >>> source, found = without_watermark(Source(sql, tuple(tokenize(sql, "spark"))))
    >>> [token.text for token in source.tokens], found.column, found.delay
    (['CREATE', 'TABLE', 't', '(', 'a', 'TIMESTAMP', ')'], 'a', '10 MINUTE')
    """
    tokens = source.tokens
    if not tokens or tokens[0].token_type != TokenType.CREATE:
        return source, None
    begins = [place for place in range(1, len(tokens) - 1) if _begins(tokens, place)]
    if not begins:
        return source, None
    first = begins[0]
    if len(begins) > 1:
        msg = "a table has one watermark, and here is a second one; leave it out"
        raise source.error(SqlSyntaxError, msg, tokens[begins[1]].start)
    end = _end(tokens, first)
    clause = _clause(source, tokens[first:end])
    if tokens[first - 1].token_type == TokenType.COMMA:
        first -= 1
    elif tokens[end : end + 1] and tokens[end].token_type == TokenType.COMMA:
        end += 1
    return Source(source.sql, (*tokens[:first], *tokens[end:])), clause


def _begins(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether the clause begins at a place: behind a parenthesis or a comma."""
    before = tokens[place - 1].token_type in (TokenType.COMMA, TokenType.L_PAREN)
    return before and tokens[place].text.upper() == "WATERMARK" and tokens[place + 1].text.upper() == "FOR"


def _end(tokens: tuple[Token, ...], first: int) -> int:
    depth = 0
    for place in range(first, len(tokens)):
        kind = tokens[place].token_type
        if not depth and kind in _CLOSES:
            return place
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
    return len(tokens)


def _clause(source: Source, tokens: tuple[Token, ...]) -> WatermarkClause:
    words = [token.text for token in tokens]
    upper = [word.upper() for word in words]
    is_of_column = len(words) >= 5 and upper[3] == "AS" and upper[2] == upper[4]
    if not is_of_column or (len(words) > 5 and (upper[5:7] != ["-", "INTERVAL"] or len(words) == 7)):
        msg = f"the watermark is not understood; {_ALLOWED}"
        raise source.error(SqlSyntaxError, msg, tokens[0].start)
    return WatermarkClause(words[2], " ".join(words[7:]), tokens[0].start)
