"""How many rows static bags are expected to have, before they are made.

A bag is a join, of which at most as many rows are expected as its AGM bound allows, and about as many as there would be
if values of a column were as frequent and columns did not depend on each other: the product of the rows, over that of
the distinct values of each variable, once less than relations have it. To make it takes as long as this join has rows;
what is kept of it may be less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from livejoin.families.bags.bag_query import BagQuery
from livejoin.query import Atom
from livejoin.search.statistics import Statistics
from livejoin.theory.cyclic.edge_cover import agm_bound


@dataclass(frozen=True)
class BagSizes:
    """What is expected of bags.

    Args:
        rows: The rows that each of them has.
        joined: The rows of all joins that they are made of. They are the same whatever factors the bags keep.
    """

    rows: tuple[float, ...]
    joined: float


@dataclass(frozen=True)
class _Size:
    """Rows of a relation, and distinct values of some of its columns; of a bag also the rows of the join inside."""

    rows: float
    distinct: Mapping[int, float]
    joined: float = 0.0

    def values(self, column: int) -> float:
        """Distinct values of a column, as many as there are rows where nothing is known of it."""
        return min(self.distinct.get(column, inf), self.rows)


def expected_sizes(bags: Sequence[BagQuery], known: Statistics) -> BagSizes | None:
    """The expected sizes of bags; None if the rows of a table are unknown.

    Cost: two linear programs for each bag.

    Args:
        bags: The bags, each after the bags that it reads.
        known: Statistics of the tables.
    """
    made: dict[str, _Size] = {}
    for bag in bags:
        sizes = []
        for atom in bag.query.atoms:
            size = made.get(atom.table.name) or _known(atom, known)
            if size is None:
                return None
            sizes.append(size)
        made[bag.table.name] = _joined(bag, sizes)
    found = [made[bag.table.name] for bag in bags]
    return BagSizes(tuple(one.rows for one in found), sum(one.joined for one in found))


def _known(atom: Atom, known: Statistics) -> _Size | None:
    of_table = known.of(atom.table.name)
    if of_table.rows.value is None:
        return None
    single = {columns[0]: figure.value for columns, figure in of_table.distinct if len(columns) == 1}
    return _Size(of_table.rows.value, {column: value for column, value in single.items() if value is not None})


def _joined(bag: BagQuery, sizes: Sequence[_Size]) -> _Size:
    """The size of a bag that joins relations of these sizes."""
    having: dict[str, list[float]] = {}
    for atom, size in zip(bag.query.atoms, sizes, strict=True):
        for column, variable in zip(atom.columns, atom.variables, strict=True):
            having.setdefault(variable, []).append(size.values(column))
    matched = prod(max(1.0, count) for counts in having.values() for count in sorted(counts)[1:])
    rows = [size.rows for size in sizes]
    joined = min(prod(rows) / matched, agm_bound(bag.query.edges, rows).rows)
    values = {column: min(having[variable]) for column, variable in enumerate(bag.kept)}
    if any(bag.factors):
        return _Size(prod(rows) / matched, values, joined)
    most = agm_bound(bag.query.edges, rows, frozenset(bag.kept)).rows if bag.kept else 1.0
    return _Size(min(joined, most, prod(max(1.0, count) for count in values.values())), values, joined)
