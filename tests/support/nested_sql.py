"""Nested queries as values that print as the engine's text and as plain text for DuckDB.

A query is a SELECT, a set operation, or either of them after WITH; a source of FROM is a name or a query. Plain text
differs where the dialects do: aggregates have Spark's types and are computed exactly (`exact_functions`), and the first
rows of an order are those that all columns decide. Every query is frozen, so that `nested_reduce` can make it smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """The type of a column.

    Args:
        family: Columns of one family may be joined and combined: integer, string, date, boolean, decimal2, ... ;
            ``double`` holds multiples of a quarter, whose sums are exact in any order, ``quotient`` any other double.
        sql: The type's name.
    """

    family: str
    sql: str

    @property
    def scale(self) -> int:
        """Digits behind the point of a decimal."""
        return int(self.family.removeprefix("decimal"))

    @property
    def precision(self) -> int:
        """Digits of a decimal."""
        return int(self.sql.removeprefix("DECIMAL(").partition(",")[0])


def decimal(precision: int, scale: int) -> Kind:
    """DECIMAL(precision, scale)."""
    return Kind(f"decimal{scale}", f"DECIMAL({precision}, {scale})")


INT = Kind("integer", "INT")
BIGINT = Kind("integer", "BIGINT")
STRING = Kind("string", "STRING")
DATE = Kind("date", "DATE")
BOOLEAN = Kind("boolean", "BOOLEAN")
DOUBLE = Kind("double", "DOUBLE")
QUOTIENT = Kind("quotient", "DOUBLE")


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Expr:
    """An expression in both dialects."""

    text: str
    plain: str
    kind: Kind


@dataclass(frozen=True)
class Item:
    """An output; ``named`` is whether AS is written."""

    value: Expr
    name: str
    named: bool = True


@dataclass(frozen=True)
class Key:
    """A key of ORDER BY: ``text`` is what the engine reads, ``value`` what DuckDB computes."""

    text: str
    value: Expr
    descending: bool = False
    nulls: str = ""

    @property
    def direction(self) -> str:
        """DESC or ASC and the place of NULL, written out."""
        nulls = self.nulls or (" NULLS LAST" if self.descending else " NULLS FIRST")
        return f"{' DESC' if self.descending else ' ASC'}{nulls}"


@dataclass(frozen=True)
class Order:
    """ORDER BY, LIMIT and OFFSET."""

    keys: tuple[Key, ...]
    limit: int
    offset: int = 0

    @property
    def text(self) -> str:
        """The clauses in the engine's dialect."""
        keys = ", ".join(k.text + (" DESC" if k.descending else "") + k.nulls for k in self.keys)
        return f" ORDER BY {keys} LIMIT {self.limit}" + (f" OFFSET {self.offset}" if self.offset else "")


@dataclass(frozen=True)
class Source:
    """An item of FROM.

    Args:
        of: The name of a table, a view or a WITH, or a sub-query.
        alias: Its alias.
        columns: Its columns as they are called outside; they are written behind the alias if ``renamed``.
        on: Equalities with earlier sources; with ``using`` they are what USING says.
        joined: Whether it is written with JOIN, and not behind a comma with its equalities in WHERE.
        using: Columns of USING.
        renamed: Whether the alias has a list of columns.
    """

    of: str | Query
    alias: str
    columns: tuple[Column, ...]
    on: tuple[str, ...] = ()
    joined: bool = False
    using: tuple[str, ...] = ()
    renamed: bool = False

    def written(self, plain: bool) -> str:
        """It and its alias."""
        text = self.of if isinstance(self.of, str) else f"({written(self.of, plain)})"
        names = f"({', '.join(c.name for c in self.columns)})" if self.renamed else ""
        return text if text == self.alias and not names else f"{text} AS {self.alias}{names}"


@dataclass(frozen=True)
class Select:
    """SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT.

    Args:
        sources: FROM.
        items: The outputs.
        where: Conditions, each over one source.
        distinct: Whether DISTINCT.
        groups: Expressions of GROUP BY; None without aggregates, () for one group of all rows.
        having: The condition of HAVING.
        order: Which rows are kept.
        star: The engine's select list if it is written with ``*``.
    """

    sources: tuple[Source, ...]
    items: tuple[Item, ...]
    where: tuple[Expr, ...] = ()
    distinct: bool = False
    groups: tuple[Expr, ...] | None = None
    having: Expr | None = None
    order: Order | None = None
    star: str = ""


@dataclass(frozen=True)
class Combined:
    """A set operation; ``word`` is for example EXCEPT ALL."""

    word: str
    left: Query
    right: Query
    order: Order | None = None


@dataclass(frozen=True)
class Definition:
    """One name of WITH."""

    name: str
    query: Query
    columns: tuple[Column, ...]
    renamed: bool = False


@dataclass(frozen=True)
class With:
    """A query after WITH."""

    definitions: tuple[Definition, ...]
    body: Select | Combined


Query = Select | Combined | With


def columns(query: Query) -> tuple[Column, ...]:
    """Names and types of the outputs."""
    match query:
        case Select():
            return tuple(Column(item.name, item.value.kind) for item in query.items)
        case Combined():
            sides = zip(columns(query.left), columns(query.right), strict=True)
            return tuple(Column(left.name, wider(left.kind, right.kind)) for left, right in sides)
        case With():
            return columns(query.body)


