"""Words that are names, although sqlglot's tokenizer takes them for keywords.

Spark reserves no word: its grammar decides what a word is. sqlglot has keyword tokens for words that Spark accepts as
columns, tables and aliases: ``SELECT like FROM drop WHERE values > 1``. Such a word becomes a name where its keyword
cannot stand. The words of the clauses themselves, as FROM and CASE, stay keywords; as names they need backticks.
`tests/sql/test_keywords.py` compares all of Spark's keywords with a recorded Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

from livejoin.sql.parse.source import as_of_view

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
RESERVED = frozenset(
    {
        *("all", "and", "any", "as", "case", "cross", "distinct", "else", "except", "false", "fetch", "for", "from"),
        *("having", "in", "inner", "intersect", "into", "join", "lateral", "natural", "not", "null", "offset", "on"),
        *("or", "outer", "recursive", "select", "then", "true", "union", "using", "when", "where", "with"),
    }
)
"""The words of the clauses, which are names in backticks alone."""
_MOST_BEFORE_COLUMNS = 7
"""Words between TABLE and the columns at most: IF NOT EXISTS, and a name of three parts."""
_BEHIND_AS_OF = frozenset(
    {
        *(TokenType.JOIN, TokenType.INNER, TokenType.LEFT),
        *(TokenType.RIGHT, TokenType.FULL, TokenType.SEMI, TokenType.ANTI, TokenType.NATURAL),  # to be refused
    }
)
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
_TYPES = frozenset(
    {
        *("ARRAY", "BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR", "CHARACTER", "DATE", "DEC", "DECIMAL", "DOUBLE"),
        *("FLOAT", "INT", "INTEGER", "INTERVAL", "LONG", "MAP", "NUMERIC", "REAL", "SHORT", "SMALLINT", "STRING"),
        *("STRUCT", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TINYINT", "UUID", "VARCHAR", "VARIANT"),
    }
)
_BEHIND_CONSTRAINT = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.NOT})
"""What stands behind the type of a column that is called so, and not behind the name of a constraint."""
_BEHIND_NAMES = frozenset(
    {
        *(TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN, TokenType.ALIAS, TokenType.EQ, TokenType.NEQ),
        *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ, TokenType.IS),
        *(TokenType.PLUS, TokenType.SLASH, TokenType.PERCENT, TokenType.DPIPE, TokenType.SEMICOLON),
    }
)
"""What may stand behind a name where a value is expected, and not behind the word of a clause."""
_QUOTED = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_OPENS = frozenset({TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING})


def names_from_keywords(tokens: Sequence[Token]) -> None:
    """Turn keyword tokens into names where the keyword cannot stand, in place.

    >>> from livejoin.sql.parse.parse import SparkAnsi
    >>> tokens = SparkAnsi().tokenize("SELECT like FROM drop WHERE s LIKE 'a'")
    >>> names_from_keywords(tokens)
    >>> [token.text for token in tokens if token.token_type == TokenType.VAR]
    ['like', 'drop', 's']
    """
    for place in range(1, len(tokens)):
        if _is_name(tokens, place):
            tokens[place].token_type = TokenType.VAR
    for place in _declared(tokens):
        tokens[place].token_type = TokenType.IDENTIFIER  # as in backticks: some words are known by their text alone


def reserved_name(tokens: Sequence[Token]) -> str:
    """The hint that a reserved word stands in place of a name, as the end of a sentence; empty if none does.

    >>> from livejoin.sql.parse.parse import SparkAnsi
    >>> reserved_name(SparkAnsi().tokenize("SELECT a, where FROM t"))
    '; where is a reserved word: as a name it stands in backticks, `where`'
    """
    view_as = as_of_view(tokens)
    for place in range(1, len(tokens)):
        token, before = tokens[place], tokens[place - 1].token_type
        if place - 1 == view_as:  # a query begins
            continue
        behind = tokens[place + 1].token_type if place + 1 < len(tokens) else TokenType.SEMICOLON
        if not token.text.isidentifier() or token.token_type in (*_QUOTED, TokenType.VAR, TokenType.STAR):
            continue
        is_declared = before in (TokenType.TABLE, TokenType.VIEW) and behind in (TokenType.L_PAREN, TokenType.ALIAS)
        is_value = before in _BEFORE_VALUES | _NAMED and behind in _BEHIND_NAMES
        if (is_declared or is_value) and token.text.lower() in RESERVED:
            return f"; {token.text} is a reserved word: as a name it stands in backticks, `{token.text}`"
    return ""


def _declared(tokens: Sequence[Token]) -> Iterator[int]:
    """The positions of the words before the types of columns in CREATE TABLE."""
    kinds = [token.token_type for token in tokens]
    if kinds[:1] != [TokenType.CREATE] or TokenType.TABLE not in kinds[:4]:
        return
    begin = kinds.index(TokenType.L_PAREN) if TokenType.L_PAREN in kinds else len(kinds)
    if begin > kinds.index(TokenType.TABLE) + _MOST_BEFORE_COLUMNS:
        return
    depth = 0
    for place in range(begin, len(tokens) - 3):
        depth += (kinds[place] == TokenType.L_PAREN) - (kinds[place] == TokenType.R_PAREN)
        if depth == 0:
            return
        word, kind = tokens[place + 1], tokens[place + 2]
        if depth != 1 or kinds[place] not in (TokenType.L_PAREN, TokenType.COMMA) or kind.text.upper() not in _TYPES:
            continue
        is_name = word.text.isidentifier() and word.token_type not in _QUOTED
        is_constraint = word.token_type == TokenType.CONSTRAINT
        if is_name and (not is_constraint or kinds[place + 3] in _BEHIND_CONSTRAINT):
            yield place + 1


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
    if kind == TokenType.MATCH_CONDITION:
        is_behind = any(one.token_type == TokenType.ASOF for one in tokens[:place])
        return behind != TokenType.L_PAREN or not is_behind or before in _NAMED
    return kind == TokenType.ASOF and (behind not in _BEHIND_AS_OF or before in _NAMED or before == TokenType.COMMA)
