"""Error messages for a text that does not parse: what was found where, and what is expected there.

    SELECT a FROM R WHERE (a = 1      ->  the text ends where ')' is expected, which closes the '(' at line 1, column 23
    SELECT a + FROM R                 ->  found 'FROM' where a value is expected, behind '+'

sqlglot's own messages name Python classes; only their meaning is used.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError

from livejoin.errors import SqlSyntaxError
from livejoin.shown import meant
from livejoin.sql.parse.arguments import WrongCount
from livejoin.sql.parse.column_types import CAST_TYPES, unknown_type
from livejoin.sql.parse.emit_final import within
from livejoin.sql.parse.other_dialects import FUNCTIONS, HALVES, KEYWORDS, OPERATORS, SECOND_MATCH, UNEXPECTED
from livejoin.sql.parse.source import Source

STATEMENTS = (
    "Allowed are SELECT, INSERT, UPDATE, DELETE, MERGE INTO, CREATE and DROP of TABLE, VIEW and ASSERTION, ALTER TABLE "
    "and REFRESH TABLE"
)

ABSENT_FUNCTION = "a function that livejoin does not have"
"""The description of a call whose arguments make no sense, as they are types or keywords."""


class NotParsed(ParseError):
    """An error of sqlglot's parser.

    Args:
        description: sqlglot's message.
        offset: The offset in the text; the length of the text if it ended too early.
    """

    def __init__(self, description: str, offset: int) -> None:
        self.description = description
        self.offset = offset
        super().__init__(description)


class _Lacking(NamedTuple):
    """The missing part of a clause, and how it is written."""

    clause: str
    lacks: str


_CLAUSES = {
    "Where": _Lacking("WHERE", "a condition"),
    "Having": _Lacking("HAVING", "a condition"),
    "Qualify": _Lacking("QUALIFY", "a condition"),
    "Limit": _Lacking("LIMIT", "a number of rows"),
    "Offset": _Lacking("OFFSET", "a number of rows"),
    "Order": _Lacking("ORDER BY", "a column"),
    "Ordered": _Lacking("ORDER BY", "a column"),
    "If": _Lacking("WHEN", "a condition, THEN and a value"),
    "Union": _Lacking("UNION", "a query: SELECT ..."),
    "Except": _Lacking("EXCEPT", "a query: SELECT ..."),
    "Intersect": _Lacking("INTERSECT", "a query: SELECT ..."),
    "Values": _Lacking("VALUES", "a row: VALUES (1, 'a'), (2, 'b')"),
    "Lateral": _Lacking("LATERAL", "a query in parentheses"),
    "Alias": _Lacking("AS", "a name"),
    "Aliases": _Lacking("AS", "a name"),
    "PivotAlias": _Lacking("AS", "a name"),
    "Bracket": _Lacking("[]", "an index or a key between the brackets"),
    "Filter": _Lacking("FILTER", "WHERE and a condition: FILTER (WHERE a > 1)"),
    "WithinGroup": _Lacking("WITHIN GROUP", "ORDER BY and a column"),
    "Interval": _Lacking("INTERVAL", "an amount and a unit: INTERVAL 3 DAYS"),
    "Neg": _Lacking("-", "a value behind it"),
    "Not": _Lacking("NOT", "a condition behind it"),
    "BitwiseNot": _Lacking("~", "a value behind it"),
    "Between": _Lacking("BETWEEN", "two values: a BETWEEN 1 AND 9"),
    "Any": _Lacking("ANY", "values in parentheses"),
    "All": _Lacking("ALL", "values in parentheses"),
    "Exists": _Lacking("EXISTS", "a query in parentheses"),
    "Property": _Lacking("TBLPROPERTIES", "pairs: ('name' = 'value')"),
}

_PIVOT = "PIVOT (SUM(a) FOR b IN (1, 2))"

_TYPE = r"Expected TYPE after CAST|Expected type"

# sqlglot's words, what is expected there in ours, and how it is written.
_EXPECTED = (
    (r"Expected table name", "the name of a table or a query in parentheses", ""),
    (r"Expected database name", "a name", ""),
    (r"Expected a query", "a query", "CREATE VIEW name AS SELECT ..."),
    (r"Expected REPLACE", "REPLACE", "CREATE OR REPLACE VIEW name AS SELECT ..."),
    (r"Expected END after CASE", "END", "CASE WHEN condition THEN value ELSE value END"),
    (r"Expected a value", "a value", ""),
    (r"Expected NULL", "NULL, TRUE, FALSE or DISTINCT FROM", "a IS NOT NULL"),
    (r"Expected THEN", "THEN", "CASE WHEN condition THEN value ELSE value END"),
    (r"Expected AS after CAST", "AS", "CAST(value AS INT)"),
    (_TYPE, "a type", "INT, STRING"),
    (r"Expected FROM or comma after EXTRACT", "FROM", "EXTRACT(YEAR FROM value)"),
    (r"Expected CTE to have alias", "the name of a query", "WITH name AS (SELECT ...)"),
    (r"Failed to parse any statement following CTE|does not support CTE", "SELECT", "WITH name AS (...) SELECT ..."),
    (r"Expected DISTINCT or ALL for", "ALL or DISTINCT", ""),
    (r"Expecting an aggregation function in PIVOT|PIVOT's aggregation", "an aggregate", _PIVOT),
    (r"Expecting FOR", "FOR", _PIVOT),
    (r"Expecting IN", "IN", _PIVOT),
    (r"Expected at least one argument", "an argument", ""),
)
_DECLARING = frozenset({TokenType.CREATE, TokenType.DROP})
_OPTIONS = ("PRIMARY KEY", "NOT NULL", "UNIQUE", "DEFAULT", "CHECK", "REFERENCES", "GENERATED", "ENFORCED")
_BEFORE_NAME = frozenset({TokenType.TABLE, TokenType.VIEW, TokenType.EXISTS})
_OPENING = {")": TokenType.L_PAREN, "]": TokenType.L_BRACKET, "}": TokenType.L_BRACE, ">": TokenType.LT}
_CLOSING = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
}
_NO_NAMES = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.SELECT, TokenType.FROM),
        *(TokenType.WHERE, TokenType.ALIAS, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.ON),
    }
)
_MATCHING = frozenset(
    {TokenType.MATCH_CONDITION, TokenType.ON, TokenType.USING, TokenType.WHERE, TokenType.SELECT, TokenType.JOIN}
)
_BRACKET = re.compile(r"Expect(?:ing|ed) ([()\[\]{}<>])$")
_MISSING = re.compile(r"Required \w+: '\w+' missing for <class '[\w.]+\.(\w+)'>")
_TOO_MANY = re.compile(r"number of provided arguments \((\d+)\) is greater .* supported arguments \((\d+)\)")
_TWICE = re.compile(r"Found multiple '([A-Z ]+)' clauses")
_PROPERTY = re.compile(r"(?:Cannot|Failed to) parse property '([^']*)'")


def syntax_error(error: NotParsed, source: Source) -> SqlSyntaxError:
    """The error of a text that has tokens, at the word where it shows."""
    at = error.offset
    if emitted := within(source.tokens, at):
        return source.error(SqlSyntaxError, emitted, at)
    if unknown := unknown_type(at, source):
        return source.error(SqlSyntaxError, unknown, at)
    if error.description == ABSENT_FUNCTION:
        name = source.text_at(at)
        return source.error(SqlSyntaxError, f"{name.upper()} is not supported; {FUNCTIONS[name.lower()]}", at)
    missing, most = _MISSING.search(error.description), _TOO_MANY.search(error.description)
    if call := _call_that_ends(at, source) if most or (missing and _is_function(missing[1])) else None:
        return source.error(SqlSyntaxError, _wrong_number(call, most, source), call.start)
    found = _found(at, source)
    if not missing and (slip := _slip(error.description, at, source)):
        return slip
    said = _lacking(missing[1], found, at, source) if missing else _unexpected(error.description, found, at, source)
    return source.error(SqlSyntaxError, said, at)


def malformed(at: int, source: Source) -> SqlSyntaxError:
    """The error of a clause that ends before an offset and lacks a part, if the parser says nothing else."""
    before = source.before(at)
    msg = "a part is missing here; write all arguments that the call takes in Spark SQL"
    return source.error(SqlSyntaxError, msg, before.start if before else at)


def _slip(description: str, at: int, source: Source) -> SqlSyntaxError | None:
    """The error of a word before an offset that is none, where it is known what may be meant; else None."""
    before, token = source.before(at), _token(at, source)
    if before is not None and before.text.upper() == "TOP":  # SELECT TOP 1, in a sub-query
        return source.error(SqlSyntaxError, HALVES["TOP"], before.start)
    if before is None or _BRACKET.search(description) or any(re.search(one, description) for one, *_ in _EXPECTED):
        return None
    if token is not None and token.text in OPERATORS:
        return source.error(SqlSyntaxError, f"{token.text} is no operator here; {OPERATORS[token.text]}", at)
    word = source.text_at(before.start)
    if hint := HALVES.get(word.upper()):
        return source.error(SqlSyntaxError, hint, before.start)
    is_name = before.token_type == TokenType.VAR and source.before(before.start) is not None
    if is_name and word.upper() not in KEYWORDS and (hint := meant(word, KEYWORDS)):
        return source.error(SqlSyntaxError, f"{word!r} is no word of SQL{hint}", before.start)
    return None


def _found(at: int, source: Source) -> str:
    """The word at an offset, as the subject of a sentence."""
    token = _token(at, source)
    return "the text ends" if token is None else f"found {source.sql[token.start : token.end + 1]!r:.80}"


def _token(at: int, source: Source) -> Token | None:
    return next((token for token in source.tokens if token.start == at), None)


def _unexpected(description: str, found: str, at: int, source: Source) -> str:
    """The message that something else is expected, or nothing at all."""
    if bracket := _BRACKET.search(description):
        if _is_second_match(at, source):
            return f"{found} in MATCH_CONDITION; {SECOND_MATCH}"
        return f"{found} where {bracket[1]!r} is expected{_which_closes(bracket[1], at, source)}{_option(at, source)}"
    if twice := _TWICE.search(description):
        return f"{twice[1]} stands here a second time; a SELECT has one"
    if wrong := _PROPERTY.search(description):
        return f"{wrong[1]!r} is not understood; write TBLPROPERTIES ('name' = 'value')"
    token = _token(at, source)
    if token is not None and token.text.isidentifier() and re.search(_TYPE, description):
        written = source.sql[token.start : token.end + 1]
        return f"{written!r:.80} is no type that a value is cast to; allowed are {CAST_TYPES}"
    before = source.before(at)
    if before is not None and before.token_type in _BEFORE_NAME and source.tokens[0].token_type in _DECLARING:
        hint = f"; {UNEXPECTED['[']}" if token is not None and token.text == "[" else ""
        return f"{found} where a name is expected, behind {before.text.upper()}{hint}"
    for pattern, expected, example in _EXPECTED:
        if re.search(pattern, description):
            hint = f"; {UNEXPECTED['[']}" if token is not None and token.text == "[" else ""
            return f"{found} where {expected} is expected" + (f", as in {example}" if example else "") + hint
    behind = f" behind {source.sql[before.start : before.end + 1]!r:.80}" if before else ""
    if token is None:
        return f"the text ends{behind}, where more is expected"
    return f"{found}, which is not expected{behind}{_as_a_name(at, source)}"


def _option(at: int, source: Source) -> str:
    """The hint that a misspelled option of a column stands at an offset; empty if none does."""
    words = [token.text.upper() for token in source.tokens if token.start >= at][:2]
    if not words or source.tokens[0].token_type not in _DECLARING:
        return ""
    return meant(" ".join(words), _OPTIONS) or meant(words[0], _OPTIONS)


def _which_closes(bracket: str, at: int, source: Source) -> str:
    """The position of the bracket that a missing one would close, as the end of a sentence."""
    kind = _OPENING.get(bracket)
    opened: list[Token] = []
    for token in (token for token in source.tokens if token.start < at):
        if token.token_type == kind:
            opened.append(token)
        elif _CLOSING.get(token.token_type, TokenType.LT if token.token_type == TokenType.GT else None) == kind:
            del opened[-1:]
    if not opened or kind is None:
        return ""
    line, column = source.position(opened[-1].start)
    return f", which closes the {opened[-1].text!r} at line {line}, column {column}"


def _lacking(node: str, found: str, at: int, source: Source) -> str:
    """The message that a part of a clause or of an operator is missing; ``node`` is sqlglot's class of it."""
    if clause := _CLAUSES.get(node):
        return f"{clause.clause} lacks {clause.lacks}; {found}{_as_a_name(at, source)}"
    before = source.before(at)
    if before is None:
        return f"{found} where a value is expected"
    behind = f"behind {source.sql[before.start : before.end + 1]!r:.80}"
    return f"{found} where a value is expected, {behind}{_as_a_name(at, source)}"


