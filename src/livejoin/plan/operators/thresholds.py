"""Rows that compare with a bound of their key, and aggregates over them (AJU, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from livejoin.plan.identity import Identity, said_calls, said_types
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.query.aggregates import AggregateCall
from livejoin.schema import SqlType
from livejoin.schema.watermarks import freed_name, freeing_name, watched_name
from livejoin.search.algorithm import Algorithm

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator

Comparison = Literal[
    "less", "less_equal", "greater", "greater_equal", "not_less", "not_less_equal", "not_greater", "not_greater_equal"
]
"""How rows stand to the bound of their key. With ``not_`` the comparison is FALSE or NULL, as it is for rows with NULL
and for those whose key has no bound."""


@dataclass(frozen=True, eq=False)
class ThresholdOperator(PlanOperator):
    """The rows that compare with the bound of their key (join-select: AJU, Theorem 14); its columns are the rows'.

    Args:
        bounds: The key's columns, each key at most once, then the bound.
        rows: The key's columns, the one that is compared, others.
        keys: How many columns are the key; 0 for one bound for all rows.
        comparison: How a row in the result compares with its bound.
        types: Types of the rows' columns.
        written: The comparison as users wrote it.
    """

    bounds: Operator
    rows: Operator
    keys: int
    comparison: Comparison
    types: tuple[SqlType, ...]
    written: str

    @property
    def kind(self) -> str:
        return "rows within bounds"

    @property
    def watched(self) -> str | None:
        """The table, in lower case, whose watermark lets rows in: windows of time that have ended; None without one."""
        return _watched(self.bounds)

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.bounds, self.rows)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("threshold", self.keys, self.comparison, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        if table := _freeing(self.bounds):
            yield (
                f"keep = 'open': the groups whose window begins when rows of {table} are freed or later, over an "
                f"ordered store of all groups: O(log groups) a group that changes. Rows of {table} before it are "
                "freed, and their groups with them"
            )
            return
        if table := self.watched:
            until = "before" if self.comparison == "less" else "at or before"
            kept = (
                "Groups stay stored here and below until their rows are freed: memory grows with open windows here, "
                "and with the result in the table of closed windows beside it"
                if _tables(self.rows) & {freed_name(table)}
                else f"Groups stay stored when they are closed, here and below, as their rows stay in {table}: memory "
                "grows with the result"
            )
            yield (
                f"EMIT FINAL: the groups whose window ends {until} the watermark of {table}, over an ordered store of "
                f"all groups: O(log groups) a group that changes, and O(1) for each that the watermark closes. {kept}"
            )
            return
        yield (
            f"join-select: the rows that {self.written} is true for, over an ordered store of all with "
            f"{_bounds(self.keys)}: O(log rows) a change, and O(1) for each row that a bound lets in or out as it "
            "moves (AJU, Theorem 14)"
        )

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return _kept(self.rows, self.bounds)


@dataclass(frozen=True, eq=False)
class ThresholdAggregateOperator(PlanOperator):
    """Aggregates over the rows that compare with the bound of their key (join-select-aggregate: AJU, Theorem 15).

    Args:
        bounds, keys, comparison, written: As of a `ThresholdOperator`.
        rows: The key's columns, the one that is compared, those of the group, the arguments.
        groups: How many columns are the group.
        calls: The aggregates, whose arguments count from the first column of the group.
        is_global: Whether there is one row even if no row is in the result.
        types: Types of the columns: the group's, then one a call.
    """

    bounds: Operator
    rows: Operator
    keys: int
    comparison: Comparison
    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    types: tuple[SqlType, ...]
    written: str

    @property
    def kind(self) -> str:
        return "groups within bounds"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.bounds, self.rows)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        what = (self.keys, self.comparison, self.groups, said_calls(self.calls), self.is_global)
        return ("threshold group", *what, said_types(self.rows.types), said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        groups = " for each group of rows with its key" if self.groups else ""
        yield (
            f"join-select-aggregate: {many(len(self.calls), 'aggregate')} over the rows that "
            f"{self.written} is true for, by sums in an ordered store of all rows with {_bounds(self.keys)}: "
            f"O(log rows) a row that changes, O(log rows){groups} a bound that moves, whatever rows it lets in or "
            "out (AJU, Theorem 15)"
        )

    @property
    def replaced_by(self) -> tuple[int, ...]:
        return tuple(range(self.groups))

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return _kept(self.rows, self.bounds)


def _watched(bounds: Operator) -> str | None:
    """The table whose watermark bounds are, and nothing else; None if they are something else."""
    tables = _tables(bounds)
    return watched_name(tables.pop()) if len(tables) == 1 else None


def _freeing(bounds: Operator) -> str | None:
    """The table that frees its rows before bounds, and nothing else; None if they are something else."""
    tables = _tables(bounds)
    return freeing_name(tables.pop()) if len(tables) == 1 else None


def _tables(plan: Operator) -> set[str]:
    """The base tables of a plan, at any depth, in lower case."""
    found, below = {name.lower() for name in plan.reads}, [*plan.below]
    while below:
        one = below.pop()
        found |= {name.lower() for name in one.reads}
        below += one.below
    return found


def _bounds(keys: int) -> str:
    return f"the bound of each key of {many(keys, 'column')}" if keys else "one bound for all"


def _kept(rows: Operator, bounds: Operator) -> tuple[tuple[Operator, str], ...]:
    ordered = "each row, in the order of what is compared (a look-up costs O(log rows))"
    return ((rows, ordered), (bounds, "each bound"))
