"""Refuse gaps in a text that sqlglot's parser would fill by itself.

It reads a comma without an item as none, ON or USING without anything as ON TRUE, and GROUP BY without anything as
GROUP BY ALL, so that what was left unfinished would become a Cartesian product or other groups.
"""

from __future__ import annotations

from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.sql.parse.source import Source

_CLAUSES = frozenset({TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY})
_SETS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_ENDS = _CLAUSES | _SETS | {TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON}
_JOINS = frozenset({TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.NATURAL, TokenType.ON})


def refuse_gaps(source: Source) -> None:
    """Refuse commas without an item behind them, and empty ON, USING, IN and GROUP BY.

    Raises:
        SqlSyntaxError: There is a gap; the position is that of the token before it.
    """
    kinds = [token.token_type for token in source.tokens] + [TokenType.SEMICOLON] * 2
    for position, token in enumerate(source.tokens):
        found = _gap(token, kinds[position + 1], kinds[position + 2])
        if found:
            raise source.error(SqlSyntaxError, found, token.start)


def _gap(token: Token, behind: TokenType, next_but_one: TokenType) -> str | None:
    nothing = behind in _ENDS | _JOINS
    empty = nothing or (behind == TokenType.L_PAREN and next_but_one == TokenType.R_PAREN)
    match token.token_type:
        case TokenType.COMMA if behind in _ENDS:
            return "found a comma without an item behind it; leave it out"
        case TokenType.ON if nothing:
            return "ON lacks a condition; write ON a.column = b.column, or CROSS JOIN for all pairs of rows"
        case TokenType.USING if empty:
            return "USING lacks columns; write USING (column, ...), or CROSS JOIN for all pairs of rows"
        case TokenType.IN if empty:
            return "IN lacks values; write IN (value, ...)"
        case TokenType.GROUP_BY if nothing:
            return "GROUP BY lacks columns; leave it out for one group of all rows"
        case _:
            return None
