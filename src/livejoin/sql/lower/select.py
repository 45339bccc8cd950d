"""A SELECT that went through all rewrites as relations.

    Join -> [Aggregate | Distinct] -> Project with HAVING -> [Distinct] -> [TopK] -> Project,

from bottom to top; operators that change nothing are left out. If a SELECT reads one nested query alone, a Project
replaces the Join.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import TokenType, exp

from livejoin.query.inequality import inequality_groups
from livejoin.query.inequality_sides import InequalitySides
from livejoin.query.relational import Distinct, Project, Relation, SetOperation
from livejoin.sql.lower.grouped.determined import with_determined
from livejoin.sql.lower.grouped.grouping import Grouping
from livejoin.sql.lower.grouped.windows import windowed
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.order_by import hidden_items, over_items
from livejoin.sql.lower.project import first_rows, project, refuse_lists
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import SelectBlock


def relation_of(block: SelectBlock, lowering: Lowering) -> Relation:
    """The relation of a SELECT whose parts are in normal form.

    Args:
        block: The SELECT.
        lowering: Makes the relations of SELECTs that window functions need.

    Rows of a product that a comparison by order selects say that they are refused (`refuse_products`).

    Raises:
        SqlError: An expression or a condition whose types do not fit, or one that is not supported.
    """
    joined = Joined.of(block, lowering.allow_product)
    unconnected = joined.conditions.unconnected
    if unconnected is not None and (block.sets is not None or block.has_windows):
        raise unconnected.error(_not_summed(block))
    hidden = [] if block.distinct or block.order is None else hidden_items(block.outputs, block.order)
    items = [*block.outputs, *hidden]
    names = distinct_names([item.name for item in items])
    items = [replace(item, name=name) for item, name in zip(items, names, strict=True)]
    if block.has_windows:
        relation = windowed(block, items, block.items[-1].value if block.qualified else None, lowering)
    elif block.groups is None:
        relation = joined.rows(items)
        if unconnected is not None:
            assert isinstance(relation, Project), "a comparison across tables is checked on the rows of their join"
            relation = replace(relation, refused=unconnected.error(_not_summed(block)))
    else:
        relation = _grouped(block, block.groups, joined, items)
    if block.distinct:
        refuse_lists(relation, "DISTINCT", block.source, block.source.find({TokenType.DISTINCT}))
        relation = relation if isinstance(relation, Distinct) else Distinct(relation)
    if block.order is None:
        return relation
    keys = [(key, over_items(key, items, block.source)) for key in block.order.keys]
    return first_rows(relation, keys, block.order, len(block.outputs), block.source)


def refuse_products(relation: Relation) -> None:
    """Refuse the rows of products that a relation reads; those of a query that was merged are not there any more.

    Raises:
        UnsupportedQueryError: There are some.
    """
    if isinstance(relation, Project) and relation.refused is not None:
        raise relation.refused
    for one in relation.below:
        refuse_products(one)


def _not_summed(block: SelectBlock) -> str:
    """Why a SELECT asks for no sums over the rows of its join alone; empty where it asks for the rows."""
    if block.has_windows:
        return "a window function needs the rows"
    return "ROLLUP, CUBE and GROUPING SETS need the rows" if block.sets is not None else ""


def _grouped(block: SelectBlock, groups: tuple[exp.Expr, ...], joined: Joined, items: list[Item]) -> Relation:
    """The relation of a SELECT with groups."""
    start = block.source.tokens[0].start
    if block.sets is not None:
        return _over_sets(block, block.sets, Grouping(groups, joined, start), items)
    read = [*(item.value for item in items), *([] if block.having is None else [block.having])]
    groups = with_determined(groups, read, joined, start)
    grouping = Grouping(groups, joined, start)
    values = [(item, grouping.over(item.value, item.offset)) for item in items]
    condition = None
    if block.having is not None:
        condition = block.having, grouping.over(block.having, block.source.find_outermost({TokenType.HAVING}))
    relation = grouping.relation(block.is_global)
    if joined.conditions.unconnected is not None:
        pairs = inequality_groups(relation)
        if not isinstance(pairs, InequalitySides):
            raise joined.conditions.unconnected.error(pairs or "groups without aggregates are asked for")
    copied = [value.meta[REF].column if isinstance(value, exp.Column) else -1 for _, value in values]
    if condition is None and isinstance(relation, Distinct) and copied == list(range(len(groups))):
        return Distinct(joined.rows(items))
    return project(relation, values, condition, block.source)


def _over_sets(
    block: SelectBlock, sets: tuple[tuple[int, ...], ...], grouping: Grouping, items: list[Item]
) -> Relation:
    """UNION ALL of the groups of each grouping set."""
    values, conditions = [], []
    for chosen in sets:
        grouping.of_set(chosen)
        values.append([(item, grouping.over(item.value, item.offset)) for item in items])
        condition = None
        if block.having is not None:
            at = block.source.find_outermost({TokenType.HAVING})
            condition = block.having, grouping.over(block.having, at)
        conditions.append(condition)
    relations = [
        project(relation, own, condition, block.source)
        for relation, own, condition in zip(grouping.relations(sets), values, conditions, strict=True)
    ]
    united: Relation = relations[0]
    for relation in relations[1:]:
        united = SetOperation("union", True, united, relation)
    return united
