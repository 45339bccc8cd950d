"""Equal atoms beside others: one relation of counts in their place, whose counts are multiplied.

Let some atoms of a join be equal but for their names, joined on the same columns X, and let nothing else of them be
asked for, as b and c in ``SELECT a.g, COUNT(*) FROM R a, S b, S c WHERE a.x = b.x AND a.x = c.x GROUP BY a.g``. With
n(v) the number of rows with X = v that pass the predicate, each result stands n(v)^k times for k such atoms. So the
rows are counted once, by X (early aggregation inside an atom: DYN, section 5.1); the join reads the counts, a row for
each v; and each product of an annotation has the count k times as a factor. A commit changes a count once, however many
of its rows come and go, and the join keeps no row of the atoms. If all atoms are equal there is no join
(`livejoin.plan.powers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from livejoin.plan.powers import BIGINT, counted_rows
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Factor, Product
from livejoin.query.aggregates import AggregateCall
from livejoin.query.relational import Aggregate, Input, Join
from livejoin.query.scalar import Expression, Field
from livejoin.schema import Column, Table, TableSettings


@dataclass(frozen=True)
class Counted:
    """An aggregation over a join of which equal atoms are counts.

    Args:
        relation: The aggregation.
        join: The join that the aggregation reads.
        factors: The further factors of each product of an annotation.
    """

    relation: Aggregate
    join: Join
    factors: tuple[Factor, ...]


def with_counts(relation: Aggregate, join: Join) -> Counted | None:
    """An aggregation over a join with counts in place of equal atoms; None if there are none.

    Args:
        relation: The aggregation.
        join: The join that the aggregation reads.
    """
    query = join.query
    sets = [] if query.branches else list(_equal_atoms(relation, query))
    if not sets or (len(sets) == 1 and len(sets[0]) == len(query.atoms)):
        return None
    merged = {position: one for one in sets for position in one}
    atoms: list[Atom] = []
    inputs = list(join.inputs)
    factors: list[Factor] = []
    place: dict[int, int] = {}  # of the atoms as they were
    columns: dict[int, list[int]] = {}  # of those that are counted, in the table of counts
    for position, atom in enumerate(query.atoms):
        equal = merged.get(position)
        if equal is None:
            place[position] = len(atoms)
            atoms.append(atom)
        elif position == equal[0]:
            keys = sorted(atom.column_of(variable) for variable in query.join_variables(position))
            counts = _counts(join, equal, keys)
            inputs.append(counts)
            power = Expression("number", Field(len(keys), BIGINT, nullable=False))
            factors += [Factor(len(atoms), power)] * len(equal)
            place |= dict.fromkeys(equal, len(atoms))
            columns |= dict.fromkeys(equal, keys)
            names = tuple(atom.variables[atom.columns.index(key)] for key in keys)
            alias = f"{atom.alias}^{len(equal)}"
            atoms.append(Atom(alias, counts.table, tuple(range(len(keys))), names))

    def moved(ref: ColumnRef) -> ColumnRef:
        column = columns[ref.atom].index(ref.column) if ref.atom in columns else ref.column
        return ColumnRef(place[ref.atom], column)

    head = tuple(map(moved, query.head))
    if len(set(head)) < len(head):
        return None
    calls = tuple(replace(call, product=_moved(call.product, place)) for call in relation.calls)
    other = replace(join, query=replace(query, atoms=tuple(atoms), head=head), inputs=tuple(inputs))
    return Counted(replace(relation, input=other, calls=calls), other, tuple(factors))


def _equal_atoms(relation: Aggregate, query: ConjunctiveQuery) -> Iterator[tuple[int, ...]]:
    """The positions of atoms that are equal but for their names and bring nothing but how often a result stands."""
    used = {factor.atom for call in relation.calls if call.product is not None for factor in call.product.factors}
    found: dict[object, list[int]] = {}
    for position, atom in enumerate(query.atoms):
        shared = query.join_variables(position)
        keys = frozenset((variable, atom.column_of(variable)) for variable in shared)
        shown = {ref.column for ref in query.head if ref.atom == position}
        if shared and position not in used and shown <= {column for _, column in keys}:
            found.setdefault((atom.table, atom.predicate, keys), []).append(position)
    return (tuple(positions) for positions in found.values() if len(positions) > 1)


def _counts(join: Join, equal: Sequence[int], keys: list[int]) -> Input:
    """The number of rows for each value of some columns of equal atoms, as a relation that the join reads."""
    query = counted_rows(join.query, equal[0], keys)
    atom = join.query.atoms[equal[0]]
    below = tuple(one for one in join.inputs if one.table.name == atom.table.name)
    types = tuple(atom.table.columns[key].type for key in keys)
    count = AggregateCall("count", None, False, BIGINT)
    relation = Aggregate(Join(query, types, below), len(keys), (count,), False)
    named = tuple(Column(atom.table.columns[key].name, type, False) for key, type in zip(keys, types, strict=True))
    taken = {column.name.lower() for column in named}
    number = next(name for i in range(len(taken) + 1) if (name := "number" + "_" * i) not in taken)
    name = f"counts of {', '.join(join.query.atoms[position].alias for position in equal)}"
    columns = (*named, Column(number, BIGINT, False))
    table = Table(name, columns, tuple(range(len(keys))), settings=TableSettings(static=atom.table.static))
    return Input(table, relation)


def _moved(product: Product | None, place: dict[int, int]) -> Product | None:
    """A product over the atoms as they stand now."""
    if product is None:
        return None
    return replace(product, factors=tuple(replace(one, atom=place[one.atom]) for one in product.factors))
