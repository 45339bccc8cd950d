"""The names in the FROM clauses of one text: tables, views, definitions of WITH, and queries in parentheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import assert_never

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.errors import UnsupportedQueryError
from livejoin.query.bound_query import Query
from livejoin.query.relational import AsOf, AsOfCondition, Join, Numbers, Project, Repeated
from livejoin.schema import Table
from livejoin.sql.bind.passes import PassRewriter
from livejoin.sql.lower.order_by import resolve_order
from livejoin.sql.lower.project import first_rows, refuse_lists
from livejoin.sql.lower.resolve import resolve_block
from livejoin.sql.lower.select import refuse_products
from livejoin.sql.lower.set_operation import combine
from livejoin.sql.names.from_clause import column_names
from livejoin.sql.names.known import Lateral
from livejoin.sql.parse.parse import parse
from livejoin.sql.parse.query_tree import Block, Combined, Definition, QueryTree, Sorted, With, query_tree
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import Form, SubQuery
from livejoin.sql.resolved.from_clause import FromClause, select_of
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.query import (
    Bound,
    BoundAsOf,
    BoundCombined,
    BoundNumbers,
    BoundRepeated,
    BoundSorted,
    BoundWith,
    NestedQuery,
    Scope,
    SelectBlock,
    SubSelect,
)
from livejoin.sql.sub_queries.free import free_columns, refuse_outer
from livejoin.sql.sub_queries.in_from import correlated_query
from livejoin.sql.sub_queries.lateral import lateral_query
from livejoin.sql.sub_queries.set_operations import Tree, correlated_set, is_correlated, resolved
from livejoin.sql.sub_queries.sides import of_same_types, union_sides


@dataclass(frozen=True, eq=False)
class KnownNames:
    """The tables of a catalog, views, and the definitions of the WITH clauses around a query.

    Args:
        catalog: The tables.
        views: The views by their names in lower case.
        text: The whole text.
        allow_product: Whether conditions may compare tables that no equality connects.
        definitions: The definitions by their names in lower case; the nearest WITH clause goes first.
        reads: The views that the text reads; mutable, shared by all names of one text.
        outer: The scope of the query around, for the expressions of a sub-query.
        plain: The SELECTs of plain views that were looked up; mutable, shared by the names of all texts.
    """

    catalog: Catalog
    views: Mapping[str, Query]
    text: Source
    allow_product: bool = False
    definitions: Mapping[str, NestedQuery] = field(default_factory=dict)
    reads: dict[str, None] = field(default_factory=dict)
    outer: Scope | None = None
    plain: dict[str, SelectBlock | None] = field(default_factory=dict)

    @property
    def rewriter(self) -> PassRewriter:
        """The rewrites of SELECTs over these names."""
        return PassRewriter(self, self.allow_product)

    def bound(self, tree: QueryTree | SelectBlock) -> Bound:
        """Bind a query; raises as `livejoin.sql.bind_query`."""
        match tree:
            case Block():
                return self.bound(resolve_block(tree, self))
            case SelectBlock():
                refuse_outer(tree)
                rewriter = self.rewriter
                return replace(rewriter.merged(rewriter.unnested(tree)), block=tree)
            case Combined():
                left, right = self.bound(tree.left), self.bound(tree.right)
                relation = combine(tree.kind, tree.all, (left.relation, right.relation), tree.source, tree.offset)
                return BoundCombined(tree.kind, tree.all, left, right, relation)
            case Sorted():
                return self._sorted(tree)
            case With():
                definitions, names = [], self
                for definition in tree.definitions:
                    query, names = names.defined(definition)
                    definitions.append(query)
                return BoundWith(tuple(definitions), names.bound(tree.query))
            case _:
                assert_never(tree)

    def _sorted(self, tree: Sorted) -> BoundSorted:
        """A query in parentheses or a set operation with ORDER BY."""
        below = self.bound(tree.input)
        order = resolve_order(tree, below.relation.schema.names)
        if order.limit is None:
            return BoundSorted(below, order, tree.source, below.relation)
        keys = [(key, key.value) for key in order.keys]
        first = first_rows(below.relation, keys, order, len(below.relation.types), tree.source)
        return BoundSorted(below, order, tree.source, first)

    def defined(self, definition: Definition) -> tuple[NestedQuery, KnownNames]:
        """Bind a definition of WITH, with its list of names if it has one; gives it and the names after it.

        Raises:
            SqlError: The query is not valid, or the list of names does not fit.
        """
        bound = self.bound(definition.query)
        columns = bound.columns
        if definition.columns:
            columns = column_names(definition.columns, len(columns), definition.source, definition.offset)
        query = NestedQuery(definition.name, columns, bound.relation, bound, bound.plain)
        return query, replace(self, definitions={**self.definitions, definition.name.lower(): query})

    def look_up(self, name: str) -> Table | NestedQuery | None:
        """The table, view or definition of a name, None if there is none."""
        lower = name.lower()
        if lower in self.definitions:
            return self.definitions[lower]
        if lower in self.views:
            self.reads.setdefault(lower)
            view = self.views[lower]
            return NestedQuery(name, tuple(view.schema.names), view.root, None, self._plain(lower, view))
        return self.catalog.get(name)

    def nested(self, query: exp.Expr) -> NestedQuery:
        """The query in a pair of parentheses."""
        if self.outer is None:
            bound = self.bound(query_tree(query, self.text))
        else:
            names, tree = self._opened(query)
            if isinstance(tree, SelectBlock) and any(free_columns(tree)):
                return correlated_query(tree, self.outer, self.rewriter)
            bound = names.bound(tree)
        return NestedQuery.of(bound)

    def full_join(
        self,
        matched: tuple[FromClause, tuple[Item, ...]],
        unmatched: tuple[FromClause, tuple[Item, ...]],
        sub_queries: Sequence[tuple[SubQuery, Scope]],
        source: Source,
        offset: int,
    ) -> NestedQuery:
        """The nested query for a FULL JOIN, a union of two SELECTs; see `livejoin.sql.names.known.Names`."""
        subs = tuple(
            SubSelect(one.form, one.comparison, self.in_expression(one.query, scope, "scalar")[0], source, one.offset)
            for one, scope in sub_queries
        )
        left, right = (self.bound(replace(select_of(*side, source), sub_queries=subs)) for side in (matched, unmatched))
        relation = combine("union", True, (left.relation, right.relation), source, offset)
        bound = BoundCombined("union", True, left, right, relation, is_full_join=True)
        return NestedQuery("", left.columns, relation, bound, None)

    def as_of(
        self, left: NestedQuery, right: NestedQuery, on: AsOfCondition, written: str, source: Source, offset: int
    ) -> NestedQuery:
        """The nested query for an ASOF JOIN of two queries; see `livejoin.sql.names.known.Names`."""
        assert left.bound is not None
        assert right.bound is not None
        for side in (left, right):
            refuse_lists(side.relation, "ASOF JOIN", source, offset)
        bound = BoundAsOf(left.bound, right.bound, AsOf(left.relation, right.relation, on, written))
        return NestedQuery("", bound.columns, bound.relation, bound, None)

    def rows(self, block: SelectBlock, copies: int = 1) -> NestedQuery:
        """A SELECT that is not merged with its reader; see `livejoin.sql.names.known.Names`."""
        bound = self.bound(block)
        if copies > 1:
            bound = BoundRepeated(bound, Repeated(bound.relation, copies))
        return NestedQuery("", bound.columns, bound.relation, bound, None)

    def numbers(self, count: int) -> NestedQuery:
        """The integers from 0 up to ``count``, without ``count``."""
        bound = BoundNumbers(Numbers(count))
        return NestedQuery("", bound.columns, bound.relation, bound, None)

    def selected(self, clause: FromClause, items: tuple[Item, ...], source: Source) -> NestedQuery:
        """A SELECT of some items from a FROM clause, which is not merged with its reader."""
        bound = self.rewriter.merged(select_of(clause, items, source))
        return NestedQuery("", bound.columns, bound.relation, bound, None)

    def grouped(
        self, clause: FromClause, items: tuple[Item, ...], groups: tuple[exp.Expr, ...], source: Source
    ) -> NestedQuery:
        """A SELECT of some items with GROUP BY from a FROM clause; without groups it gives one row."""
        block = replace(select_of(clause, items, source), groups=groups, is_global=not groups)
        bound = self.rewriter.merged(block)
        return NestedQuery("", bound.columns, bound.relation, bound, None)

    def united(self, sides: Sequence[tuple[FromClause, tuple[Item, ...]]], source: Source, offset: int) -> NestedQuery:
        """UNION ALL of SELECTs, as a tree of small height; see `livejoin.sql.names.known.Names`."""
        bounds: list[Bound] = [self.rewriter.merged(select_of(*side, source)) for side in sides]
        while len(bounds) > 1:
            pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
            bounds = [_both(left, right, source, offset) for left, right in pairs] + bounds[2 * len(pairs) :]
        (bound,) = bounds
        return NestedQuery.of(bound)

    def lateral(self, query: exp.Expr, before: FromClause, atom: int, source: Source, offset: int) -> Lateral:
        """The query of a LATERAL sub-query that stands after a FROM clause."""
        names, tree = replace(self, outer=replace(before.scope, outer=self.outer))._opened(query)
        if isinstance(tree, SelectBlock) and any(free_columns(tree)):
            around = select_of(before, (), source)
            around = replace(around, scope=replace(around.scope, outer=self.outer))
            return lateral_query(tree, around, self.rewriter, atom, offset)
        bound = names.bound(tree)
        return Lateral(NestedQuery.of(bound), 0, ())

    def _opened(self, query: exp.Expr) -> tuple[KnownNames, SelectBlock | QueryTree]:
        """A query without its WITH, and the names that its definitions add.

        A SELECT is resolved, and so is a correlated set operation, which becomes a SELECT.
        """
        names, tree = self._behind_with(query)
        if isinstance(tree, Block):
            return names, resolve_block(tree, names)
        found = names._correlated_set(tree) if isinstance(tree, Combined) else None
        return names, tree if found is None else found

    def _behind_with(self, query: exp.Expr) -> tuple[KnownNames, QueryTree]:
        names, tree = self, query_tree(query, self.text)
        while isinstance(tree, With):
            for definition in tree.definitions:
                _, names = names.defined(definition)
            tree = tree.query
        return names, tree

    def _correlated_set(self, tree: Combined) -> SelectBlock | None:
        """A set operation that reads columns of a query around, as a SELECT; None if it reads none."""
        # What is resolved is bound as it is written if it is not correlated: a copy is resolved here.
        found = resolved(deepcopy(tree), lambda block: resolve_block(block, self))
        return correlated_set(found, self.rewriter) if isinstance(found, Tree) and is_correlated(found) else None

    def in_expression(self, query: exp.Expr, scope: Scope, form: Form) -> tuple[SelectBlock | NestedQuery, ...]:
        """The query of a sub-query in an expression, or the sides of a UNION that are asked one by one."""
        names, tree = replace(self, outer=scope)._behind_with(query)
        try:
            return (names._one(tree),)
        except UnsupportedQueryError:
            sides = union_sides(tree) if form != "scalar" else ()
            if not sides:
                raise
            found = tuple(map(names._one, sides))
            if form != "exists" and not of_same_types(found):
                raise
            return found

    def _one(self, tree: QueryTree) -> SelectBlock | NestedQuery:
        """A query in an expression: a SELECT, a correlated set operation as a SELECT, or another query."""
        if isinstance(tree, Block):
            return resolve_block(tree, self)
        found = self._correlated_set(tree) if isinstance(tree, Combined) else None
        if found is not None:
            return found
        bound = self.bound(tree)
        return NestedQuery.of(bound)

    def fresh(self, name: str) -> str:
        """A name that no table has; a number is added if needed."""
        found, number = name, 1
        while found in self.catalog:
            number += 1
            found = f"{name}_{number}"
        return found

    def all(self) -> tuple[str, ...]:
        """All names."""
        tables, definitions = (table.name for table in self.catalog), self.definitions.values()
        return (*tables, *self.views, *(query.name for query in definitions))

    def known(self) -> str:
        """All names, for messages."""
        tables = ", ".join(repr(table.name) for table in self.catalog) or "none yet"
        views = ", ".join(map(repr, self.views))
        defined = ", ".join(repr(query.name) for query in self.definitions.values())
        return tables + (f"; known views: {views}" if views else "") + (f"; in WITH: {defined}" if defined else "")

    def _plain(self, name: str, view: Query) -> SelectBlock | None:
        """The SELECT of a view that can be merged into its reader; None if it cannot."""
        if name not in self.plain:
            self.plain[name] = None
            if isinstance(view.root, (Join, Project)):
                tree, text = parse(view.sql)
                inside = replace(self, text=text, definitions={}, reads={}, outer=None)
                with suppress(UnsupportedQueryError):  # a product that this text does not allow: it stays apart
                    found = inside.bound(query_tree(tree, text))
                    refuse_products(found.relation)
                    self.plain[name] = found.plain
        return self.plain[name]


def _both(left: Bound, right: Bound, source: Source, offset: int) -> Bound:
    """UNION ALL of two queries."""
    relation = combine("union", True, (left.relation, right.relation), source, offset)
    return BoundCombined("union", True, left, right, relation)
