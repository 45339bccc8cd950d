"""ASOF JOIN: a nested query that gives each row of the left side one row of the right side, the last one in front.

    t ASOF JOIN q ON t.k = q.k AND t.ts >= q.ts     each trade with the last quote of its key that is not later

The condition is any number of equalities and one comparison by order, each of the left side with the right side. The
comparison may stand in MATCH_CONDITION (t.ts >= q.ts) too; of USING (k, ts) the last column is compared by ``>=`` where
there is none. The nested query has the visible columns of both sides and what is compared; an alias of a side stands
for some of these columns, as in a FULL JOIN (`livejoin.sql.names.full_join`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.relational import AsOfComparison, AsOfCondition
from livejoin.schema import SqlType, Table
from livejoin.sql.names.full_join import Pair, from_zero
from livejoin.sql.names.known import Names
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.resolved.column import REF, bound_column, refs_of
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.outer import outers
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, Shown, Side
from livejoin.sql.resolved.typed import cast_to
from livejoin.sql.scalars.coercion import common_type

_COMPARISONS: dict[type[exp.Expr], tuple[AsOfComparison, AsOfComparison]] = {
    exp.LT: ("less", "greater"),
    exp.LTE: ("less_equal", "greater_equal"),
    exp.GT: ("greater", "less"),
    exp.GTE: ("greater_equal", "less_equal"),
}
"""How a left operand compares with a right one, as it is written and turned round."""
_HOW = (
    "equalities of its left side with its right side and one comparison by <, <=, > or >=, as "
    "t.k = q.k AND t.ts >= q.ts"
)


@dataclass(frozen=True)
class _Compared:
    """A comparison of the two sides: an expression over each, and how they compare; empty for an equality."""

    left: exp.Expr
    right: exp.Expr
    comparison: AsOfComparison | None
    written: exp.Expr


def as_of_join(
    left: FromClause,
    right: FromClause,
    conditions: Sequence[exp.Expr],
    merged: Sequence[Pair],
    is_optional: bool,
    names: Names,
    source: Source,
    offset: int,
) -> Scope:
    """The scope after an ASOF JOIN; its nested query has the number of the first occurrence of the left side.

    Args:
        left, right: The two sides.
        conditions: The conditions, resolved over both.
        merged: The columns that USING shows once.
        is_optional: Whether rows of the left side stay that have no match.
        names: Binds the nested query.
        source: The tokens of the SELECT.
        offset: The offset of the right side.

    Raises:
        SqlTypeError: Two values that are compared have no common type.
        UnsupportedQueryError: The condition is not what an ASOF JOIN takes.
    """
    _refuse_queries(left, right, conditions, source, offset)
    found = list(_compared(left, right, conditions, source, offset))
    ordered = [one for one in found if one.comparison is not None]
    if len(ordered) != 1:
        many = (
            "is none" if not ordered else f"are {len(ordered)}: {' and '.join(shown(one.written) for one in ordered)}"
        )
        msg = f"ASOF JOIN takes {_HOW}; of comparisons by order there {many}"
        raise source.unsupported("ASOF JOIN", msg, offset_of(ordered[1].written, offset) if ordered else offset)
    equal = [one for one in found if one.comparison is None]
    pairs = [*equal, *ordered]
    types = _types(left, right, pairs, names, source, offset)
    one = _selected(left, [pair.left for pair in pairs], types[0], names, source, offset)
    other = _selected(right, [pair.right for pair in pairs], types[1], names, source, offset)
    comparison = ordered[0].comparison
    assert comparison is not None, "it is a comparison by order"
    on = AsOfCondition(one.keys[:-1], other.keys[:-1], one.keys[-1], other.keys[-1], comparison, is_optional)
    written = " AND ".join(shown(pair.written) for pair in pairs)
    query = names.as_of(one.query, other.query, on, written, source, offset)
    first = left.scope.relations[0].atom
    place = {ref: ColumnRef(first, at) for at, ref in enumerate(one.refs)}
    width = len(one.query.relation.types)
    place |= {ref: ColumnRef(first, width + at) for at, ref in enumerate(other.refs)}
    seen = left.scope.beside(right.scope)
    once = [Shown(pair.name, pair.left) for pair in merged]
    taken = {ref for pair in merged for ref in (pair.left, pair.right)}
    alias = " ASOF JOIN ".join(occurrence.alias for occurrence in seen.aliased)
    table = Table(names.fresh("asof join"), relation_columns(query.relation.schema.names, query.relation))
    return Scope(
        relations=(Occurrence(first, alias, table, query, offset),),
        shown=tuple(Shown(s.name, place[s.ref]) for s in (*once, *(s for s in seen.shown if s.ref not in taken))),
        sides=tuple(
            Side(s.alias, s.names, tuple(place[s.column(i)] for i in range(len(s.names))), s.described)
            for s in seen.aliased
        ),
        hidden=frozenset({first}),
    )


def _refuse_queries(
    left: FromClause, right: FromClause, conditions: Sequence[exp.Expr], source: Source, offset: int
) -> None:
    """Refuse sub-queries and columns of a query around in conditions of an ASOF JOIN and of the joins within it.

    Raises:
        UnsupportedQueryError: There is one.
    """
    for clause in (left, right):
        conditions = [*conditions, *clause.conditions, *(one for part in clause.parts for one in part.conditions)]
    for condition in conditions:
        outer = next(iter(outers(condition)), None)
        if outer is not None or has_marks(condition):
            what = "a sub-query" if outer is None else f"{outer.name}, a column of the query around,"
            msg = f"{what} in a condition of ASOF JOIN, or of a join within it, is not supported; compare it in WHERE"
            raise source.unsupported("ASOF JOIN", msg, offset)


def _compared(
    left: FromClause, right: FromClause, conditions: Sequence[exp.Expr], source: Source, offset: int
) -> Iterator[_Compared]:
    """The comparisons of the two sides that a condition consists of.

    Raises:
        UnsupportedQueryError: The condition has another part.
    """
    own, others = ({relation.atom for relation in side.scope.relations} for side in (left, right))
    waiting = list(reversed(conditions))
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
            continue
        if isinstance(part, (exp.EQ, *_COMPARISONS)):
            atoms = [{ref.atom for ref in refs_of(operand)} for operand in (part.this, part.expression)]
            straight, turned = _COMPARISONS.get(type(part), (None, None))
            if all(atoms) and atoms[0] <= own and atoms[1] <= others:
                yield _Compared(part.this, part.expression, straight, part)
                continue
            if all(atoms) and atoms[0] <= others and atoms[1] <= own:
                yield _Compared(part.expression, part.this, turned, part)
                continue
        msg = (
            f"{shown(part)} is no part of an ASOF JOIN. It takes {_HOW}. A condition on rows of the right side "
            "stands in a query there, as ASOF JOIN (SELECT ... WHERE ...) q. One on rows of the result stands in WHERE"
        )
        raise source.unsupported("ASOF JOIN", msg, offset_of(part, offset))


@dataclass(frozen=True)
class _Selected:
    """A side as a query: its visible columns, then what is compared and is none of them, each once."""

    query: NestedQuery
    refs: tuple[ColumnRef, ...]
    keys: tuple[int, ...]


def _selected(
    side: FromClause,
    values: Sequence[exp.Expr],
    types: Sequence[SqlType | None],
    names: Names,
    source: Source,
    offset: int,
) -> _Selected:
    """A side with what is compared, each in a column of its own, cast where a type is given."""
    scope = side.scope
    first = scope.relations[0].atom
    columns = [one.column(position) for one in scope.aliased for position in range(len(one.names))]
    refs = tuple(dict.fromkeys([*columns, *(s.ref for s in scope.shown)]))
    written = [scope.name(ref) for ref in refs]
    items: list[exp.Expr] = [bound_column(ColumnRef(ref.atom - first, ref.column), scope.name(ref)) for ref in refs]
    keys = list[int]()
    for value, type_ in zip(values, types, strict=True):
        ref = value.meta[REF] if isinstance(value, exp.Column) else None
        if ref in refs and type_ is None and refs.index(ref) not in keys:
            keys.append(refs.index(ref))
            continue
        moved = value.copy()
        for column in moved.find_all(exp.Column):
            column.meta[REF] = ColumnRef(column.meta[REF].atom - first, column.meta[REF].column)
        keys.append(len(items))
        items.append(moved if type_ is None else cast_to(moved, type_))
        written.append(shown(value))
    labels = distinct_names(written)
    listed = tuple(
        Item(label, item, offset, written=name) for label, item, name in zip(labels, items, written, strict=True)
    )
    clause = from_zero(side, first, {})
    query = names.selected(replace(clause, scope=Scope(clause.scope.relations)), listed, source)
    return _Selected(query, refs, tuple(keys))


def _types(
    left: FromClause, right: FromClause, pairs: Sequence[_Compared], names: Names, source: Source, offset: int
) -> tuple[list[SqlType | None], list[SqlType | None]]:
    """The types that what is compared is cast to, on either side; None where it is compared as it is.

    Raises:
        SqlTypeError: There is no common type.
    """
    nothing = [None] * len(pairs)
    one = _selected(left, [pair.left for pair in pairs], nothing, names, source, offset)
    other = _selected(right, [pair.right for pair in pairs], nothing, names, source, offset)
    own, others = list[SqlType | None](), list[SqlType | None]()
    for pair, place, other_place in zip(pairs, one.keys, other.keys, strict=True):
        mine, theirs = one.query.relation.types[place], other.query.relation.types[other_place]
        wanted = common_type(mine, theirs)
        if not isinstance(wanted, SqlType) or wanted.is_payload:
            msg = f"{shown(pair.written)} compares {mine} with {theirs}, which have no order in common; cast one"
            raise source.error(SqlTypeError, msg, offset_of(pair.written, offset))
        same = mine == theirs or mine.kind == theirs.kind == "integer"  # whose words are those of the wider one
        own.append(None if same or mine == wanted else wanted)
        others.append(None if same or theirs == wanted else wanted)
    return own, others
