"""Bind a query: SELECTs with aggregates, DISTINCT and ORDER BY ... LIMIT, set operations of them, and queries in FROM.

The steps of a SELECT, each in its own file: parse, split WITH clauses and set operations, resolve names, merge plain
queries in FROM, split conditions over atoms, rewrite expressions over groups, project. Its relations are, from below,

    Join -> [Aggregate | Distinct] -> Project with HAVING -> [Distinct] -> [TopK] -> Project,

and those that would change nothing are left out. In the place of the Join stands a Project if a SELECT reads one nested
query alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import TokenType, exp

from livejoin.catalog import Catalog
from livejoin.errors import UnknownNameError
from livejoin.query.relational import Distinct, Query, Relation, SetOperation
from livejoin.sql.bind.known_names import KnownNames
from livejoin.sql.lower.grouped.aggregates import refuse_aggregates, refuse_windows
from livejoin.sql.lower.grouped.determined import with_determined
from livejoin.sql.lower.grouped.grouping import Grouping
from livejoin.sql.lower.grouped.windows import windowed
from livejoin.sql.lower.merge import merge
from livejoin.sql.lower.parts.full_joins import without_full_joins
from livejoin.sql.lower.parts.narrow import narrow
from livejoin.sql.lower.parts.normal_parts import normal
from livejoin.sql.lower.payload import refuse_payload
from livejoin.sql.lower.project import first_rows, project, refuse_lists
from livejoin.sql.lower.read_order import read_order
from livejoin.sql.lower.resolve import resolve_block
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.lower.set_operation import combine
from livejoin.sql.names.order import is_all, order_of, position_of
from livejoin.sql.parse.nesting import within_depth
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.query_tree import Block, Combined, QueryTree, Sorted, With, query_tree
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF, column_at, key_of, place_of
from livejoin.sql.resolved.item import Item, Order, SortBy, distinct_names
from livejoin.sql.resolved.query import Bound, BoundBlock, BoundCombined, BoundSorted, BoundWith, SelectBlock
from livejoin.sql.sub_queries.free import refuse_outer
from livejoin.sql.sub_queries.making import Making
from livejoin.sql.sub_queries.unnest import unnest


@within_depth
def bind_query(
    sql: str, catalog: Catalog, views: Mapping[str, Query] | None = None, allow_product: bool = False
) -> Query:
    """The relational query of a text over the tables of a catalog and over views.

    Args:
        sql: The text.
        catalog: The tables.
        views: The views that it may read, by their names in lower case, each bound over the same tables and views.
        allow_product: Whether a condition may be over tables that no equality connects; then it is checked on each pair
            of their rows.

    Cost: a few ms; each predicate and each expression is bound by DuckDB, over no rows. A view that is merged is bound
    once more.

    Raises:
        SqlSyntaxError: The text does not parse.
        UnknownNameError: A table, column or alias that does not exist or is ambiguous.
        SqlTypeError: An expression, a join or a set operation whose types do not fit.
        UnsupportedQueryError: A clause outside of what livejoin reads, or a query that is nested too deeply.

    >>> from livejoin.sql import parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> query = bind_query("SELECT src, SUM(dst) / COUNT(*) AS mean FROM G GROUP BY src HAVING COUNT(*) > 1", catalog)
    >>> [str(output.source) for output in query.root.outputs], str(query.root.predicate)
    (['0', 'c1 / c2'], 'c2 > 1')
    >>> [(call.function, call.argument) for call in query.root.input.calls]
    [('sum', 1), ('count', None)]
    >>> twice = bind_query("SELECT a.mean FROM means a JOIN G ON a.src = G.src", catalog, {"means": query})
    >>> twice.reads, [given.table.name for given in twice.root.inputs]
    (('means',), ['means'])
    """
    tree, source = parse(sql)
    names = KnownNames(catalog, views or {}, source, bind_tree, bind_select, allow_product)
    bound = bind_tree(query_tree(tree, source), names)
    found = read_order(bound, lambda block: bind_tree(block, names).relation, _over_items)
    query = Query(sql, found.relation, tuple(names.reads), found.keys, found.below)
    named = zip(bound.columns, query.schema.names, strict=True)
    query = replace(query, numbered=tuple((written, name) for written, name in named if written != name))
    refuse_payload(query, source)
    return query


def bind_tree(tree: QueryTree | SelectBlock, names: KnownNames) -> Bound:
    """A query without its text, over what its names stand for; raises as `bind_query`."""
    match tree:
        case Block():
            return bind_tree(resolve_block(tree, names), names)
        case SelectBlock():
            block = tree
            refuse_outer(block)
            plain = unnest(block, Making(names, lambda one: bind_select(one, names.allow_product), unnest))
            return replace(bind_select(plain, names.allow_product), block=block)
        case Combined():
            left, right = bind_tree(tree.left, names), bind_tree(tree.right, names)
            relation = combine(tree.kind, tree.all, (left.relation, right.relation), tree.source, tree.offset)
            return BoundCombined(tree.kind, tree.all, left, right, relation)
        case Sorted():
            below = bind_tree(tree.input, names)
            order = resolve_order(tree, below.relation.schema.names)
            if order.limit is None:
                return BoundSorted(below, order, tree.source, below.relation)
            keys = [(key, key.value) for key in order.keys]
            first = first_rows(below.relation, keys, order, len(below.relation.types), tree.source)
            return BoundSorted(below, order, tree.source, first)
        case With():
            definitions = []
            for definition in tree.definitions:
                query, names = names.defined(definition)
                definitions.append(query)
            return BoundWith(tuple(definitions), bind_tree(tree.query, names))


def bind_select(block: SelectBlock, allow_product: bool = False) -> BoundBlock:
    """A SELECT; raises as `bind_query`."""

    def bind(inner: SelectBlock) -> BoundBlock:
        return bind_select(inner, allow_product)

    merged = merge(without_full_joins(block, bind))
    while (simpler := without_full_joins(merged, bind)) is not merged:
        merged = merge(simpler)
    return BoundBlock(block, merged, bind_block(merged, allow_product))


def bind_block(block: SelectBlock, allow_product: bool = False) -> Relation:
    """The relation of a SELECT; raises as `bind_query`."""

    def bind(inner: SelectBlock) -> Relation:
        return bind_block(inner, allow_product)

    block = normal(narrow(block, bind), bind)
    joined = Joined.of(block, allow_product)
    hidden = [] if block.distinct or block.order is None else _hidden(block.outputs, block.order)
    items = [*block.outputs, *hidden]
    names = distinct_names([item.name for item in items])
    items = [replace(item, name=name) for item, name in zip(items, names, strict=True)]
    if block.has_windows:
        qualify = block.items[-1].value if block.qualified else None
        relation = windowed(block, items, qualify, lambda inner: bind_block(inner, allow_product))
    elif block.groups is None:
        relation = joined.rows(items)
    else:
        relation = _grouped(block, block.groups, joined, items)
    if block.distinct:
        refuse_lists(relation, "DISTINCT", block.source, block.source.find({TokenType.DISTINCT}))
        relation = relation if isinstance(relation, Distinct) else Distinct(relation)
    if block.order is None:
        return relation
    keys = [(key, _over_items(key, items, block.source)) for key in block.order.keys]
    return first_rows(relation, keys, block.order, len(block.outputs), block.source)


def _hidden(items: tuple[Item, ...], order: Order) -> list[Item]:
    """Columns for the keys of an order that are no outputs."""
    shown_keys = {key_of(item.value) for item in items}
    hidden = {key_of(key.value): key for key in order.keys}
    return [
        Item(shown(key.value), key.value, key.offset, "the key of ORDER BY")
        for text, key in hidden.items()
        if text not in shown_keys
    ]


def _over_items(key: SortBy, items: list[Item], source: Source) -> exp.Expr:
    """A key of ORDER BY over the columns of a SELECT, which are its items."""
    positions = {key_of(item.value): i for i, item in reversed(list(enumerate(items)))}

    def exchanged(part: exp.Expr) -> exp.Expr:
        position = place_of(part, positions)
        if position is not None:
            return column_at(position)
        if isinstance(part, exp.Column):
            msg = (
                f"ORDER BY {shown(key.value)}: the SELECT list is DISTINCT and does not show {shown(part)}, so that a "
                "row has no single value of it; order by what the SELECT list shows"
            )
            raise source.unsupported("ORDER BY", msg, offset_of(part, key.offset))
        refuse_aggregates(part, "ORDER BY of DISTINCT", "add it to the SELECT list", source, key.offset)
        return part

    return key.value.transform(exchanged)


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


def resolve_order(tree: Sorted, names: list[str]) -> Order:
    """The order of a query by the columns of its result, column i as the `ColumnRef` (0, i).

    Raises:
        UnknownNameError: A name that is no column of the result.
        UnsupportedQueryError: As `livejoin.sql.names.order.order_of`, or an aggregate.
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
