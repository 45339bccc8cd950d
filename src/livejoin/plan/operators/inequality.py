"""Aggregates of a join by one comparison, or by two bounds, that need none of its rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.plan.identity import Identity, said_calls, said_types
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.plan.operators.rows import ProjectOperator, SelectedOperator
from livejoin.query.aggregates import AggregateCall
from livejoin.query.inequality_sides import Side, SideColumn
from livejoin.schema import SqlType
from livejoin.search.algorithm import Algorithm

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator


@dataclass(frozen=True, eq=False)
class InequalityOperator(PlanOperator):
    """The pairs of rows that have one key and compare as a condition says, of two ordered stores.

    Args:
        left, right: The two sides: the key's columns, then the bounds of left rows or the point of right ones, then the
            other columns that are read.
        keys: How many columns are the key.
        low, high: How points compare with the lower bound, ``greater`` or ``greater_equal``, and with the upper one,
            ``less`` or ``less_equal``; empty where there is none. The upper bound stands before the lower one.
        goes_together: Whether left rows in the order of one bound are in that of the other one.
        sides: How the rows of each side are grouped.
        columns: Where each column is that is read.
        types: Types of the columns of the result.
        written: The condition as users wrote it.
    """

    left: Operator
    right: Operator
    keys: int
    low: str
    high: str
    goes_together: bool
    sides: tuple[Side, Side]
    columns: tuple[SideColumn, ...]
    types: tuple[SqlType, ...]
    written: str

    @property
    def bounds(self) -> int:
        """How many bounds left rows have."""
        return bool(self.low) + bool(self.high)

    @property
    def skips(self) -> bool:
        """Whether left rows that end behind a point are passed over where they begin behind it too."""
        return self.bounds == 2 and not self.goes_together and self.sides[0].by_row

    @property
    @abstractmethod
    def inputs(self) -> tuple[SqlType, ...]:
        """The types of the columns that sums are kept of."""

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    @property
    def meets(self) -> str:
        """Which pairs of rows meet, for explanations."""
        key = f"one key of {many(self.keys, 'column')} and " if self.keys else ""
        return f"the pairs of rows with {key}{self.written}"


@dataclass(frozen=True, eq=False)
class InequalityAggregateOperator(InequalityOperator):
    """Aggregates of the pairs of rows that have one key and compare as a condition says, by sums in two ordered stores.

    Args:
        groups: How many of the columns, the first ones, are the group.
        calls: The aggregates, whose arguments are among the columns; the result is the group, then one column a call.
        is_global: Whether there is one row even if no pair is there.
    """

    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool

    @property
    def inputs(self) -> tuple[SqlType, ...]:
        of = self.left.types, self.right.types
        return tuple(of[one.side][one.column] for one in self.columns)

    @property
    def kind(self) -> str:
        return "groups of an inequality join"

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        sides = tuple((one.groups, one.by_row) for one in self.sides)
        columns = tuple((one.side, one.column) for one in self.columns)
        skips = ("skips",) if self.skips else ()
        what = (
            self.keys,
            self.low,
            self.high,
            *skips,
            sides,
            columns,
            self.groups,
            said_calls(self.calls),
            self.is_global,
        )
        of = said_types(self.left.types), said_types(self.right.types)
        return ("inequality group", *what, *of, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        what = "1 aggregate" if len(self.calls) == 1 else f"{len(self.calls)} aggregates"
        if not self.calls:
            what = "the groups"
        left, right = map(_called, self.below)
        yield (
            f"inequality join: {what} of {self.meets}, by sums in ordered stores of both "
            f"sides; no pair is made. A row of {left} that changes costs O(log rows){self._each(1)}, a row of {right} "
            f"O(log rows){self._each(0)}"
        )

    def _each(self, other: int) -> str:
        """What a change costs on the other side beside a look-up."""
        name = _called(self.below[other])
        if self.sides[other].by_row:
            passed = " or passes over" if other == 0 and self.skips else ""
            return f" and O(1) for each row of {name} that it meets{passed}, which may be a group"
        return f" for each group of rows of {name} with its key" if self.sides[other].groups else ""

    @property
    def replaced_by(self) -> tuple[int, ...]:
        return tuple(range(self.groups))

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        ordered = "each row with sums, in the order of what is compared (a look-up costs O(log rows))"
        twice = " twice," if self.bounds == 2 and not self.sides[0].by_row else ""
        return ((self.left, ordered.replace(" with", twice + " with") if twice else ordered), (self.right, ordered))


@dataclass(frozen=True, eq=False)
class InequalityJoinOperator(InequalityOperator):
    """The pairs of rows that have one key and compare as a condition says, by two ordered stores."""

    @property
    def inputs(self) -> tuple[SqlType, ...]:
        return ()

    @property
    def kind(self) -> str:
        return "inequality join"

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        columns = tuple((one.side, one.column) for one in self.columns)
        groups = tuple(one.groups for one in self.sides)
        of = said_types(self.left.types), said_types(self.right.types)
        return (
            "inequality join",
            self.keys,
            self.low,
            self.high,
            self.skips,
            groups,
            columns,
            *of,
            said_types(self.types),
        )

    def lines(self, families: Families) -> Iterator[str]:
        yield (
            f"inequality join: {self.meets}, over ordered stores of both sides: O(log "
            f"rows) a row that changes, and O(1) for each row that it meets; {self._passed()}"
        )

    def _passed(self) -> str:
        """Which other pairs are looked at."""
        if not self.skips:
            return "no other pair is looked at"
        left, right = map(_called, self.below)
        return (
            f"a row of {right} also passes over rows of {left} with its key that begin behind it, as the bounds are "
            "two columns"
        )

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        ordered = "each row, in the order of what is compared (a look-up costs O(log rows))"
        return ((self.left, ordered), (self.right, ordered))


def _called(plan: Operator) -> str:
    """What a side is called in the query."""
    while isinstance(plan, ProjectOperator):
        plan = plan.input
    return plan.query.atoms[0].alias if isinstance(plan, SelectedOperator) else "the nested query"
