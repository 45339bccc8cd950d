"""What the names in a FROM clause stand for: tables, views, definitions of WITH, and queries in parentheses.

A name in FROM stands for the definition of the nearest WITH around it that has it, then for a table or a view, as in
Spark. A definition sees those before it and what is around its WITH; so `WITH t AS (SELECT a FROM t)` reads the table
t. Names are compared without regard to case. `livejoin.sql.bind.known_names` knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from livejoin.schema import Table
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import Form, SubQuery
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.query import NestedQuery, Scope, SelectBlock


@dataclass(frozen=True)
class Lateral:
    """A LATERAL sub-query as one that sees nothing beside it.

    Args:
        query: It, with the columns that it is joined by before its own.
        keys: How many these are.
        conditions: What joins it, over its columns and over those of what stands before it.
    """

    query: NestedQuery
    keys: int
    conditions: tuple[exp.Expr, ...]


class Names(Protocol):
    """What the names in a FROM clause stand for."""

    @property
    def outer(self) -> Scope | None:
        """What the query around shows to the expressions of a sub-query."""

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
        """The union of two SELECTs that a FULL JOIN is; each is what stands in FROM and the SELECT list.

        Args:
            matched: The one that keeps the left side's rows.
            unmatched: The one that keeps the other rows of the right side.
            sub_queries: The sub-queries in their conditions, each at the number of its mark, with what it sees.
            source: The tokens of the SELECT around.
            offset: Where the FULL JOIN stands.
        """

    def numbers(self, count: int) -> NestedQuery:
        """The whole numbers from 0 on, as many as are asked for."""

    def selected(self, clause: FromClause, items: tuple[Item, ...], source: Source) -> NestedQuery:
        """A SELECT of some items from what a FROM clause brings, which is not merged with what reads it."""

    def grouped(
        self, clause: FromClause, items: tuple[Item, ...], groups: tuple[exp.Expr, ...], source: Source
    ) -> NestedQuery:
        """A SELECT of some items with GROUP BY, of one row without groups, from what a FROM clause brings."""

    def united(self, sides: Sequence[tuple[FromClause, tuple[Item, ...]]], source: Source, offset: int) -> NestedQuery:
        """UNION ALL of SELECTs, each by what stands in FROM and its SELECT list; at least one."""

    def lateral(self, query: exp.Expr, before: FromClause, atom: int, source: Source, offset: int) -> Lateral:
        """The query of a LATERAL sub-query behind what a FROM clause brings.

        Args:
            query: What stands in the parentheses.
            before: What stands before it, numbered from 0.
            atom: The number of its occurrence.
            source: The tokens of the SELECT around.
            offset: Where it stands.
        """

    def in_expression(self, query: exp.Expr, scope: Scope, form: Form) -> tuple[SelectBlock | NestedQuery, ...]:
        """The query of a sub-query in an expression over a scope, or the sides of a UNION that are asked one by one."""

    def fresh(self, name: str) -> str:
        """A name, with a number behind it if a table has it."""

    def known(self) -> str:
        """All names, for messages."""
