"""Figures of the rows that tables have now, for the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livejoin.plan import Statistics
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import observe_rows
from livejoin.state.table import BaseTable


def observe_tables(
    tables: Mapping[str, BaseTable],
    joins: Sequence[ConjunctiveQuery],
    counted: Sequence[tuple[str, tuple[int, ...]]] = (),
) -> Statistics:
    """Sizes and distinct join keys of tables of some joins.

    Cost: O(rows log rows).

    Args:
        tables: Tables by name in lower case; nothing is said of others.
        joins: The joins.
        counted: Tables of them with other sets of columns, whose distinct values are counted too.
    """
    known = Statistics()
    for query in joins:
        found = [base for atom in query.atoms if (base := tables.get(atom.table.name.lower())) is not None]
        seen = [(b.table, b.values_of(b.live_rows()[0]), b.total) for b in dict.fromkeys(found)]
        known = known.over(observe_rows(seen, query, counted))
    return known
