"""A SQL text with its tokens, and positions in it.

sqlglot's nodes know their offset only if they are identifiers, literals or function names, so the position of a clause
is that of its keyword among the tokens.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import Token, TokenType, exp

from livejoin.errors import SqlError, UnsupportedQueryError

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

    def error(self, kind: type[Error], message: str, offset: int) -> Error:
        """An error at an offset of the text."""
        return kind(message, self.sql, *self.position(offset))

    def unsupported(self, clause: str, message: str, offset: int) -> UnsupportedQueryError:
        """The refusal of a clause at an offset of the text."""
        return UnsupportedQueryError(message, self.sql, *self.position(offset), clause=clause)

    def find(self, kinds: Collection[TokenType], start: int = 0, default: int = 0) -> int:
        """Offset of the first token of one of these kinds at or behind ``start``; ``default`` if there is none."""
        return next((t.start for t in self.tokens if t.start >= start and t.token_type in kinds), default)

    def find_back(self, kinds: Collection[TokenType], end: int, default: int = 0) -> int:
        """Offset of the last token of one of these kinds before ``end``; ``default`` if there is none."""
        return next((t.start for t in reversed(self.tokens) if t.start < end and t.token_type in kinds), default)

    def before(self, offset: int) -> Token | None:
        """The token before the one that starts at ``offset``."""
        return next((t for t in reversed(self.tokens) if t.start < offset), None)


def offset_of(node: exp.Expr, default: int) -> int:
    """Where a node starts: the first identifier, literal or function name in it; ``default`` if it has none."""
    return min((n.meta["start"] for n in node.walk() if "start" in n.meta), default=default)
