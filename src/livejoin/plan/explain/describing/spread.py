"""What an explanation says of a query whose tables are spread over the cells of processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from livejoin.changes import ChangeBatch
from livejoin.plan.dispatch import choose, sampled
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.stages import outline, stages
from livejoin.query.bound_query import Query
from livejoin.schema import Table


def with_cells(
    explanation: Explanation, query: Query, log: Sequence[ChangeBatch], cells: int, tables: Iterable[Table]
) -> Explanation:
    """An explanation that also says how the query runs in cells.

    Args:
        explanation: The explanation.
        query: The query.
        log: Changes of tables, from which where rows go is chosen as from a first batch; of other tables it is taken
            that their values are even.
        cells: How many cells there are.
        tables: The tables that there are.

    Raises:
        CapacityError: There cannot be so many cells.
    """
    samples = {batch.table.name.lower(): sampled(batch.table, batch.rows) for batch in log}
    staged = stages({"": query}, lambda join: choose(join, samples, cells), tables)
    return replace(explanation, spread=outline(staged, cells))
