"""The values that the property tests generate: tables, queries, commits, and the scenario that holds them.

All are plain frozen values, so that Hypothesis can shrink them, and a failing scenario prints as a script that can be
pasted into a fresh interpreter (`Scenario.script`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from livejoin.search.algorithm import Algorithm

Row = tuple[Any, ...]

DELTA_SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


@dataclass(frozen=True, repr=False)
class ColumnType:
    """A SQL type with the values that the tests draw for it; columns of one family may be joined."""

    sql: str
    arrow: pa.DataType
    family: str
    values: tuple[Any, ...]
    literals: tuple[str, ...]

    def __repr__(self) -> str:
        return f"type_named({self.sql!r})"


@dataclass(frozen=True)
class ColumnSpec:
    name: str
    type: ColumnType
    not_null: bool = False


@dataclass(frozen=True)
class TableSpec:
    name: str
    columns: tuple[ColumnSpec, ...]
    primary_key: tuple[int, ...] = ()
    window_rows: int | None = None
    window_range: tuple[str, int] | None = None
    static: bool = False

    @property
    def column_list(self) -> str:
        parts = [f"{c.name} {c.type.sql}" + (" NOT NULL" if c.not_null else "") for c in self.columns]
        if self.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(self.columns[k].name for k in self.primary_key)})")
        return ", ".join(parts)

    @property
    def arrow(self) -> pa.Schema:
        return pa.schema([(c.name, c.type.arrow) for c in self.columns])

    def value(self, row: Row, column: str) -> Any:
        return row[[c.name for c in self.columns].index(column)]

    def key(self, row: Row) -> Row:
        return tuple(row[k] for k in self.primary_key)


@dataclass(frozen=True)
class Change:
    """One row of a change stream; `kind` is a `_change_type`."""

    table: str
    kind: str
    row: Row

    @property
    def sign(self) -> int:
        return DELTA_SIGNS[self.kind]


@dataclass(frozen=True)
class CommitSpec:
    """An atomic set of changes; `error` names the error class that the engine must raise, None for a good commit."""

    changes: tuple[Change, ...]
    error: str | None = None


@dataclass(frozen=True)
class QuerySpec:
    """A query in the engine's dialect, and the same query with all names written out.

    Args:
        sql: The engine's text.
        plain: DuckDB's text.
        joins: Plain texts of the joins below, whose results must not grow too large either.
        groups: Positions of the columns of its groups if each row of the result is a group; then a delta replaces rows
            by update pairs. () for a single row; None for other queries.
        shows_groups: Whether those are all columns of the groups, so that they name a row of the result.
        algorithm: What maintains the joins.
    """

    sql: str
    plain: str
    joins: tuple[str, ...] = ()
    groups: tuple[int, ...] | None = None
    shows_groups: bool = True
    algorithm: Algorithm = "auto"


@dataclass(frozen=True)
class Scenario:
    tables: tuple[TableSpec, ...]
    queries: tuple[QuerySpec, ...]
    commits: tuple[CommitSpec, ...]
    forms: tuple[str, ...] = field(default=())

    def table(self, name: str) -> TableSpec:
        return next(t for t in self.tables if t.name == name)

    def script(self) -> str:
        """A script that reproduces the scenario."""
        lines = ["import datetime, livejoin", "from decimal import Decimal", "from datetime import date", ""]
        lines.append("nan, inf = float('nan'), float('inf')")
        lines.append("db = livejoin.Database()")
        for table in self.tables:
            window = f", window_rows={table.window_rows}" if table.window_rows else ""
            window += f", window_range={table.window_range}" if table.window_range else ""
            lines.append(f"db.create_table({table.name!r}, {table.column_list!r}{window})")
        for number, query in enumerate(self.queries):
            lines.append(f"view{number} = db.create_view('v{number}', {query.sql!r}, algorithm={query.algorithm!r})")
            lines.append(f"# plain: {query.plain}")
        for commit in self.commits:
            data = {
                t.name: dict_rows(t, [c for c in commit.changes if c.table == t.name])
                for t in self.tables
                if any(c.table == t.name for c in commit.changes)
            }
            suffix = f"  # must raise {commit.error}" if commit.error else ""
            lines.append(f"db.apply({data!r}){suffix}")
        lines.append("print(view0.to_arrow().to_pylist())")
        return "\n".join(lines)


def dict_rows(
    table: TableSpec, changes: Iterable[Change], sequence: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Changes as a list of dicts, with `_seq` where a sequence is given."""
    rows = []
    for number, change in enumerate(changes):
        row = {c.name: v for c, v in zip(table.columns, change.row, strict=True)} | {"_change_type": change.kind}
        if sequence is not None:
            row["_seq"] = sequence[number]
        rows.append(row)
    return rows


def arrow_rows(table: TableSpec, changes: Sequence[Change], sequence: Sequence[int] | None = None) -> pa.Table:
    """Changes as an Arrow table, with `_seq` where a sequence is given."""
    columns = [pa.array([c.row[i] for c in changes], column.type.arrow) for i, column in enumerate(table.columns)]
    names = [c.name for c in table.columns]
    columns.append(pa.array([c.kind for c in changes], pa.string()))
    names.append("_change_type")
    if sequence is not None:
        columns.append(pa.array(list(sequence), pa.int64()))
        names.append("_seq")
    return pa.table(dict(zip(names, columns, strict=True)))


def batch(table: TableSpec, changes: Sequence[Change], form: str) -> object:
    """Changes of one table in one of the forms that `Database.apply` accepts: arrow, dicts, tuples or chunks."""
    if form == "tuples" and all(c.kind == "insert" for c in changes):
        return [c.row for c in changes]
    if form == "dicts":
        return dict_rows(table, changes)
    whole = arrow_rows(table, changes)
    if form == "chunks" and len(changes) > 1:
        return pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    return whole


def canonical(value: Any) -> Any:
    """A hashable value that is equal to another one iff SQL calls the two the same; NaN is equal to itself."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list):
        return tuple(map(canonical, value))
    return value


def canonical_row(row: Iterable[Any]) -> Row:
    return tuple(canonical(v) for v in row)
