"""How a compiled join uses a table; the same for every family."""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.query.scalar import Expression


@dataclass(frozen=True)
class TableUse:
    """How a join uses a table.

    Args:
        name: The table.
        columns: Positions of the table's columns that the join's records hold, in record order.
        atoms: Positions of the query's atoms over the table.
        stride: Words a record.
        factors: Expressions over the table's columns whose values follow the columns in the record.
    """

    name: str
    columns: tuple[int, ...]
    atoms: tuple[int, ...]
    stride: int
    factors: tuple[Expression, ...] = ()
