"""The rows below a SELECT: its conditions split over atoms, and expressions computed over the rows.

A SELECT from one nested query alone has no join below it, but the rows of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef, ConjunctiveQuery, Output, Product
from livejoin.query.filters import conjunction
from livejoin.query.relational import Join, Project, Relation
from livejoin.schema import SqlType
from livejoin.sql.lower.bounded_ranks import bounded
from livejoin.sql.lower.conditions.split import Conditions, split_conditions
from livejoin.sql.lower.inputs import read_inputs
from livejoin.sql.lower.parts.branches import Edge, key_columns, make_branches, split_parts
from livejoin.sql.lower.project import list_columns, project, project_nothing
from livejoin.sql.lower.variables import make_atoms
from livejoin.sql.names.outputs import compute, no_column_type, output_types
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import bound_column, refs_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import Occurrence, Scope, SelectBlock
from livejoin.sql.scalars.expression import RowType


@dataclass(frozen=True)
class Joined:
    """The tables and nested queries of a SELECT with its conditions on single atoms.

    Args:
        scope: The occurrences.
        conditions: The conditions.
        source: The tokens of the SELECT.
        edges: The parts that hang on the core.
        padded: The atoms that are joined here, but whose columns may be NULL in rows that are added elsewhere.
    """

    scope: Scope
    conditions: Conditions
    source: Source
    edges: tuple[Edge, ...] = ()
    padded: frozenset[int] = frozenset()

    @staticmethod
    def of(block: SelectBlock, allow_product: bool = False) -> Joined:
        """The join of a SELECT; with an `Unconnected` comparison the caller makes sums of it, or raises its error.

        Args:
            block: The SELECT.
            allow_product: Whether a condition may compare tables that no equality connects.

        Raises:
            SqlTypeError: A condition or a join whose types do not fit.
            UnsupportedQueryError: A condition compares tables that no equality connects, but not by order.
        """
        if block.parts:
            split, edges = split_parts(block, allow_product)
            return Joined(_with_bounds(block.scope, split), _bounded(split), block.source, edges)
        split = split_conditions(
            block.conditions, block.equalities, block.scope, block.source, block.start, allow_product
        )
        return Joined(_with_bounds(block.scope, split), _bounded(split), block.source)

    @property
    def optional(self) -> frozenset[int]:
        """The atoms whose columns are NULL where there is no match."""
        return self.padded.union(*(edge.part.atoms for edge in self.edges if edge.part.kind == "optional"))

    @property
    def first(self) -> int:
        """The first atom of the core."""
        hanging = {atom for edge in self.edges for atom in edge.part.atoms}
        return next(relation.atom for relation in self.scope.relations if relation.atom not in hanging)

    @property
    def query(self) -> Relation | None:
        """The relation of a nested query that stands alone in FROM; None for tables or several items."""
        only = self.scope.relations[0]
        return only.nested.relation if len(self.scope.relations) == 1 and only.nested is not None else None

    def rows(self, items: Sequence[Item]) -> Relation:
        """The rows below the SELECT, with some expressions as columns.

        The relation is a `Join`, a `Project` over one that checks the residuals, or a `Project` over a nested query.

        Raises:
            SqlTypeError, UnsupportedQueryError: As for `rows_with`.
        """
        return self.rows_with(items, ())[0]

    def rows_with(self, items: Sequence[Item], products: Sequence[Product]) -> tuple[Relation, tuple[Product, ...]]:
        """As `rows`, with products of columns.

        Args:
            items: The expressions.
            products: The products of their aggregates, over the columns of FROM.

        Returns:
            The rows, and the products over their inputs; no products if residuals are checked on the rows.

        Raises:
            SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column.
            UnsupportedQueryError: An expression that is no function of its row, or a list in a join.
        """
        if self.query is not None:
            return self._over(self.query, items), tuple(products)
        head, outputs = compute(items, self.scope, self.source)
        if self.conditions.residuals:
            return self._checked(head, outputs), ()
        scope = self.conditions.scope
        used = tuple(dict.fromkeys((*head, *key_columns(self.edges))))
        whole = make_atoms(scope, self.conditions.joins, self.conditions.predicates, used)
        branches = make_branches(self.edges, whole)
        atoms, read, found, inputs = read_inputs(scope, whole, head, products, self.source)
        types = output_types(outputs, [self.scope.declared(ref).type for ref in head])
        query = ConjunctiveQuery(self.source.sql, atoms, read, outputs, branches=branches)
        return Join(query, types, inputs), found

    def _checked(self, head: tuple[ColumnRef, ...], outputs: tuple[Output, ...]) -> Project:
        """Outputs over a head, for the rows of the join that satisfy the residuals."""
        read = (ref for one in self.conditions.residuals for ref in refs_of(one.condition))
        wide = tuple(dict.fromkeys((*head, *read)))
        names = distinct_names([self.scope.qualified(ref) for ref in wide])
        columns = [
            Item(name, bound_column(ref, name), self.conditions.residuals[0].offset)
            for name, ref in zip(names, wide, strict=True)
        ]
        joined = replace(self, conditions=replace(self.conditions, residuals=()))
        row = RowType.of_types(
            [self.scope.declared(ref).type for ref in wide], [self.scope.arrow(ref) for ref in wide], wide.index
        )
        predicate = self.conditions.residual(row, self.source)
        below = joined.rows(columns)
        if not outputs:
            return replace(project_nothing(below), predicate=predicate, across=self.conditions.written)
        types = output_types(outputs, [self.scope.declared(ref).type for ref in wide])
        return Project(below, outputs, types, predicate, self.conditions.written)

    def type_of(self, value: exp.Expr, written: str, role: str, offset: int) -> SqlType:
        """The type of a resolved expression; raises as `rows`."""
        item = Item(written, value, offset, role)
        head, outputs = compute([item], self.scope, self.source)
        found = output_types(outputs, [self.scope.declared(ref).type for ref in head])
        if not found:
            raise no_column_type(item, outputs[0].type, self.source)
        return found[0]

    def _over(self, relation: Relation, items: Sequence[Item]) -> Relation:
        """The rows of a nested query that satisfy the conditions; the relation itself if nothing changes."""
        found = project(relation, [(item, item.value) for item in items], None, self.source)
        predicate = conjunction(self.conditions.predicates.get(0, ()))
        if predicate is not None:
            return replace(found if items else project_nothing(relation), predicate=predicate, written=predicate.text)
        if not items:
            return project_nothing(relation) if list_columns(relation.schema) else relation
        is_same = [output.source for output in found.outputs] == list(range(len(relation.types)))
        return relation if is_same and found.schema.names == relation.schema.names else found


def _with_bounds(scope: Scope, conditions: Conditions) -> Scope:
    """A scope whose nested queries keep only the ranks that conditions ask for."""

    def found(one: Occurrence) -> Occurrence:
        predicates = conditions.predicates.get(one.atom, ())
        if one.nested is None or not predicates:
            return one
        return replace(one, nested=replace(one.nested, relation=bounded(one.nested.relation, predicates)))

    return replace(scope, relations=tuple(map(found, scope.relations)))


def _bounded(conditions: Conditions) -> Conditions:
    return replace(conditions, scope=_with_bounds(conditions.scope, conditions))
