"""Random lives of the tables of a query: rows drawn so that its conditions tell them apart.

Each column gets values from a pool: those that the query compares it with, their neighbours, and a few others. All
surrogate keys are drawn from the same few numbers, so that most references find a row, some find none, and many rows
share one. Half of the lives have days of the calendar in date_dim. A step inserts and deletes rows of some tables,
empties a table, or brings back what was in one before.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from itertools import pairwise
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from benchmarks.tpcds.dates import day_row
from livejoin.catalog import Catalog
from livejoin.schema import Column, Table

Row = tuple[Any, ...]
Changes = list[tuple[str, Row]]

_KEYS = 6
_DAYS = 10
_NUMBERS = 10  # of tickets and orders
_IDS = 12
_NULLS = 0.04
_FACTS = 5  # rows that come, for each of another table
_LITERALS = 8  # how often a constant of the query stands in a pool, for each neighbour of it
_MOST = 12  # texts in a pool
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)
_DEFAULTS: dict[str, list[Any]] = {
    "integer": [1, 2, 3],
    "decimal": [*map(Decimal, ("1.37", "2.51", "10.03", "10.03", "-3.19", "0"))],
    "date": [date(1996, 2, 20), date(1996, 12, 31), date(2000, 1, 1)],
    "string": ["a", "a", "a", "b"],
}


@dataclass(frozen=True)
class Pools:
    """What the values of each column are drawn from; names of columns tell them apart in TPC-DS.

    Args:
        values: For each column its values; some stand there several times.
        named: The columns that the query compares with constants.
    """

    values: Mapping[str, list[Any]]
    named: frozenset[str]

    @staticmethod
    def of(sql: str, tables: Iterable[Table]) -> Pools:
        """Those of a query for the columns of some tables."""
        columns = {column.name: column for table in tables for column in table.columns}
        compared = _compared(sqlglot.parse_one(sql, dialect="duckdb"), frozenset(columns))
        values = {name: _pool(one, *compared.get(name, ([], False))) for name, one in columns.items()}
        return Pools(values, frozenset(compared))


def _compared(tree: exp.Expr, columns: frozenset[str]) -> dict[str, tuple[list[Any], bool]]:
    """The constants that each column is compared with, also by a name that the query gives it, and whether by ``<``."""
    aliases: dict[str, set[str]] = defaultdict(set)
    for alias in tree.find_all(exp.Alias):
        aliases[alias.alias.lower()] |= {one.name.lower() for one in _columns(alias.this)}
    found: dict[str, list[Any]] = defaultdict(list)
    ranged = set()
    for comparison in tree.find_all(*_COMPARISONS):
        names = {one.name.lower() for one in _columns(comparison)}
        for name in _behind(names, aliases, columns):
            found[name] += _constants(comparison)
            if isinstance(comparison, (exp.LT, exp.GT)):
                ranged.add(name)
    return {name: (constants, name in ranged) for name, constants in found.items()}


def _columns(tree: exp.Expr) -> list[exp.Column]:
    """The columns in an expression, without those of sub-queries."""
    return [one for one in tree.walk(prune=lambda node: isinstance(node, exp.Query)) if isinstance(one, exp.Column)]


def _behind(names: set[str], aliases: Mapping[str, set[str]], columns: frozenset[str]) -> set[str]:
    """The columns of tables that some names stand for."""
    seen: set[str] = set()
    while new := names - seen:
        seen |= new
        names = {other for name in new - columns for other in aliases.get(name, ())}
    return seen & columns


def _constants(comparison: exp.Expr) -> list[Any]:
    """The values of the largest parts of a comparison that have no column in them."""
    found: list[Any] = []

    def visit(node: exp.Expr) -> None:
        if isinstance(node, exp.Query):
            return
        if not isinstance(node, exp.DataType) and node.find(exp.Literal) and not node.find(exp.Column, exp.Query):
            if not isinstance(node, (exp.Tuple, exp.Interval)):
                found.append(node.name if isinstance(node, exp.Literal) else _value(node.sql("duckdb")))
            return
        for child in node.iter_expressions():
            visit(child)

    for child in comparison.iter_expressions():
        visit(child)
    return found


@cache
def _value(constant: str) -> Any:
    with duckdb.connect(config={"threads": 1}) as connection:
        row = connection.execute(f"SELECT {constant}").fetchone()
    return row[0] if row else None


def _pool(column: Column, constants: list[Any], is_range: bool) -> list[Any]:
    if column.name.endswith("date_sk"):
        return list(range(_DAYS))
    if column.name.endswith("_sk"):
        return list(range(_KEYS))
    if column.name.endswith("key"):  # of TPC-H
        return list(range(2 * _KEYS))
    if column.name.endswith(("_order_number", "_ticket_number")):
        return list(range(_NUMBERS))
    if column.name.endswith("_id") and column.type.kind == "string":
        return [f"id {i}" for i in range(_IDS)]  # few rows of each, as these are joined with each other
    kind = column.type.kind
    most = Decimal(10) ** (column.type.precision - column.type.scale) if kind == "decimal" else None
    given = [value for one in dict.fromkeys(constants) if (value := _as(kind, one)) is not None]
    given = [value for value in given if most is None or abs(value) < most]
    if not given:
        return _DEFAULTS[kind]
    if kind == "string":
        given = given[:: 1 + len(given) // _MOST]
    near = [other for value in given for other in _near(kind, value)]
    if kind != "string":
        near += [_middle(kind, one, other) for one, other in pairwise(given)]
    near = [value for value in near if most is None or abs(value) < most] * (_LITERALS if is_range else 1)
    return [*given * _LITERALS, *near, *_DEFAULTS[kind][:2]]


def _as(kind: str, value: Any) -> Any:
    """A constant as a value of a column's kind, None if it is none."""
    try:
        match kind:
            case "integer":
                return int(value)
            case "decimal":
                return Decimal(str(value)).quantize(Decimal("0.01"), ROUND_HALF_UP)
            case "date":
                return value.date() if hasattr(value, "date") else date.fromisoformat(str(value))
            case _:
                return str(value).replace("%", "")
    except (ArithmeticError, TypeError, ValueError):
        return None


