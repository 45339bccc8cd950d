"""Refuse gaps in a text that sqlglot's parser would fill by itself.

sqlglot ignores a comma without an item, reads an empty ON or USING as ON TRUE, FROM FROM as a query of its own, and an
empty GROUP BY as GROUP BY ALL. An unfinished text would so become a Cartesian product or other groups. Some texts with
unbalanced parentheses pass too.
"""

from __future__ import annotations

from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.sql.parse.source import Source, as_of_view

_CLAUSES = frozenset({TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY})
_SETS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
_ENDS = _CLAUSES | _SETS | {TokenType.COMMA, TokenType.R_PAREN, TokenType.SEMICOLON}
_FRAMES = frozenset({TokenType.ROWS, TokenType.RANGE})
_JOINS = frozenset({TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.NATURAL, TokenType.ON})


_ITEM_BEGINS = (TokenType.L_PAREN, TokenType.COMMA)
_ITEM_ENDS = (TokenType.R_PAREN, TokenType.COMMA)


def refuse_gaps(source: Source) -> None:
    """Refuse commas without an item on both sides, and empty FROM, ON, USING, IN and GROUP BY.

    Raises:
        SqlSyntaxError: There is a gap; the position is that of the token before the gap.
    """
    kinds = [token.token_type for token in source.tokens] + [TokenType.SEMICOLON] * 2
    view_as = as_of_view(source.tokens)
    for position, token in enumerate(source.tokens):
        behind, next_but_one = kinds[position + 1 : position + 3]
        found = _gap(token, behind, next_but_one)
        if position and token.token_type == TokenType.FILTER and kinds[position - 1] == TokenType.R_PAREN:
            found = None if next_but_one == TokenType.WHERE else "FILTER lacks WHERE; write FILTER (WHERE condition)"
        if position and token.token_type == TokenType.ALL and kinds[position - 1] == TokenType.L_PAREN:
            found = "found ALL before a query; leave it out" if behind == TokenType.SELECT else found
        if token.token_type == TokenType.PLUS and behind in _ITEM_ENDS and kinds[position - 1] in _ITEM_BEGINS:
            found = "found '+' without a value behind it; leave it out"  # sqlglot would leave out the whole item
        is_nameless = token.token_type == TokenType.ALIAS and position != view_as
        if is_nameless and not _begins_name(source.tokens[position + 1 : position + 2]):
            found = "AS lacks a name or a type; a name that is not a word stands in backticks: AS `2`"
        if token.token_type == TokenType.HEX_STRING and source.sql[token.start : token.start + 2].lower() == "0x":
            written = source.sql[token.start : token.end + 1]
            found = f"{written} is no constant; write the number, or X'{written[2:]}' for bytes"
        if found:
            raise source.error(SqlSyntaxError, found, token.start)


def refuse_open_parentheses(source: Source) -> None:
    """Refuse unbalanced parentheses.

    Raises:
        SqlSyntaxError: A parenthesis has no partner; the position is that of the parenthesis.
    """
    opened: list[Token] = []
    for token in source.tokens:
        if token.token_type == TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type == TokenType.R_PAREN and not opened:
            raise source.error(SqlSyntaxError, "this ')' closes nothing; leave it out", token.start)
        elif token.token_type == TokenType.R_PAREN:
            opened.pop()
    if opened:
        raise source.error(SqlSyntaxError, "nothing closes this '('; write ')' behind what it holds", opened[-1].start)


def _begins_name(tokens: tuple[Token, ...]) -> bool:
    """Whether a name, a type, a query or names in parentheses may begin with the first token; there may be none."""
    return any(
        token.token_type in (TokenType.L_PAREN, TokenType.IDENTIFIER, TokenType.SELECT, TokenType.WITH)
        or (token.text[:1].isidentifier() and token.token_type not in (TokenType.STRING, TokenType.ALIAS))
        for token in tokens
    )


def _gap(token: Token, behind: TokenType, next_but_one: TokenType) -> str | None:
    nothing = behind in _ENDS | _JOINS
    empty = nothing or (behind == TokenType.L_PAREN and next_but_one == TokenType.R_PAREN)
    match token.token_type:
        case TokenType.COMMA if behind in _ENDS:
            return "found a comma without an item behind it; leave it out"
        case TokenType.COMMA if behind == TokenType.SELECT:
            return "a query within an expression or a list stands in parentheses; write (SELECT ...)"
        case TokenType.L_PAREN | TokenType.SELECT | TokenType.DISTINCT if behind == TokenType.COMMA:
            return "found a comma without an item before it; leave it out"
        case TokenType.NUMBER if behind == TokenType.DOT:
            return "found a dot behind a number; a name stands before it"
        case TokenType.FROM if behind in _CLAUSES:
            return "FROM lacks a table; write FROM table"
        case TokenType.AND | TokenType.OR if behind in _ENDS:
            return f"{token.text.upper()} lacks what stands behind it"
        case TokenType.ON if nothing:
            return "ON lacks a condition; write ON a.column = b.column, or CROSS JOIN for all pairs of rows"
        case TokenType.USING if empty:
            return "USING lacks columns; write USING (column, ...), or CROSS JOIN for all pairs of rows"
        case TokenType.IN if empty:
            return "IN lacks values; write IN (value, ...)"
        case TokenType.GROUP_BY if nothing:
            return "GROUP BY lacks columns; leave it out for one group of all rows"
        case TokenType.ORDER_BY | TokenType.PARTITION_BY if nothing or behind in _FRAMES:
            return f"{token.text.upper()} lacks columns; leave it out, or write {token.text.upper()} column, ..."
        case TokenType.ALL if behind == TokenType.ALL:
            return "ALL stands twice; leave one out"
        case _:
            return None
