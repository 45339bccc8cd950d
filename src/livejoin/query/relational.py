"""Queries as relational operators over conjunctive queries.

A relation is a multiset of rows. The law of every operator is SQL's; NULLs group together and sort as the keys say.
Columns are named by position; an expression over the columns of a relation calls them ``c0``, ``c1``, ... .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa

from livejoin.query.conjunctive import ConjunctiveQuery, Output, Product
from livejoin.query.scalar import Expression
from livejoin.schema import SqlType, Table

Function = Literal[
    "count",
    "sum",
    "avg",
    "var_pop",
    "var_samp",
    "covar_pop",
    "covar_samp",
    "moment_3",
    "moment_4",
    "min",
    "max",
    "min_by",
    "max_by",
    "percentile_cont",
    "percentile_disc",
    "mode",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "array_agg",
    "list_by",
]
LISTS: tuple[Function, ...] = ("array_agg", "list_by")
"""The functions whose results are lists."""
SetKind = Literal["union", "except", "intersect"]


@dataclass(frozen=True)
class Input:
    """A derived relation that a join reads as it reads a base table.

    Args:
        table: How the join's atoms see it: its name there, which no base table and no other input of the join has, its
            columns with the types of the relation's, and as primary key the columns of one of its keys, if it has one.
            What it promises is what the relation does (`livejoin.query.promises`).
        relation: The relation.
    """

    table: Table
    relation: Relation


@dataclass(frozen=True)
class Join:
    """The rows of a conjunctive query under bag semantics; its columns are the query's outputs.

    Args:
        query: The query.
        types: The types of its outputs.
        inputs: The derived relations among its atoms' tables; an atom reads the input whose name its table has.
    """

    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    inputs: tuple[Input, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.query.schema


@dataclass(frozen=True)
class Project:
    """Expressions over the columns of a relation, for the rows that a predicate is true for.

    Args:
        input: The relation.
        outputs: The columns; each copies one (its position) or is an expression over ``c0``, ``c1``, ... .
        types: Their types.
        predicate: A BOOLEAN over ``c0``, ``c1``, ..., or None.
        across: Where the predicate holds the conditions across tables that a join below cannot decide: these as they
            are written, for messages. Empty elsewhere.
        refusal: What an error says where an output has no value, which is how a query forbids rows; empty elsewhere.
        written: The predicate as users wrote it, for messages.
    """

    input: Relation
    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    predicate: Expression | None = None
    across: str = field(default="", compare=False)
    refusal: str = field(default="", compare=False)
    written: str = field(default="", compare=False)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return pa.schema([pa.field(o.name, o.type) for o in self.outputs])


@dataclass(frozen=True)
class Distinct:
    """Each row of a relation once."""

    input: Relation

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.input.types

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.input.schema


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function over the rows of a group.

    Args:
        function: Its name; STDDEV is the root of a VARIANCE in a projection above, COUNT(*) has no argument. MOMENT_3
            and MOMENT_4 are central moments. LIST_BY is the list of the arguments in the order of others. Of several
            MODEs it is the least one. Where several rows have the least value, MIN_BY takes the least argument of
            them, NULL first; where several have the greatest, MAX_BY takes the greatest argument.
        argument: Position of the argument in the input's columns, None for COUNT(*). Rows in which it is NULL do not
            count (ARRAY_AGG keeps them). A FILTER clause is a CASE in the argument.
        distinct: Whether equal values of a group count once.
        type: The type of the result.
        other: Position of a second argument: what MIN_BY, MAX_BY and LIST_BY order by, NULL first; the other one of
            COVAR_POP and COVAR_SAMP, which is NULL where the first is.
        fraction: Which percentile, from 0 to 1.
        descending: Whether a percentile is one of the values in descending order; of a MODE, whether of several it is
            the greatest one.
        product: The argument as a product of one factor an atom of the `Join` below, if it is one and the types of the
            factors allow it: then the sum of the argument is a sum of products. Its value is the argument's, unscaled.
    """

    function: Function
    argument: int | None
    distinct: bool
    type: SqlType
    product: Product | None = None
    other: int | None = None
    fraction: float = 0.0
    descending: bool = False