def _near(kind: str, value: Any) -> list[Any]:
    match kind:
        case "integer":
            return [value - 1, value + 1, value + 2]  # the last two also as a difference from the least others
        case "decimal":
            return [value - Decimal("0.01"), value + Decimal("0.01"), value + 1]
        case "date":
            return [value + timedelta(days=days) for days in (-1, 1, 12)]
        case _:
            return []


def _middle(kind: str, one: Any, other: Any) -> Any:
    if kind == "integer":
        return (one + other) // 2
    return one + (other - one) / 2 if kind == "date" else ((one + other) / 2).quantize(Decimal("0.01"))


class Tables:
    """Tables that change at random; mutable.

    A table with a primary key holds one row of each key; another one holds rows several times.

    Attributes:
        catalog: Their declarations.
        rows: For each table its rows.
    """

    def __init__(self, catalog: Catalog, values: Pools, generator: random.Random, calendar: bool) -> None:
        self.catalog = catalog
        self.rows: dict[str, list[Row]] = {table.name: [] for table in catalog}
        self._pools, self._draw, self._calendar = values, generator, calendar
        self._before: dict[str, list[Row]] = {}

    def fill(self) -> dict[str, Changes]:
        """Insert rows into all tables."""
        return {name: changes for name in self.rows if (changes := self._some(name, leaving=0, coming=12))}

    def step(self) -> dict[str, Changes]:
        """Change some tables; for each of them the changes, net, as a kind and a row."""
        draw = self._draw
        some = draw.sample(list(self.rows), draw.randint(1, len(self.rows)))
        return {name: changes for name in some if (changes := self._changed(name))}

    def undo(self, changes: Mapping[str, Changes]) -> None:
        """Take changes back that were refused."""
        for name, listed in changes.items():
            for kind, row in listed:
                if kind == "insert":
                    self.rows[name].remove(row)
                else:
                    self.rows[name].append(row)

    def _changed(self, name: str) -> Changes:
        match self._draw.choices(["some", "empty", "back"], [16, 1, 2])[0]:
            case "empty":
                self._before[name] = self.rows[name]
                self.rows[name] = []
                return [("delete", row) for row in self._before[name]]
            case "back":
                return self._insert(name, self._before.pop(name, []))
            case _:
                return self._some(name, leaving=len(self.rows[name]) // 5, coming=4)

    def _some(self, name: str, leaving: int, coming: int) -> Changes:
        self._draw.shuffle(self.rows[name])
        gone, self.rows[name] = self.rows[name][:leaving], self.rows[name][leaving:]
        table = self.catalog[name]
        rows = [self._row(table) for _ in range(coming * (_FACTS if _is_fact(table) else 1))]
        return [*(("delete", row) for row in gone), *self._insert(name, rows)]

    def _insert(self, name: str, rows: Iterable[Row]) -> Changes:
        key = self.catalog[name].primary_key
        taken = {tuple(row[i] for i in key) for row in self.rows[name]} if key else set()
        found: Changes = []
        for row in rows:
            own = tuple(row[i] for i in key)
            if not key or own not in taken:
                taken.add(own)
                found.append(("insert", row))
        self.rows[name] += [row for _, row in found]
        return found

    def _row(self, table: Table) -> Row:
        draw, values = self._draw, self._pools.values
        is_day = self._calendar and table.name == "date_dim"
        fixed = day_row(values, self._pools.named, draw) if is_day else {}
        drawn = (fixed[one.name] if one.name in fixed else draw.choice(values[one.name]) for one in table.columns)
        nullable = [i not in table.primary_key for i in range(len(table.columns))]
        return tuple(
            None if may and draw.random() < _NULLS else value for may, value in zip(nullable, drawn, strict=True)
        )


def _is_fact(table: Table) -> bool:
    return sum(column.name.endswith(("_sk", "key")) for column in table.columns[:3]) > 1
