"""The names in a FROM clause: tables, views, definitions of WITH, and queries in parentheses.

A name in FROM first stands for the definition in the nearest WITH around it, then for a table or a view, as in Spark. A
definition sees earlier ones and the names around its WITH, so `WITH t AS (SELECT a FROM t)` reads the table t. Names
are compared without regard to case. `livejoin.sql.bind.known_names` implements this protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from livejoin.query.relational import AsOfCondition
from livejoin.schema import Table
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import Form, SubQuery
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.query import NestedQuery, Scope, SelectBlock


@dataclass(frozen=True)
class Lateral:
    """A LATERAL sub-query as a query that does not see the items beside it.

    Args:
        query: The query; the columns that it is joined by come before its own.
        keys: How many such columns there are.
        conditions: The conditions that join it, over its columns and those of the items before it.
    """

    query: NestedQuery
    keys: int
    conditions: tuple[exp.Expr, ...]


class Names(Protocol):
    """Looks up the names in a FROM clause."""

    @property
    def outer(self) -> Scope | None:
        """The scope of the query around, for the expressions of a sub-query."""

    def look_up(self, name: str) -> Table | NestedQuery | None:
        """The table, view or definition of a name, None if there is none."""

    def nested(self, query: exp.Expr) -> NestedQuery:
        """The query in a pair of parentheses."""

    def full_join(
        self,
        matched: tuple[FromClause, tuple[Item, ...]],
        unmatched: tuple[FromClause, tuple[Item, ...]],
        sub_queries: Sequence[tuple[SubQuery, Scope]],
        source: Source,
        offset: int,
    ) -> NestedQuery:
        """The nested query for a FULL JOIN: the union of two SELECTs, each given by FROM and SELECT list.

        Args:
            matched: The SELECT that keeps the left side's rows.
            unmatched: The SELECT that keeps the other rows of the right side.
            sub_queries: The sub-queries in their conditions, each at the number of its mark, with its scope.
            source: The tokens of the SELECT around.
            offset: The offset of the FULL JOIN.
        """

    def as_of(
        self, left: NestedQuery, right: NestedQuery, on: AsOfCondition, written: str, source: Source, offset: int
    ) -> NestedQuery:
        """The nested query for an ASOF JOIN of two queries: the columns of both.

        Args:
            left, right: The two sides, each from `selected`.
            on: The columns that are compared.
            written: The condition, for messages.
            source: The tokens of the SELECT around.
            offset: The offset of the right side.
        """

    def rows(self, block: SelectBlock, copies: int = 1) -> NestedQuery:
        """A SELECT that is not merged with its reader.

        Args:
            block: The SELECT, resolved.
            copies: How often each row stands there; above 1 a last column numbers the copies from 0 on.
        """

    def numbers(self, count: int) -> NestedQuery:
        """The integers from 0 up to ``count``, without ``count``."""

    def selected(self, clause: FromClause, items: tuple[Item, ...], source: Source) -> NestedQuery:
        """A SELECT of some items from a FROM clause, which is not merged with its reader."""

    def grouped(
        self, clause: FromClause, items: tuple[Item, ...], groups: tuple[exp.Expr, ...], source: Source
    ) -> NestedQuery:
        """A SELECT of some items with GROUP BY from a FROM clause; without groups it gives one row."""

    def united(self, sides: Sequence[tuple[FromClause, tuple[Item, ...]]], source: Source, offset: int) -> NestedQuery:
        """UNION ALL of SELECTs, each given by FROM and SELECT list; at least one."""

    def lateral(self, query: exp.Expr, before: FromClause, atom: int, source: Source, offset: int) -> Lateral:
        """The query of a LATERAL sub-query that stands after a FROM clause.

        Args:
            query: The query in the parentheses.
            before: The items before it, numbered from 0.
            atom: The number of its occurrence.
            source: The tokens of the SELECT around.
            offset: The offset of the sub-query.
        """

    def in_expression(self, query: exp.Expr, scope: Scope, form: Form) -> tuple[SelectBlock | NestedQuery, ...]:
        """The query of a sub-query in an expression, or the sides of a UNION that are asked one by one."""

    def fresh(self, name: str) -> str:
        """A name that no table has; a number is added if needed."""

    def all(self) -> tuple[str, ...]:
        """All names."""

    def known(self) -> str:
        """All names, for messages."""
