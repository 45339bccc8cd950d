"""A SQL text with its tokens, and positions in it.

sqlglot's nodes have an offset only if they are identifiers, literals or function names. So the position of a clause is
that of its keyword among the tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import Token, TokenType, exp

from livejoin.errors import SqlError, UnsupportedQueryError
from livejoin.sql.parse.copying import copied, sql_of
from livejoin.sql.parse.walking import nodes

Error = TypeVar("Error", bound=SqlError)


@dataclass(frozen=True)
class Source:
    """A SQL text and its tokens."""

    sql: str
    tokens: tuple[Token, ...]

    def position(self, offset: int) -> tuple[int, int]:
        """One-based line and column of an offset.

        >>> Source("SELECT\\n  a", ()).position(9)
        (2, 3)
        """
        lines = (self.sql[:offset] + ".").splitlines()
        return len(lines), len(lines[-1])

    def offset(self, line: int, column: int) -> int:
        """The offset of a one-based line and column; the inverse of `position`.

        >>> Source("SELECT\\n  a", ()).offset(2, 3)
        9
        """
        return sum(map(len, self.sql.splitlines(keepends=True)[: line - 1])) + column - 1

    def error(self, kind: type[Error], message: str, offset: int) -> Error:
        """An error at an offset of the text."""
        return kind(message, self.sql, *self.position(offset))

    def unsupported(self, clause: str, message: str, offset: int) -> UnsupportedQueryError:
        """The error for a clause that is not supported, at an offset of the text."""
        return UnsupportedQueryError(message, self.sql, *self.position(offset), clause=clause)

    def find(self, kinds: Collection[TokenType], start: int = 0, default: int = 0) -> int:
        """Offset of the first token of some kinds at or after ``start``; ``default`` if there is none."""
        return next((t.start for t in self.tokens if t.start >= start and t.token_type in kinds), default)

    def find_outermost(self, kinds: Collection[TokenType], start: int = 0, default: int = 0) -> int:
        """Offset of the first of the outermost tokens of some kinds; ``default`` if there is none."""
        depth, found = 0, []
        for token in self.tokens:
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if token.start >= start and token.token_type in kinds:
                found.append((depth, token.start))
        return min(found, default=(0, default))[1]

    def find_back(self, kinds: Collection[TokenType], end: int, default: int = 0) -> int:
        """Offset of the last token of some kinds before ``end``; ``default`` if there is none."""
        return next((t.start for t in reversed(self.tokens) if t.start < end and t.token_type in kinds), default)

    def word(self, word: str, start: int, default: int) -> int:
        """Offset of the first token at or after ``start`` that begins with a word; ``default`` if there is none."""
        matches = (t.start for t in self.tokens if t.start >= start and t.text.upper().startswith(word.upper()))
        return next(matches, default)

    def clause(self, clause: str, start: int) -> int:
        """Offset of the first word of a clause at or after ``start``; ``start`` if there is none."""
        words = clause.partition("(")[0].split()
        return self.word(words[0], start, default=start) if words else start

    def behind(self, kinds: Collection[TokenType], offset: int) -> int:
        """Offset of the token after the last one of some kinds before ``offset``; ``offset`` if there is none."""
        found = offset
        for token in reversed([t for t in self.tokens if t.start < offset]):
            if token.token_type in kinds:
                return found
            found = token.start
        return offset

    def call_around(self, names: Collection[str], offset: int) -> int:
        """Offset of the innermost call of one of the functions, in lower case, that is open at ``offset``.

        >>> from sqlglot import tokenize
        >>> sql = "percentile(abs((x)), 0.5)"
        >>> Source(sql, tuple(tokenize(sql))).call_around({"percentile"}, sql.index("x"))
        0
        """
        depth, before = 0, [token for token in self.tokens if token.start < offset]
        for position in range(len(before) - 1, 0, -1):
            kind = before[position].token_type
            depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
            if depth < 0:
                depth = 0
                if before[position - 1].text.lower() in names:
                    return before[position - 1].start
        return offset

    def text_at(self, offset: int) -> str:
        """The token that starts at ``offset``, empty if none does."""
        return next((token.text for token in self.tokens if token.start == offset), "")

    def before(self, offset: int) -> Token | None:
        """The token before the one that starts at ``offset``."""
        return next((t for t in reversed(self.tokens) if t.start < offset), None)


def shown(node: exp.Expr) -> str:
    """A node as text, for messages."""
    return sql_of(copied(node), "spark")


def offset_of(node: exp.Expr, default: int) -> int:
    """Where a node starts: the first identifier, literal or function name in it; ``default`` if it has none."""
    return min((n.meta["start"] for n in nodes(node) if "start" in n.meta), default=default)


def as_of_view(tokens: Sequence[Token]) -> int | None:
    """Where among the tokens the AS of CREATE VIEW is, which a query follows; None in another statement.

    >>> from sqlglot import tokenize
    >>> as_of_view(tokenize("CREATE VIEW v AS SELECT a AS b FROM t")), as_of_view(tokenize("SELECT a AS b"))
    (3, None)
    """
    kinds = [token.token_type for token in tokens]
    if kinds[:1] != [TokenType.CREATE] or TokenType.ALIAS not in kinds:
        return None
    place = kinds.index(TokenType.ALIAS)
    return place if TokenType.VIEW in kinds[:place] else None
