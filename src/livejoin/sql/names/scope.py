"""Names in scope, and what they stand for.

A scope is what a FROM clause, or a part of one, shows to expressions: occurrences of tables by alias, and columns by
name. JOIN ... USING and NATURAL JOIN merge two columns into one that an unqualified name and ``*`` show once, first, as
in Spark. Names are compared without regard to case.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from livejoin.errors import UnknownNameError
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Column, Table
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.to_duckdb.scalar_text import REF


@dataclass(frozen=True)
class Relation:
    """One occurrence of a table: an atom of the query, by its position."""

    atom: int
    alias: str
    table: Table

    def column(self, position: int) -> ColumnRef:
        """A column of this occurrence."""
        return ColumnRef(self.atom, position)


@dataclass(frozen=True)
class Shown:
    """A column that a scope shows by its bare name; a merged one stands for the first of the columns merged."""

    name: str
    ref: ColumnRef


@dataclass(frozen=True)
class Scope:
    """Relations and columns in the order in which ``*`` shows them."""

    relations: tuple[Relation, ...] = ()
    shown: tuple[Shown, ...] = ()

    @staticmethod
    def of(relation: Relation) -> Scope:
        """The scope of a single occurrence of a table."""
        columns = enumerate(relation.table.columns)
        return Scope((relation,), tuple(Shown(column.name, relation.column(i)) for i, column in columns))

    def beside(self, other: Scope) -> Scope:
        """The scope of two parts of a FROM clause that merge no columns."""
        return Scope(self.relations + other.relations, self.shown + other.shown)

    def relation(self, alias: str) -> Relation | None:
        """The occurrence with this alias."""
        return next((r for r in self.relations if r.alias.lower() == alias.lower()), None)

    def named(self, name: str) -> tuple[Shown, ...]:
        """The columns that a bare name may stand for."""
        return tuple(s for s in self.shown if s.name.lower() == name.lower())

    def declared(self, ref: ColumnRef) -> Column:
        """The declaration of a column."""
        return self._atom(ref).table.columns[ref.column]

    def qualified(self, ref: ColumnRef) -> str:
        """A column with its alias, for messages."""
        return f"{self._atom(ref).alias}.{self.declared(ref).name}"

    def _atom(self, ref: ColumnRef) -> Relation:
        return next(r for r in self.relations if r.atom == ref.atom)


def resolve(node: exp.Expr, scope: Scope, source: Source) -> exp.Expr:
    """Note in the ``meta`` of every column of an expression what it stands for; returns the same expression.

    Columns that are resolved already keep what they stand for.

    Raises:
        UnknownNameError: A name stands for nothing or for several columns.
        UnsupportedQueryError: ``alias.*`` is in the expression.
    """
    for column in node.find_all(exp.Column):
        if REF not in column.meta:
            column.meta[REF] = _resolve(column, scope, source)
    return node


def relation_named(qualifier: exp.Expr, scope: Scope, source: Source) -> Relation:
    """The occurrence that a qualifier names.

    Raises:
        UnknownNameError: There is none.
    """
    relation = scope.relation(qualifier.name)
    if relation is None:
        known = ", ".join(repr(r.alias) for r in scope.relations)
        msg = f"no table or alias {qualifier.name!r} is in scope here; in scope: {known}"
        raise source.error(UnknownNameError, msg, offset_of(qualifier, 0))
    return relation


def _resolve(column: exp.Column, scope: Scope, source: Source) -> ColumnRef:
    offset = offset_of(column, 0)
    if len(column.parts) > 2:
        msg = f"{shown(column)!r}: allowed are names of the form column or alias.column"
        raise source.error(UnknownNameError, msg, offset)
    if isinstance(column.this, exp.Star):
        msg = f"{shown(column)} within an expression is not supported; name the columns"
        raise source.unsupported("*", msg, offset)
    if "table" in column.args:
        relation = relation_named(column.args["table"], scope, source)
        if not relation.table.has_column(column.name):
            names = ", ".join(c.name for c in relation.table.columns)
            msg = f"{relation.alias!r} (table {relation.table.name!r}) has no column {column.name!r}; it has {names}"
            raise source.error(UnknownNameError, msg, offset_of(column.this, offset))
        return relation.column(relation.table.position(column.name))
    return resolve_bare(column.name, scope, source, offset)


def resolve_bare(name: str, scope: Scope, source: Source, offset: int) -> ColumnRef:
    """What an unqualified name stands for.

    Raises:
        UnknownNameError: Nothing, or several columns.
    """
    match scope.named(name):
        case (one,):
            return one.ref
        case ():
            known = ", ".join(dict.fromkeys(s.name for s in scope.shown))
            msg = f"no column {name!r} is in scope here; in scope: {known}"
            if scope.relation(name):
                msg = f"{name!r} is a table here, not a column; write {name}.column with one of its columns"
        case several:
            choices = ", ".join(scope.qualified(s.ref) for s in several)
            msg = f"column {name!r} is ambiguous; write one of {choices}"
    raise source.error(UnknownNameError, msg, offset)
