"""How many dynamic rows matter, before the static tables are joined.

Of an atom as many as the join of the static tables has rows, and not more than there are combinations of the values
that its columns have in static tables. What is expected of the join is as for static bags.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from livejoin.families.transitions.cut import StaticHub
from livejoin.families.view_trees.sizes import expected_sizes
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Statistics


@dataclass(frozen=True)
class RowsThatMatter:
    """What is expected of the static tables of a query.

    Args:
        joined: Rows of their join.
        of_atoms: For each dynamic atom the rows that matter, without the columns that all dynamic tables share.
    """

    joined: float
    of_atoms: tuple[float, ...]

    @property
    def total(self) -> float:
        """Rows that matter of all dynamic atoms: there are two to this power states."""
        return sum(self.of_atoms)


def rows_that_matter(hub: StaticHub, known: Statistics) -> RowsThatMatter | None:
    """What is expected; None if the rows of a static table are unknown. Cost: that of `expected_sizes`."""
    if hub.derived:
        sizes = expected_sizes(hub.derived, known)
        joined = None if sizes is None else sizes.rows[0]
    else:
        joined = known.of(hub.outer.atoms[0].table.name).rows.value
    if joined is None:
        return None
    values = _distinct_values(hub.query, known)
    of_atoms = (
        min(joined, prod(values.get(variable, inf) for variable in sorted(decided))) for decided in hub.system.decided
    )
    return RowsThatMatter(joined, tuple(of_atoms))


def _distinct_values(query: ConjunctiveQuery, known: Statistics) -> dict[str, float]:
    """The fewest distinct values that a static table has of each variable."""
    found: dict[str, float] = {}
    for atom in query.atoms:
        if not atom.table.static:
            continue
        figures = known.of(atom.table.name).distinct
        single = {columns[0]: figure.value for columns, figure in figures if len(columns) == 1}
        for column, variable in zip(atom.columns, atom.variables, strict=True):
            value = single.get(column)
            if value is not None:
                found[variable] = min(found.get(variable, inf), value)
    return found
