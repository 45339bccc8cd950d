"""Set operations and aggregates: stores in which a row, or a group, is found by one look-up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from livejoin.plan.identity import Identity, said_calls, said_types
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.query.aggregates import LISTS, AggregateCall
from livejoin.query.relational import SetKind
from livejoin.schema import SqlType
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator

_OF_VALUES = (*LISTS, "min", "max", "min_by", "max_by", "mode", "percentile_cont", "percentile_disc")


@dataclass(frozen=True, eq=False)
class SetOperator(PlanOperator):
    """A set operation of one or two inputs over a counted store of rows; ``distinct`` has one input.

    Args:
        operation: The kind of set operation.
        all: Whether copies count; UNION ALL keeps no store.
        inputs: The relations.
        types: Types of the columns.
    """

    operation: SetKind | Literal["distinct"]
    all: bool
    inputs: tuple[Operator, ...]
    types: tuple[SqlType, ...]

    @property
    def keeps_state(self) -> bool:
        return not self.is_union_all

    @property
    def is_union_all(self) -> bool:
        """Whether it passes its inputs' rows on, without a store."""
        return self.operation == "union" and self.all

    @property
    def kind(self) -> str:
        return self.operation.upper() + (" ALL" if self.all else "")

    @property
    def below(self) -> tuple[Operator, ...]:
        return self.inputs

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return (self.operation, self.all, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        if self.is_union_all:
            yield "UNION ALL: nothing is stored"
        else:
            yield f"{self.kind}: each row is stored with how often it is there, and a row that changes is looked up"

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        own = above if self.is_union_all else "each distinct row with its numbers"
        return tuple((one, own) for one in self.inputs)


@dataclass(frozen=True, eq=False)
class AggregateOperator(PlanOperator):
    """Aggregates over a store of groups: the first ``groups`` columns of the input are the group.

    ``within`` is as of a `livejoin.query.relational.Aggregate`.
    """

    input: Operator
    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    types: tuple[SqlType, ...]
    within: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "groups"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def writes_lists(self) -> bool:
        """Whether it has lists of values, as LISTAGG and COLLECT_LIST are made of: all values of a group are read."""
        return any(call.function in LISTS for call in self.calls)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("group", self.groups, said_calls(self.calls), self.is_global, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        what = many(len(self.calls), "aggregate")
        if self.groups:
            yield f"{what} of each group: groups are stored, a row that changes looks up its own (DYN, section 5.1)"
        else:
            yield f"{what} of all rows: one row is stored, which every row that changes brings up to date"
        if self.within:
            yield (
                f"of the keys alone that {' and '.join(self.within)} let pass, since what reads the groups "
                "asks for no others: over the rows of the join around them, which is kept once (WinMagic, SIGMOD "
                "2003)"
            )
        if self._keeps_values:
            yield (
                "values of groups are kept in order: O(log values) a row that changes; percentiles and numbers of "
                "distinct values are exact, also those that are written as approximate ones"
            )
        if self.writes_lists:
            yield (
                "a list is written anew where a value of it changes: O(values of the group) for each group that "
                "changes in a commit, twice with deltas, as the old list is in them too"
            )

    @property
    def _keeps_values(self) -> bool:
        return any(call.distinct or call.function in _OF_VALUES for call in self.calls)

    @property
    def replaced_by(self) -> tuple[int, ...]:
        return tuple(range(self.groups))

    @property
    def amortised_changes(self) -> UpdateBound | None:
        return self.input.amortised_changes

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        values = ", with the values of MIN, MAX, percentiles, lists and DISTINCT" if self._keeps_values else ""
        return ((self.input, f"each group{values}"),)
