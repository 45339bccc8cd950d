"""A sub-query as a relation with the columns that it is correlated by.

(SELECT v FROM S WHERE S.k = R.a)  =  SELECT v FROM (SELECT k, v FROM S) q WHERE q.k = R.a
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of
from livejoin.sql.resolved.column import column_at, key_of
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import Outer, outer_column, outer_of
from livejoin.sql.resolved.query import SelectBlock, SubSelect
from livejoin.sql.sub_queries.correlation import Compared, Correlation, correlation
from livejoin.sql.sub_queries.domain import Widened, joined_to, read_outside, wants_domain, widened
from livejoin.sql.sub_queries.free import free_columns
from livejoin.sql.sub_queries.parts import Parts, as_column, standing_at
from livejoin.sql.sub_queries.rewriter import select_all

Keyed: TypeAlias = tuple[exp.Expr, exp.Expr]
"""A column, and the condition that an outer one equals it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The values that are asked of a sub-query.

    Args:
        block: The sub-query without sub-queries of its own; its SELECT list does not matter.
        values: The values, over the rows of the sub-query or over its groups.
        groups: Expressions to group by besides the keys; None for the keys alone.
        having: A condition on groups.
        qualify: A condition on window functions, which are over the rows of one key.
        is_grouped: Whether there are groups.
        distinct: Whether equal rows count once.
    """

    block: SelectBlock
    values: Sequence[exp.Expr]
    groups: Sequence[exp.Expr] | None = None
    having: exp.Expr | None = None
    qualify: exp.Expr | None = None
    is_grouped: bool = True
    distinct: bool = False


def keyed(parts: Parts, asked: Asked, sub: SubSelect) -> SelectBlock:
    """A sub-query as a SELECT of one relation, with first the columns that it is correlated by, and then values.

    Args:
        parts: The SELECT around.
        asked: The values that are asked for.
        sub: The sub-query's place.

    Returns:
        ``SELECT values FROM relation WHERE key = outer``; column i of the relation is key i. If the sub-query is
        correlated by more than equalities, the keys are outer columns themselves, and may be NULL.

    Raises:
        UnsupportedQueryError: The sub-query reads a column of a query that is out of reach.
    """
    kept, conditions = with_keys(parts, asked, sub)
    bound = parts.rewriter.bound(kept)
    over = select_all(parts.rewriter, bound.relation, "query", asked.block.source, sub.offset, bound)
    first = len(kept.outputs) - len(asked.values)
    return replace(over, conditions=conditions, items=over.items[first:])


def with_keys(parts: Parts, asked: Asked, sub: SubSelect) -> tuple[SelectBlock, tuple[exp.Expr, ...]]:
    """A sub-query as a SELECT of the columns that it is correlated by, and then of values; arguments as for `keyed`.

    Returns:
        The SELECT, and the conditions ``key = outer`` over its columns.

    Raises:
        UnsupportedQueryError: The sub-query reads a column of a query that is out of reach.
    """
    groups, having, qualify, is_grouped = asked.groups, asked.having, asked.qualify, asked.is_grouped
    found = correlation(asked.block.conditions)
    block = nearer(asked.block, found)
    values: Sequence[exp.Expr] = [*asked.values, *([] if qualify is None else [qualify])]
    if wants_domain(block, found, [*values, *(groups or ()), *([] if having is None else [having])]):
        block, values, groups, having, keys = _over_domain(parts, block, found, values, groups, having)
    else:
        keys = [(key.inner, _equal(key)) for key in found.keys]
        block = replace(block, conditions=tuple(found.own))
    values = [_within(value, [key for key, _ in keys]) for value in values]
    named = [*((f"k{i}", key) for i, (key, _) in enumerate(keys)), *((f"v{i}", v) for i, v in enumerate(values))]
    grouped = {key_of(value): value for value in (*(key for key, _ in keys), *(groups or ()))}
    kept = replace(
        block,
        items=tuple(Item(name, value, offset_of(value, sub.offset), written=name) for name, value in named),
        groups=tuple(grouped.values()) if is_grouped else None,
        is_global=is_grouped and not keys and groups is None,
        having=having,
        distinct=asked.distinct,
        qualified=qualify is not None,
        order=None,
        read_order=(),
    )
    for outer, node in free_columns(kept):
        msg = (
            f"{outer.name} is a column of a query that is not right around this sub-query, and no column of "
            f"the query between is equal to it; add such a column there, as T.x = {outer.name}, and compare that"
        )
        raise block.source.unsupported("sub-query", msg, offset_of(node, sub.offset))
    conditions = []
    for position, (_, condition) in enumerate(keys):
        equal = condition.copy()
        equal.set("this", column_at(position))
        conditions.append(equal)
    return kept, (*conditions, *found.above)


def nearer(block: SelectBlock, found: Correlation) -> SelectBlock:
    """A sub-query whose parts read its own columns in place of the equal outer ones."""
    own: dict[Outer, exp.Expr] = {}
    for key in found.keys:
        outer = outer_of(key.outer)
        if outer is not None and isinstance(key.inner, exp.Column):
            own.setdefault(outer, key.inner)

    def exchanged(node: exp.Expr) -> exp.Expr:
        outer = outer_of(node)
        return node if outer is None or outer not in own else standing_at(own[outer].copy(), node)

    if not own:
        return block
    return replace(block, parts=tuple(part.mapped(lambda c: rewritten(c, exchanged)) for part in block.parts))


def _over_domain(
    parts: Parts,
    block: SelectBlock,
    found: Correlation,
    values: Sequence[exp.Expr],
    groups: Sequence[exp.Expr] | None,
    having: exp.Expr | None,
) -> tuple[SelectBlock, Sequence[exp.Expr], Sequence[exp.Expr] | None, exp.Expr | None, list[Keyed]]:
    """A sub-query that reads the values of outer columns from their domain (see `domain`)."""
    computed = [*values, *(groups or ()), *([] if having is None else [having])]
    far = [outer for outer in read_outside(block, found, computed) if outer.level > 1]
    if far and (beside := parts.beside(far)) is not None:
        block = block.mapped(lambda value: _nearer_by_one(value, beside))
        found = correlation(block.conditions)
        computed = [_nearer_by_one(value, beside) for value in computed]
    near: dict[ColumnRef, Outer] = {}
    for outer in read_outside(block, found, computed):
        if outer.level == 1:
            near.setdefault(outer.ref, outer)
    domain = parts.domain(list(near.values()), block) if near else None
    if domain is None:
        wide = Widened(replace(block, conditions=joined_to(found)), tuple(computed), ())
    else:
        wide = widened(block, found, computed, list(near.values()), domain)
    left = iter(wide.values)
    values = [next(left) for _ in values]
    groups = None if groups is None else [next(left) for _ in groups]
    having = None if having is None else next(left)
    keys: list[Keyed] = []
    for column, outer in wide.keys:
        outside = as_column(outer)
        equal = exp.EQ if parts.never_null(outside, parts.block) else exp.NullSafeEQ
        keys.append((column, equal(this=column.copy(), expression=outer_column(outer, None))))
    return wide.block, values, groups, having, keys


def _within(value: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr:
    """An expression whose window functions are partitioned by the keys too."""
    found = value.copy()
    for window in found.find_all(exp.Window):
        window.set("partition_by", [*(window.args.get("partition_by") or ()), *(key.copy() for key in keys)])
    return found


def _equal(key: Compared) -> exp.Expr:
    return standing_at(key.comparison(this=key.inner.copy(), expression=key.outer.copy()), key.written)


def _nearer_by_one(value: exp.Expr, beside: Mapping[Outer, ColumnRef]) -> exp.Expr:
    """An expression that reads columns of the nearest query around in place of those further out."""

    def read(node: exp.Expr) -> exp.Expr:
        outer = outer_of(node)
        if outer is None or outer not in beside:
            return node
        return outer_column(Outer(1, beside[outer], outer.name), node.meta.get("start"))

    return rewritten(value, read)
