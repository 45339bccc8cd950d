"""The result of a PIVOT or UNPIVOT in FROM: one nested query in place of all items before it.

After an alias its columns belong to the alias. Without one, they have no alias; kept columns still belong to their
tables, as in Spark: ``SELECT t.k FROM t UNPIVOT (v FOR n IN (a, b))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Table
from livejoin.sql.names.from_clause import column_names
from livejoin.sql.names.known import Names
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import distinct_names
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, Side


def pivoted_rows(
    query: NestedQuery,
    before: Scope,
    kept: Sequence[ColumnRef],
    pivot: exp.Pivot,
    names: Names,
    source: Source,
    at: int,
) -> FromClause:
    """The FROM clause with the query of a PIVOT or UNPIVOT alone.

    Args:
        query: The result of the clause; kept columns come first.
        before: The items before the clause.
        kept: The columns of these that are kept.
        pivot: The clause, with its alias.
        names: The names in FROM.
        source: The tokens of the SELECT.
        at: The offset of the clause.

    Raises:
        UnsupportedQueryError: The alias has more or fewer names than there are columns.
    """
    if given := pivot.args["alias"].args.get("columns") if pivot.args.get("alias") else None:
        query = query.called(column_names(given, len(query.columns), source, at))
    alias = pivot.alias or ("unpivot" if pivot.args.get("unpivot") else "pivot")
    own = distinct_names(query.relation.schema.names)
    table = Table(names.fresh(alias), relation_columns(own, query.relation))
    scope = Scope.of(Occurrence(0, alias, table, query, at))
    if pivot.alias:
        return FromClause(scope)
    places = {ref: ColumnRef(0, place) for place, ref in enumerate(kept)}
    sides = [_side(one.alias, one.described, _refs(one), before, places) for one in before.aliased]
    return FromClause(replace(scope, sides=tuple(sides), hidden=frozenset({0})))


def _refs(one: Occurrence | Side) -> tuple[ColumnRef, ...]:
    return tuple(one.column(place) for place in range(len(one.names)))


def _side(
    alias: str, described: str, refs: Sequence[ColumnRef], before: Scope, places: dict[ColumnRef, ColumnRef]
) -> Side:
    there = [ref for ref in refs if ref in places]
    return Side(alias, tuple(map(before.name, there)), tuple(places[ref] for ref in there), described)
