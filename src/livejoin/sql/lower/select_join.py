"""The join below a SELECT: its conditions split over atoms, and expressions computed over its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.query.relational import Join
from livejoin.schema import SqlType
from livejoin.sql.lower.conditions import Conditions, split_conditions
from livejoin.sql.lower.select_block import SelectBlock
from livejoin.sql.lower.variables import make_atoms
from livejoin.sql.names.outputs import Item, compute
from livejoin.sql.names.scope import Scope
from livejoin.sql.parse.source import Source
from livejoin.sql.to_duckdb.result_types import column_type


@dataclass(frozen=True)
class Joined:
    """The tables of a SELECT with its conditions on single atoms."""

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

    def join(self, items: Sequence[Item]) -> Join:
        """The rows of the join with some expressions as columns.

        Raises:
            SqlTypeError: DuckDB cannot bind an expression, or its type is not one of a column.
            UnsupportedQueryError: An expression that is no function of its row.
        """
        head, outputs = compute(items, self.scope, self.source)
        atoms = make_atoms(self.scope, self.conditions.equal, self.conditions.predicates, head)
        types = tuple(found for output in outputs if (found := column_type(output.type)) is not None)
        return Join(ConjunctiveQuery(self.source.sql, atoms, head, outputs), types)

    def type_of(self, value: exp.Expr, written: str, role: str, offset: int) -> SqlType:
        """The type of a resolved expression; raises as `join`."""
        _, outputs = compute([Item(written, value, offset, role)], self.scope, self.source)
        found = column_type(outputs[0].type)
        assert found is not None, "the type of an output is one of a column"
        return found
