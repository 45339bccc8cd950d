"""A SELECT with groups and sub-queries over them, as a SELECT without groups over a query that has them.

    SELECT g, e(q) FROM R GROUP BY g HAVING c(q)  =  SELECT g, e(q) FROM (SELECT g, ... FROM R GROUP BY g) WHERE c(q),

where q is a sub-query that sees the columns of GROUP BY. Sub-queries within aggregates, in WHERE and in GROUP BY are
over rows, and stay in the query below.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.lower.grouped.aggregates import aggregate_call
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of, shown
from livejoin.sql.parse.sub_queries import has_marks, marked
from livejoin.sql.resolved.column import bound_column, column_at, key_of, place_of
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import Outer
from livejoin.sql.resolved.query import SelectBlock
from livejoin.sql.scalars.labels import standing_for, text_of
from livejoin.sql.sub_queries.free import free_columns, moved_outer
from livejoin.sql.sub_queries.rewriter import Rewriter, select_all


def over_groups(block: SelectBlock, rewriter: Rewriter) -> SelectBlock:
    """The SELECT over its groups; the SELECT itself if no sub-query is over groups.

    Raises:
        UnsupportedQueryError: A sub-query reads a column that is not grouped, or the SELECT itself is correlated.
    """
    if block.groups is None or not _over_groups(block):
        return block
    if block.sets is not None or block.has_windows:
        msg = (
            "sub-queries over groups beside window functions or several grouping sets are not supported. Return the "
            "groups from a query in FROM, and write the sub-queries outside of it"
        )
        raise block.source.unsupported("sub-query", msg, block.sub_queries[0].offset)
    for outer, node in free_columns(block):
        msg = (
            f"{outer.name} is a column of the query around, and the sub-query that reads it has groups with "
            "sub-queries over them; return the groups from a query in FROM, and compare their columns outside of it"
        )
        raise block.source.unsupported("sub-query", msg, offset_of(node, block.start))
    return _Splitter(block).split(rewriter)


def _over_groups(block: SelectBlock) -> bool:
    return any(_marks(value, block) for value in _values(block))


def _values(block: SelectBlock) -> list[exp.Expr]:
    """The expressions that are over groups."""
    return list(replace(block, groups=None).values)


def _marks(value: exp.Expr, block: SelectBlock) -> list[int]:
    """The sub-queries of an expression that stand outside of aggregates and of grouped expressions."""
    found: list[int] = []
    groups = {key_of(group): place for place, group in enumerate(block.groups or ())}
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if not has_marks(node) or place_of(node, groups) is not None:
            continue
        number = marked(node)
        found += [] if number is None else [number]
        if aggregate_call(node, block.source, block.start) is not None:
            continue
        waiting += node.iter_expressions()
    return found


class _Splitter:
    """Builds the query below with the columns that are needed; mutable."""

    def __init__(self, block: SelectBlock) -> None:
        self._block = block
        self._groups = {key_of(value): i for i, value in enumerate(block.groups or ())}
        self._values: list[exp.Expr] = list(block.groups or ())
        self._places = dict(self._groups)

    def split(self, rewriter: Rewriter) -> SelectBlock:
        """The SELECT over the query below."""
        block = self._block
        having = [] if block.having is None else list(conjuncts(block.having))
        kept = [part for part in having if not _marks(part, block)]
        start = offset_of(block.having, block.start) if block.having is not None else block.start
        asked = tuple(part for part in having if _marks(part, block))
        above = SelectBlock(
            block.scope, block.items, block.source, start, conditions=asked, distinct=block.distinct, order=block.order
        ).mapped(self._over)
        numbers = {number for value in _values(block) for number in _marks(value, block)}
        subs = tuple(
            replace(sub, query=moved_outer(sub.query, self._group))
            if isinstance(sub.query, SelectBlock) and number in numbers
            else sub
            for number, sub in enumerate(block.sub_queries)
        )
        below = replace(
            block,
            items=tuple(self._items(self._values)),
            having=exp.and_(*kept, copy=True) if kept else None,
            distinct=False,
            order=None,
            read_order=(),
        )
        groups = select_all(rewriter, rewriter.bound(below).relation, "groups", block.source, start)
        return replace(above, scope=replace(groups.scope, outer=block.scope.outer), sub_queries=subs)

    def _items(self, values: Iterable[exp.Expr]) -> Iterable[Item]:
        return (Item(f"c{i}", v, offset_of(v, self._block.start), written=f"c{i}") for i, v in enumerate(values))

    def _over(self, value: exp.Expr) -> exp.Expr:
        """An expression over groups, rewritten over the columns of the query below."""

        def exchanged(part: exp.Expr) -> exp.Expr:
            group = place_of(part, self._groups)
            if group is not None:
                return standing_for(column_at(group), text_of(part))
            if aggregate_call(part, self._block.source, offset_of(part, self._block.start)) is not None:
                return standing_for(column_at(self._place(part)), text_of(part))
            return column_at(self._place(part)) if isinstance(part, exp.Column) else part

        return rewritten(value, exchanged)

    def _place(self, value: exp.Expr) -> int:
        key = key_of(value)
        if key not in self._places:
            self._places[key] = len(self._values)
            self._values.append(value.copy())
        return self._places[key]

    def _group(self, outer: Outer, node: exp.Expr) -> Outer:
        """The column of the query below for a column of a group."""
        column = bound_column(outer.ref, outer.name)
        place = self._groups.get(key_of(column))
        if place is None:
            msg = (
                f"the sub-query is over groups and reads {outer.name}, which is not in GROUP BY, so that a group has "
                f"no single value of it; add {shown(column)} to GROUP BY"
            )
            raise self._block.source.unsupported("GROUP BY", msg, offset_of(node, self._block.start))
        return Outer(1, ColumnRef(0, place), outer.name)