@dataclass(frozen=True)
class Aggregate:
    """One row for each group: the group's columns, then the results of the calls.

    Args:
        input: The relation; its first columns are the group's, the others are arguments.
        groups: Number of the group's columns; 0 with ``is_global`` gives one row even over no rows.
        calls: The aggregates.
        is_global: Whether there is no GROUP BY.
        within: The occurrences of tables that say which groups are kept, where a join around them asks for no others
            (`livejoin.plan.restricted_groups`); empty where all are.
    """

    input: Relation
    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    within: tuple[str, ...] = field(default=(), compare=False)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types[: self.groups], *(call.type for call in self.calls))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        fields = [self.input.schema.field(i) for i in range(self.groups)]
        fields += [pa.field(f"a{i}", _arrow(call)) for i, call in enumerate(self.calls)]
        return pa.schema(fields)


@dataclass(frozen=True)
class SetOperation:
    """UNION, EXCEPT or INTERSECT of two relations with equal types; columns are named as on the left."""

    kind: SetKind
    all: bool
    left: Relation
    right: Relation

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.left.types

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.left.schema


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    column: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TopK:
    """The first rows in an order; rows with equal keys are ordered by all columns, so that the result is determined.

    Args:
        input: The relation.
        keys: The order, at least one key.
        limit: Largest number of rows.
        offset: Rows skipped before.
    """

    input: Relation
    keys: tuple[SortKey, ...]
    limit: int
    offset: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.input.types

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.input.schema


EVERY_ROW = 1 << 60
"""The limit of an order that leaves out the first rows alone."""

RankFunction = Literal["row_number", "rank", "dense_rank"]
EVERY_RANK = (1 << 31) - 1
"""The bound of a rank that keeps all rows."""


@dataclass(frozen=True)
class Ranked:
    """The rows of each partition in an order, all or the first ones, each with its rank, an INT, behind its columns.

    Rows with equal keys are ordered by all columns, so that the ROW_NUMBER of each is determined; RANK counts the rows
    with keys before, DENSE_RANK the keys. NULLs are one partition.

    Args:
        input: The relation.
        partition: The columns that are equal in a partition.
        keys: The order within one.
        function: Which rank it is, counted from 1.
        limit: The greatest rank that is kept; EVERY_RANK where nothing bounds it.
        follows: Whether it is a rank of what the rank below it keeps, the same also if that keeps fewer rows: it has
            the partitions and the order of that, or numbers the copies of equal rows.
    """

    input: Relation
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    function: RankFunction
    limit: int
    follows: bool = False

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, SqlType.integer(32))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        name = f"rank_{len(self.input.types)}" if "rank" in self.input.schema.names else "rank"
        return self.input.schema.append(pa.field(name, pa.int32()))


RunningFunction = Literal[
    "count",
    "sum",
    "avg",
    "var_pop",
    "var_samp",
    "stddev_pop",
    "stddev_samp",
    "min",
    "max",
    "first",
    "last",
    "first_peer",
    "first_known",
    "last_known",
    "lag",
]


@dataclass(frozen=True)
class RowsAround:
    """A frame of so many rows before each row to so many behind it; below 0 it begins behind it, or ends before it."""

    before: int
    behind: int


@dataclass(frozen=True)
class RowsUpTo:
    """A frame from the first row of a partition to so many behind each row; below 0 it ends before the row."""

    behind: int


RunningFrame: TypeAlias = Literal["rows", "range"] | RowsAround | RowsUpTo
"""The rows up to each, or up to the last one with its keys, or some around it, or up to some behind or before it."""


@dataclass(frozen=True)
class RunningCall:
    """A function over the rows of a partition up to each of them.

    Args:
        function: Its name; FIRST is the value of the first row, FIRST_PEER that of the first row with the row's keys,
            FIRST_KNOWN that of the first row that has one, LAG that of a row before.
        argument: Position of the argument in the input's columns, None for COUNT(*).
        type: The type of the result.
        back: How many rows before, of LAG.
    """

    function: RunningFunction
    argument: int | None
    type: SqlType
    back: int = 0


