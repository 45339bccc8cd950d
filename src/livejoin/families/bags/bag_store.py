"""The relations of a bag and the stores of their tuples.

Atoms over one table with the same columns and the same conditions share a store, so that a self-join keeps its tuples
once; in a cell of a split join only those to which the same rows come. A store has *nodes*, one a set of its columns,
and *edges* from a node to one with more columns; what they are at run time is in `livejoin.kernels.bag.layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression

Columns = frozenset[int]  # positions in a store's tuples


@dataclass(frozen=True)
class BagRelation:
    """An atom inside a bag.

    Args:
        atom: Position of the atom in the query.
        variables: The atom's variables that the bag has.
        factors: Expressions over the table's columns whose values are attributes too.
        support: Whether the atom's distinct rows only filter the bag.
        split: The position of the table's column by which rows are split into cells; None if they are in all cells.
    """

    atom: int
    variables: tuple[str, ...]
    factors: tuple[Expression, ...] = ()
    support: bool = False
    split: int | None = None


@dataclass(frozen=True)
class Edge:
    """An edge between two nodes of a store: offsets of LEN in its source entries and of POS in its target entries."""

    source: Columns
    target: Columns
    block: int
    position: int


@dataclass(frozen=True)
class PairView:
    """The sums over pairs of heavy values in a triangle (`livejoin.kernels.bag.heavy_pairs`).

    Args:
        first: The store of one side, and the column of its values.
        second: The same for the other side.
    """

    first: tuple[int, int]
    second: tuple[int, int]


@dataclass(frozen=True)
class Node:
    """A node of a store; offsets are those of its entries, references those of the arena's header."""

    columns: Columns
    directory: int
    size: int
    key: int
    leaving: int
    place: int
    at: int
    heavy: int = 0
    heavies: int = 0


@dataclass
class Store:
    """The tuples that some relations share, filled while the plan is laid out.

    Args:
        table: Position of the table in the plan.
        columns: Offset of each column in the table's records.
        bit: Position of an atom in an event's mask that says which rows take part.
        relations: The relations.
        reference: Offset of the entry's reference in the records.
        nodes: The nodes by their columns; the first has all columns.
        edges: The edges between the nodes.
    """

    table: int
    columns: tuple[int, ...]
    bit: int
    relations: list[int] = field(default_factory=list)
    reference: int = 0
    nodes: dict[Columns, Node] = field(default_factory=dict)
    edges: dict[tuple[Columns, Columns], Edge] = field(default_factory=dict)

    @property
    def whole(self) -> Columns:
        """All columns."""
        return frozenset(range(len(self.columns)))


def base_tables(query: ConjunctiveQuery, relations: Sequence[BagRelation]) -> tuple[TableUse, ...]:
    """What is kept of a base row, for all relations over its table; the stride is not known yet."""
    of_table: dict[str, list[BagRelation]] = {}
    for relation in relations:
        of_table.setdefault(query.atoms[relation.atom].table.name, []).append(relation)
    uses = []
    for name, over in of_table.items():
        columns = sorted({query.atoms[r.atom].column_of(v) for r in over for v in r.variables})
        factors = tuple(dict.fromkeys(f for r in over for f in r.factors))
        uses.append(TableUse(name, tuple(columns), tuple(dict.fromkeys(r.atom for r in over)), 0, factors))
    return tuple(uses)


def share_stores(
    query: ConjunctiveQuery, relations: Sequence[BagRelation], tables: Sequence[TableUse]
) -> tuple[list[Store], list[Store]]:
    """The stores, and the store of each relation."""
    shared: dict[object, Store] = {}
    store_of = []
    for i, relation in enumerate(relations):
        atom = query.atoms[relation.atom]
        table = next(t for t, use in enumerate(tables) if use.name == atom.table.name)
        use = tables[table]
        columns = tuple(use.columns.index(atom.column_of(v)) for v in relation.variables)
        columns += tuple(len(use.columns) + use.factors.index(f) for f in relation.factors)
        present = frozenset(atom.column_of(v) for v in query.join_variables(relation.atom))
        label = (table, columns, atom.predicate, present, relation.split)
        store = shared.setdefault(label, Store(table, columns, relation.atom))
        store.relations.append(i)
        store_of.append(store)
    return list(shared.values()), store_of
