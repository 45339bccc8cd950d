"""The expressions of the corpus as livejoin binds them, over the corpus's rows."""

from __future__ import annotations

from conformance import corpus
from livejoin.errors import UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.scalar import Field, Scalar
from livejoin.schema import Table
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.parse import parse
from livejoin.sql.resolved.query import Occurrence, Scope
from livejoin.sql.scalars.bind import Unsaid, bind_scalar


def bound(sql: str) -> Scalar | Unsaid:
    """An expression over the corpus's rows; Unsaid too where it has a pattern that is not evaluated.

    Raises:
        SqlError: It does not parse, or its types do not fit.
    """
    tree, source = parse(f"SELECT {sql} FROM corpus")
    table = Table("corpus", corpus.columns())
    scope = Scope.of(Occurrence(0, "corpus", table))
    node = tree.expressions[0].unalias()

    def field(ref: ColumnRef) -> Field:
        return Field(ref.column, table.columns[ref.column].type)

    resolved = resolve(node, scope, source)
    try:
        return bind_scalar(resolved, field, source)
    except UnsupportedQueryError as error:
        return Unsaid(error.clause, error.message, error.column)
