"""A query with its names resolved: the one recursive type that binding makes, and that every rewrite takes and returns.

    SelectBlock   a SELECT: its scope, conditions, items, groups, order, parts, and the sub-queries in its expressions
      Scope         what stands in FROM, and what names there stand for
        Occurrence    a table, or a NestedQuery: a view, a definition of WITH, a query in parentheses
      SubSelect     a sub-query in an expression, whose query is a SelectBlock or a NestedQuery
    Bound         a query and its relation: BoundBlock, BoundCombined, BoundSorted, BoundWith, BoundAsOf
                BoundRepeated or BoundNumbers

For example ``SELECT a FROM (SELECT ...) q WHERE b IN (SELECT ...)`` is a `SelectBlock` whose scope has an `Occurrence`
of a `NestedQuery`, and which has one `SubSelect`. All of it is in one file, as each type has others of it within.

The relation is the part that is maintained. The original query is kept beside it for DuckDB, which computes the same
result from a text that no rewrite has touched (see `livejoin.sql.to_duckdb.query_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.keys import keys
from livejoin.query.relational import AsOf, Numbers, Relation, Repeated, SetKind
from livejoin.query.scalar import Expression
from livejoin.schema import Column, Table
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.sub_queries import Form
from livejoin.sql.resolved.column import REF, key_of
from livejoin.sql.resolved.item import Item, Order, SortBy
from livejoin.sql.resolved.outer import outer_of
from livejoin.sql.resolved.part import Equality, Part


@dataclass(frozen=True, eq=False)
class Computed:
    """A further column of an occurrence, to be joined on.

    Args:
        value: The expression, resolved; over columns of the occurrence.
        expression: The same, bound over these.
    """

    value: exp.Expr
    expression: Expression


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of a table or of a nested query: an atom of the query, by its position.

    Args:
        atom: The position of the occurrence.
        alias: The alias in the query.
        table: The table. For a nested query, a table with its relation's columns under distinct names. Computed columns
            come last.
        nested: The nested query; None for a table.
        offset: The offset of the nested query in FROM.
        computed: The computed columns, which have no name.
        given: The names of a table's columns in its alias; empty if they keep their names.
    """

    atom: int
    alias: str
    table: Table
    nested: NestedQuery | None = None
    offset: int = 0
    computed: tuple[Computed, ...] = ()
    given: tuple[str, ...] = ()

    def column(self, position: int) -> ColumnRef:
        """A column of the occurrence."""
        return ColumnRef(self.atom, position)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns; those of a nested query may be equal."""
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
        """The columns as predicates name them: those of a nested query ``c0``, ``c1``, ..., as in a `Project`.

        Predicates do not name computed columns.
        """
        if self.nested is None:
            return self.base.arrow
        return pa.schema([(f"c{i}", kind) for i, kind in enumerate(self.nested.relation.schema.types)])

    @property
    def described(self) -> str:
        """A description for messages."""
        return "a query" if self.nested is not None else f"table {self.table.name!r}"


@dataclass(frozen=True)
class Side:
    """An occurrence within a FULL OUTER JOIN, whose alias stands for columns of the join's nested query.

    Args:
        alias: The alias in the query.
        names: The names of the columns.
        refs: The columns of the nested query.
        described: A description for messages.
    """

    alias: str
    names: tuple[str, ...]
    refs: tuple[ColumnRef, ...]
    described: str

    def column(self, position: int) -> ColumnRef:
        """A column of the occurrence."""
        return self.refs[position]


@dataclass(frozen=True)
class Shown:
    """A column that a scope shows by its bare name; a merged column stands for the first of its columns."""

    name: str
    ref: ColumnRef


@dataclass(frozen=True)
class Scope:
    """The occurrences in FROM, and which names they show.

    Args:
        relations: All occurrences, in order.
        shown: The columns in the order of ``*``.
        sides: The occurrences within FULL OUTER JOINs.
        hidden: Occurrences without an alias: those of SEMI and ANTI JOIN, and the nested queries of FULL OUTER JOINs.
        outer: The scope of the query around, for a sub-query in its expressions.
    """

    relations: tuple[Occurrence, ...] = ()
    shown: tuple[Shown, ...] = ()
    sides: tuple[Side, ...] = ()
    hidden: frozenset[int] = frozenset()
    outer: Scope | None = None

    @staticmethod
    def of(relation: Occurrence) -> Scope:
        """The scope of a single occurrence of a table."""
        names = enumerate(relation.names)
        return Scope((relation,), tuple(Shown(name, relation.column(i)) for i, name in names))

    def beside(self, other: Scope) -> Scope:
        """The scope of two items of FROM that merge no columns."""
        return Scope(
            self.relations + other.relations,
            self.shown + other.shown,
            self.sides + other.sides,
            self.hidden | other.hidden,
        )

    @property
    def aliased(self) -> tuple[Occurrence | Side, ...]:
        """The occurrences with an alias."""
        return (*(r for r in self.relations if r.atom not in self.hidden), *self.sides)

    def relation(self, alias: str) -> Occurrence | Side | None:
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
        """Whether a column of the scope, or of a scope around, is a CHAR."""
        own = any(column.is_char for relation in self.relations for column in relation.table.columns)
        return own or (self.outer is not None and self.outer.has_char)

    def char_length(self, node: exp.Expr) -> int:
        """The length of a resolved column that is a CHAR; 0 for any other node."""
        column = self._column_of(node)
        return column.length if column is not None and column.is_char else 0

    @property
    def has_uuid(self) -> bool:
        """Whether a column of a table of the scope, or of a scope around, is a UUID."""
        own = any(column.is_uuid for relation in self.relations for column in relation.table.columns)
        return own or (self.outer is not None and self.outer.has_uuid)

    def is_uuid(self, node: exp.Expr) -> bool:
        """Whether a node is a resolved column of a table that is a UUID."""
        column = self._column_of(node)
        return column is not None and column.is_uuid

    def _column_of(self, node: exp.Expr) -> Column | None:
        """The declaration of a resolved column, also of one of a query around; None for any other node."""
        outer = outer_of(node)
        ref = node.meta.get(REF) if outer is None else outer.ref
        if ref is None:
            return None
        around = self
        for _ in range(0 if outer is None else outer.level):
            assert around.outer is not None, "an outer column is one of a query around"
            around = around.outer
        return around.declared(ref)

    def arrow(self, ref: ColumnRef) -> pa.DataType:
        """The Arrow type of a column, which may be a list in a nested query."""
        return self.declared(ref).type.arrow if self.is_computed(ref) else self._atom(ref).rows.types[ref.column]

    def is_computed(self, ref: ColumnRef) -> bool:
        """Whether a column is computed."""
        relation = self._atom(ref)
        return ref.column >= len(relation.table.columns) - len(relation.computed)

    def name(self, ref: ColumnRef) -> str:
        """The name of a column."""
        return self._atom(ref).names[ref.column]

    def qualified(self, ref: ColumnRef) -> str:
        """A column with its alias, for messages."""
        for side in self.sides:
            if ref in side.refs:
                return f"{side.alias}.{side.names[side.refs.index(ref)]}"
        return f"{self._atom(ref).alias}.{self.name(ref)}"

    def is_single(self, atom: int) -> bool:
        """Whether an occurrence is a nested query that never has more than one row."""
        nested = self._atom(ColumnRef(atom, 0)).nested
        return nested is not None and frozenset() in keys(nested.relation)

    def _atom(self, ref: ColumnRef) -> Occurrence:
        return next(r for r in self.relations if r.atom == ref.atom)


@dataclass(frozen=True, eq=False)
class NestedQuery:
    """A query that another one reads.

    Args:
        name: The name of the view or of the definition; empty for a sub-query.
        columns: The names of the columns; a name may occur twice.
        relation: The relation of the query.
        bound: The query as written, None for a view.
        plain: The query as a SELECT, if it neither groups nor sorts nor takes distinct rows: it can be merged into its
            reader. Else None.
        correlated: The SELECT as written, if it reads columns of a query around. It then must be merged into its
            reader, and ``relation`` only tells the types.
    """

    name: str
    columns: tuple[str, ...]
    relation: Relation
    bound: Bound | None
    plain: SelectBlock | None
    correlated: SelectBlock | None = None

    @staticmethod
    def of(bound: Bound, name: str = "") -> NestedQuery:
        """A bound query, which may be merged into its reader."""
        return NestedQuery(name, bound.columns, bound.relation, bound, bound.plain)

    def called(self, columns: tuple[str, ...]) -> NestedQuery:
        """The same query with other names for its columns."""
        return replace(self, columns=columns)


@dataclass(frozen=True, eq=False)
class SubSelect:
    """A sub-query in an expression.

    Args:
        form: The form of the sub-query: EXISTS, IN, ANY, ALL or a value.
        comparison: The comparison of ANY and ALL.
        query: A SELECT, which may have outer columns, or any other query, which has none.
        source: The tokens of the query around.
        offset: The offset of the sub-query.
    """

    form: Form
    comparison: type[exp.Expr] | None
    query: SelectBlock | NestedQuery
    source: Source
    offset: int


@dataclass(frozen=True)
class SelectBlock:
    """A SELECT whose expressions are resolved; without more than a scope and items, ``SELECT items FROM scope``.

    Args:
        scope: The tables in FROM.
        items: The SELECT list.
        source: The tokens of the SELECT.
        start: The offset of its conditions, for nodes without one.
        equalities: The columns that USING and NATURAL make equal.
        conditions: ON conditions of inner joins, and WHERE conditions.
        groups: The expressions of GROUP BY, each once; None if there is neither GROUP BY nor an aggregate nor HAVING.
        is_global: Whether rows are aggregated without GROUP BY.
        having: The condition of HAVING.
        distinct: Whether it is SELECT DISTINCT.
        order: ORDER BY with LIMIT.
        parts: The parts, which hang on the other occurrences of the scope.
        sub_queries: The sub-queries in the expressions, each at the number of its mark.
        sets: The grouping sets, each by the positions of its groups; None for one set with all groups.
        read_order: The keys of ORDER BY without LIMIT, which changes no row.
        qualified: Whether the last item is the condition of QUALIFY, and no column.
    """

    scope: Scope
    items: tuple[Item, ...]
    source: Source
    start: int
    equalities: tuple[Equality, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()
    groups: tuple[exp.Expr, ...] | None = None
    is_global: bool = False
    having: exp.Expr | None = None
    distinct: bool = False
    order: Order | None = None
    parts: tuple[Part, ...] = ()
    sub_queries: tuple[SubSelect, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    read_order: tuple[SortBy, ...] = ()
    qualified: bool = False

    @property
    def outputs(self) -> tuple[Item, ...]:
        """The columns of the result."""
        return self.items[:-1] if self.qualified else self.items

    @property
    def has_windows(self) -> bool:
        """Whether the SELECT has window functions, or QUALIFY."""
        return self.qualified or any(item.value.find(exp.Window) for item in self.items)

    @property
    def core(self) -> tuple[int, ...]:
        """The occurrences that are in no part."""
        hanging = {atom for part in self.parts for atom in part.atoms}
        return tuple(relation.atom for relation in self.scope.relations if relation.atom not in hanging)

    @property
    def values(self) -> Iterator[exp.Expr]:
        """The expressions over its rows: in the SELECT list, GROUP BY, HAVING, and ORDER BY with LIMIT."""
        yield from (item.value for item in self.items)
        yield from self.groups or ()
        if self.having is not None:
            yield self.having
        if self.order is not None:
            yield from (key.value for key in self.order.keys)

    @property
    def expressions(self) -> Iterator[exp.Expr]:
        """All expressions: `values`, and the conditions of the SELECT and of its parts."""
        yield from self.values
        yield from self.conditions
        yield from (condition for part in self.parts for condition in part.conditions)

    def mapped(self, change: Callable[[exp.Expr], exp.Expr]) -> SelectBlock:
        """The same SELECT with every expression changed; its occurrences, equalities and sub-queries stay.

        Args:
            change: Gives the replacement of an expression. It is called once for each: in the SELECT list, WHERE, ON of
                parts, GROUP BY, HAVING and ORDER BY, in this order.
        """

        def sorted_by(keys: tuple[SortBy, ...]) -> tuple[SortBy, ...]:
            return tuple(replace(key, value=change(key.value)) for key in keys)

        return replace(
            self,
            items=tuple(replace(item, value=change(item.value)) for item in self.items),
            conditions=tuple(map(change, self.conditions)),
            parts=tuple(part.mapped(change) for part in self.parts),
            groups=None if self.groups is None else tuple(map(change, self.groups)),
            having=None if self.having is None else change(self.having),
            order=None if self.order is None else replace(self.order, keys=sorted_by(self.order.keys)),
            read_order=sorted_by(self.read_order),
        )

    def with_groups_once(self) -> SelectBlock:
        """The same SELECT with each expression of GROUP BY once: a change may have made two of them equal."""
        if self.groups is None:
            return self
        return replace(self, groups=tuple({key_of(value): value for value in self.groups}.values()))


@dataclass(frozen=True, eq=False)
class BoundBlock:
    """A SELECT.

    Args:
        block: The SELECT as written.
        merged: The SELECT with plain queries in FROM merged into it.
        relation: The relation of the SELECT.
    """

    block: SelectBlock
    merged: SelectBlock
    relation: Relation

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; a name may occur twice."""
        return tuple(item.written for item in self.block.outputs)

    @property
    def plain(self) -> SelectBlock | None:
        """The merged SELECT if it can be merged into its reader, else None."""
        computes = self.block.groups is not None or self.block.distinct or self.block.order is not None
        computes = computes or self.block.has_windows
        return None if computes else self.merged