def _as_a_name(at: int, source: Source) -> str:
    """The hint that a keyword as a name needs backticks, or what to write in place of a word."""
    token = _token(at, source)
    if token is None:
        return ""
    if _is_second_match(at, source):
        return f"; {SECOND_MATCH}"
    word = source.sql[token.start : token.end + 1]
    if token.text == "[" or word.upper() == "MATCH_CONDITION":
        return f"; {UNEXPECTED[word.upper()]}"
    if token.token_type in _NO_NAMES or not token.text.isidentifier():
        return ""
    behind = next((one.text for one in source.tokens if one.start > token.start), "")
    hint = UNEXPECTED.get(word.upper()) or UNEXPECTED.get(f"{word} {behind}".upper())
    return f"; {hint}" if hint else f"; if {word} is a name, write `{word}`"


def _is_second_match(at: int, source: Source) -> bool:
    """Whether the word at an offset is an AND behind the comparison of a MATCH_CONDITION."""
    token = _token(at, source)
    if token is None or token.token_type != TokenType.AND:
        return False
    clauses = [one.token_type for one in source.tokens if one.start < at and one.token_type in _MATCHING]
    return clauses[-1:] == [TokenType.MATCH_CONDITION]


def _is_function(node: str) -> bool:
    """Whether sqlglot's class is one of function calls, and not of operators or clauses."""
    found = getattr(exp, node, exp.Expr)
    return issubclass(found, exp.Func) and not issubclass(found, exp.Binary)


