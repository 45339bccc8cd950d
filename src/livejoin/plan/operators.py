"""The operators that maintain a query: join-tree plans at the leaves, stores of rows and groups above them.

Every operator takes the changes of its inputs and gives its own, net within a version (AJU, section 5; DYN, section
5.1). Values are frozen and derived from the query and its trees alone, like `PhysicalPlan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from livejoin.families.cells.partition import Partition
from livejoin.families.derived import DerivedTable, RowProgram
from livejoin.families.program import Program
from livejoin.query import ConjunctiveQuery, Output
from livejoin.query.relational import Call, RankFunction, RunningCall, RunningFrame, SetKind, SortKey
from livejoin.query.scalar import Expression
from livejoin.schema import SqlType, Table

ResultKind = Literal["count", "sum", "avg", "var_pop", "var_samp"]
Comparison = Literal["less", "less_equal", "greater", "greater_equal"]


@dataclass(frozen=True, eq=False)
class JoinInput:
    """A derived relation that a join reads as it reads a base table.

    Args:
        table: How the join's atoms see it, see `livejoin.query.relational.Input`.
        operator: What stores it.
    """

    table: Table
    operator: Stored | Bag


@dataclass(frozen=True, eq=False)
class Scan:
    """The results of a conjunctive query; the columns are the query's outputs.

    Args:
        physical: Its plan: full with multiplicities, or distinct, or annotated with a count that is the multiplicity.
        query: The join as it was asked for. That of the plan has bags in place of the atoms inside of them.
        types: Types of the outputs.
        asked: The variables that are asked for; the plan's output may have more, to be free-connex. None: all.
        partition: How the join is split into cells; None keeps it in one piece.
        inputs: The derived relations among its tables, bags included.
    """

    physical: Program
    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    asked: frozenset[str] | None = None
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()


@dataclass(frozen=True, eq=False)
class Selected:
    """The rows of one relation that a predicate is true for, and what is computed from them, for a store above.

    Args:
        query: What is computed, as a conjunctive query of one atom under bag semantics; the columns are its outputs.
        types: Types of the outputs.
        inputs: What maintains the relation, if it is a derived one; empty for a base table.
        aliases: The atoms of the join that it stands for, if these are several (`livejoin.plan.powers`).
    """

    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    inputs: tuple[Operator, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The relation's name."""
        return self.query.atoms[0].table.name


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
        query: As of a `Scan`.
        types: Types of the columns: the head's, which is the group, then one a result.
        results: The aggregates.
        is_global: Whether there is one row even if the join is empty.
        partition: As of a `Scan`.
        inputs: As of a `Scan`.
    """

    physical: Program
    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    results: tuple[Result, ...]
    is_global: bool
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()

    @property
    def asked(self) -> frozenset[str] | None:
        """The variables of the group, which are the plan's output."""
        return self.physical.query.free


@dataclass(frozen=True, eq=False)
class Numbers:
    """The whole numbers from 0 on, ``count`` of them; they never change."""

    count: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (SqlType.integer(64),)


@dataclass(frozen=True, eq=False)
class Compute:
    """Expressions over rows, for those that a predicate is true for; no state.

    Args:
        input: The relation.
        outputs: The columns.
        types: Their types.
        predicate: The condition, or None.
        too_large: What an error says where an output has no value, as it does not fit; empty where users wrote it.
        across, refusal, written: As of a `livejoin.query.relational.Project`.
        reason: Why rows that ``across`` compares with groups are those of a join with these and not of a `Threshold`.
    """

    input: Operator
    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    predicate: Expression | None
    too_large: str = ""
    across: str = ""
    refusal: str = ""
    reason: str = ""
    written: str = ""


@dataclass(frozen=True, eq=False)
class Combine:
    """A set operation of one or two inputs over a counted store of rows; ``distinct`` has one input."""

    kind: SetKind | Literal["distinct"]
    all: bool
    inputs: tuple[Operator, ...]
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Aggregates over a store of groups: the first ``groups`` columns of the input are the group.

    ``within`` is as of a `livejoin.query.relational.Aggregate`.
    """

    input: Operator
    groups: int
    calls: tuple[Call, ...]
    is_global: bool
    types: tuple[SqlType, ...]
    within: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class First:
    """The first rows in an order, over an ordered store of rows."""

    input: Operator
    keys: tuple[SortKey, ...]
    limit: int
    offset: int
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class FirstOfEach:
    """The rows of each partition in an order, with their ranks up to a limit behind their columns: an ordered store."""

    input: Operator
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    function: RankFunction
    limit: int
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class RunningOver:
    """The rows of each partition in an order, with aggregates of the rows up to each or around it: an ordered store."""

    input: Operator
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    frame: RunningFrame
    calls: tuple[RunningCall, ...]
    types: tuple[SqlType, ...]


@dataclass(frozen=True, eq=False)
class Threshold:
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


@dataclass(frozen=True, eq=False)
class ThresholdGroup:
    """Aggregates over the rows that compare with the bound of their key (join-select-aggregate: AJU, Theorem 15).

    Args:
        bounds, keys, comparison, written: As of a `Threshold`.
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
    calls: tuple[Call, ...]
    is_global: bool
    types: tuple[SqlType, ...]
    written: str


@dataclass(frozen=True, eq=False)
class Stored:
    """A relation whose rows are kept with stable ids, so that joins can read it; O(rows) state.

    Args:
        input: The relation.
        name: What messages call it.
    """

    input: Operator
    name: str

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.input.types


@dataclass(frozen=True, eq=False)
class Bag:
    """A join inside a join, whose rows are kept with stable ids as those of a `Stored` relation.

    Args:
        derived: What it is.
        program: What maintains it.
        partition: How it is split into cells; None keeps it in one piece.
        inputs: The derived relations among its tables.
    """

    derived: DerivedTable
    program: RowProgram
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return tuple(column.type for column in self.derived.table.columns)


Operator: TypeAlias = (
    Scan
    | Annotated
    | Selected
    | Numbers
    | Compute
    | Combine
    | Group
    | First
    | FirstOfEach
    | RunningOver
    | Threshold
    | ThresholdGroup
    | Stored
    | Bag
)


def inputs_of(operator: Operator) -> tuple[Operator, ...]:
    """The operators that one reads, from left to right."""
    match operator:
        case Scan() | Annotated() | Bag():
            return tuple(one.operator for one in operator.inputs)
        case Combine() | Selected():
            return operator.inputs
        case Threshold() | ThresholdGroup():
            return (operator.bounds, operator.rows)
        case Numbers():
            return ()
        case _:
            return (operator.input,)


def leaves(operator: Operator) -> Iterator[Scan | Annotated]:
    """The joins, from left to right, those in the inputs of a join before it."""
    for one in inputs_of(operator):
        yield from leaves(one)
    if isinstance(operator, (Scan, Annotated)):
        yield operator
