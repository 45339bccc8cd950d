"""UNPIVOT: columns side by side become rows with the name and the value of each column.

    FROM t UNPIVOT (v FOR n IN (a, b AS x))

    =  FROM (SELECT k, 'a' AS n, a AS v FROM t WHERE a IS NOT NULL
             UNION ALL
             SELECT k, 'x', b FROM t WHERE b IS NOT NULL)

With several columns of values, ``UNPIVOT ((v, w) FOR n IN ((a, b), (c, d)))``, a row has the values of one of the
lists, and is dropped if all of them are NULL. INCLUDE NULLS keeps every row. The other columns of FROM are kept, and
come first. Values in one column get a common type by Spark's rules for UNPIVOT: an INT and a DOUBLE become DOUBLE, and
an INT with a STRING is refused.

The items before UNPIVOT are computed once: a join becomes a nested query, which each side of the union reads. Cost: a
change of one of its rows is one change for each name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.errors import SqlTypeError, UnknownNameError
from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import SqlType, Table, is_made_list
from livejoin.sql.lower.pivots.pivoted_rows import pivoted_rows
from livejoin.sql.names.from_clause import column_names
from livejoin.sql.names.known import Names
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF, bound_column
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import Occurrence, Scope
from livejoin.sql.resolved.typed import cast_to
from livejoin.sql.scalars.coercion import common_type
from livejoin.sql.scalars.operands import FLOAT

_FORM = "write UNPIVOT (value FOR name IN (column [AS name], ...)), or UNPIVOT ((v, w) FOR name IN ((a, b), ...))"


@dataclass(frozen=True)
class _Row:
    """A row that UNPIVOT makes: its name, and the columns of its values."""

    name: str
    columns: tuple[exp.Column, ...]
    offset: int


def unpivoted(clause: FromClause, pivot: exp.Pivot, names: Names, source: Source, at: int) -> FromClause:
    """A FROM clause after an UNPIVOT.

    Args:
        clause: The items before it.
        pivot: The clause.
        names: The names in FROM.
        source: The tokens of the SELECT.
        at: The offset of the clause.

    Raises:
        SqlTypeError: Columns of one column of values have no common type.
        UnknownNameError: A name is unknown or ambiguous.
        UnsupportedQueryError: A form of UNPIVOT that is not supported.
    """
    fields = pivot.args["fields"]
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or not isinstance(fields[0].this, exp.Identifier):
        msg = f"UNPIVOT takes one column of names; {_FORM}"
        raise source.unsupported("UNPIVOT", msg, at)
    given = [_named(part, source, at) for node in pivot.expressions for part in _parts(node)]
    label, *values = column_names([fields[0].this, *given], 1 + len(given), source, at)
    rows = [_row(node, len(values), clause.scope, source, at) for node in fields[0].expressions]
    taken = dict.fromkeys(column.meta[REF] for row in rows for column in row.columns)
    kept = [one for one in clause.scope.shown if one.ref not in taken]
    for ref in (*(one.ref for one in kept), *taken):
        if is_made_list(clause.scope.arrow(ref)):
            name = clause.scope.qualified(ref)
            msg = f"UNPIVOT of rows with a list is not supported: leave out {name} in a query in FROM"
            raise source.unsupported("UNPIVOT", msg, at)
    types = [_common(rows, place, clause.scope, source) for place in range(len(values))]
    place, below = _one_query(clause, [*(one.ref for one in kept), *taken], names, source, at)
    written = (*(one.name for one in kept), label, *values)
    sides = []
    for row in rows:
        columns = [bound_column(place[column.meta[REF]], column.name) for column in row.columns]
        found = [
            *(bound_column(place[one.ref], one.name) for one in kept),
            exp.Literal.string(row.name),
            *(_as_type(column, kind, below) for column, kind in zip(columns, types, strict=True)),
        ]
        items = tuple(
            Item(name, value, row.offset, "column of UNPIVOT", written=name)
            for name, value in zip(distinct_names(written), found, strict=True)
        )
        conditions = () if pivot.args.get("include_nulls") else (_some_value(columns),)
        sides.append((FromClause(below, conditions=conditions), items))
    query = names.united(sides, source, at).called(written)
    return pivoted_rows(query, clause.scope, [one.ref for one in kept], pivot, names, source, at)


def _one_query(
    clause: FromClause, refs: Sequence[ColumnRef], names: Names, source: Source, at: int
) -> tuple[dict[ColumnRef, ColumnRef], Scope]:
    """The items before UNPIVOT as one occurrence, and the positions of their columns in it."""
    if len(clause.scope.relations) == 1 and not (clause.conditions or clause.equalities or clause.parts):
        return {ref: ref for ref in refs}, Scope(clause.scope.relations)
    every = list(dict.fromkeys(refs))
    written = distinct_names([clause.scope.name(ref) for ref in every])
    items = tuple(
        Item(name, bound_column(ref, name), at, written=name) for ref, name in zip(every, written, strict=True)
    )
    query = names.selected(clause, items, source)
    table = Table(names.fresh("unpivot"), relation_columns(written, query.relation))
    places = {ref: ColumnRef(0, place) for place, ref in enumerate(every)}
    return places, Scope((Occurrence(0, "unpivot", table, query, at),))


def _parts(node: exp.Expr) -> Sequence[exp.Expr]:
    """The expressions in parentheses, or a single one."""
    return node.expressions if isinstance(node, exp.Tuple) else [node.unnest()]


def _named(node: exp.Expr, source: Source, at: int) -> exp.Identifier:
    """The name of a column of values."""
    plain = node.this if isinstance(node, exp.Column) and len(node.parts) == 1 else node
    if not isinstance(plain, exp.Identifier):
        msg = f"UNPIVOT names its columns of values by plain names, and {shown(node)} is none; {_FORM}"
        raise source.unsupported("UNPIVOT", msg, offset_of(node, at))
    return plain


def _row(node: exp.Expr, width: int, scope: Scope, source: Source, at: int) -> _Row:
    alias = node.args["alias"].name if isinstance(node, exp.PivotAlias) else ""
    given = node.this if isinstance(node, exp.PivotAlias) else node
    parts, offset = _parts(given), offset_of(given, at)
    for part in parts:
        if not isinstance(part, exp.Column) or isinstance(part.this, exp.Star):
            msg = f"UNPIVOT takes columns, and {shown(part)} is none; compute it in a query in FROM"
            raise source.unsupported("UNPIVOT", msg, offset_of(part, at))
    if len(parts) != width:
        msg = f"UNPIVOT has {_counted(width, 'column')} of values, and {shown(given)} has {len(parts)}; {_FORM}"
        raise source.unsupported("UNPIVOT", msg, offset)
    columns = [resolve(part, scope, source) for part in parts]
    found = tuple(column for column in columns if isinstance(column, exp.Column) and REF in column.meta)
    if len(found) < len(columns):
        outside = next(shown(part) for part, column in zip(parts, columns, strict=True) if column is not part)
        msg = f"UNPIVOT takes columns of what stands before it, and {outside} is one of the query around"
        raise source.error(UnknownNameError, msg, offset)
    return _Row(alias or "_".join(part.name for part in found), found, offset)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _common(rows: Sequence[_Row], place: int, scope: Scope, source: Source) -> SqlType:
    """The type of a column of values.

    Raises:
        SqlTypeError: The values have no common type.
    """
    found = scope.declared(rows[0].columns[place].meta[REF]).type
    for row in rows[1:]:
        kind = scope.declared(row.columns[place].meta[REF]).type
        common = _wider(found, kind)
        if common is None:
            columns = f"{shown(rows[0].columns[place])} is {found}, and {shown(row.columns[place])} is {kind}"
            msg = f"UNPIVOT puts columns of one type into a column, and {columns}; CAST one of them in a query in FROM"
            raise source.error(SqlTypeError, msg, row.offset)
        found = common
    return found


def _wider(one: SqlType, other: SqlType) -> SqlType | None:
    """The common type of two: strings are not read as numbers, and integers with a FLOAT are FLOATs, as in Spark."""
    if {one.kind, other.kind} == {"integer", "double"} and FLOAT in (one, other):
        return FLOAT
    found = common_type(one, other) if (one.kind == "string") == (other.kind == "string") else None
    return found if isinstance(found, SqlType) else None


def _as_type(column: exp.Column, kind: SqlType, scope: Scope) -> exp.Expr:
    if scope.declared(column.meta[REF]).type == kind:
        return column.copy()
    return cast_to(column.copy(), kind)


def _some_value(columns: Sequence[exp.Column]) -> exp.Expr:
    """The condition that a value is not NULL."""
    return exp.or_(*(exp.not_(exp.Is(this=column.copy(), expression=exp.null())) for column in columns), copy=False)