def _call_that_ends(offset: int, source: Source) -> Token | None:
    """The name of the function whose call is closed at an offset; None if there is none."""
    depth = 0
    before = [token for token in source.tokens if token.start <= offset]
    for place in range(len(before) - 1, 0, -1):
        kind = before[place].token_type
        depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
        if depth == 0:
            name = before[place - 1]
            return name if kind == TokenType.L_PAREN and name.text.isidentifier() else None
    return None


def _wrong_number(name: Token, most: re.Match[str] | None, source: Source) -> str:
    """The message that a call has too few or too many arguments."""
    function = source.text_at(name.start).upper()
    if most is None:
        return f"{function} lacks an argument; write all that it takes in Spark SQL"
    given, allowed = int(most[1]), int(most[2])
    return f"{function} takes at most {_arguments(allowed)}, and {given} are given"


def _arguments(count: int) -> str:
    return f"{count} argument{'s' * (count != 1)}"


def wrong_count(error: WrongCount, at: int, source: Source) -> SqlSyntaxError:
    """The error of a call that ends at an offset and has a wrong number of arguments."""
    call = _call_that_ends(at, source)
    if call is None:
        return malformed(at, source)
    function = source.text_at(call.start).upper()
    if error.given < error.least:
        takes = f"lacks an argument; it takes {'at least ' * (error.least < error.most)}{_arguments(error.least)}"
    else:
        takes = f"takes {'at most ' * (error.least < error.most)}{_arguments(error.most)}"
    is_given = "is" if error.given == 1 else "are"
    return source.error(SqlSyntaxError, f"{function} {takes}, and {error.given} {is_given} given", call.start)
