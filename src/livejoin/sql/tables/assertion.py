"""CREATE ASSERTION and DROP ASSERTION (SQL-92, section 11.34), which sqlglot does not parse.

An assertion is a query that must stay empty. ``CHECK (NOT EXISTS (query))`` gives the query; of any other condition it
is the row that says that the condition is false. As SQL has it, a condition that is unknown holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import Token, TokenType

from livejoin.errors import SqlSyntaxError
from livejoin.schema import Assertion
from livejoin.sql.parse.parse import tokenized
from livejoin.sql.parse.source import Source

_FORM = (
    "CREATE ASSERTION [IF NOT EXISTS] name CHECK (condition) [DEFERRABLE] [ENFORCED | WARN], where the condition is "
    "often NOT EXISTS (SELECT ...)"
)
_REPLACED = ["CREATE", "OR", "REPLACE", "ASSERTION"]
_FALSE = "SELECT TRUE AS violated WHERE NOT ("
_OPTIONS: dict[tuple[str, ...], dict[str, bool]] = {
    ("ENFORCED",): {"enforced": True},
    ("WARN",): {"enforced": False},
    ("NOT", "DEFERRABLE"): {"deferred": False},
    ("DEFERRABLE", "INITIALLY", "DEFERRED"): {"deferred": True},
    ("DEFERRABLE",): {"deferred": True},
    ("INITIALLY", "DEFERRED"): {"deferred": True},
}
"""What the words behind CHECK say, the longer ones first."""


@dataclass(frozen=True)
class CreateAssertion:
    """CREATE ASSERTION [IF NOT EXISTS] name CHECK (condition) ...

    Args:
        name: The assertion's name.
        sql: The query that must have no rows, not yet bound.
        assertion: How it is asserted.
        if_not_exists: Whether it has IF NOT EXISTS.
        begins: Where in the statement the query begins; of a query that is made of a condition, where it would begin
            for the condition to stand in its place.
    """

    name: str
    sql: str
    assertion: Assertion
    if_not_exists: bool = False
    begins: int = field(default=0, compare=False)


@dataclass(frozen=True)
class DropAssertion:
    """DROP ASSERTION [IF EXISTS] name."""

    name: str
    if_exists: bool = False


def is_assertion(source: Source) -> bool:
    """Whether a statement creates or drops an assertion."""
    words = _words(source.tokens[:4])
    return words[:2] in (["CREATE", "ASSERTION"], ["DROP", "ASSERTION"]) or words == _REPLACED


def read_assertion(source: Source) -> CreateAssertion | DropAssertion:
    """Read a statement that `is_assertion` says is one.

    Raises:
        SqlSyntaxError: The statement has another form.
        UnsupportedQueryError: The statement has an option that there is not.
    """
    tokens = [token for token in source.tokens if token.token_type != TokenType.SEMICOLON]
    if _words(tokens[:4]) == _REPLACED:
        msg = "an assertion is not replaced: create another one, then drop this one"
        raise source.unsupported("OR REPLACE", msg, tokens[1].start)
    if tokens[0].text.upper() == "DROP":
        return _drop(tokens, source)
    at, if_not_exists = 2, _words(tokens[2:5]) == ["IF", "NOT", "EXISTS"]
    at += 3 * if_not_exists
    name = _name(tokens[at : at + 1], source)
    if _words(tokens[at + 1 : at + 3]) != ["CHECK", "("]:
        has_check = _words(tokens[at + 1 : at + 2]) == ["CHECK"]
        expected = "a condition in parentheses" if has_check else "CHECK ("
        raise _malformed(tokens[at + 1 + has_check :], expected, source)
    begin = at + 2
    end = _closing(tokens, begin)
    if end is None or end == begin + 1:
        raise _malformed(tokens[len(tokens) if end is None else end :], "a condition in parentheses", source)
    if tokens[begin + 1].token_type in (TokenType.SELECT, TokenType.WITH):
        msg = "CHECK takes a condition, and a query is found; write CHECK (NOT EXISTS (SELECT ...))"
        raise source.error(SqlSyntaxError, msg, tokens[begin + 1].start)
    sql, begins = _query(tokens[begin + 1 : end], source)
    return CreateAssertion(name, sql, _options(tokens[end + 1 :], source), if_not_exists, begins)


def violations_of(condition: str) -> str:
    """The query that has rows as long as a condition is false; a query stands for itself.

    >>> violations_of("NOT EXISTS (SELECT id FROM orders WHERE price < 0)")
    'SELECT id FROM orders WHERE price < 0'
    >>> violations_of("(SELECT COUNT(*) FROM admins) > 0")
    'SELECT TRUE AS violated WHERE NOT ((SELECT COUNT(*) FROM admins) > 0)'
    """
    source = tokenized(condition)
    tokens = [token for token in source.tokens if token.token_type != TokenType.SEMICOLON]
    if not tokens or tokens[0].token_type in (TokenType.SELECT, TokenType.WITH):
        return condition
    return _query(tokens, source)[0]


def _query(tokens: Sequence[Token], source: Source) -> tuple[str, int]:
    """The query of a condition, and where it begins."""
    within = 3 if _words(tokens[:3]) == ["NOT", "EXISTS", "("] else 0
    if within and _closing(tokens, 2) == len(tokens) - 1 and len(tokens) > 4:
        begin, end = tokens[within].start, tokens[-1].start
        return source.sql[begin:end].rstrip(), begin
    begin, end = tokens[0].start, tokens[-1].end + 1
    return f"{_FALSE}{source.sql[begin:end]})", begin - len(_FALSE)


def _closing(tokens: Sequence[Token], begin: int) -> int | None:
    """The place of the parenthesis that closes the one at a place; None if none does."""
    depth = 0
    for place in range(begin, len(tokens)):
        depth += (tokens[place].token_type == TokenType.L_PAREN) - (tokens[place].token_type == TokenType.R_PAREN)
        if not depth:
            return place
    return None


def _options(tokens: Sequence[Token], source: Source) -> Assertion:
    said: dict[str, bool] = {}
    at = 0
    while at < len(tokens):
        words = next((one for one in _OPTIONS if tuple(_words(tokens[at : at + len(one)])) == one), None)
        if words is None or _OPTIONS[words].keys() & said.keys():
            clause = tokens[at].text.upper()
            msg = f"{clause} is not supported here; the form is {_FORM}"
            raise source.unsupported(clause, msg, tokens[at].start)
        said |= _OPTIONS[words]
        at += len(words)
    return Assertion(said.get("enforced", True), said.get("deferred", False))


def _drop(tokens: Sequence[Token], source: Source) -> DropAssertion:
    if_exists = _words(tokens[2:4]) == ["IF", "EXISTS"]
    at = 4 if if_exists else 2
    name = _name(tokens[at : at + 1], source)
    if len(tokens) > at + 1:
        raise _malformed(tokens[at + 1 :], "the end of DROP ASSERTION [IF EXISTS] name", source)
    return DropAssertion(name, if_exists)


def _name(tokens: Sequence[Token], source: Source) -> str:
    if not tokens or not (tokens[0].token_type == TokenType.IDENTIFIER or tokens[0].text.isidentifier()):
        raise _malformed(tokens, "a name", source)
    return tokens[0].text


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.text.upper() for token in tokens]


def _malformed(rest: Sequence[Token], expected: str, source: Source) -> SqlSyntaxError:
    found = f"found {rest[0].text!r:.80}" if rest else "the text ends"
    msg = f"{found} where {expected} is expected; the form is {_FORM}"
    return source.error(SqlSyntaxError, msg, rest[0].start if rest else len(source.sql))
