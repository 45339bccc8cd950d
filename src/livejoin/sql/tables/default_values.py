"""DEFAULT as a word in VALUES: the list with NULL in its place, and where it stood.

    VALUES (1, DEFAULT), (2, DEFAULT)    is   VALUES (1, NULL), (2, NULL), where the second value is DEFAULT in all rows
    VALUES (1, DEFAULT), (2, 3)          is   VALUES (TRUE, 1, NULL), (FALSE, 2, 3), of which the first value says where

The value itself is put there when the rows are known (`livejoin.database.statements.row_changes`): it may be the time,
which is one for a statement. DEFAULT within an expression is no such word, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType

from livejoin.sql.parse.source import Source
from livejoin.sql.tables.said_where import marked

DEFAULT = "DEFAULT"
OPENS = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
CLOSES = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})


@dataclass(frozen=True)
class DefaultValue:
    """A value of a query that is DEFAULT, and NULL in the query.

    Args:
        value: The position of the value, from 0.
        where: The position of the column before the values that is true in the rows where it is; None for all rows.
    """

    value: int
    where: int | None = None


@dataclass(frozen=True)
class _Row:
    """One row of VALUES: the text between its parentheses, and the values that are DEFAULT."""

    begin: int
    end: int
    width: int
    defaults: frozenset[int]


def is_default(tokens: Sequence[Token]) -> bool:
    """Whether an expression is the word DEFAULT alone.

    >>> from livejoin.sql.parse.parse import tokenized
    >>> [is_default(tokenized(text).tokens) for text in ("default", "`default`", "'DEFAULT'", "DEFAULT + 1")]
    [True, False, False, False]
    """
    return len(tokens) == 1 and _is_word(tokens[0])


def values_with_defaults(source: Source, tokens: Sequence[Token]) -> tuple[str, tuple[DefaultValue, ...]] | None:
    """A list of VALUES that has the word DEFAULT, as one without it.

    Args:
        source: The statement.
        tokens: The tokens of the list, behind the word VALUES, to the end of the statement.

    Returns:
        The list, marked (`marked`), behind the columns that say where there is a DEFAULT; and which values are. None if
        there is none, or what stands there is no plain list of rows.

    >>> from livejoin.sql.parse.parse import tokenized
    >>> source = tokenized("VALUES (1, DEFAULT), (2, 3)")
    >>> values_with_defaults(source, source.tokens[1:])
    ('VALUES (TRUE, /*livejoin:8-18*/1, NULL   ), (FALSE, /*livejoin:22-26*/2, 3)', (DefaultValue(value=1, where=0),))

    Cost: O(tokens).
    """
    if not any(_is_word(token) for token in tokens):
        return None
    rows = _rows(tokens)
    if rows is None:
        return None
    some = sorted(frozenset().union(*(row.defaults for row in rows)))
    apart = [value for value in some if not all(value in row.defaults for row in rows)]
    defaults = tuple(DefaultValue(value, apart.index(value) if value in apart else None) for value in some)
    text = list(source.sql)
    for token in tokens:
        if _is_word(token):
            text[token.start : token.end + 1] = "NULL   "  # as long as the word, so that positions stay
    plain = "".join(text)
    lines = [
        f"({''.join('TRUE, ' if value in row.defaults else 'FALSE, ' for value in apart)}"
        f"{marked(plain[row.begin : row.end], row.begin)})"
        for row in rows
    ]
    return f"VALUES {', '.join(lines)}", defaults


def _is_word(token: Token) -> bool:
    return token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING) and token.text.upper() == DEFAULT


def _rows(tokens: Sequence[Token]) -> list[_Row] | None:
    """The rows of a list; None if it is none, or DEFAULT stands within an expression."""
    rows, at = list[_Row](), 0
    while at < len(tokens):
        closed = tokens[at].token_type is TokenType.L_PAREN
        at += closed
        first, cells = at, list[Sequence[Token]]()
        while True:
            begin, at = at, _end(tokens, at)
            cells.append(tokens[begin:at])
            if not (closed and at < len(tokens) and tokens[at].token_type is TokenType.COMMA):
                break
            at += 1
        defaults = frozenset(place for place, cell in enumerate(cells) if is_default(cell))
        within = sum(_is_word(token) for cell in cells for token in cell)
        if within != len(defaults) or not all(cells):
            return None
        rows.append(_Row(tokens[first].start, tokens[at - 1].end + 1, len(cells), defaults))
        if closed and not (at < len(tokens) and tokens[at].token_type is TokenType.R_PAREN):
            return None
        at += closed
        if at < len(tokens) and tokens[at].token_type is not TokenType.COMMA:
            return None
        at += 1
    return rows if len({row.width for row in rows}) == 1 else None


def _end(tokens: Sequence[Token], at: int) -> int:
    """Where an expression ends: at a comma, or at a parenthesis that closes one around it."""
    depth = 0
    while at < len(tokens):
        kind = tokens[at].token_type
        if not depth and (kind is TokenType.COMMA or kind in CLOSES):
            break
        depth += (kind in OPENS) - (kind in CLOSES)
        at += 1
    return at
