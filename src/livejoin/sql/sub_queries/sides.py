"""The sides of a UNION in a sub-query, for sub-queries that are asked side by side (`livejoin.sql.parse.sides`)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from livejoin.schema import SqlType
from livejoin.sql.parse.query_tree import Combined, QueryTree
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.query import NestedQuery, SelectBlock


def union_sides(tree: QueryTree) -> tuple[QueryTree, ...]:
    """The sides of a UNION, nested ones included, from the left; empty for other queries."""
    if not (isinstance(tree, Combined) and tree.kind == "union"):
        return ()
    return tuple(one for side in (tree.left, tree.right) for one in union_sides(side) or (side,))


def of_same_types(sides: Sequence[SelectBlock | NestedQuery]) -> bool:
    """Whether all sides have columns of the same types, so that the UNION converts nothing."""
    types = [_types(side) for side in sides]
    return types[0] is not None and all(own == types[0] for own in types)


def _types(side: SelectBlock | NestedQuery) -> tuple[SqlType, ...] | None:
    """The types of the columns of a query; None if a column is computed, so that its type is not known yet."""
    if isinstance(side, NestedQuery):
        return tuple(side.relation.types)
    values = [item.value for item in side.outputs]
    if not all(isinstance(value, exp.Column) and REF in value.meta for value in values):
        return None
    return tuple(side.scope.declared(value.meta[REF]).type for value in values)
