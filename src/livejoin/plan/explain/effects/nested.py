"""What is known of the relation of a nested query that a join reads, and of the base table that its columns are from.

A row of it that changes has values that rows of this table have, so that what it meets by them is counted as if it were
such a row; and no more of its rows have some values than can be made of the rows of the table that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AsOfOperator,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    TopKOperator,
)
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Call, Expression, Field, fields_of
from livejoin.schema import Table

Some = frozenset[int] | None
"""Positions of columns of which different values are counted; None if rows are."""


@dataclass(frozen=True)
class Origin:
    """The columns of a base table that some columns of a relation are.

    Args:
        query: The join that reads the table.
        atom: Position of the table in it.
        columns: The columns of the table, in the order of those of the relation.
        is_each: Whether each result of the join is a row of the relation.
        nulls: Whether NULL is as any other value in them.
    """

    query: ConjunctiveQuery
    atom: int
    columns: tuple[int, ...]
    is_each: bool = True
    nulls: bool = False

    @property
    def table(self) -> Table:
        """The table."""
        return self.query.atoms[self.atom].table


@dataclass(frozen=True)
class Nested:
    """The relation of a nested query.

    Args:
        limit: The most rows that it can have, whatever the tables hold.
        rows: The most rows that it has with the rows that the tables have now.
        origin: For some of its columns the base columns that they are, and how many rows of it each row of these is
            in; None where they are no such.
        is_key: Whether it has at most one row with the same values in some of its columns.
    """

    limit: float
    rows: float
    origin: Callable[[tuple[int, ...]], tuple[Origin, Amount] | None]
    is_key: Callable[[tuple[int, ...]], bool]


def origin_of(plan: Operator, columns: tuple[int, ...]) -> Origin | None:
    """The join of base tables, its atom and the columns of this that some columns are; None where they are no such."""
    match plan:
        case StoredOperator() | TopKOperator() | RankedOperator() | RunningOperator():
            is_each = not isinstance(plan, TopKOperator) and not (isinstance(plan, RankedOperator) and plan.is_limited)
            is_there = all(column < len(plan.input.types) for column in columns)
            return _fewer(origin_of(plan.input, columns), is_each) if is_there else None
        case ProjectOperator():
            places, nulls = _below(plan, columns)
            found = origin_of(plan.input, places) if len(places) == len(columns) else None
            found = _fewer(found, plan.predicate is None)
            return found if found is None or not nulls else replace(found, nulls=True)
        case AggregateOperator():
            is_there = all(column < plan.groups for column in columns)
            return _fewer(origin_of(plan.input, columns), False) if is_there else None
        case AsOfOperator():
            is_left = all(column < len(plan.left.types) for column in columns)
            return _fewer(origin_of(plan.left, columns), False) if is_left else None
        case SetOperator(operation="distinct"):
            return _fewer(origin_of(plan.inputs[0], columns), False)
        case AnnotatedOperator() | SelectedOperator() | JoinOperator():
            return _of_join(plan, columns)
        case _:
            return None


def _of_join(plan: AnnotatedOperator | SelectedOperator | JoinOperator, columns: tuple[int, ...]) -> Origin | None:
    query = plan.query
    places: list[int] = []
    for column in columns:
        source = column if isinstance(plan, AnnotatedOperator) else query.outputs[column].source
        if not isinstance(source, int) or source >= len(query.head):
            return None
        places.append(source)
    atoms = {query.head[place].atom for place in places} or ({0} if len(query.atoms) == 1 else set())
    if len(atoms) != 1:
        return None
    (atom,) = atoms
    own = tuple(query.head[place].column for place in places)
    derived: Mapping[str, Operator] = dict(plan.named)
    if any(one.table.name in derived for one in query.atoms):
        if len(query.atoms) > 1:
            return None
        is_each = query.free is None and query.atoms[0].predicate is None
        return _fewer(origin_of(derived[query.atoms[0].table.name], own), is_each)
    return Origin(query, atom, own, query.free is None and not any(one.predicate for one in query.atoms))


def _fewer(found: Origin | None, is_each: bool) -> Origin | None:
    if found is None or is_each:
        return found
    return replace(found, is_each=False)


def _below(plan: ProjectOperator, columns: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The columns below that some columns are, and whether NULLs are equal in them; fewer where one is no such.

    ``k IS NULL`` and ``COALESCE(k, 0)`` together have the values of k.
    """
    sources = [plan.outputs[column].source for column in columns]
    halves = {(half.function, half.arguments[0]) for half in map(_half, sources) if half is not None}
    places, nulls = [], False
    for source in sources:
        half = _half(source)
        if isinstance(source, int):
            places.append(source)
        elif half is not None and halves >= {(one, half.arguments[0]) for one in _HALVES}:
            (field,) = fields_of(half.arguments[0])
            places.append(field.position)
            nulls = True
    return tuple(places), nulls


_HALVES = ("is_null", "coalesce")


def _half(source: int | Expression) -> Call | None:
    """The expression if it is one half of a column with NULLs."""
    scalar = None if isinstance(source, int) else source.scalar
    if not isinstance(scalar, Call) or scalar.function not in _HALVES or not isinstance(scalar.arguments[0], Field):
        return None
    return scalar


def is_key(plan: Operator, columns: tuple[int, ...]) -> bool:
    """Whether a relation has at most one row with the same values in some columns."""
    match plan:
        case StoredOperator():
            return is_key(plan.input, columns)
        case ProjectOperator():
            return is_key(plan.input, _below(plan, columns)[0])
        case AggregateOperator():
            return set(columns) >= set(range(plan.groups))
        case SetOperator(operation="distinct"):
            return set(columns) >= set(range(len(plan.types)))
        case RankedOperator(function="row_number", limit=1):
            return set(columns) >= set(plan.partition)
        case _:
            return False


def keeps(plan: Operator, columns: frozenset[int]) -> bool:
    """Whether a row that takes another one's place has the same values in some columns."""
    match plan:
        case StoredOperator():
            return keeps(plan.input, columns)
        case AggregateOperator():
            return all(column < plan.groups for column in columns)
        case AnnotatedOperator():
            return all(column < len(plan.query.head) for column in columns)
        case ProjectOperator():
            places = read_by([plan.outputs[column].source for column in columns])
            return places is not None and keeps(plan.input, places)
        case SelectedOperator() if not plan.inputs:
            return True  # no row of a table takes another one's place
        case SelectedOperator():
            outputs = read_by([plan.query.outputs[column].source for column in columns])
            return outputs is not None and keeps(
                plan.inputs[0], frozenset(plan.query.head[place].column for place in outputs)
            )
        case RankedOperator() if plan.is_limited:
            return columns <= frozenset(plan.partition)
        case AsOfOperator():
            return max(columns, default=-1) < len(plan.left.types) and keeps(plan.left, columns)
        case RankedOperator() | RunningOperator():
            return max(columns, default=-1) < len(plan.input.types) and keeps(plan.input, columns)
        case _:
            return False


def read_by(sources: list[int | Expression]) -> Some:
    """The positions that some columns are made of; None where that cannot be told."""
    places: set[int] = set()
    for source in sources:
        if isinstance(source, int):
            places.add(source)
        elif source.scalar is None:
            return None
        else:
            places |= {field.position for field in source.fields()}
    return frozenset(places)
