"""Columns that GROUP BY need not name, because what it names determines them.

    SELECT p.id, p.name, COUNT(*) AS n FROM p JOIN s ON s.p = p.id GROUP BY p.id
      =  SELECT p.id, p.name, COUNT(*) AS n FROM p JOIN s ON s.p = p.id GROUP BY p.id, p.name

where ``id`` is the primary key of ``p``: all rows of a group have one name. This is SQL:1999's rule; Spark refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from livejoin.query.keys import closure
from livejoin.sql.lower.grouped.aggregates import is_within_aggregate
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.resolved.column import REF, key_of, place_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.operand_order import TURNED


def with_determined(
    groups: tuple[exp.Expr, ...], values: Sequence[exp.Expr], joined: Joined, start: int
) -> tuple[exp.Expr, ...]:
    """The expressions of a GROUP BY, and the further columns that they determine and that values read.

    Args:
        groups: The expressions of GROUP BY.
        values: The expressions over the groups.
        joined: The join below.
        start: The offset of the SELECT.
    """
    places = {key_of(value): place for place, value in enumerate(groups)}
    kinds = {type(value.unnest()) for value in groups}
    kinds |= {other for pair in TURNED.items() if kinds.intersection(pair) for other in pair}
    read = {key_of(column): column for value in values for column in _ungrouped(value, places, kinds)}
    if not groups or not read:
        return groups
    both = (*groups, *read.values())
    names = distinct_names([f"c{place}" for place in range(len(both))])
    rows = joined.rows([Item(name, value, start) for name, value in zip(names, both, strict=True)])
    known = closure(rows, frozenset(range(len(groups))))
    return (*groups, *(column for place, column in enumerate(read.values(), len(groups)) if place in known))


def _ungrouped(value: exp.Expr, places: dict[str, int], kinds: set[type[exp.Expr]]) -> list[exp.Column]:
    """The columns in an expression that are not grouped, and stand neither in a grouped expression nor in an aggregate.

    Args:
        value: The expression.
        places: The positions of grouped expressions, by their keys.
        kinds: The kinds of grouped expressions; the key of other nodes need not be computed.
    """

    def is_grouped(node: exp.Expr) -> bool:
        return type(node) in kinds and place_of(node, places) is not None

    return [
        node
        for node in value.walk(prune=is_grouped)
        if isinstance(node, exp.Column) and REF in node.meta and not is_grouped(node) and not is_within_aggregate(node)
    ]
