"""The relations of a bag and the stores of their tuples.

Atoms over one table with the same columns and the same conditions share a store, so that a self-join keeps its tuples
once. A store has *nodes*, one a set of its columns, and *edges* from a node to one with more columns; what they are at
run time is in `livejoin.kernels.bag_layout`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Columns = frozenset[int]  # positions in a store's tuples


@dataclass(frozen=True)
class BagRelation:
    """An atom inside a bag.

    Args:
        atom: Position of the atom in the query.
        variables: Those of its variables that the bag has.
        factors: Expressions over the table's columns whose values are attributes too.
        support: Whether its distinct rows only filter the bag.
    """

    atom: int
    variables: tuple[str, ...]
    factors: tuple[str, ...] = ()
    support: bool = False


@dataclass(frozen=True)
class Edge:
    """An edge between two nodes of a store: offsets of LEN in its source entries and of POS in its target entries."""

    source: Columns
    target: Columns
    block: int
    position: int


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


@dataclass
class Store:
    """The tuples that some relations share, filled while the plan is laid out.

    Args:
        table: Position of the table in the plan.
        columns: Offset of each column in the table's records.
        bit: Position of an atom in an event's mask that says which rows take part.
        relations: The relations.
        reference: Offset of the entry's reference in the records.
        nodes: Its nodes by columns; the first has all.
        edges: Its edges.
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
