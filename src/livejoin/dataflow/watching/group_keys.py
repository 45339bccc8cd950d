"""The columns of the rows that come to a store by which it keeps them apart: groups, partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from livejoin.dataflow.stores.store import StoreOperator
from livejoin.dataflow.watching.watch import KeyColumns
from livejoin.plan.operators import (
    AggregateOperator,
    AsOfOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)


@dataclass(frozen=True, eq=False)
class GroupKeys:
    """The columns that are the key of a row.

    Args:
        of: The columns with their names.
        columns: The positions of the columns.
        moves: Whether a row also changes rows behind it, which have the same columns.
    """

    of: KeyColumns
    columns: tuple[int, ...]
    moves: bool


def group_keys(plan: StoreOperator) -> GroupKeys | None:
    """The key of a row that comes to a store; None if the store keeps no rows apart."""
    match plan:
        case AggregateOperator():
            return _keys(plan.input, tuple(range(plan.groups)), "group", moves=False)
        case RankedOperator() | RunningOperator():
            return _keys(plan.input, plan.partition, "partition", moves=True)
        case SetOperator() | TopKOperator() | ThresholdOperator() | ThresholdAggregateOperator():
            return None
        case AsOfOperator() | InequalityAggregateOperator() | InequalityJoinOperator():
            return None
        case _:
            assert_never(plan)


def _keys(below: Operator, columns: tuple[int, ...], what: str, moves: bool) -> GroupKeys | None:
    if not columns:
        return None
    names = _names(below)
    of = KeyColumns.of(what, (names[column] for column in columns), (below.types[column] for column in columns))
    return GroupKeys(of, columns, moves)


def _names(operator: Operator) -> list[str]:
    """The names of an operator's columns, as far as it knows them."""
    if isinstance(operator, ProjectOperator):
        return [output.name for output in operator.outputs]
    if isinstance(operator, (JoinOperator, SelectedOperator)):
        return [output.name for output in operator.query.outputs]
    if isinstance(
        operator, (RankedOperator, RunningOperator, TopKOperator)
    ):  # the columns of its input, its own behind
        inside = _names(operator.input)
        return [*inside, *(f"column {place}" for place in range(len(inside) + 1, len(operator.types) + 1))]
    return [f"column {place}" for place in range(1, len(operator.types) + 1)]
