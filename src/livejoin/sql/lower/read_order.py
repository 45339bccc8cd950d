"""ORDER BY without LIMIT: the order in which the rows of a whole query are read.

It changes no row. So it counts for the outermost query alone, where whoever reads the result sorts it; within another
query it says nothing, as in Spark.
"""

from __future__ import annotations

from sqlglot import exp

from livejoin.query.relational import SortKey
from livejoin.sql.lower.bound import Bound, BoundBlock, BoundSorted, BoundWith
from livejoin.sql.lower.project import refuse_lists
from livejoin.sql.lower.select_block import SelectBlock, key_of
from livejoin.sql.names.order import SortBy
from livejoin.sql.parse.source import Source, shown
from livejoin.sql.to_duckdb.scalar_text import REF


def read_order(bound: Bound) -> tuple[SortKey, ...]:
    """The columns of the result that its rows are sorted by as they are read; none if the query says no order.

    Raises:
        UnsupportedQueryError: A key is no column of the result, or a list.
    """
    match bound:
        case BoundWith():
            return read_order(bound.query)
        case BoundBlock() if bound.block.read_order:
            refuse_lists(bound.relation, "ORDER BY", bound.block.source, bound.block.read_order[0].offset)
            return tuple(_key(key, _place(key, bound.block), bound.block.source) for key in bound.block.read_order)
        case BoundSorted() if bound.order.limit is None:
            refuse_lists(bound.relation, "ORDER BY", bound.source, bound.order.keys[0].offset)
            return tuple(_key(key, _column(key.value), bound.source) for key in bound.order.keys)
        case _:
            return ()


def _place(key: SortBy, block: SelectBlock) -> int | None:
    """The position of the output that a key is."""
    written = key_of(key.value)
    return next((i for i, item in enumerate(block.outputs) if key_of(item.value) == written), None)


def _column(value: exp.Expr) -> int | None:
    if not isinstance(value, exp.Column):
        return None
    found: int = value.meta[REF].column
    return found


def _key(key: SortBy, place: int | None, source: Source) -> SortKey:
    if place is None:
        msg = (
            f"ORDER BY {shown(key.value)} without LIMIT: the rows are sorted as they are read, by columns of the "
            "result; add it to the SELECT list, or write LIMIT"
        )
        raise source.unsupported("ORDER BY", msg, key.offset)
    return SortKey(place, key.descending, key.nulls_first)
