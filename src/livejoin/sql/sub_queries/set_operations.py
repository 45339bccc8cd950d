"""Correlated sub-queries that are set operations.

    (SELECT c FROM S WHERE S.k = R.a  UNION  SELECT y FROM T WHERE T.id = R.a)
      =  SELECT v FROM (SELECT k, c AS v FROM S  UNION  SELECT id, y FROM T) q WHERE q.k = R.a

where both sides are correlated by equalities with the same columns. The result of a set operation for a key depends on
the rows of that key alone, also for EXCEPT ALL and INTERSECT.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.set_operation import combine
from livejoin.sql.parse.query_tree import Block, Combined, QueryTree
from livejoin.sql.resolved.outer import Outer, outer_column, outer_of
from livejoin.sql.resolved.query import Bound, BoundCombined, SelectBlock, SubSelect
from livejoin.sql.sub_queries.correlation import Comparison, correlation
from livejoin.sql.sub_queries.domain import wants_domain
from livejoin.sql.sub_queries.first_rows import refuse_global
from livejoin.sql.sub_queries.free import free_columns, refuse_outer
from livejoin.sql.sub_queries.keyed import Asked, with_keys
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.rewriter import Rewriter, select_all

Key = tuple[Outer, Comparison]
Resolve = Callable[[Block], SelectBlock]


@dataclass(frozen=True)
class Tree:
    """A set operation whose SELECTs are resolved.

    Args:
        operation: The set operation as written.
        left: The left side.
        right: The right side.
    """

    operation: Combined
    left: SelectBlock | Tree
    right: SelectBlock | Tree


def resolved(tree: QueryTree, resolve: Resolve) -> Tree | SelectBlock | None:
    """Resolve a query of SELECTs and set operations; None if it has anything else."""
    match tree:
        case Block():
            return resolve(tree)
        case Combined():
            left, right = resolved(tree.left, resolve), resolved(tree.right, resolve)
            return None if left is None or right is None else Tree(tree, left, right)
        case _:
            return None


def is_correlated(tree: Tree | SelectBlock) -> bool:
    """Whether a SELECT of a query reads columns of a query around."""
    if isinstance(tree, Tree):
        return is_correlated(tree.left) or is_correlated(tree.right)
    return any(free_columns(tree))


def correlated_set(tree: Tree, rewriter: Rewriter) -> SelectBlock:
    """A correlated set operation as a SELECT of one relation.

    Args:
        tree: The set operation.
        rewriter: Makes relations.

    Raises:
        UnsupportedQueryError: A side is correlated by more than equalities, or the sides are correlated by different
            columns.
        SqlError: A side is not valid.
    """
    bound, keys = _side(tree, rewriter)
    source, offset = tree.operation.source, tree.operation.offset
    over = select_all(rewriter, bound.relation, "query", source, offset, bound)
    conditions = [
        comparison(this=item.value.copy(), expression=outer_column(outer, offset))
        for item, (outer, comparison) in zip(over.items, keys, strict=False)
    ]
    names = bound.columns[len(keys) :]
    items = [replace(item, name=name, written=name) for item, name in zip(over.items[len(keys) :], names, strict=True)]
    return replace(over, conditions=tuple(conditions), items=tuple(items))


def _side(tree: Tree | SelectBlock, rewriter: Rewriter) -> tuple[Bound, tuple[Key, ...]]:
    """A query with the columns that it is correlated by before its own, and the equal outer columns."""
    if isinstance(tree, SelectBlock):
        return _of_select(tree, rewriter)
    operation = tree.operation
    (left, keys), (right, others) = _side(tree.left, rewriter), _side(tree.right, rewriter)
    if [_what(key) for key in keys] != [_what(key) for key in others]:
        names = [", ".join(outer.name for outer, _ in found) or "none" for found in (keys, others)]
        msg = (
            f"the left side of this {operation.kind.upper()} is correlated by {names[0]}, the right one by {names[1]}; "
            "compare the same columns of the query around in both, or write a sub-query for each side"
        )
        raise operation.source.unsupported("sub-query", msg, operation.offset)
    kind, sides = operation.kind, (left.relation, right.relation)
    relation = combine(kind, operation.all, sides, operation.source, operation.offset)
    return BoundCombined(kind, operation.all, left, right, relation), keys


def _of_select(written: SelectBlock, rewriter: Rewriter) -> tuple[Bound, tuple[Key, ...]]:
    block = rewriter.unnested(written)
    if block.sets is not None or block.order is not None:
        refuse_outer(block)
    sub = SubSelect("scalar", None, block, block.source, block.start)
    if block.is_global:
        refuse_global(block, sub)
    found = correlation(block.conditions)
    values = [item.value for item in block.outputs]
    read = [*values, *(block.groups or ()), *([] if block.having is None else [block.having])]
    if found.above or wants_domain(block, found, read) or any(outer_of(key.outer) is None for key in found.keys):
        refuse_outer(block)
    kept, conditions = with_keys(
        Parts(block, rewriter),
        Asked(
            block,
            values,
            groups=None if block.is_global else block.groups,
            having=block.having,
            qualify=block.items[-1].value if block.qualified else None,
            is_grouped=block.groups is not None,
            distinct=block.distinct,
        ),
        sub,
    )
    keys = [(_outer(condition), type(condition)) for condition in conditions]
    order = sorted(range(len(keys)), key=lambda place: (keys[place][0].ref.atom, keys[place][0].ref.column))
    named = zip(kept.items[len(keys) : len(keys) + len(values)], block.outputs, strict=True)
    items = [kept.items[place] for place in order]
    items += [replace(item, name=f"v {own.name}", written=own.written) for item, own in named]
    bound = rewriter.bound(replace(kept, items=(*items, *kept.items[len(items) :])))
    return bound, tuple(keys[place] for place in order)


def _outer(condition: exp.Expr) -> Outer:
    found = outer_of(condition.expression)
    assert found is not None, "a key equals an outer column"
    return found


def _what(key: Key) -> tuple[int, ColumnRef, Comparison]:
    """A key without its name, which may be written in several ways."""
    outer, comparison = key
    return outer.level, outer.ref, comparison