@dataclass(frozen=True, eq=False)
class BoundNumbers:
    """The numbers of constant rows."""

    relation: Numbers

    plain = None
    columns = ("number",)


@dataclass(frozen=True, eq=False)
class BoundCombined:
    """Two queries under a set operation, or the two of a FULL JOIN."""

    kind: SetKind
    all: bool
    left: Bound
    right: Bound
    relation: Relation
    is_full_join: bool = False

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns: those of the left side."""
        return self.left.columns


@dataclass(frozen=True, eq=False)
class BoundSorted:
    """A query in parentheses or a set operation with ORDER BY, usually with LIMIT; the keys are over its columns."""

    input: Bound
    order: Order
    source: Source
    relation: Relation

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.input.columns


@dataclass(frozen=True, eq=False)
class BoundWith:
    """A query after a WITH clause."""

    definitions: tuple[NestedQuery, ...]
    query: Bound

    @property
    def relation(self) -> Relation:
        """The relation of the query."""
        return self.query.relation

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.query.columns

    @property
    def plain(self) -> SelectBlock | None:
        """The SELECT after the WITH clause if it can be merged, as for a `BoundBlock`."""
        return self.query.plain


@dataclass(frozen=True, eq=False)
class BoundAsOf:
    """The two queries of an ASOF JOIN."""

    left: Bound
    right: Bound
    relation: AsOf

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; those of the two sides may be equal."""
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True, eq=False)
class BoundRepeated:
    """A query of which each row stands there several times, with a last column of numbers."""

    input: Bound
    relation: Repeated

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.input.columns, "number")


Bound: TypeAlias = BoundBlock | BoundCombined | BoundSorted | BoundWith | BoundAsOf | BoundRepeated | BoundNumbers
