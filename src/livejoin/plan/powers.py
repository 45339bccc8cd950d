"""Counts of equal atoms as powers.

Let the atoms of a join be equal but for their names, joined all with all on the same columns X, and let nothing else of
them be asked for, as in ``SELECT COUNT(*) FROM G a, G b, G c WHERE a.x = b.x AND b.x = c.x``. With n(v) the number of
rows with X = v that pass the predicate, the join has n(v)^k results for k atoms, so that

    COUNT(*) = sum over v of n(v)^k,

for each group of columns of X. So the rows are counted once, by X (early aggregation inside an atom: DYN, section 5.1),
and what changes is a count: no join, and no row is kept. A group of all columns of X is one v, and there is nothing to
add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from livejoin.query import ConjunctiveQuery, Output
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.filters import conjunction
from livejoin.query.relational import Aggregate, Join
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar
from livejoin.schema import Column, SqlType

BOOLEAN, BIGINT = SqlType("boolean"), SqlType.integer(64)
COUNTED, POWER = SqlType.decimal(19, 0), SqlType.decimal(38, 0)
_ZERO = Constant(0, BIGINT)


@dataclass(frozen=True)
class Power:
    """The join as a power of the counts of one atom's rows.

    Args:
        query: The columns X of the rows of the one atom that pass, none of them NULL.
        groups: The places of the group's columns in X.
        aliases: The names of the atoms that are equal.
    """

    query: ConjunctiveQuery
    groups: tuple[int, ...]
    aliases: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the group is all of X."""
        return set(self.groups) == set(range(len(self.query.head)))

    @property
    def too_large(self) -> str:
        """What is said of a power that does not fit."""
        limit = "is more than BIGINT can hold" if self.is_whole else f"has more than {POWER.precision} digits"
        return (
            f"a count over the join of {', '.join(self.aliases)} {limit}; let fewer rows match, or join fewer tables "
            "in one view"
        )


def power_of(relation: Aggregate, join: Join) -> Power | None:
    """The join below an aggregation as a power of counts, if it is one.

    Args:
        relation: The aggregation.
        join: The relation below the aggregation.
    """
    query = join.query
    first = query.atoms[0]
    shared = query.join_variables(0)
    (call, *others) = relation.calls
    if others or call.function != "count" or call.argument is not None or call.distinct:
        return None
    if query.branches or len(query.atoms) == 1 or not shared:
        return None
    if not all(_is_same(query, i) for i in range(len(query.atoms))):
        return None
    places = [output.source for output in query.outputs[: relation.groups]]
    heads = [query.head[place] for place in places if isinstance(place, int)]
    if len(heads) < relation.groups or not {query.variable(ref) for ref in heads} <= shared:
        return None
    columns = sorted(first.column_of(variable) for variable in shared)
    grouped = tuple(columns.index(first.column_of(query.variable(ref))) for ref in heads)
    aliases = tuple(atom.alias for atom in query.atoms)
    return Power(counted_rows(query, 0, columns), grouped, aliases)


def _is_same(query: ConjunctiveQuery, position: int) -> bool:
    """Whether an atom reads what the first one reads, and is joined on the same columns."""
    first, atom = query.atoms[0], query.atoms[position]
    shared = query.join_variables(0)
    return (
        atom.table == first.table
        and atom.predicate == first.predicate
        and query.join_variables(position) == shared
        and all(atom.column_of(variable) == first.column_of(variable) for variable in shared)
    )


def counted_rows(query: ConjunctiveQuery, position: int, columns: list[int]) -> ConjunctiveQuery:
    """Some columns of an atom's rows that pass and have no NULL there: such a row joins nothing."""
    atom = query.atoms[position]
    declared = atom.table.columns
    there = [is_not_null(declared[column], column) for column in columns if declared[column].nullable]
    predicate = conjunction([*([] if atom.predicate is None else [atom.predicate]), *there])
    names = tuple(atom.variables[atom.columns.index(column)] for column in columns)
    one = replace(atom, columns=tuple(columns), variables=names, predicate=predicate)
    outputs = tuple(Output(declared[c].name, declared[c].type.arrow, i) for i, c in enumerate(columns))
    return ConjunctiveQuery(query.sql, (one,), tuple(ColumnRef(0, c) for c in columns), outputs)


def is_not_null(column: Column, position: int) -> Expression:
    """A condition that a column of a table has a value."""
    is_null = Call("is_null", (Field(position, column.type),), BOOLEAN)
    return Expression(f"{column.name} IS NOT NULL", Call("not", (is_null,), BOOLEAN))


def power_expression(place: int, power: Power) -> Output:
    """A count to a power, as a column: BIGINT if it is the result, else with more digits, as it is added up.

    Args:
        place: The column of the count.
        power: The power.
    """
    count: Scalar = Field(place, BIGINT, nullable=False)
    type_ = BIGINT
    if not power.is_whole:
        count, type_ = Call("cast", (count,), COUNTED), POWER
    text = " * ".join([f"c{place}"] * len(power.aliases))
    product = reduce(lambda left, right: Call("multiply", (left, right), type_, text), [count] * len(power.aliases))
    return Output("n", type_.arrow, Expression(text, product))


def or_zero(place: int) -> Output:
    """A count, 0 where it is NULL, because there is nothing to count."""
    tree = Call("coalesce", (Field(place, BIGINT), _ZERO), BIGINT)
    return Output("n", BIGINT.arrow, Expression(f"COALESCE(c{place}, 0)", tree))
