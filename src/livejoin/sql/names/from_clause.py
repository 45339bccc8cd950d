"""The FROM clause: occurrences of tables, columns that must be equal, and ON conditions.

Parentheses, commas and joins in any nesting are flattened: all joins are inner, so their conditions may be checked in
any order. What nesting decides is only which names an ON condition or a USING list sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import TokenType, exp

from livejoin.errors import UnknownNameError
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Catalog, Table
from livejoin.sql.names.scope import Relation, Scope, Shown, resolve, resolve_bare
from livejoin.sql.parse.refuse import check_join, check_table
from livejoin.sql.parse.source import Source, offset_of


@dataclass(frozen=True)
class Equality:
    """Two columns that must be equal, and the offset at which the text says so."""

    left: ColumnRef
    right: ColumnRef
    offset: int


@dataclass(frozen=True)
class FromClause:
    """What a FROM clause, or a part of one, brings: a scope, merged columns, and resolved ON conditions."""

    scope: Scope = Scope()  # noqa: RUF009
    equalities: tuple[Equality, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()


def bind_from(select: exp.Select, catalog: Catalog, source: Source) -> FromClause:
    """Bind the FROM clause of a SELECT.

    Raises:
        UnknownNameError: An unknown table or column, or an alias that occurs twice.
        UnsupportedQueryError: A join or a table expression outside.
    """
    binder = _Binder(catalog, source)
    return binder.chains(binder.item(select.args["from_"].this), select.args.get("joins") or ())


class _Binder:
    """Numbers the occurrences of tables from left to right while it walks the clause."""

    def __init__(self, catalog: Catalog, source: Source) -> None:
        self._catalog = catalog
        self._source = source
        self._start = source.find({TokenType.FROM})
        self._aliases: set[str] = set()

    def item(self, node: exp.Expr) -> FromClause:
        """A table, or items in parentheses, with the joins that the parser hangs below it."""
        if isinstance(node, exp.Subquery):
            if node.args.get("alias"):
                msg = "an alias for joined tables is not supported; give each table its own"
                raise self._source.unsupported("AS", msg, offset_of(node.args["alias"], self._start))
            first = self.item(node.this)
        else:
            first = FromClause(Scope.of(self._relation(check_table(node, self._source, self._start))))
        return self.chains(first, node.args.get("joins") or ())

    def chains(self, first: FromClause, joins: Sequence[exp.Join]) -> FromClause:
        """Chains of joins, separated by commas; a chain does not see the names of those before it."""
        done, chain = FromClause(), first
        for join in joins:
            check_join(join, self._source, self._start)
            comma, right = self._behind_comma(join), self.item(join.this)
            if comma:
                done, chain = _beside(done, chain), right
            else:
                chain = self._join(chain, right, join)
        return _beside(done, chain)

    def _behind_comma(self, join: exp.Join) -> bool:
        token = self._source.before(offset_of(join.this, self._start))
        while token is not None and token.token_type == TokenType.L_PAREN:
            token = self._source.before(token.start)
        return token is not None and token.token_type == TokenType.COMMA

    def _relation(self, table: exp.Table) -> Relation:
        offset = offset_of(table, self._start)
        alias = table.alias_or_name
        if alias.lower() in self._aliases:
            msg = f"alias {alias!r} occurs twice in FROM; give each occurrence of a table its own: {alias} AS {alias}2"
            at = offset_of(table.args["alias"], offset) if table.args.get("alias") else offset
            raise self._source.error(UnknownNameError, msg, at)
        self._aliases.add(alias.lower())
        return Relation(len(self._aliases) - 1, alias, self._table(table, offset))

    def _table(self, table: exp.Table, offset: int) -> Table:
        if len(table.parts) > 1 or table.name not in self._catalog:
            name = ".".join(part.name for part in table.parts)
            known = ", ".join(repr(t.name) for t in self._catalog) or "none yet"
            msg = f"there is no table {name!r}; known tables: {known}"
            raise self._source.error(UnknownNameError, msg, offset)
        return self._catalog[table.name]

    def _join(self, left: FromClause, right: FromClause, join: exp.Join) -> FromClause:
        both = _beside(left, right)
        if join.args.get("using"):
            return self._merge(left, right, [(c.name, offset_of(c, self._start)) for c in join.args["using"]])
        if join.args.get("method"):
            common = dict.fromkeys(s.name for s in left.scope.shown if right.scope.named(s.name))
            at = offset_of(join.this, self._start)
            if not common:
                msg = "NATURAL JOIN of tables without a common column; write CROSS JOIN for all pairs of rows"
                raise self._source.unsupported("NATURAL JOIN", msg, at)
            return self._merge(left, right, [(name, at) for name in common])
        if join.args.get("on") is None:
            return both
        condition = resolve(join.args["on"], both.scope, self._source)
        return FromClause(both.scope, both.equalities, (*both.conditions, condition))

    def _merge(self, left: FromClause, right: FromClause, names: Iterable[tuple[str, int]]) -> FromClause:
        both = _beside(left, right)
        equalities: list[Equality] = []
        merged: list[Shown] = []
        for name, offset in names:
            mine = resolve_bare(name, left.scope, self._source, offset)
            other = resolve_bare(name, right.scope, self._source, offset)
            equalities.append(Equality(mine, other, offset))
            merged.append(Shown(left.scope.declared(mine).name, mine))
        taken = {ref for e in equalities for ref in (e.left, e.right)}
        shown = (*merged, *(s for s in both.scope.shown if s.ref not in taken))
        return FromClause(Scope(both.scope.relations, shown), (*both.equalities, *equalities), both.conditions)


def _beside(left: FromClause, right: FromClause) -> FromClause:
    return FromClause(
        left.scope.beside(right.scope), left.equalities + right.equalities, left.conditions + right.conditions
    )
