"""The operators that maintain a query: join-tree plans at the leaves, stores of rows and groups above them.

Every operator takes the changes of its inputs and gives its own, net within a version (AJU, section 5; DYN, section
5.1). Values are frozen and derived from the query and its trees alone, like `PhysicalPlan`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from livejoin.families.cells.partition import Partition
from livejoin.families.join_plan import JoinPlan
from livejoin.query import Output
from livejoin.query.condition import Condition
from livejoin.query.relational import Call, SetKind, SortKey
from livejoin.schema import SqlType

ResultKind = Literal["count", "sum", "avg", "var_pop", "var_samp"]


@dataclass(frozen=True, eq=False)
class Scan:
    """The results of a conjunctive query; the columns are the query's outputs.

    Args:
        physical: Its plan: full with multiplicities, or distinct, or annotated with a count that is the multiplicity.
        types: Types of the outputs.
        asked: The variables that are asked for; the plan's output may have more, to be free-connex. None: all.
        partition: How the join is split into cells; None keeps it in one piece.
    """

    physical: JoinPlan
    types: tuple[SqlType, ...]
    asked: frozenset[str] | None = None
    partition: Partition | None = None


@dataclass(frozen=True)
class Result:
    """An aggregate read off an annotation.

    Args:
        kind: The function.
        sums: Positions of the components that it is computed from: of a count the count; of the others the number of
            arguments that are not NULL, their sum and, for variances, the sum of their squares.
        type: Its type.
        scale: Digits behind the point of the sum; twice as many in the sum of squares.
    """

    kind: ResultKind
    sums: tuple[int, ...]
    type: SqlType
    scale: int = 0


@dataclass(frozen=True, eq=False)
class Annotated:
    """Groups with aggregates that are sums of products (CROWN, section 7.3): no state but the join tree's.

    Args:
        physical: The plan of the groups, annotated.
        types: Types of the columns: the head's, which is the group, then one a result.
        results: The aggregates.
        is_global: Whether there is one row even if the join is empty.
        partition: As of a `Scan`.
    """

    physical: JoinPlan
    types: tuple[SqlType, ...]
    results: tuple[Result, ...]
    is_global: bool
    partition: Partition | None = None

    @property
    def asked(self) -> frozenset[str] | None:
        """The variables of the group, which are the plan's output."""
        return self.physical.query.free


@dataclass(frozen=True, eq=False)
class Compute:
    """Expressions over rows, for those that a predicate is true for; no state."""

    input: Operator
    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    predicate: str | None
    condition: Condition | None


@dataclass(frozen=True, eq=False)
class Combine:
    """A set operation of one or two inputs over a counted store of rows; ``distinct`` has one input."""

    kind: SetKind | Literal["distinct"]
    all: bool
    inputs: tuple[Operator, ...]
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Aggregates over a store of groups: the first ``groups`` columns of the input are the group."""

    input: Operator
    groups: int
    calls: tuple[Call, ...]
    is_global: bool
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class First:
    """The first rows in an order, over an ordered store of rows."""

    input: Operator
    keys: tuple[SortKey, ...]
    limit: int
    offset: int
    types: tuple[SqlType, ...]


Operator: TypeAlias = Scan | Annotated | Compute | Combine | Group | First


def leaves(operator: Operator) -> Iterator[Scan | Annotated]:
    """The leaves, from left to right."""
    match operator:
        case Scan() | Annotated():
            yield operator
        case Combine():
            for one in operator.inputs:
                yield from leaves(one)
        case _:
            yield from leaves(operator.input)


def with_leaves(operator: Operator, change: Callable[[Scan | Annotated], Scan | Annotated]) -> Operator:
    """The same operators over changed leaves."""
    match operator:
        case Scan() | Annotated():
            return change(operator)
        case Combine():
            return replace(operator, inputs=tuple(with_leaves(one, change) for one in operator.inputs))
        case _:
            return replace(operator, input=with_leaves(operator.input, change))


def has_store(operator: Operator) -> bool:
    """Whether an operator keeps state above its leaves, which then must give deltas."""
    match operator:
        case Scan() | Annotated():
            return False
        case Compute():
            return has_store(operator.input)
        case Combine():
            return operator.kind != "union" or not operator.all or any(has_store(one) for one in operator.inputs)
        case _:
            return True


def digest(operator: Operator) -> str:
    """A fingerprint: states of operators with equal digests are interchangeable."""
    parts = [leaf.physical.digest for leaf in leaves(operator)]
    return hashlib.sha256("\n".join([_line(operator), *parts]).encode()).hexdigest()[:16]


def _line(operator: Operator) -> str:
    """What an operator keeps, on one line."""
    match operator:
        case Scan():
            return f"scan{operator.types}{_cells(operator)}"
        case Annotated():
            return f"annotated{operator.results}{operator.types}{operator.is_global}{_cells(operator)}"
        case Compute():
            return f"compute{operator.outputs}{operator.predicate}({_line(operator.input)})"
        case Combine():
            return f"{operator.kind}{operator.all}({', '.join(map(_line, operator.inputs))})"
        case Group():
            return f"group{operator.groups}{operator.calls}{operator.is_global}({_line(operator.input)})"
        case First():
            return f"first{operator.keys}{operator.limit}{operator.offset}({_line(operator.input)})"


def _cells(leaf: Scan | Annotated) -> str:
    return "" if leaf.partition is None else f"{leaf.partition}"
