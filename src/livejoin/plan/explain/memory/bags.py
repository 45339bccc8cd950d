"""The memory of a bag of a circle: the rows of its tables, and the rows of the bag, whose number is an estimate.

The estimate takes a condition that closes a circle to be as likely for each combination of rows. Where rows are alike
in more than chance says, as friends of friends are friends, there are more.
"""

from __future__ import annotations

import math

from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import reach
from livejoin.plan.explain.memory.outline import ALLOCATED, LEAST, STORED, MemoryPart, begun
from livejoin.plan.operators import BagOperator
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Figure, TableStatistics, key_columns
from livejoin.words import WORD_BYTES

# Words of a row that a circle is made of, beside its columns, and for each of its columns.
_ROW, _COLUMN = 4.0, 5.0


def bag_rows(plan: BagOperator, figures: Figures) -> float:
    """The rows that a bag is expected to have; infinity if that is not known."""
    query = plan.derived.query
    if any(one.table.name in dict(plan.named) or figures.rows(one.table) is None for one in query.atoms):
        return math.inf
    there, each = figures.rows(query.atoms[0].table), reach(query, 0, None, figures).results.expected
    if there is None or each is None:
        return math.inf
    return there.expected * each if query.head else 1.0


def bag_part(plan: BagOperator, figures: Figures) -> MemoryPart:
    """What a bag keeps; rows of a table once for all atoms that read the same columns of them."""
    rows = bag_rows(plan, figures)
    if rows == math.inf:
        return MemoryPart(plan.kind, "rows", None, False, None, "the rows of its tables are not known")
    stores = {(one.table.name, one.columns, one.predicate): one.table for one in plan.derived.query.atoms}
    total, there = WORD_BYTES * rows * (len(plan.types) + STORED), 0.0
    for (_, columns, _), table in stores.items():
        found = figures.rows(table)
        each = 0.0 if found is None else found.expected
        total, there = total + WORD_BYTES * each * (_ROW + _COLUMN * len(columns)), there + each
    used = begun(there) + total
    size = begun(there) + max(LEAST, ALLOCATED * total)
    kept, of = (
        (rows, "rows of a circle, and those of its tables")
        if plan.derived.query.head
        else (there, "rows of its tables")
    )
    return MemoryPart(plan.kind, of, kept, False, size, used=used)


def bag_statistics(query: ConjunctiveQuery, plan: BagOperator, figures: Figures) -> TableStatistics:
    """The rows of a bag, and the keys by which it is joined: as many as so many rows have that are drawn by chance.

    Args:
        query: The join that reads the bag.
        plan: The bag.
        figures: The known figures of the tables.
    """
    table, inside, rows = plan.derived.table, plan.derived.query, bag_rows(plan, figures)
    if rows == math.inf:
        return TableStatistics(table.name)
    distinct = []
    for columns in key_columns(query, table.name):
        refs = [inside.head[column] for column in columns if column < len(inside.head)]
        values = [figures.values(inside.atoms[ref.atom].table, (ref.column,)) for ref in refs]
        known = [one for one in values if one]
        if len(known) == len(columns):
            many = math.prod(known)
            distinct.append((columns, Figure(many * -math.expm1(-rows / many), "observed")))
    return TableStatistics(table.name, rows=Figure(rows, "observed"), distinct=tuple(distinct))
