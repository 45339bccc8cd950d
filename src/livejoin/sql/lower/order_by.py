"""ORDER BY: the keys of a SELECT over its columns, and those of a whole query over the columns of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.errors import UnknownNameError
from livejoin.sql.lower.grouped.aggregates import refuse_aggregates, refuse_windows
from livejoin.sql.names.order import is_all, order_of, position_of
from livejoin.sql.parse.query_tree import Sorted
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import column_at, key_of, place_of
from livejoin.sql.resolved.item import Item, Order, SortBy


def hidden_items(items: tuple[Item, ...], order: Order) -> list[Item]:
    """Columns for the keys of an order that are not in the SELECT list."""
    shown_keys = {key_of(item.value) for item in items}
    hidden = {key_of(key.value): key for key in order.keys}
    return [
        Item(shown(key.value), key.value, key.offset, "the key of ORDER BY")
        for text, key in hidden.items()
        if text not in shown_keys
    ]


def over_items(key: SortBy, items: Sequence[Item], source: Source) -> exp.Expr:
    """A key of ORDER BY over the columns of a SELECT, which are its items."""
    positions = {key_of(item.value): i for i, item in reversed(list(enumerate(items)))}

    def exchanged(part: exp.Expr) -> exp.Expr:
        position = place_of(part, positions)
        if position is not None:
            return column_at(position)
        if isinstance(part, exp.Column):
            msg = (
                f"ORDER BY {shown(key.value)}: the SELECT list is DISTINCT and does not show {shown(part)}, so a "
                "row has no single value of it. Order by what the SELECT list shows"
            )
            raise source.unsupported("ORDER BY", msg, offset_of(part, key.offset))
        refuse_aggregates(part, "ORDER BY of DISTINCT", "add it to the SELECT list", source, key.offset)
        return part

    return key.value.transform(exchanged)


def resolve_order(tree: Sorted, names: list[str]) -> Order:
    """The order of a query by the columns of its result; column i is the `ColumnRef` (0, i).

    Raises:
        UnknownNameError: A name that is no column of the result.
        UnsupportedQueryError: As for `livejoin.sql.names.order.order_of`, or an aggregate.
    """
    order = order_of(tree.node, tree.source)
    assert order is not None, "a query is sorted by its ORDER BY"
    if is_all(order.keys[0].value) and "all" in map(str.lower, names):
        order = replace(order, keys=(replace(order.keys[0], value=exp.Column(this=exp.to_identifier("all"))),))
    if is_all(order.keys[0].value):
        return replace(order, keys=tuple(replace(order.keys[0], value=column_at(i)) for i in range(len(names))))
    return replace(order, keys=tuple(_resolved(key, names, tree.source) for key in order.keys))


def _resolved(key: SortBy, names: list[str], source: Source) -> SortBy:
    position = position_of(key.value, len(names), "ORDER BY", source, key.offset)
    if position is not None:
        return replace(key, value=column_at(position))
    refuse_windows(key.value, source, key.offset)
    refuse_aggregates(key.value, "ORDER BY of a whole query", "add it to the SELECT list", source, key.offset)
    places = {name.lower(): i for i, name in reversed(list(enumerate(names)))}

    def exchanged(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column):
            return part
        place = places.get(part.name.lower()) if len(part.parts) == 1 else None
        if place is None:
            msg = f"the result has no column {shown(part)} to order by; its columns: {', '.join(names)}"
            raise source.error(UnknownNameError, msg, offset_of(part, key.offset))
        return column_at(place)

    return replace(key, value=key.value.transform(exchanged))
