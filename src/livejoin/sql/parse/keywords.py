"""Which words of a text are names, although sqlglot's tokenizer knows them as keywords.

Spark reserves no word, and finds out by its grammar what a word is. sqlglot has tokens for words that Spark takes
for columns, tables and aliases: ``SELECT like FROM drop WHERE values > 1``. Such a word becomes a name where
its keyword cannot stand. The words of the clauses themselves, as FROM and CASE, stay keywords, and are names in
backticks; `tests/sql/test_keywords.py` compares all of Spark's keywords with a recorded Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

_VERBS = frozenset(
    {
        *(TokenType.ALTER, TokenType.CREATE, TokenType.DESCRIBE, TokenType.DROP, TokenType.GRANT, TokenType.INSERT),
        *(TokenType.REVOKE, TokenType.ROLLBACK, TokenType.UNCACHE),
    }
)
"""What begins a statement and stands nowhere else."""
_ELSEWHERE = frozenset({TokenType.SERDE_PROPERTIES})
"""What belongs to statements that livejoin does not have."""
_CALLS = frozenset({TokenType.VALUES, TokenType.CUBE, TokenType.ROLLUP})
"""What is a keyword only before a parenthesis or a value, or behind the WITH of a GROUP BY."""
_BEHIND_VALUES = frozenset(
    {
        *(TokenType.BETWEEN, TokenType.ILIKE, TokenType.LIKE, TokenType.LIMIT, TokenType.LOCK, TokenType.QUALIFY),
        *(TokenType.TABLE_SAMPLE, TokenType.WINDOW),
    }
)
"""What is a keyword only behind a value or a clause that has ended."""
_MINUS = "MINUS"
_NAMED = frozenset({TokenType.TABLE, TokenType.VIEW, TokenType.ALIAS, TokenType.FROM, TokenType.JOIN})
"""What a name stands behind."""
_BEFORE_VALUES = frozenset(
    {
        *(TokenType.SELECT, TokenType.DISTINCT, TokenType.WHERE, TokenType.ON, TokenType.HAVING, TokenType.QUALIFY),
        *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY, TokenType.WITH, TokenType.COMMA),
        *(TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.AND, TokenType.OR, TokenType.CASE, TokenType.WHEN),
        *(TokenType.THEN, TokenType.ELSE, TokenType.LIKE, TokenType.ILIKE, TokenType.BETWEEN, TokenType.PLUS),
        *(TokenType.DASH, TokenType.SLASH, TokenType.PERCENT, TokenType.DIV, TokenType.DPIPE, TokenType.AMP),
        *(TokenType.PIPE, TokenType.CARET, TokenType.TILDE, TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ),
        *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE),
    }
)
"""What a value or a name stands behind."""
_QUOTED = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_OPENS = frozenset({TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING})


def names_from_keywords(tokens: Sequence[Token]) -> None:
    """Make names of the tokens whose keywords cannot stand where they are, in place.

    >>> from livejoin.sql.parse.parse import SparkAnsi
    >>> tokens = SparkAnsi().tokenize("SELECT like FROM drop WHERE s LIKE 'a'")
    >>> names_from_keywords(tokens)
    >>> [token.text for token in tokens if token.token_type == TokenType.VAR]
    ['like', 'drop', 's']
    """
    for place in range(1, len(tokens)):
        if _is_name(tokens, place):
            tokens[place].token_type = TokenType.VAR


def _is_name(tokens: Sequence[Token], place: int) -> bool:
    token, before = tokens[place], tokens[place - 1].token_type
    if before == TokenType.DOT:
        return token.text.isidentifier() and token.token_type not in _QUOTED
    kind, behind = token.token_type, tokens[place + 1].token_type if place + 1 < len(tokens) else None
    if kind in _VERBS:
        return before != TokenType.SEMICOLON
    if kind in _ELSEWHERE:
        return True
    is_declared = before in (TokenType.TABLE, TokenType.VIEW)
    if kind in _CALLS:
        is_clause = before == TokenType.WITH and behind != TokenType.ALIAS  # GROUP BY a WITH ROLLUP
        return is_declared or not (is_clause or behind in _OPENS)
    if kind == TokenType.FUNCTION:
        return is_declared
    if kind in _BEHIND_VALUES or token.text.upper() == _MINUS:
        return before in _BEFORE_VALUES or before in _NAMED
    return kind == TokenType.ASOF and behind != TokenType.JOIN
