"""FULL OUTER JOIN: a nested query, the union of two queries that each keep the rows of one side.

    L FULL JOIN R ON c  =  (L LEFT JOIN R ON c)  UNION ALL  (R ANTI JOIN L ON c, with NULLs for the columns of L).

The nested query has the visible columns of both sides, and for every column of USING or NATURAL the COALESCE of both.
Outside, an alias of one side stands for some of these columns (`livejoin.sql.resolved.query.Side`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Table
from livejoin.sql.names.known import Names
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import SubQuery, renumbered
from livejoin.sql.resolved.column import REF, bound_column
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.outer import outers
from livejoin.sql.resolved.query import Occurrence, Scope, Shown, Side
from livejoin.sql.resolved.typed import null_of

if TYPE_CHECKING:
    from livejoin.sql.resolved.from_clause import FromClause
    from livejoin.sql.resolved.part import Equality


@dataclass(frozen=True)
class Pair:
    """Two columns that USING or NATURAL merges, under the name of the first, with the offset in the text."""

    name: str
    left: ColumnRef
    right: ColumnRef
    offset: int


def full_join(
    matched: FromClause,
    unmatched: FromClause,
    left: Scope,
    pairs: Sequence[Pair],
    sub_queries: Sequence[tuple[int, SubQuery, Scope]],
    names: Names,
    source: Source,
    offset: int,
) -> Scope:
    """The scope after a FULL JOIN; its nested query has the number of the first occurrence within it.

    Args:
        matched: The left side, on which the right one hangs as an optional part.
        unmatched: The right side, on which the left one hangs as a part that must not exist.
        left: The scope of the left side.
        pairs: The columns that USING or NATURAL merges.
        sub_queries: The sub-queries in its ON and in the FULL JOINs within it, by number, with their scopes.
        names: Binds the nested query.
        source: The tokens of the SELECT.
        offset: The offset of the right side.

    Raises:
        SqlError: The nested query cannot have one of the columns or conditions.
    """
    seen = matched.scope
    first = seen.relations[0].atom
    own = {relation.atom for relation in left.relations}
    columns = [one.column(position) for one in seen.aliased for position in range(len(one.names))]
    refs = list(dict.fromkeys([*columns, *(s.ref for s in seen.shown)]))
    written = [seen.name(ref) for ref in refs] + [pair.name for pair in pairs]
    labels = distinct_names(written)

    def column(ref: ColumnRef) -> exp.Expr:
        return bound_column(ColumnRef(ref.atom - first, ref.column), seen.name(ref))

    def items(values: Sequence[exp.Expr]) -> tuple[Item, ...]:
        named = zip(labels, values, written, strict=True)
        return tuple(Item(label, value, offset, written=name) for label, value, name in named)

    both = [exp.Coalesce(this=column(pair.left), expressions=[column(pair.right)]) for pair in pairs]
    right = [column(pair.right) for pair in pairs]
    padded = [null_of(seen.declared(ref).type) if ref.atom in own else column(ref) for ref in refs]
    _refuse_outer(matched, source, offset)
    numbers = {number: place for place, (number, _, _) in enumerate(sub_queries)}
    query = names.full_join(
        (_bare_from_zero(matched, first, numbers), items([*map(column, refs), *both])),
        (_bare_from_zero(unmatched, first, numbers), items([*padded, *right])),
        [(query, _scope_from_zero(scope, first)) for _, query, scope in sub_queries],
        source,
        offset,
    )
    alias = " FULL JOIN ".join(one.alias for one in seen.aliased)
    table = Table(names.fresh("full join"), relation_columns(query.relation.schema.names, query.relation))
    place = {ref: ColumnRef(first, position) for position, ref in enumerate(refs)}
    taken = {ref for pair in pairs for ref in (pair.left, pair.right)}
    merged = [Shown(pair.name, ColumnRef(first, len(refs) + i)) for i, pair in enumerate(pairs)]
    return Scope(
        relations=(Occurrence(first, alias, table, query, offset),),
        shown=(*merged, *(Shown(s.name, place[s.ref]) for s in seen.shown if s.ref not in taken)),
        sides=tuple(
            Side(one.alias, one.names, tuple(place[one.column(i)] for i in range(len(one.names))), one.described)
            for one in seen.aliased
        ),
        hidden=frozenset({first}),
    )


def _refuse_outer(clause: FromClause, source: Source, offset: int) -> None:
    """Refuse a FULL JOIN whose ON reads columns of a query around.

    Raises:
        UnsupportedQueryError: The ON condition reads such a column.
    """
    written = [*clause.conditions, *(one for part in clause.parts for one in part.conditions)]
    for outer in (outer for condition in written for outer in outers(condition)):
        msg = (
            f"{outer.name} is a column of the query around, and a FULL JOIN does not see it; write the condition into "
            "WHERE, or join with LEFT JOIN and with NOT EXISTS"
        )
        raise source.unsupported("FULL JOIN", msg, offset)


def _scope_from_zero(scope: Scope, first: int) -> Scope:
    """A scope whose occurrences are numbered from 0 instead of from ``first``."""

    def ref(one: ColumnRef) -> ColumnRef:
        return ColumnRef(one.atom - first, one.column)

    return replace(
        scope,
        relations=tuple(replace(one, atom=one.atom - first) for one in scope.relations),
        shown=tuple(replace(one, ref=ref(one.ref)) for one in scope.shown),
        sides=tuple(replace(one, refs=tuple(map(ref, one.refs))) for one in scope.sides),
        hidden=frozenset(atom - first for atom in scope.hidden),
    )


def _bare_from_zero(clause: FromClause, first: int, numbers: Mapping[int, int]) -> FromClause:
    """A clause as from `from_zero`, without visible names."""
    found = from_zero(clause, first, numbers)
    return replace(found, scope=Scope(found.scope.relations))


def from_zero(clause: FromClause, first: int, numbers: Mapping[int, int]) -> FromClause:
    """Renumber the occurrences and sub-queries of a clause from 0 instead of from ``first``.

    A negative ``first`` reverses that.
    """

    def ref(one: ColumnRef) -> ColumnRef:
        return ColumnRef(one.atom - first, one.column)

    def equal(equalities: Sequence[Equality]) -> tuple[Equality, ...]:
        return tuple(replace(one, left=ref(one.left), right=ref(one.right)) for one in equalities)

    def condition(value: exp.Expr) -> exp.Expr:
        found = renumbered(value, numbers)
        for column in found.find_all(exp.Column):
            column.meta[REF] = ref(column.meta[REF])
        return found

    parts = tuple(
        replace(
            part,
            atoms=tuple(atom - first for atom in part.atoms),
            conditions=tuple(map(condition, part.conditions)),
            equalities=equal(part.equalities),
        )
        for part in clause.parts
    )
    return replace(
        clause,
        scope=_scope_from_zero(clause.scope, first),
        equalities=equal(clause.equalities),
        conditions=tuple(map(condition, clause.conditions)),
        parts=parts,
    )
