"""Names in scope, and what they stand for.

A scope is what a FROM clause, or a part of one, shows to expressions: occurrences of tables by alias, and columns by
name. JOIN ... USING and NATURAL JOIN merge two columns into one that an unqualified name and ``*`` show once, first, as
in Spark. Names are compared without regard to case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from livejoin.errors import UnknownNameError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.keys import keys
from livejoin.query.scalar import Expression
from livejoin.schema import Column, Table
from livejoin.sql.names.char_padding import pad_comparisons
from livejoin.sql.names.nested import NestedQuery
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.outer import Outer, outer_column, outer_of


@dataclass(frozen=True, eq=False)
class Computed:
    """A column that an occurrence has besides its own, to be joined on.

    Args:
        value: The expression, resolved; over columns of the occurrence.
        expression: The same, bound over these.
    """

    value: exp.Expr
    expression: Expression


@dataclass(frozen=True)
class Relation:
    """One occurrence of a table or of a nested query: an atom of the query, by its position.

    Args:
        atom: Its position.
        alias: Its name in the query.
        table: The table; of a nested query a table with its relation's columns, whose names are made distinct. The
            computed columns are its last ones.
        nested: The nested query; None for a table.
        offset: Where the nested query stands in FROM.
        computed: The computed columns, which no name stands for.
        given: What the columns of a table are called behind its alias; empty if they keep their names.
    """

    atom: int
    alias: str
    table: Table
    nested: NestedQuery | None = None
    offset: int = 0
    computed: tuple[Computed, ...] = ()
    given: tuple[str, ...] = ()

    def column(self, position: int) -> ColumnRef:
        """A column of this occurrence."""
        return ColumnRef(self.atom, position)

    @property
    def names(self) -> tuple[str, ...]:
        """What its columns are called; columns of a nested query may have one name."""
        own = self.base.columns
        of_table = self.given or tuple(column.name for column in own)
        written = of_table if self.nested is None else self.nested.columns
        return (*written, *(column.name for column in self.table.columns[len(own) :]))

    @property
    def base(self) -> Table:
        """The table without computed columns."""
        own = self.table.columns[: len(self.table.columns) - len(self.computed)]
        return replace(self.table, columns=own) if self.computed else self.table

    @property
    def rows(self) -> pa.Schema:
        """The columns as predicates name them: those of a nested query ``c0``, ``c1``, ..., as a `Project` does.

        Predicates name no computed columns.
        """
        if self.nested is None:
            return self.base.arrow
        return pa.schema([(f"c{i}", kind) for i, kind in enumerate(self.nested.relation.schema.types)])

    @property
    def described(self) -> str:
        """What it is, for messages."""
        return "a query" if self.nested is not None else f"table {self.table.name!r}"


@dataclass(frozen=True)
class Side:
    """An occurrence within a FULL OUTER JOIN, which is a nested query: its alias stands for columns of that.

    Args:
        alias: Its name in the query.
        names: What its columns are called.
        refs: The columns of the nested query that they are.
        described: What it is, for messages.
    """

    alias: str
    names: tuple[str, ...]
    refs: tuple[ColumnRef, ...]
    described: str

    def column(self, position: int) -> ColumnRef:
        """A column of this occurrence."""
        return self.refs[position]


@dataclass(frozen=True)
class Shown:
    """A column that a scope shows by its bare name; a merged one stands for the first of the columns merged."""

    name: str
    ref: ColumnRef


@dataclass(frozen=True)
class Scope:
    """What stands in FROM, and what of it is seen.

    Args:
        relations: All occurrences, in their order.
        shown: The columns in the order in which ``*`` shows them.
        sides: The occurrences within FULL OUTER JOINs.
        hidden: Those of ``relations`` that no alias stands for: of SEMI and ANTI JOIN, and the nested queries that FULL
            OUTER JOINs are.
        outer: What the query around shows to a sub-query in its expressions.
    """

    relations: tuple[Relation, ...] = ()
    shown: tuple[Shown, ...] = ()
    sides: tuple[Side, ...] = ()
    hidden: frozenset[int] = frozenset()
    outer: Scope | None = None

    @staticmethod
    def of(relation: Relation) -> Scope:
        """The scope of a single occurrence of a table."""
        names = enumerate(relation.names)
        return Scope((relation,), tuple(Shown(name, relation.column(i)) for i, name in names))

    def beside(self, other: Scope) -> Scope:
        """The scope of two parts of a FROM clause that merge no columns."""
        return Scope(
            self.relations + other.relations,
            self.shown + other.shown,
            self.sides + other.sides,
            self.hidden | other.hidden,
        )

    @property
    def aliased(self) -> tuple[Relation | Side, ...]:
        """The occurrences that an alias stands for."""
        return (*(r for r in self.relations if r.atom not in self.hidden), *self.sides)

    def relation(self, alias: str) -> Relation | Side | None:
        """The occurrence with this alias."""
        return next((r for r in self.aliased if r.alias.lower() == alias.lower()), None)

    def named(self, name: str) -> tuple[Shown, ...]:
        """The columns that a bare name may stand for."""
        return tuple(s for s in self.shown if s.name.lower() == name.lower())

    def declared(self, ref: ColumnRef) -> Column:
        """The declaration of a column."""
        return self._atom(ref).table.columns[ref.column]

    @property
    def has_char(self) -> bool:
        """Whether a column of it, or of what is around, is a CHAR."""
        own = any(column.is_char for relation in self.relations for column in relation.table.columns)
        return own or (self.outer is not None and self.outer.has_char)

    def char_length(self, node: exp.Expr) -> int:
        """How many characters the values of a resolved column have, if it is a CHAR; 0 of any other node."""
        outer = outer_of(node)
        ref = node.meta.get(REF) if outer is None else outer.ref
        if ref is None:
            return 0
        around = self
        for _ in range(0 if outer is None else outer.level):
            assert around.outer is not None, "an outer column is one of a query around"
            around = around.outer
        column = around.declared(ref)
        return column.length if column.is_char else 0

    def arrow(self, ref: ColumnRef) -> pa.DataType:
        """The Arrow type of a column, which may be a list in a nested query."""
        return self.declared(ref).type.arrow if self.is_computed(ref) else self._atom(ref).rows.types[ref.column]

    def is_computed(self, ref: ColumnRef) -> bool:
        """Whether a column is a computed one."""
        relation = self._atom(ref)
        return ref.column >= len(relation.table.columns) - len(relation.computed)

    def name(self, ref: ColumnRef) -> str:
        """What a column is called."""
        return self._atom(ref).names[ref.column]

    def qualified(self, ref: ColumnRef) -> str:
        """A column with its alias, for messages."""
        for side in self.sides:
            if ref in side.refs:
                return f"{side.alias}.{side.names[side.refs.index(ref)]}"
        return f"{self._atom(ref).alias}.{self.name(ref)}"

    def is_single(self, atom: int) -> bool:
        """Whether an occurrence is one of a nested query that never has more than one row."""
        nested = self._atom(ColumnRef(atom, 0)).nested
        return nested is not None and frozenset() in keys(nested.relation)

    def _atom(self, ref: ColumnRef) -> Relation:
        return next(r for r in self.relations if r.atom == ref.atom)


def resolve(node: exp.Expr, scope: Scope, source: Source) -> exp.Expr:
    """Note in the ``meta`` of every column of an expression what it stands for; returns the same expression.

    Columns that are resolved already keep what they stand for; those of a query around become outer columns (see
    `livejoin.sql.resolved.outer`). Comparisons of CHAR columns are padded (see `livejoin.sql.names.char_padding`).

    Raises:
        UnknownNameError: A name stands for nothing or for several columns.
        UnsupportedQueryError: ``alias.*`` is in the expression, or a CHAR column beside a constant that is computed.
    """
    for column in list(node.find_all(exp.Column)):
        if REF in column.meta:
            continue
        level, around = _level(column, scope)
        ref = _resolve(column, around, source)
        if level == 0:
            column.meta[REF] = ref
            continue
        outer = outer_column(Outer(level, ref, around.qualified(ref)), offset_of(column, 0))
        if column is node:
            return outer
        column.replace(outer)
    if scope.has_char:
        pad_comparisons(node, scope.char_length, source)
    return node


def _level(column: exp.Column, scope: Scope) -> tuple[int, Scope]:
    """How far out the query stands whose scope has a name, and that scope; the first one's if none has it."""
    level, around = 0, scope
    while True:
        if around.relation(column.table) is not None if "table" in column.args else around.named(column.name):
            return level, around
        if around.outer is None:
            return 0, scope
        level, around = level + 1, around.outer