def wider(left: Kind, right: Kind) -> Kind:
    """The type of a column of a set operation."""
    if left.family == "integer":
        return BIGINT if BIGINT in (left, right) else INT
    if left.family.startswith("decimal"):
        return left if left.precision >= right.precision else right
    return QUOTIENT if QUOTIENT in (left, right) else left


def written(query: Query, plain: bool = False) -> str:
    """The query in the engine's dialect, or as plain text."""
    match query:
        case Select():
            return _select_plain(query) if plain else _select_text(query)
        case Combined():
            text = f"({written(query.left, plain)}) {query.word} ({written(query.right, plain)})"
            if query.order is None:
                return text
            if not plain:
                return text + query.order.text
            return _first_rows(f"SELECT * FROM ({text}) AS q", columns(query), query.order)
        case With():
            defined = []
            for each in query.definitions:
                names = f"({', '.join(c.name for c in each.columns)})" if each.renamed else ""
                defined.append(f"{each.name}{names} AS ({written(each.query, plain)})")
            return f"WITH {', '.join(defined)} {written(query.body, plain)}"


def _select_text(query: Select) -> str:
    items = ", ".join(i.value.text + (f" AS {i.name}" if i.named else "") for i in query.items)
    text = f"SELECT {'DISTINCT ' if query.distinct else ''}{query.star or items}{_from(query, False)}"
    if query.groups:
        text += f" GROUP BY {', '.join(g.text for g in query.groups)}"
    if query.having is not None:
        text += f" HAVING {query.having.text}"
    return text + (query.order.text if query.order else "")


def _select_plain(query: Select) -> str:
    items = [f"{i.value.plain} AS {i.name}" for i in query.items]
    if query.order is not None and not query.distinct:
        items += [f"{key.value.plain} AS k{n}" for n, key in enumerate(query.order.keys)]
    text = f"SELECT {'DISTINCT ' if query.distinct else ''}{', '.join(items)}{_from(query, True)}"
    if query.groups:
        text += f" GROUP BY {', '.join(g.plain for g in query.groups)}"
    if query.having is not None:
        text += f" HAVING {query.having.plain}"
    if query.order is None:
        return text
    return _first_rows(text, columns(query), query.order, computed=not query.distinct)


def _from(query: Select, plain: bool) -> str:
    text = ""
    where = [c.plain if plain else c.text for c in query.where]
    for source in query.sources:
        here = source.written(plain)
        if not text:
            text = f" FROM {here}"
        elif source.using:
            text += f" JOIN {here} USING ({', '.join(source.using)})"
        elif source.joined and source.on:
            text += f" JOIN {here} ON {' AND '.join(source.on)}"
        else:
            text += f" CROSS JOIN {here}" if source.joined else f", {here}"
            where = [*source.on, *where]
    return text + (f" WHERE {' AND '.join(f'({c})' if ' OR ' in c else c for c in where)}" if where else "")


def _first_rows(text: str, shown: tuple[Column, ...], order: Order, computed: bool = False) -> str:
    """The first rows; the keys are columns k0, k1, ... of the text if they are ``computed`` there."""
    keys = [(f"k{n}" if computed else key.value.plain) + key.direction for n, key in enumerate(order.keys)]
    keys += [f"{c.name} ASC NULLS FIRST" for c in shown]
    names = ", ".join(c.name for c in shown)
    return f"SELECT {names} FROM ({text}) AS q ORDER BY {', '.join(keys)} LIMIT {order.limit} OFFSET {order.offset}"


def blocks(query: Query) -> Iterator[Query]:
    """The query and all queries within it."""
    yield query
    match query:
        case Select():
            for source in query.sources:
                if not isinstance(source.of, str):
                    yield from blocks(source.of)
        case Combined():
            yield from blocks(query.left)
            yield from blocks(query.right)
        case With():
            for each in query.definitions:
                yield from blocks(each.query)
            yield from blocks(query.body)


def names_read(query: Query, unused: bool = True) -> frozenset[str]:
    """Names of tables and views that the query reads; names that WITH hides are not among them.

    Args:
        query: The query.
        unused: Whether what a WITH reads counts that nothing reads.
    """
    match query:
        case Select():
            parts = [frozenset({s.of}) if isinstance(s.of, str) else names_read(s.of, unused) for s in query.sources]
            return frozenset[str]().union(*parts)
        case Combined():
            return names_read(query.left, unused) | names_read(query.right, unused)
        case With():
            found = names_read(query.body, unused)
            for each in reversed(query.definitions):
                if each.name in found or unused:
                    found = (found - {each.name}) | names_read(each.query, unused)
            return found


def depth(query: Query) -> int:
    """How many levels of blocks there are."""
    match query:
        case Select():
            return 1 + max((depth(s.of) for s in query.sources if not isinstance(s.of, str)), default=0)
        case Combined():
            return 1 + max(depth(query.left), depth(query.right))
        case With():
            return depth(query.body) + max(depth(each.query) for each in query.definitions)


@dataclass(frozen=True)
class ViewSpec:
    """A view and how it is maintained."""

    name: str
    query: Query
    deltas: bool = True
    algorithm: str = "auto"
    adaptive: bool = False
    reads: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", names_read(self.query))

    @property
    def sql(self) -> str:
        """The engine's text."""
        return written(self.query)

    @property
    def plain(self) -> str:
        """DuckDB's text; it reads other views by their names."""
        return written(self.query, plain=True)
