"""What an explanation says of the cells that a join is split into."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.cells.partition import whole_because
from livejoin.plan.explain.explanation import CellsOutline, TableOutline
from livejoin.plan.operators import AnyJoin, BagOperator
from livejoin.query import ConjunctiveQuery


def cells_outline(leaf: AnyJoin, tables: Sequence[TableOutline], threads: int) -> CellsOutline | None:
    """How a join is split; None if nothing asks for it.

    Args:
        leaf: The join.
        tables: The known figures of the tables; empty if nothing is predicted for the plan.
        threads: The threads of the database.
    """
    if threads == 1:
        return None
    query = leaf.physical.query
    bags = "".join(f"; {one.operator.cells_line}" for one in leaf.inputs if isinstance(one.operator, BagOperator))
    if leaf.partition is None:
        return CellsOutline(1, None, (), None, f"not split, one thread maintains it: {whole_because(query)}{bags}")
    found = leaf.partition
    replicated = tuple(query.atoms[atom].alias for atom in found.replicated)
    note = f"split into {found.cells} cells by {found.variable}{', whose sums are added up' * found.added}; "
    if not replicated:
        return CellsOutline(found.cells, found.variable, (), 0.0, f"{note}no atom is replicated{bags}")
    known = _bytes(query, found.replicated, tables)
    size = "" if known is None else f", about {known:,.0f} bytes in each cell after the first"
    note += f"replicated in every cell: {', '.join(replicated)}{size}{bags}"
    return CellsOutline(found.cells, found.variable, replicated, known, note)


def _bytes(query: ConjunctiveQuery, replicated: Sequence[int], tables: Sequence[TableOutline]) -> float | None:
    """Predicted bytes of the replicated atoms' rows; None if a table's plan or size is not known.

    A record is counted with the first of the replicated atoms over its table. Predicates are not looked at, so that
    it is an upper estimate.
    """
    total = 0.0
    for name in dict.fromkeys(query.atoms[atom].table.name for atom in replicated):
        table = next((t for t in tables if t.name == name), None)
        if table is None or table.rows is None:
            return None
        atoms = sum(query.atoms[atom].table.name == name for atom in replicated)
        total += table.rows * (table.row_bytes + table.index_bytes * atoms / len(table.aliases))
    return total
