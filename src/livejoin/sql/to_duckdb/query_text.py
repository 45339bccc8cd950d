"""A bound query as DuckDB text, as written: before it is lowered to relations and queries are merged.

Definitions of WITH become one WITH clause in front. They keep their names unless a table, a view or another definition
has them; views are read by their names. Columns of tables are named by their `ColumnRef`, groups are computed before
they are grouped by, all expressions and aggregates are cast to Spark's types, and rows with equal keys of ORDER BY are
ordered by all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef, EdgeKind
from livejoin.query.relational import AsOf, AsOfComparison, SetKind
from livejoin.schema import SqlType
from livejoin.sql.bind.known_names import KnownNames
from livejoin.sql.bind.passes import PassRewriter
from livejoin.sql.lower.conditions.split import Conditions
from livejoin.sql.lower.grouped.aggregates import WrittenAggregate, aggregate_call, is_windowed
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.parse.source import shown
from livejoin.sql.parse.sub_queries import marked
from livejoin.sql.resolved.column import bound_column, key_of, place_of
from livejoin.sql.resolved.item import Order
from livejoin.sql.resolved.outer import Outer, outer_of
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import (
    Bound,
    BoundAsOf,
    BoundBlock,
    BoundCombined,
    BoundNumbers,
    BoundRepeated,
    BoundSorted,
    BoundWith,
    NestedQuery,
    SelectBlock,
    SubSelect,
)
from livejoin.sql.resolved.typed import null_of
from livejoin.sql.scalars.duckdb_text import expression_text
from livejoin.sql.scalars.operands import BOOLEAN
from livejoin.sql.scalars.result_types import column_type, duckdb_type
from livejoin.sql.sub_queries.free import free_columns
from livejoin.sql.to_duckdb.aggregate_text import aggregate_text, as_type

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_AS_OF: dict[AsOfComparison, str] = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_JOINS: dict[EdgeKind, str] = {"exists": "SEMI JOIN", "not exists": "ANTI JOIN", "optional": "LEFT JOIN"}
_KEYWORDS: dict[SetKind, str] = {"union": "UNION", "except": "EXCEPT", "intersect": "INTERSECT"}


def query_text(bound: Bound, names: KnownNames) -> str:
    """DuckDB text of a bound query.

    Args:
        bound: The query.
        names: The tables and views.

    Raises:
        UnsupportedQueryError: An expression that DuckDB has no way to write.
    """
    texts = _Texts(names)
    text = texts.query(bound)
    return f"WITH {', '.join(texts.definitions)} {text}" if texts.definitions else text


class _Texts:
    """The texts of the queries in a text; mutable: definitions of WITH are collected.

    Attributes:
        definitions: ``name AS (query)`` for each definition, after the definitions that it reads.
    """

    def __init__(self, names: KnownNames) -> None:
        self._names = names
        self._defined: dict[Bound, str] = {}
        self.definitions: list[str] = []

    def query(self, bound: Bound) -> str:
        """The text of a query."""
        match bound:
            case BoundBlock():
                return _Select(bound.block, bound.relation.schema.types, self, None).text()
            case BoundCombined():
                types = bound.relation.types
                left, right = (_cast(self.query(side), types) for side in (bound.left, bound.right))
                combined = f"({left}) {_KEYWORDS[bound.kind]}{' ALL' if bound.all else ''} ({right})"
                return f"SELECT * FROM ({combined}) AS _({_quoted_all(bound.relation.schema.names)})"
            case BoundAsOf():
                sides = (_cast(self.query(side), side.relation.types) for side in (bound.left, bound.right))
                return _as_of(bound.relation, *sides)
            case BoundRepeated():
                rows = _cast(self.query(bound.input), bound.input.relation.types)
                return f"SELECT l.*, n.range AS number FROM ({rows}) AS l CROSS JOIN range({bound.relation.count}) AS n"
            case BoundNumbers():
                return f"SELECT range AS c0 FROM range({bound.relation.count})"
            case BoundSorted():
                return self._sorted(bound)
            case BoundWith():
                for definition in bound.definitions:
                    self._define(definition)
                return self.query(bound.query)

    def rows(self, nested: NestedQuery) -> str:
        """The text in FROM for a nested query, its columns called c0, c1, ... ."""
        if nested.bound is None:
            text = _quoted(nested.name)
        elif nested.bound in self._defined:
            text = _quoted(self._defined[nested.bound])
        else:
            text = f"({self.query(nested.bound)})"
        return f"{text} AS _({_columns(len(nested.columns))})"

    def in_expression(self, query: SelectBlock | NestedQuery, around: Around) -> str:
        """The query of a sub-query in an expression."""
        if isinstance(query, NestedQuery):
            return f"SELECT * FROM {self.rows(query)}"
        return _Select(query, self.types(query, around), self, around).text()

    def types(self, block: SelectBlock, around: Around) -> list[pa.DataType | None]:
        """The types of a SELECT's columns, which its conditions do not change.

        Outer columns are replaced by NULLs of their types. None for a type that depends on sub-queries within.
        """

        def typed(part: exp.Expr) -> exp.Expr:
            outer = outer_of(part)
            return part if outer is None else null_of(around.of(outer).declared(outer.ref))

        def within(value: exp.Expr) -> exp.Expr:
            return value.transform(typed)

        alone = replace(block, conditions=(), parts=(), having=None, order=None, read_order=(), distinct=False)
        alone = alone.mapped(within)
        alone = replace(alone, scope=replace(block.scope, hidden=frozenset()))
        if any(free_columns(alone)):
            return [None] * len(block.items)
        return list(PassRewriter(self._names, allow_product=True).bound(alone).relation.schema.types)

    def _define(self, definition: NestedQuery) -> None:
        assert definition.bound is not None, "a definition is no view"
        text = self.query(definition.bound)
        name, number = self._names.fresh(definition.name), 1
        taken = {other.lower() for other in (*self._defined.values(), *self._names.views)}
        while name.lower() in taken:
            number += 1
            name = self._names.fresh(f"{definition.name}_{number}")
        self._defined[definition.bound] = name
        self.definitions.append(f"{_quoted(name)} AS ({text})")

    def _sorted(self, bound: BoundSorted) -> str:
        """A query with ORDER BY and LIMIT around it."""
        names = bound.input.relation.schema.names

        def text(value: exp.Expr) -> str:
            return expression_text(value, lambda ref: f"c{ref.column}", bound.source, 0)

        keys = [f"{text(key.value)} AS k{i}" for i, key in enumerate(bound.order.keys)]
        inner = f"SELECT *, {', '.join(keys)} FROM ({self.query(bound.input)}) AS _({_columns(len(names))})"
        return _first_rows(inner, names, bound.order)


@dataclass(frozen=True, eq=False)
class Around:
    """The place of a sub-query: in an expression of a SELECT, over its groups or over its rows."""

    select: _Select
    over_groups: bool

    def within(self, levels: int) -> Around:
        """The place of the query that is some levels around this one."""
        found = self
        for _ in range(levels):
            assert found.select.around is not None, "a query is around"
            found = found.select.around
        return found

    def of(self, outer: Outer) -> _Select:
        """The SELECT of an outer column of a sub-query at this place."""
        return self.within(outer.level - 1).select


class _Select:
    """A SELECT as text.

    Args:
        block: The SELECT.
        types: The types of the SELECT's columns.
        texts: The texts around it.
        around: The SELECT's place in an expression; None elsewhere.
    """

    def __init__(
        self, block: SelectBlock, types: Sequence[pa.DataType | None], texts: _Texts, around: Around | None
    ) -> None:
        self._block = block
        self._types = [None if kind is None or pa.types.is_nested(kind) else column_type(kind) for kind in types]
        self._texts = texts
        self.around = around
        self._depth: int = 0 if around is None else around.select._depth + 1
        self._prefix = f"s{self._depth}_" if self._depth else ""
        self._joined = Joined(block.scope, Conditions(block.scope, (), (), {}), block.source)
        self._groups = {key_of(value): i for i, value in enumerate(block.groups or ())}

    def text(self) -> str:
        """The whole SELECT."""
        block = self._block
        names = [item.name for item in block.outputs]
        values = [self._over_groups(item.value, item.offset) for item in block.outputs]
        items = [
            f"{as_type(value, kind)} AS c{i}" for i, (value, kind) in enumerate(zip(values, self._types, strict=True))
        ]
        order = block.order
        if order is not None and not block.distinct:
            items += [f"{self._over_groups(key.value, key.offset)} AS k{i}" for i, key in enumerate(order.keys)]
        text = f"SELECT {'DISTINCT ' if block.distinct else ''}{', '.join(items)} FROM ({self._rows()})"
        kept = [] if block.having is None else [self._over_groups(block.having, 0)]
        if block.sets is not None:
            sets = (f"({', '.join(map(self._group, chosen))})" for chosen in block.sets)
            text += f" GROUP BY GROUPING SETS ({', '.join(sets)})"
            kept.append("count(*) > 0")  # Spark has no row of the empty set over no rows, DuckDB has one
        elif block.groups:
            text += " GROUP BY " + ", ".join(map(self._group, range(len(block.groups))))
        if kept:
            text += f" HAVING {' AND '.join(f'({condition})' for condition in kept)}"
        if block.qualified:
            text += f" QUALIFY {self._over_groups(block.items[-1].value, 0)}"
        if order is None:
            return f"SELECT * FROM ({text}) AS _({_quoted_all(names)})"
        if block.distinct:
            keys = ", ".join(f"{self._over_items(key.value)} AS k{i}" for i, key in enumerate(order.keys))
            text = f"SELECT *, {keys} FROM ({text})"
        return _first_rows(text, names, order)

    def _rows(self) -> str:
        """The rows of FROM that satisfy WHERE, with the expressions of GROUP BY beside them."""
        block = self._block
        groups = [f"{self._typed(value)} AS {self._group(i)}" for i, value in enumerate(block.groups or ())]
        condition = self._condition(block.equalities, block.conditions)
        return f"SELECT {', '.join(['*', *groups])} FROM {self._level(None)} WHERE {condition}"

    def _level(self, level: int | None) -> str:
        """The text of the core or a part, with the parts that hang on it."""
        block = self._block
        atoms = block.core if level is None else block.parts[level].atoms
        text = " CROSS JOIN ".join(self._table(atom) for atom in atoms)
        for position, part in enumerate(block.parts):
            if part.above == level:
                condition = self._condition(part.equalities, part.conditions)
                text += f" {_JOINS[part.kind]} ({self._level(position)}) ON {condition}"
        return text

    def _table(self, atom: int) -> str:
        relation = self._block.scope.relations[atom]
        columns = enumerate(relation.rows.names)
        listed = ", ".join(f'{_quoted(name)} AS "{self.name(ColumnRef(atom, i))}"' for i, name in columns)
        nested = relation.nested
        if nested is None:
            rows = _quoted(relation.table.name)
        elif nested.correlated is not None and self.around is not None:
            text = self._texts.in_expression(nested.correlated, self.around)
            rows = f"({text}) AS _({_columns(len(nested.columns))})"
        else:
            rows = self._texts.rows(nested)
        return f"(SELECT {listed} FROM {rows}) AS t{atom}"

    def _condition(self, equalities: Sequence[Equality], conditions: Sequence[exp.Expr]) -> str:
        parts = [f'"{self.name(e.left)}" = "{self.name(e.right)}"' for e in equalities]
        parts += [f"({self._plain(condition)})" for condition in conditions]
        return " AND ".join(parts) or "TRUE"

    def _plain(self, value: exp.Expr) -> str:
        """An expression over rows."""
        return self._written(value, over_groups=False)

    def _written(self, value: exp.Expr, *, over_groups: bool) -> str:
        """An expression with its sub-queries; outer columns have their names in the queries around."""

        def exchanged(part: exp.Expr) -> exp.Expr:
            number, outer = marked(part), outer_of(part)
            if number is not None:
                operands = [self._written(operand, over_groups=over_groups) for operand in part.expressions]
                return exp.var(self._sub_query(self._block.sub_queries[number], operands, over_groups=over_groups))
            return part if outer is None else exp.var(_quoted(self._outer(outer)))

        return expression_text(value.transform(exchanged), self.name, self._block.source, 0)

    def _sub_query(self, sub: SubSelect, operands: Sequence[str], *, over_groups: bool) -> str:
        text = f"({self._texts.in_expression(sub.query, Around(self, over_groups))})"
        operand = operands[0] if len(operands) == 1 else f"({', '.join(operands)})"
        match sub.form:
            case "scalar":
                return text
            case "exists":
                return f"(EXISTS {text})"
            case "in":
                return f"(({operand}) IN {text})"
            case _:
                assert sub.comparison is not None, "ANY and ALL compare"
                return f"(({operand}) {_COMPARISONS[sub.comparison]} {sub.form.upper()} {text})"

    def _outer(self, outer: Outer) -> str:
        """The name of a column of a query around."""
        around = Around(self, False).within(outer.level)
        select = around.select
        if not around.over_groups:
            return select.name(outer.ref)
        return select._group(select._groups[key_of(bound_column(outer.ref, outer.name))])

    def declared(self, ref: ColumnRef) -> SqlType:
        """The type of a column of FROM."""
        return self._block.scope.declared(ref).type

    def name(self, ref: ColumnRef) -> str:
        """The name of a column of FROM here and in sub-queries."""
        return f"{self._prefix}{ref.atom}.{ref.column}"

    def _group(self, position: int) -> str:
        return f"{self._prefix}g{position}"

    def _type_of(self, value: exp.Expr, role: str, offset: int) -> SqlType:
        """The type of an expression; its sub-queries and outer columns are replaced by NULLs of their types."""

        def exchanged(part: exp.Expr) -> exp.Expr:
            number, outer = marked(part), outer_of(part)
            if number is None and outer is None:
                return part
            if outer is not None:
                return null_of(Around(self, False).within(outer.level).select.declared(outer.ref))
            return null_of(self._type_of_query(self._block.sub_queries[number or 0]))

        return self._joined.type_of(value.transform(exchanged), shown(value), role, offset)

    def _type_of_query(self, sub: SubSelect) -> SqlType:
        if sub.form != "scalar":
            return BOOLEAN
        query = sub.query
        found = (
            query.relation.schema.types
            if isinstance(query, NestedQuery)
            else self._texts.types(query, Around(self, False))
        )
        kind = None if found[0] is None else column_type(found[0])
        if kind is None:
            msg = "the type of this sub-query depends on the query around it, so that DuckDB's text cannot say it"
            raise sub.source.unsupported("sub-query", msg, sub.offset)
        return kind

    def _typed(self, value: exp.Expr) -> str:
        """An expression over rows, cast to its type."""
        kind = self._type_of(value, "group", 0)
        return as_type(self._plain(value), None if isinstance(value, exp.Column) else kind)

    def _over_groups(self, value: exp.Expr, offset: int) -> str:
        """An expression over groups, or over rows if there are none."""
        if self._block.groups is None:
            return self._plain(value)

        def exchanged(part: exp.Expr) -> exp.Expr:
            group = place_of(part, self._groups)
            if group is not None:
                return exp.var(self._group(group))
            if is_windowed(part):
                return part
            if isinstance(part, (exp.Grouping, exp.GroupingId)) and self._block.sets is not None:
                return exp.var(self._grouping(part))
            call = aggregate_call(part, self._block.source, offset)
            return part if call is None else exp.var(self._aggregate(call))

        return self._written(value.transform(exchanged), over_groups=True)

    def _grouping(self, call: exp.Expr) -> str:
        """GROUPING and GROUPING_ID, for which DuckDB has one function."""
        places = [place_of(part, self._groups) for part in call.expressions] or list(range(len(self._groups)))
        of = ", ".join(self._group(place) for place in places if place is not None)
        return f"CAST(grouping({of}) AS {'TINYINT' if isinstance(call, exp.Grouping) else 'BIGINT'})"

    def _over_items(self, value: exp.Expr) -> str:
        """A key of ORDER BY over the columns of SELECT DISTINCT."""
        positions = {key_of(item.value): i for i, item in enumerate(self._block.outputs)}

        def exchanged(part: exp.Expr) -> exp.Expr:
            position = place_of(part, positions)
            return part if position is None else exp.var(f"c{position}")

        return self._plain(value.transform(exchanged))

    def _aggregate(self, call: WrittenAggregate) -> str:
        """An aggregate over the rows of a group."""
        order = call.form.order
        kinds = [self._type_of(value, "argument", call.offset) for value in call.arguments]
        return aggregate_text(
            call,
            [as_type(self._plain(value), kind) for value, kind in zip(call.arguments, kinds, strict=True)],
            kinds,
            None if order is None else self._plain(order.value),
            [] if call.condition is None else [self._plain(call.condition)],
        )


def _as_of(join: AsOf, left: str, right: str) -> str:
    """DuckDB's ASOF JOIN, of whose right rows with equal times only the last one by all columns is there."""
    on, sign = join.on, _AS_OF[join.on.comparison]
    same = ", ".join(f"c{column}" for column in (*on.right_keys, on.right_time))
    last = ", ".join(f"c{column} DESC NULLS LAST" for column in range(len(join.right.types)))
    once = f"SELECT * FROM ({right}) QUALIFY row_number() OVER (PARTITION BY {same} ORDER BY {last}) = 1"
    conditions = [f"l.c{one} = r.c{other}" for one, other in zip(on.left_keys, on.right_keys, strict=True)]
    conditions.append(f"l.c{on.left_time} {sign} r.c{on.right_time}")
    kind = "ASOF LEFT JOIN" if on.is_optional else "ASOF JOIN"
    rows = f"SELECT l.*, r.* FROM ({left}) AS l {kind} ({once}) AS r ON {' AND '.join(conditions)}"
    return f"SELECT * FROM ({rows}) AS _({_quoted_all(join.schema.names)})"


def _first_rows(inner: str, names: list[str], order: Order) -> str:
    """The first rows of a text with columns c0, c1, ... and keys k0, k1, ... ."""
    keys = [
        f"k{i} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
        for i, key in enumerate(order.keys)
    ]
    keys += [f"c{i} ASC NULLS FIRST" for i in range(len(names))]
    listed = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(names))
    limit = "" if order.limit is None else f" LIMIT {order.limit} OFFSET {order.offset}"
    return f"SELECT {listed} FROM ({inner}) ORDER BY {', '.join(keys)}{limit}"


def _cast(text: str, types: tuple[SqlType, ...]) -> str:
    listed = ", ".join(f"CAST(c{i} AS {duckdb_type(kind)}) AS c{i}" for i, kind in enumerate(types))
    return f"SELECT {listed} FROM ({text}) AS _({_columns(len(types))})"


def _columns(number: int) -> str:
    return ", ".join(f"c{i}" for i in range(number))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted_all(names: list[str]) -> str:
    return ", ".join(map(_quoted, names))
