"""ORDER BY without LIMIT: the order in which the rows of a whole query are read.

Such an order changes no row. It counts for the outermost query alone, where the reader of the result sorts; within
another query it has no meaning, as in Spark. Keys that the result does not show become further columns of the relation
below,

    SELECT a FROM R ORDER BY b  =  SELECT a FROM (SELECT a, b FROM R),

which are read with the rows, and dropped after sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.orders import SortKey
from livejoin.query.relational import Relation
from livejoin.sql.lower.order_by import over_items
from livejoin.sql.lower.project import copied, project, refuse_lists
from livejoin.sql.parse.source import Source, shown
from livejoin.sql.resolved.column import REF, column_at, key_of
from livejoin.sql.resolved.item import Item, SortBy, distinct_names
from livejoin.sql.resolved.query import Bound, BoundBlock, BoundSorted, BoundWith, SelectBlock
from livejoin.sql.sub_queries.rewriter import Rewriter


@dataclass(frozen=True)
class ReadOrder:
    """A relation and the order in which its rows are read.

    Args:
        relation: The relation to maintain.
        keys: The order, over the columns of ``relation``, or of the relation below its projection.
        below: Whether the order is over the relation below the projection.
    """

    relation: Relation
    keys: tuple[SortKey, ...] = ()
    below: bool = False


def read_order(bound: Bound, rewriter: Rewriter) -> ReadOrder:
    """The order in which the rows of a whole query are read; without keys if the query has no ORDER BY.

    Args:
        bound: The query.
        rewriter: Binds SELECTs.

    Raises:
        SqlError: A key is not valid.
        UnsupportedQueryError: A column is a list; or a key of SELECT DISTINCT is not in the SELECT list.
    """
    match bound:
        case BoundWith():
            return read_order(bound.query, rewriter)
        case BoundBlock() if bound.block.read_order:
            block = bound.block
            refuse_lists(bound.relation, "ORDER BY", block.source, block.read_order[0].offset)
            places = {key_of(item.value): i for i, item in reversed(list(enumerate(block.outputs)))}
            found = [places.get(key_of(key.value)) for key in block.read_order]
            if None not in found:
                return ReadOrder(bound.relation, _keys(block.read_order, found))
            if block.distinct:
                values = [over_items(key, block.outputs, block.source) for key in block.read_order]
                return _computed(bound.relation, block.read_order, values, block.source)
            return _widened(block, rewriter)
        case BoundSorted() if bound.order.limit is None:
            refuse_lists(bound.relation, "ORDER BY", bound.source, bound.order.keys[0].offset)
            return _computed(bound.relation, bound.order.keys, [key.value for key in bound.order.keys], bound.source)
        case _:
            return ReadOrder(bound.relation)


def _computed(relation: Relation, keys: Sequence[SortBy], values: Sequence[exp.Expr], source: Source) -> ReadOrder:
    """A relation sorted by expressions over its columns."""
    copies, places = copied(relation), []
    extra: list[tuple[Item, exp.Expr]] = []
    for key, value in zip(keys, values, strict=True):
        if isinstance(value, exp.Column):
            places.append(value.meta[REF].column)
            continue
        places.append(len(copies) + len(extra))
        extra.append((Item(shown(key.value), key.value, key.offset, "the key of ORDER BY"), value))
    if not extra:
        return ReadOrder(relation, _keys(keys, places))
    wide = project(relation, [*copies, *extra], None, source)
    return ReadOrder(project(wide, copies, None, source), _keys(keys, places), below=True)


def _widened(block: SelectBlock, rewriter: Rewriter) -> ReadOrder:
    """A SELECT with further columns for keys that it does not show."""
    items, places = list(block.outputs), []
    known = {key_of(item.value): i for i, item in reversed(list(enumerate(items)))}
    for key in block.read_order:
        place = known.setdefault(key_of(key.value), len(items))
        places.append(place)
        if place == len(items):
            items.append(Item(shown(key.value), key.value.copy(), key.offset, "the key of ORDER BY"))
    names = distinct_names([item.name for item in items])
    named = [replace(item, name=name) for item, name in zip(items, names, strict=True)]
    wide = rewriter.bound(replace(block, items=(*named, *block.items[len(block.outputs) :]), read_order=())).relation
    refuse_lists(wide, "ORDER BY", block.source, block.read_order[0].offset)
    copies = [(item, column_at(i)) for i, item in enumerate(block.outputs)]
    return ReadOrder(project(wide, copies, None, block.source), _keys(block.read_order, places), below=True)


def _keys(keys: Sequence[SortBy], places: Sequence[int | None]) -> tuple[SortKey, ...]:
    return tuple(
        SortKey(place, key.descending, key.nulls_first)
        for key, place in zip(keys, places, strict=True)
        if place is not None
    )
