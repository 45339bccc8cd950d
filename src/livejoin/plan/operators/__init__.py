"""The operators that maintain a query: join-tree plans at the leaves, stores of rows and groups above them.

Every operator takes the changes of its inputs and gives its own, net within a version (AJU, section 5; DYN, section
5.1). Values are frozen and derived from the query and its trees alone, like `CrownPlan`. What an operator says about
itself is in `livejoin.plan.operators.operator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from livejoin.plan.operators.groups import AggregateOperator, SetOperator
from livejoin.plan.operators.inequality import (
    InequalityAggregateOperator,
    InequalityJoinOperator,
    InequalityOperator,
)
from livejoin.plan.operators.joins import (
    AnnotatedOperator,
    BagOperator,
    JoinInput,
    JoinOperator,
    Result,
    ResultKind,
    StoredOperator,
)
from livejoin.plan.operators.operator import Families
from livejoin.plan.operators.ordered import AsOfOperator, RankedOperator, RunningOperator, TopKOperator
from livejoin.plan.operators.rows import NumbersOperator, ProjectOperator, RepeatedOperator, SelectedOperator
from livejoin.plan.operators.thresholds import Comparison, ThresholdAggregateOperator, ThresholdOperator

__all__ = [
    "AggregateOperator",
    "AnnotatedOperator",
    "AnyJoin",
    "AsOfOperator",
    "BagOperator",
    "Comparison",
    "Families",
    "InequalityAggregateOperator",
    "InequalityJoinOperator",
    "InequalityOperator",
    "JoinInput",
    "JoinOperator",
    "NumbersOperator",
    "Operator",
    "ProjectOperator",
    "RankedOperator",
    "RepeatedOperator",
    "Result",
    "ResultKind",
    "RunningOperator",
    "SelectedOperator",
    "SetOperator",
    "StoredOperator",
    "ThresholdAggregateOperator",
    "ThresholdOperator",
    "TopKOperator",
    "joins_of",
    "upwards",
]

AnyJoin: TypeAlias = JoinOperator | AnnotatedOperator
"""What a program of a join family maintains and a view's other operators are computed from."""

Operator: TypeAlias = (
    JoinOperator
    | AnnotatedOperator
    | SelectedOperator
    | NumbersOperator
    | ProjectOperator
    | RepeatedOperator
    | SetOperator
    | AggregateOperator
    | TopKOperator
    | RankedOperator
    | RunningOperator
    | AsOfOperator
    | ThresholdOperator
    | ThresholdAggregateOperator
    | InequalityAggregateOperator
    | InequalityJoinOperator
    | StoredOperator
    | BagOperator
)


def joins_of(operator: Operator) -> Iterator[AnyJoin]:
    """The joins, from left to right, those in the inputs of a join before it; as often as they are read."""
    for one in operator.below:
        yield from joins_of(one)
    if isinstance(operator, AnyJoin):
        yield operator


def upwards(operator: Operator) -> Iterator[Operator]:
    """An operator and all below it, inputs first, each once."""
    found: dict[Operator, None] = {}

    def collect(one: Operator) -> None:
        for below in one.below:
            collect(below)
        found[one] = None

    collect(operator)
    yield from found
