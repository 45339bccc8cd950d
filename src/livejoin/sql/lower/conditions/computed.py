"""Computed columns of atoms: expressions over the columns of one occurrence, on which the query joins.

    R' = pi_(R.*, f(R) AS x)(R)

An occurrence with computed columns is read as a derived relation (`livejoin.sql.lower.inputs`), whose rows are stored:
O(rows of the table). The expressions are evaluated for the rows that satisfy the atom's predicates.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from livejoin.errors import UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Column
from livejoin.sql.parse.source import Source, shown
from livejoin.sql.resolved.column import REF, refs_of
from livejoin.sql.resolved.item import distinct_names
from livejoin.sql.resolved.query import Computed, Scope
from livejoin.sql.scalars.bind import Unsaid
from livejoin.sql.scalars.expression import RowType, bind_tree, refusal


def refuse_unsaid(condition: exp.Expr, scope: Scope, source: Source, offset: int) -> UnsupportedQueryError:
    """The refusal of an equality of which one side cannot be a scalar tree."""
    for side in (condition.this, condition.expression):
        for atom in {ref.atom for ref in refs_of(side)}:
            relation = scope.relations[atom]
            found = bind_tree(side.unnest(), RowType.of_table(relation.base.columns, relation.rows), source, offset)
            if isinstance(found, Unsaid):
                return source.unsupported(found.what, refusal(found), found.offset)
    msg = "livejoin cannot compute what this condition compares; store it in columns"
    return source.unsupported("=", msg, offset)


def with_column(
    scope: Scope, atom: int, value: exp.Expr, source: Source, offset: int
) -> tuple[Scope, ColumnRef] | None:
    """A scope in which an occurrence has an expression as a column.

    A column stands for itself, and equal expressions get one column.

    Args:
        scope: The scope; it is not changed.
        atom: The occurrence.
        value: A resolved expression over the occurrence's own columns, without computed ones.
        source: The SQL text.
        offset: A position for parts of the expression without one.

    Returns:
        The scope and the column; None if the expression cannot be a scalar tree.

    Raises:
        SqlTypeError: The types within the expression do not fit.
    """
    node = value.unnest()
    if isinstance(node, exp.Column):
        return scope, node.meta[REF]
    relation = scope.relations[atom]
    own = relation.base.columns
    found = bind_tree(node, RowType.of_table(own, relation.rows), source, offset)
    if isinstance(found, Unsaid):
        return None
    expression, kind = found
    for place, computed in enumerate(relation.computed):
        if computed.expression == expression:
            return scope, ColumnRef(atom, len(own) + place)
    readable = expression.text if relation.nested is None else shown(node)
    name = distinct_names([*(column.name for column in relation.table.columns), readable])[-1]
    table = replace(relation.table, columns=(*relation.table.columns, Column(name, kind)))
    wider = replace(relation, table=table, computed=(*relation.computed, Computed(node, expression)))
    relations = tuple(wider if one.atom == atom else one for one in scope.relations)
    return replace(scope, relations=relations), ColumnRef(atom, len(relation.table.columns))