@dataclass(frozen=True)
class Running:
    """Each row with aggregates over a part of its partition, in an order, behind its columns.

    Rows with equal keys are ordered by all columns. NULLs are one partition.

    Args:
        input: The relation, in which no row stands twice.
        partition: The columns that are equal in a partition.
        keys: The order within one.
        frame: Which rows the aggregates of a row are over.
        calls: The aggregates.
    """

    input: Relation
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    frame: RunningFrame
    calls: tuple[RunningCall, ...]

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, *(call.type for call in self.calls))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        names = [*self.input.schema.names]
        fields = []
        for call in self.calls:
            fields.append(pa.field(_fresh(f"{call.function}_{len(names)}", names), call.type.arrow))
            names.append(fields[-1].name)
        return pa.schema([*self.input.schema, *fields])


def _fresh(name: str, taken: Sequence[str]) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class Numbers:
    """The whole numbers from 0 on, ``count`` of them: what constant rows are computed from."""

    count: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (SqlType.integer(64),)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return pa.schema([pa.field("number", pa.int64())])


Relation: TypeAlias = Join | Project | Distinct | Aggregate | SetOperation | TopK | Ranked | Running | Numbers


@dataclass(frozen=True)
class Query:
    """A bound query.

    Args:
        sql: Its text.
        root: The relation that it gives.
        reads: The views that the text names, each once, in lower case; not those that only these read.
        order: What the rows are sorted by as they are read; nothing keeps them in this order.
        order_below: Whether the order is over the columns of the relation that ``root`` is a projection of, as it is by
            a column that the result does not show.
        numbered: The columns that got a number behind their names, because the SELECT list gives a name to several:
            what they are called there, and here.
    """

    sql: str
    root: Relation
    reads: tuple[str, ...] = ()
    order: tuple[SortKey, ...] = ()
    order_below: bool = False
    numbered: tuple[tuple[str, str], ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self.root.schema

    @property
    def read(self) -> Relation:
        """What is read: the result, or the relation below it, whose first columns are the result's."""
        return self.root.input if self.order_below and isinstance(self.root, Project) else self.root

    @property
    def joins(self) -> tuple[ConjunctiveQuery, ...]:
        """The conjunctive queries, from left to right, those in a join's inputs before it."""
        return tuple(join.query for join in self._joins())

    @property
    def tables(self) -> tuple[Table, ...]:
        """The base tables, each once, at any depth."""
        found: dict[str, Table] = {}
        for join in self._joins():
            derived = {one.table.name for one in join.inputs}
            found |= {atom.table.name: atom.table for atom in join.query.atoms if atom.table.name not in derived}
        return tuple(found.values())

    def used_columns(self) -> dict[str, set[int]]:
        """For each base table the positions of the columns that the query uses, in predicates too."""
        used: dict[str, set[int]] = {table.name: set() for table in self.tables}
        for join in self._joins():
            derived = {one.table.name for one in join.inputs}
            for number, atom in enumerate(join.query.atoms):
                if atom.table.name in derived:
                    continue
                found = used[atom.table.name]
                found.update(atom.columns, (ref.column for ref in join.query.head if ref.atom == number))
                if atom.predicate is not None:
                    found.update(_read(atom.predicate, atom.table))
        return used

    def _joins(self) -> list[Join]:
        def collect(relation: Relation) -> list[Join]:
            match relation:
                case Join():
                    return [*(join for one in relation.inputs for join in collect(one.relation)), relation]
                case SetOperation():
                    return [*collect(relation.left), *collect(relation.right)]
                case Numbers():
                    return []
                case _:
                    return collect(relation.input)

        return collect(self.root)


def _read(expression: Expression, table: Table) -> set[int]:
    """The columns of a table that an expression may read: those that its text names if it has no tree."""
    if expression.steps:
        return set[int]().union(*(_read(step, table) for step in expression.steps))
    if expression.scalar is not None:
        return {field.position for field in expression.fields()}
    text = expression.text.lower()
    names = ['"{}"'.format(column.name.lower().replace('"', '""')) for column in table.columns]
    return {position for position, name in enumerate(names) if name in text}


def _arrow(call: AggregateCall) -> pa.DataType:
    return pa.list_(call.type.arrow) if call.function in LISTS else call.type.arrow


def ignores_copies(call: AggregateCall) -> bool:
    """Whether the result of an aggregate is the same however often a row stands in its group."""
    return call.distinct or call.function in _OF_SETS


_OF_SETS = ("min", "max", "min_by", "max_by", "bool_and", "bool_or", "bit_and", "bit_or")
