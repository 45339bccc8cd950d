"""The rows below a SELECT: its conditions split over atoms, and expressions computed over the rows.

A SELECT from one nested query has no join below it: its rows are those of the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ConjunctiveQuery, Product
from livejoin.query.relational import Join, Relation
from livejoin.query.scalar import conjunction
from livejoin.schema import SqlType
from livejoin.sql.lower.conditions import Conditions, split_conditions
from livejoin.sql.lower.inputs import read_inputs
from livejoin.sql.lower.project import list_columns, project, project_nothing
from livejoin.sql.lower.select_block import SelectBlock
from livejoin.sql.lower.variables import make_atoms
from livejoin.sql.names.outputs import Item, compute, no_column_type
from livejoin.sql.names.scope import Scope
from livejoin.sql.parse.source import Source
from livejoin.sql.to_duckdb.result_types import column_type


@dataclass(frozen=True)
class Joined:
    """The tables and nested queries of a SELECT with its conditions on single atoms."""

    scope: Scope
    conditions: Conditions
    source: Source

    @staticmethod
    def of(block: SelectBlock) -> Joined:
        """The join of a SELECT.

        Raises:
            SqlTypeError: A condition or a join whose types do not fit.
            UnsupportedQueryError: A condition that no atom can decide.
        """
        split = split_conditions(block.conditions, block.equalities, block.scope, block.source, block.start)
        return Joined(block.scope, split, block.source)

    @property
    def query(self) -> Relation | None:
        """What a nested query gives that stands alone in FROM; None if there are tables, or several."""
        only = self.scope.relations[0]
        return only.nested.relation if len(self.scope.relations) == 1 and only.nested is not None else None

    def rows(self, items: Sequence[Item]) -> Relation:
        """The rows below the SELECT with some expressions as columns: a `Join`, or a `Project` over a nested query.

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
            The rows, and the products over what they are joined from.

        Raises:
            SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column.
            UnsupportedQueryError: An expression that is no function of its row, or a list in a join.
        """
        if self.query is not None:
            return self._over(self.query, items), tuple(products)
        head, outputs = compute(items, self.scope, self.source)
        whole = make_atoms(self.scope, self.conditions.equal, self.conditions.predicates, head)
        atoms, read, found, inputs = read_inputs(self.scope, whole, head, products, self.source)
        types = tuple(kind for output in outputs if (kind := column_type(output.type)) is not None)
        return Join(ConjunctiveQuery(self.source.sql, atoms, read, outputs), types, inputs), found

    def type_of(self, value: exp.Expr, written: str, role: str, offset: int) -> SqlType:
        """The type of a resolved expression; raises as `rows`."""
        item = Item(written, value, offset, role)
        _, outputs = compute([item], self.scope, self.source)
        found = column_type(outputs[0].type)
        if found is None:
            raise no_column_type(item, outputs[0].type, self.source)
        return found

    def _over(self, relation: Relation, items: Sequence[Item]) -> Relation:
        """The rows of a nested query that the conditions keep; itself if they are its columns as they are."""
        found = project(relation, [(item, item.value) for item in items], None, self.source)
        predicate = conjunction(self.conditions.predicates.get(0, ()))
        if predicate is not None:
            return replace(found if items else project_nothing(relation), predicate=predicate)
        if not items:
            return project_nothing(relation) if list_columns(relation.schema) else relation
        is_same = [output.source for output in found.outputs] == list(range(len(relation.types)))
        return relation if is_same and found.schema.names == relation.schema.names else found