def relation_named(qualifier: exp.Expr, scope: Scope, source: Source) -> Relation | Side:
    """The occurrence that a qualifier names.

    Raises:
        UnknownNameError: There is none.
    """
    relation = scope.relation(qualifier.name)
    if relation is None:
        _refuse_correlation(qualifier, source)
        _refuse_field(qualifier.name, scope.named(qualifier.name), scope, source, offset_of(qualifier, 0))
        known = ", ".join(repr(r.alias) for r in scope.aliased)
        msg = f"no table or alias {qualifier.name!r} is in scope here; in scope: {known}"
        raise source.error(UnknownNameError, msg, offset_of(qualifier, 0))
    return relation


def _resolve(column: exp.Column, scope: Scope, source: Source) -> ColumnRef:
    offset = offset_of(column, 0)
    if len(column.parts) > 2:
        _refuse_part(column, scope, source, offset)
        msg = f"{shown(column)!r}: allowed are names of the form column or alias.column"
        raise source.error(UnknownNameError, msg, offset)
    if isinstance(column.this, exp.Star):
        msg = f"{shown(column)} within an expression is not supported; name the columns"
        raise source.unsupported("*", msg, offset)
    if "table" in column.args:
        relation = relation_named(column.args["table"], scope, source)
        return _column_of(relation, column.this, source, offset)
    return resolve_bare(column.name, scope, source, offset)


