"""The FROM clause: occurrences of tables, columns that must be equal, ON conditions, and parts.

Parentheses, commas and inner joins in any nesting are flattened: their conditions may be checked in any order. Nesting
only decides which names an ON condition or a USING list sees. The right side of a LEFT, SEMI or ANTI JOIN is a part
that hangs on the left side (`livejoin.sql.resolved.part`), the left side of a RIGHT JOIN is a part that hangs on the
right side. A FULL JOIN is a nested query (`livejoin.sql.names.full_join`), and so is an ASOF JOIN
(`livejoin.sql.names.as_of_join`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import TokenType, exp

from livejoin.errors import UnknownNameError
from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import EdgeKind
from livejoin.schema import CHANGE_COLUMNS, Table
from livejoin.schema.now import NOW
from livejoin.shown import meant
from livejoin.sql.names.as_of_join import as_of_join
from livejoin.sql.names.char_padding import pad_comparisons
from livejoin.sql.names.constant_rows import numbered, value_items
from livejoin.sql.names.full_join import Pair, from_zero, full_join
from livejoin.sql.names.known import Names
from livejoin.sql.names.scope import resolve, resolve_bare
from livejoin.sql.parse.pivots import PIVOTS, is_before_condition, pivots_behind
from livejoin.sql.parse.refuse import check_join, check_nested, check_table, refuse_pivot
from livejoin.sql.parse.source import Source, offset_of
from livejoin.sql.parse.spans import lateral_query, query_within
from livejoin.sql.parse.sub_queries import SubQuery, marks
from livejoin.sql.resolved.column import bound_column
from livejoin.sql.resolved.from_clause import FromClause
from livejoin.sql.resolved.item import distinct_names
from livejoin.sql.resolved.part import Equality, Part, moved
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, Shown, Side

_NO_TIME = (
    "now() is the time that db.advance(time) sets, never that of the clock, and none is set: call db.advance with the "
    "time of the data before a query reads now(), and again as time goes on. In a pipeline now() is not there; to keep "
    "the rows of the last hour, declare the table with window_range"
)

Turn: TypeAlias = Callable[[FromClause, exp.Pivot], FromClause]
"""What stands in FROM before a PIVOT or UNPIVOT, numbered from 0, to what stands there behind it."""


def bind_from(
    select: exp.Select, names: Names, source: Source, sub_queries: Sequence[SubQuery], turn: Turn
) -> FromClause:
    """Bind the FROM clause of a SELECT, without the PIVOT clauses at its end.

    Args:
        select: The SELECT.
        names: The names in FROM.
        source: The tokens of the SELECT.
        sub_queries: The sub-queries in its expressions, by the numbers of their marks.
        turn: Binds a PIVOT that is followed by further joins.

    Raises:
        UnknownNameError: An unknown table or column, or a doubled alias.
        UnsupportedQueryError: A join or a table expression that is not supported.
    """
    if select.args.get("from_") is None:
        return FromClause(numbered(names, 1, source.find({TokenType.SELECT})))
    binder = _Binder(names, source, sub_queries, turn)
    found = binder.chains(binder.item(select.args["from_"].this), select.args.get("joins") or ())
    return replace(found, taken=frozenset(binder.taken))


class _Binder:
    """Numbers the occurrences of tables from left to right while it walks the clause.

    Attributes:
        taken: The numbers of the sub-queries within FULL JOINs.
    """

    def __init__(self, names: Names, source: Source, sub_queries: Sequence[SubQuery], turn: Turn) -> None:
        self._names = names
        self._source = source
        self._sub_queries = sub_queries
        self._turn = turn
        self._start = source.find({TokenType.FROM})
        self._aliases: set[str] = set()
        self._count = 0
        self.taken: set[int] = set()

    def item(self, node: exp.Expr, before: FromClause | None = None) -> FromClause:
        """A table, a query or items in parentheses, with the joins that the parser hangs below the node.

        Args:
            node: The node.
            before: The items before it; None for the first item, to which a PIVOT after it belongs.
        """
        if isinstance(node, exp.Lateral) and lateral_query(node) is not None:
            first = self._lateral(node, before or FromClause())
        elif isinstance(node, exp.Values):
            first = FromClause(Scope.of(self._values(node)))
        elif isinstance(node, exp.Subquery) and query_within(node.this) is not None:
            first = FromClause(Scope.of(self._sub_query(node)))
        elif isinstance(node, exp.Subquery):
            if node.args.get("alias"):
                msg = "an alias for joined tables is not supported; give each table its own"
                raise self._source.unsupported("AS", msg, offset_of(node.args["alias"], self._start))
            first = self.item(node.this)
        else:
            first = FromClause(Scope.of(self._relation(check_table(node, self._source, self._start))))
        joins, pivots = node.args.get("joins") or (), node.args.get(PIVOTS) or ()
        if before is None:
            first = self._turned(first, pivots)
        elif joins and pivots:
            raise refuse_pivot(pivots[0], self._source, offset_of(node, self._start))
        return self.chains(first, joins)

    def chains(self, first: FromClause, joins: Sequence[exp.Join]) -> FromClause:
        """Chains of joins, separated by commas; a chain does not see the names of earlier chains."""
        done, chain = FromClause(), first
        for join in joins:
            check_join(join, self._source, self._start)
            comma, right = self._behind_comma(join), self.item(join.this, _beside(done, chain))
            if isinstance(join.this, exp.Lateral) and join.side in ("RIGHT", "FULL"):
                msg = (
                    f"{join.side} JOIN LATERAL is not supported: there is no right side but beside rows of the left one"
                )
                raise self._source.unsupported("LATERAL", msg, offset_of(join.this, self._start))
            if comma:
                done, chain = _beside(done, chain), right
            else:
                chain = self._join(chain, right, join)
            if pivots := pivots_behind(join):
                if is_before_condition(join):
                    raise refuse_pivot(pivots[0], self._source, offset_of(join.this, self._start))
                done, chain = FromClause(), self._turned(_beside(done, chain), pivots)
        return _beside(done, chain)

    def _turned(self, clause: FromClause, pivots: Sequence[exp.Pivot]) -> FromClause:
        """Apply PIVOT clauses to the items before them: one occurrence, in the place of the first item."""
        if not pivots:
            return clause
        first = clause.scope.relations[0].atom
        here = from_zero(clause, first, {}) if first and not clause.seen else clause
        for pivot in pivots:
            here = self._turn(replace(here, taken=frozenset(self.taken)), pivot)
        self._count = first + 1
        self._aliases -= {one.alias.lower() for one in clause.scope.relations}
        self._aliases -= {one.alias.lower() for one in clause.scope.sides}
        if pivots[-1].alias:
            self._note_alias(pivots[-1], pivots[-1].alias, self._start)
        self._aliases |= {one.alias.lower() for one in here.scope.aliased}
        return from_zero(here, -first, {}) if first else here

    def _behind_comma(self, join: exp.Join) -> bool:
        token = self._source.before(offset_of(join.this, self._start))
        while token is not None and token.token_type in (TokenType.L_PAREN, TokenType.LATERAL):
            token = self._source.before(token.start)
        return token is not None and token.token_type == TokenType.COMMA

    def _relation(self, table: exp.Table) -> Occurrence:
        """A table, a view or a definition of WITH by its name."""
        offset = offset_of(table, self._start)
        atom = self._next(table, table.alias_or_name, offset)
        found = self._names.look_up(table.name) if len(table.parts) == 1 else None
        if found is None and table.name == NOW:
            raise self._source.unsupported("NOW", _NO_TIME, offset)
        if found is None:
            name = ".".join(part.name for part in table.parts)
            hint = meant(name, self._names.all())
            msg = f"there is no table {name!r}{hint}; known tables: {self._names.known()}"
            raise self._source.error(UnknownNameError, msg, offset)
        if isinstance(found, Table):
            return Occurrence(atom, table.alias_or_name, found, given=self._given(table, len(found.columns)))
        return self._occurrence(atom, table, found, offset)

    def _sub_query(self, node: exp.Subquery) -> Occurrence:
        """A query in parentheses."""
        offset = offset_of(node, self._start)
        check_nested(node, self._source, offset)
        at = self._source.find_back({TokenType.L_PAREN}, offset, offset)
        atom = self._next(node, node.alias, at)
        return self._occurrence(atom, node, self._names.nested(node.this), at)

    def _lateral(self, node: exp.Lateral, before: FromClause) -> FromClause:
        """A LATERAL sub-query, joined with the items before it by the columns that it is correlated by."""
        offset = offset_of(node, self._start)
        at = self._source.find_back({TokenType.LATERAL}, offset, offset)
        if before.seen or (before.scope.relations and before.scope.relations[0].atom > 0):
            msg = (
                "LATERAL in parentheses, or behind a join with a sub-query in ON, is not supported; write what stands "
                "before it as a query in FROM"
            )
            raise self._source.unsupported("LATERAL", msg, at)
        atom = self._next(node, node.alias, at)
        found = self._names.lateral(node.this.this, before, atom, self._source, at)
        relation = self._occurrence(atom, node, found.query, at, found.keys)
        names = relation.names[found.keys :]
        refs = tuple(relation.column(found.keys + i) for i in range(len(names)))
        scope = Scope(
            (relation,),
            tuple(Shown(name, ref) for name, ref in zip(names, refs, strict=True)),
            (Side(relation.alias, names, refs, relation.described),),
            frozenset({atom}),
        )
        return FromClause(scope, conditions=found.conditions)

    def _values(self, node: exp.Values) -> Occurrence:
        """VALUES."""
        offset = offset_of(node, self._start)
        at = self._source.find_back({TokenType.VALUES}, offset, offset)
        atom = self._next(node, node.alias, at)
        items = value_items(node.expressions, self._source, at)
        rows = FromClause(numbered(self._names, len(node.expressions), at))
        return self._occurrence(atom, node, self._names.selected(rows, items, self._source), at)

    def _next(self, node: exp.Expr, alias: str, offset: int) -> int:
        """The number of the next occurrence; only a sub-query may lack an alias."""
        if alias:
            self._note_alias(node, alias, offset)
        self._count += 1
        return self._count - 1

    def _note_alias(self, node: exp.Expr, alias: str, offset: int) -> None:
        if alias.lower() in self._aliases:
            msg = f"alias {alias!r} occurs twice in FROM; give each occurrence of a table its own: {alias} AS {alias}2"
            at = offset_of(node.args["alias"], offset) if node.args.get("alias") else offset
            raise self._source.error(UnknownNameError, msg, at)
        self._aliases.add(alias.lower())

    def _occurrence(self, atom: int, node: exp.Expr, query: NestedQuery, offset: int, keys: int = 0) -> Occurrence:
        """An occurrence of a nested query; columns after the keys have the names listed after the alias, if any."""
        if given := self._given(node, len(query.columns) - keys):
            query = query.called((*query.columns[:keys], *given))
        alias = node.alias_or_name or f"query {atom + 1}"
        names = distinct_names(query.relation.schema.names)
        columns = relation_columns(names, query.relation)
        readable = query.name or node.alias or "query"
        return Occurrence(atom, alias, Table(self._names.fresh(readable), columns), query, offset)

    def _given(self, node: exp.Expr, number: int) -> tuple[str, ...]:
        """The names of columns after an alias; empty if there are none."""
        names = node.args["alias"].args.get("columns") if node.args.get("alias") else None
        return column_names(names, number, self._source, offset_of(names[0], self._start)) if names else ()

    def _join(self, left: FromClause, right: FromClause, join: exp.Join) -> FromClause:
        both = _beside(left, right)
        conditions: tuple[exp.Expr, ...] = ()
        pairs = self._pairs(left, right, join)
        if str(join.args.get("method") or "").upper() == "ASOF":
            return self._as_of(left, right, join, pairs)
        same, filled = self._of_one_length(pairs, both.scope)
        if not pairs and join.args.get("on") is not None:
            seen = replace(both.scope, outer=self._names.outer)
            conditions = (resolve(join.args["on"], seen, self._source),)
            both = replace(both, seen={**both.seen, **dict.fromkeys(marks(conditions[0]), both.scope)})
        equal = tuple(Equality(pair.left, pair.right, pair.offset) for pair in same)
        conditions += filled
        side, kind = (str(join.args.get(name) or "").upper() for name in ("side", "kind"))
        if side == "FULL":
            self._count = both.scope.relations[0].atom + 1
            matched = _hung(left, right, "optional", (equal, conditions), both.scope)
            unmatched = _hung(right, left, "not exists", (equal, conditions), both.scope)
            at = offset_of(join.this, self._start)
            subs = [(number, self._sub_queries[number], scope) for number, scope in both.seen.items()]
            self.taken.update(both.seen)
            return FromClause(full_join(matched, unmatched, left.scope, pairs, subs, self._names, self._source, at))
        taken = {ref for pair in pairs for ref in (pair.left, pair.right)}
        merged = [Shown(pair.name, pair.right if side == "RIGHT" else pair.left) for pair in pairs]
        scope = replace(both.scope, shown=(*merged, *(s for s in both.scope.shown if s.ref not in taken)))
        if kind in ("SEMI", "ANTI"):
            inner = {relation.atom for relation in right.scope.relations}
            scope = replace(left.scope, relations=both.scope.relations, hidden=left.scope.hidden | inner)
            found = _hung(left, right, "exists" if kind == "SEMI" else "not exists", (equal, conditions), scope)
            return replace(found, seen=both.seen)
        if side == "LEFT":
            return replace(_hung(left, right, "optional", (equal, conditions), scope), seen=both.seen)
        if side == "RIGHT":
            return replace(_hung(right, left, "optional", (equal, conditions), scope), seen=both.seen)
        return replace(both, scope=scope, equalities=both.equalities + equal, conditions=both.conditions + conditions)

    def _as_of(self, left: FromClause, right: FromClause, join: exp.Join, pairs: Sequence[Pair]) -> FromClause:
        """An ASOF JOIN: one occurrence, in the place of the first one of its left side."""
        scope, given = _beside(left, right).scope, join.args.get("match_condition")
        seen = replace(scope, outer=self._names.outer)
        written = [one for one in (join.args.get("on"), given) if one is not None]
        conditions = [resolve(one, seen, self._source) for one in written]
        for place, pair in enumerate(pairs):
            kind = exp.GTE if given is None and place == len(pairs) - 1 else exp.EQ
            sides = [bound_column(ref, scope.name(ref)) for ref in (pair.left, pair.right)]
            conditions.append(kind(this=sides[0], expression=sides[1]))
            pad_comparisons(conditions[-1], scope.char_length, self._source)
        self._count = left.scope.relations[0].atom + 1
        is_optional = str(join.args.get("side") or "").upper() == "LEFT"
        at = offset_of(join.this, self._start)
        return FromClause(as_of_join(left, right, conditions, pairs, is_optional, self._names, self._source, at))

    def _of_one_length(self, pairs: Sequence[Pair], scope: Scope) -> tuple[list[Pair], tuple[exp.Expr, ...]]:
        """The pairs that can be compared as they are, and conditions that pad CHAR columns of two lengths."""
        same: list[Pair] = []
        conditions: list[exp.Expr] = []
        for pair in pairs:
            columns = [bound_column(ref, scope.name(ref)) for ref in (pair.left, pair.right)]
            sizes = set(map(scope.char_length, columns))
            if len(sizes) == 1 or 0 in sizes:
                same.append(pair)
                continue
            equal = exp.EQ(this=columns[0], expression=columns[1])
            equal.meta["start"] = pair.offset
            pad_comparisons(equal, scope.char_length, self._source)
            conditions.append(equal)
        return same, tuple(conditions)

    def _pairs(self, left: FromClause, right: FromClause, join: exp.Join) -> list[Pair]:
        """The columns that USING or NATURAL merges; without common columns NATURAL joins all pairs of rows."""
        at = offset_of(join.this, self._start)
        if join.args.get("using"):
            names = [(c.name, offset_of(c, self._start)) for c in join.args["using"]]
        elif str(join.args.get("method") or "").upper() == "NATURAL":
            names = [
                (name, at) for name in dict.fromkeys(s.name for s in left.scope.shown if right.scope.named(s.name))
            ]
        else:
            return []
        found = []
        for name, offset in names:
            mine = resolve_bare(name, left.scope, self._source, offset)
            other = resolve_bare(name, right.scope, self._source, offset)
            shown = next(shown.name for shown in left.scope.shown if shown.ref == mine)
            found.append(Pair(shown, mine, other, offset))
        return found


def _beside(left: FromClause, right: FromClause) -> FromClause:
    return FromClause(
        left.scope.beside(right.scope),
        left.equalities + right.equalities,
        left.conditions + right.conditions,
        left.parts + moved(right.parts, len(left.parts)),
        {**left.seen, **right.seen},
    )


def _hung(
    above: FromClause,
    below: FromClause,
    kind: EdgeKind,
    on: tuple[tuple[Equality, ...], tuple[exp.Expr, ...]],
    scope: Scope,
) -> FromClause:
    """Hang a clause on another one by an edge."""
    own, number = below.core, len(above.parts)
    part = Part(kind, own, below.conditions + on[1], below.equalities + on[0])
    return replace(above, scope=scope, parts=(*above.parts, part, *moved(below.parts, number + 1, number)))


def column_names(given: Sequence[exp.Expr], number: int, source: Source, offset: int) -> tuple[str, ...]:
    """The names in a list of columns after an alias.

    Raises:
        UnsupportedQueryError: There are more or fewer names than columns, or a name is reserved.
    """
    if len(given) != number:
        msg = f"{len(given)} names for {number} columns; name each column of the query, or leave the list out"
        raise source.unsupported("AS", msg, offset)
    for node in given:
        if node.name.lower() in CHANGE_COLUMNS:
            msg = f"the name {node.name!r} is reserved for change streams; give the column another name"
            raise source.unsupported("AS", msg, offset_of(node, offset))
    return tuple(node.name for node in given)
