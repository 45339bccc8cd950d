"""Resolving the names of a SELECT, clause by clause, before it is rewritten.

A bare name may stand for a column of FROM and for an output. Spark decides by the clause: GROUP BY takes the column,
HAVING the column if it is grouped, ORDER BY the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import TokenType, exp

from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.lower.grouped.aggregates import (
    call_offset,
    find_aggregate,
    is_within_aggregate,
    refuse_aggregate,
    refuse_aggregates,
    refuse_outer_aggregates,
    refuse_windows,
)
from livejoin.sql.lower.grouped.grouping_sets import grouping_sets
from livejoin.sql.lower.grouped.one_row import limit_keeps_all
from livejoin.sql.lower.grouped.time_windows import apart, mark_windows
from livejoin.sql.lower.pivots.pivot import pivoted
from livejoin.sql.names.from_clause import bind_from
from livejoin.sql.names.known import Names
from livejoin.sql.names.order import is_all, order_of, position_of
from livejoin.sql.names.outputs import select_items
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.pivots import PIVOTS
from livejoin.sql.parse.query_tree import Block
from livejoin.sql.parse.sides import of_sides
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.parse.sub_queries import SubQuery, is_distinct_on, take_out
from livejoin.sql.resolved.column import REF, key_of
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item, SortBy
from livejoin.sql.resolved.query import Scope, SelectBlock, SubSelect


def resolve_block(block: Block, known: Names) -> SelectBlock:
    """Resolve a SELECT.

    Args:
        block: The SELECT.
        known: The names in FROM.

    Raises:
        SqlError: A name is unknown, or a clause is not supported; with its position.
    """
    select, source = block.select, block.source
    sub_queries = take_out(select, block.text)
    clause = bind_from(select, known, source, sub_queries, lambda before, pivot: pivoted(before, pivot, known, source))
    for pivot in select.args.get(PIVOTS) or ():
        clause = pivoted(clause, pivot, known, source)
    clause = replace(clause, scope=replace(clause.scope, outer=known.outer))
    mark_windows(select, clause.scope, source)
    order = None if limit_keeps_all(select) else order_of(select, source)
    conditions, start = list(clause.conditions), source.find({TokenType.FROM})
    for condition in (*conditions, *(one for part in clause.parts for one in part.conditions)):
        refuse_aggregates(condition, "ON", "write a condition on groups as HAVING", source, start)
    if where := select.args.get("where"):
        start = source.find_outermost({TokenType.WHERE})
        conditions.append(resolve(where.this, clause.scope, source))
        for part in conjuncts(conditions[-1]):
            refuse_aggregates(part, "WHERE", "write HAVING behind GROUP BY", source, start)
    names = _Names(clause.scope, select_items(select, clause.scope, source), source)
    groups, sets = names.groups(select.args.get("group"))
    having = select.args.get("having")
    kept = None if having is None else names.having(having.this, groups or ())
    if order is not None:
        order = replace(order, keys=tuple(key for written in order.keys for key in names.order(written)))
    qualify = names.first_rows(select, order.keys if order else ()) or names.qualify(select.args.get("qualify"))
    items = names.items if qualify is None else (*names.items, qualify)
    sorted_by = [key.value for key in order.keys] if order else []
    read_order = order.keys if order is not None and order.limit is None else ()
    aggregates = any(find_aggregate(value) for value in [*(item.value for item in items), *sorted_by])
    for value in (*(item.value for item in items), *([] if kept is None else [kept]), *sorted_by):
        refuse_outer_aggregates(value, source, start)
    is_global = (groups is None and (aggregates or kept is not None)) or (groups == () and sets is None)
    found = SelectBlock(
        scope=clause.scope,
        equalities=clause.equalities,
        conditions=tuple(conditions),
        items=items,
        groups=() if is_global else groups,
        sets=sets,
        qualified=qualify is not None,
        is_global=is_global,
        having=kept,
        distinct=bool(select.args.get("distinct")) and not is_distinct_on(select),
        order=None if read_order else order,
        read_order=read_order,
        source=source,
        start=start,
        parts=clause.parts,
    )
    asked = [_asked(one, n, clause, known, source) for n, one in enumerate(sub_queries)]
    return apart(_with_sub_queries(found, asked), known)


def _asked(one: SubQuery, number: int, clause: FromClause, known: Names, source: Source) -> tuple[SubSelect, ...]:
    """A sub-query, or the sides of its UNION if they are asked one by one.

    A sub-query in ON sees the tables joined there. One in the ON of a FULL JOIN was taken out before.
    """
    if number in clause.taken:
        return (SubSelect(one.form, one.comparison, known.numbers(1), source, one.offset),)
    seen = replace(clause.seen.get(number, clause.scope), outer=clause.scope.outer)
    queries = known.in_expression(one.query, seen, one.form)
    return tuple(SubSelect(one.form, one.comparison, query, source, one.offset) for query in queries)


def _with_sub_queries(block: SelectBlock, asked: Sequence[tuple[SubSelect, ...]]) -> SelectBlock:
    """A SELECT with its sub-queries, of which several may replace one mark."""
    plain = [several[0] for several in asked]
    if len(plain) == sum(map(len, asked)):
        return replace(block, sub_queries=tuple(plain))
    sides: dict[int, tuple[int, ...]] = {}
    for number, several in enumerate(asked):
        if len(several) > 1:
            sides[number] = (number, *range(len(plain), len(plain) + len(several) - 1))
            plain += several[1:]
    of_all = frozenset(number for number in sides if plain[number].form == "all")

    def within(node: exp.Expr) -> exp.Expr:
        return of_sides(node, sides, of_all)

    return replace(block.mapped(within), sub_queries=tuple(plain))


@dataclass(frozen=True)
class _Names:
    """Resolves names after the SELECT list."""

    scope: Scope
    items: tuple[Item, ...]
    source: Source

    def groups(self, group: exp.Group | None) -> tuple[tuple[exp.Expr, ...] | None, tuple[tuple[int, ...], ...] | None]:
        """The distinct expressions of a GROUP BY, and its grouping sets by positions if it has several."""
        if group is None:
            return None, None
        start = self.source.find_outermost({TokenType.GROUP_BY})
        if group.args.get("all") and not self.scope.named("all"):
            # Spark too takes what has no aggregate in it, and then refuses other columns beside aggregates.
            found = [item.value for item in self.items if find_aggregate(item.value) is None]
            return tuple({key_of(node): node for node in found}.values()), None
        if group.args.get("all"):
            group = exp.Group(expressions=[exp.Column(this=exp.to_identifier("all"))])
        sets = grouping_sets(group, self.source)
        if sets is None and not group.expressions:
            msg = "GROUP BY names no columns; write them behind it"
            raise self.source.unsupported("GROUP BY", msg, start)
        written = [tuple(group.expressions)] if sets is None else sets
        first = tuple(group.expressions) if sets is not None and not _has_sets(group) else ()
        resolved = {id(node): self._group(node, start) for one in (first, *written) for node in one}
        groups = {key_of(resolved[id(node)]): resolved[id(node)] for one in (first, *written) for node in one}
        if sets is None:
            return tuple(groups.values()), None
        places = {key: place for place, key in enumerate(groups)}
        found_sets = tuple(tuple(sorted({places[key_of(resolved[id(node)])] for node in one})) for one in sets)
        if len(found_sets) == 1:
            (only,) = found_sets
            values = list(groups.values())
            return tuple(values[place] for place in only), None
        return tuple(groups.values()), found_sets

    def _group(self, node: exp.Expr, start: int) -> exp.Expr:
        at = offset_of(node, start)
        position = position_of(node, len(self.items), "GROUP BY", self.source, at)
        item = None if position is None else self.items[position]
        if _is_bare(node) and not self.scope.named(node.name):
            item = self._output(node.name)
        value = resolve(node.unnest(), self.scope, self.source) if item is None else item.value
        refuse_windows(value, self.source, at)
        if found := find_aggregate(value):
            at = at if item is not None else call_offset(found, self.source, at)
            raise refuse_aggregate(found, "GROUP BY", "group by columns or expressions over them", self.source, at)
        return value

    def having(self, node: exp.Expr, groups: Sequence[exp.Expr]) -> exp.Expr:
        """The condition of HAVING."""
        grouped = {value.meta[REF] for value in groups if isinstance(value, exp.Column)}
        names = {shown.name.lower() for shown in self.scope.shown if shown.ref in grouped}
        return self._resolved(node, lambda name: name.lower() not in names)

    def qualify(self, clause: exp.Qualify | None) -> Item | None:
        """The condition of QUALIFY, in which names stand for columns first."""
        if clause is None:
            return None
        node = clause.this
        at = self.source.find_outermost({TokenType.QUALIFY})
        value = self._resolved(node, lambda name: not self.scope.named(name))
        if not value.find(exp.Window):
            msg = "QUALIFY is a condition on window functions, and there is none in it; write WHERE or HAVING"
            raise self.source.unsupported("QUALIFY", msg, at)
        return Item("qualify", value, at, "the condition of QUALIFY", written="qualify")

    def first_rows(self, select: exp.Select, keys: Sequence[SortBy]) -> Item | None:
        """DISTINCT ON (a, b) ... ORDER BY c as the condition ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c) = 1.

        Names stand for outputs first, as in ORDER BY. Without ORDER BY the columns decide, from left to right.
        """
        if not is_distinct_on(select):
            return None
        at = self.source.find({TokenType.DISTINCT})
        if select.args.get("qualify"):
            msg = "DISTINCT ON beside QUALIFY is not supported; write QUALIFY in a query in FROM"
            raise self.source.unsupported("DISTINCT", msg, self.source.find_outermost({TokenType.QUALIFY}))
        partition = []
        for node in select.args["distinct"].args["on"].expressions:
            key = SortBy(node, descending=False, nulls_first=True, offset=offset_of(node, at))
            partition.append(self._sorted_by(key, "DISTINCT ON"))
        ordered = [exp.Ordered(this=key.value.copy(), desc=key.descending, nulls_first=key.nulls_first) for key in keys]
        number = exp.RowNumber()
        number.meta["start"] = at
        window = exp.Window(this=number, partition_by=partition, order=exp.Order(expressions=ordered), over="OVER")
        is_first = exp.EQ(this=window, expression=exp.Literal.number(1))
        return Item("qualify", is_first, at, "the first row of DISTINCT ON", written="qualify")

    def order(self, key: SortBy) -> tuple[SortBy, ...]:
        """The keys that one of ORDER BY is: ALL is one for each output."""
        if is_all(key.value) and (self._output("all") or self.scope.named("all")):
            key = replace(key, value=exp.Column(this=exp.to_identifier("all")))
        if is_all(key.value):
            return tuple(replace(key, value=item.value.copy()) for item in self.items)
        return (replace(key, value=self._sorted_by(key, "ORDER BY")),)

    def _sorted_by(self, key: SortBy, clause: str) -> exp.Expr:
        position = position_of(key.value, len(self.items), clause, self.source, key.offset)
        if position is not None:
            return self.items[position].value.copy()
        refuse_windows(key.value, self.source, key.offset)
        return self._resolved(key.value, lambda _: True)

    def _resolved(self, node: exp.Expr, may_be_output: Callable[[str], bool]) -> exp.Expr:
        """An expression in which bare names outside of aggregates stand for outputs first."""

        def exchanged(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or REF in part.meta or not _is_bare(part):
                return part
            item = self._output(part.name) if may_be_output(part.name) and not is_within_aggregate(part) else None
            if item is None:
                return part
            plain = isinstance(item.value, (exp.Column, exp.Literal, exp.Func))
            return item.value.copy() if plain else exp.paren(item.value)

        return resolve(node.transform(exchanged).unnest(), self.scope, self.source)

    def _output(self, name: str) -> Item | None:
        return next((item for item in self.items if item.name.lower() == name.lower()), None)


def _has_sets(group: exp.Group) -> bool:
    return any(isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)) for node in group.expressions)


def _is_bare(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and len(node.parts) == 1 and not isinstance(node.this, exp.Star)