def _column_of(relation: Relation | Side, name: exp.Identifier, source: Source, offset: int) -> ColumnRef:
    """The column that a name stands for in an occurrence."""
    places = [i for i, own in enumerate(relation.names) if own.lower() == name.name.lower()]
    if len(places) == 1:
        return relation.column(places[0])
    if places:
        msg = f"{relation.alias!r} has {len(places)} columns {name.name!r}; give each its own name with AS in the query"
    else:
        msg = (
            f"{relation.alias!r} ({relation.described}) has no column {name.name!r}; it has {', '.join(relation.names)}"
        )
    raise source.error(UnknownNameError, msg, offset_of(name, offset))


def _refuse_part(column: exp.Column, scope: Scope, source: Source, offset: int) -> None:
    """Refuse ``column.part.part`` and ``alias.column.part``.

    Raises:
        UnknownNameError: It is one of the two.
    """
    first, second, *_ = column.parts
    around = scope.relation(first.name)
    if around is not None:
        inner = [Shown(name, around.column(i)) for i, name in enumerate(around.names)]
        inner = [one for one in inner if one.name.lower() == second.name.lower()]
        _refuse_field(f"{first.name}.{second.name}", inner, scope, source, offset)
    _refuse_field(first.name, scope.named(first.name), scope, source, offset)


def _refuse_field(name: str, columns: Sequence[Shown], scope: Scope, source: Source, offset: int) -> None:
    """Refuse ``name.part`` where the name is that of a column.

    Raises:
        UnknownNameError: It is.
    """
    if columns:
        kind = scope.declared(columns[0].ref).type
        reason = "which has no parts"
        if kind.is_payload:
            reason = "of which no part is read: it is only passed through; keep the part in a column of its own"
        raise source.error(UnknownNameError, f"{name} is a column here and no table; it is {kind}, {reason}", offset)


def _refuse_correlation(qualifier: exp.Expr, source: Source) -> None:
    """Refuse a qualifier that names what stands beside the sub-query that it is in."""
    select = qualifier.parent_select
    outer = None if select is None else select.parent_select
    while outer is not None:
        if isinstance(outer, exp.Select) and any(
            isinstance(item, (exp.Table, exp.Subquery)) and item.alias_or_name.lower() == qualifier.name.lower()
            for item in _from_items(outer)
        ):
            name = qualifier.name
            msg = (
                f"{name} stands beside this sub-query in FROM, which does not see it; write LATERAL before the query, "
                "or return the columns that are compared, and join on them outside"
            )
            raise source.unsupported("sub-query", msg, offset_of(qualifier, 0))
        outer = outer.parent_select


def _from_items(select: exp.Select) -> list[exp.Expr]:
    """What stands in the FROM clause of a SELECT, joined tables in parentheses too."""
    if select.args.get("from_") is None:
        return []
    items = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    for item in items:
        items += [join.this for join in item.args.get("joins") or ()]
        if isinstance(item, exp.Subquery) and isinstance(item.this, (exp.Table, exp.Subquery)):
            items.append(item.this)
    return items


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
            msg = f"no column {name!r} is in scope here; in scope: {known or 'none'}"
            if scope.relation(name):
                msg = f"{name!r} is a table here, not a column; write {name}.column with one of its columns"
        case several:
            choices = list(dict.fromkeys(scope.qualified(s.ref) for s in several))
            msg = f"column {name!r} is ambiguous; write one of {', '.join(choices)}"
            if len(choices) == 1:
                msg = f"column {name!r} is ambiguous: the query has it twice; give each its own name with AS there"
    raise source.error(UnknownNameError, msg, offset)
