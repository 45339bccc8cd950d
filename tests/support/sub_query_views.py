"""Views under random commits that empty and refill every table, compared with DuckDB after each, and read."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from livejoin import Database, View
from livejoin.errors import UnsupportedQueryError
from oracle import connect, multiset, signed_multiset, without_zeros
from reader import check_reading

Row = tuple[Any, ...]


class Lives:
    """Some views over tables of integers, and the rows that DuckDB has; mutable.

    Args:
        tables: The columns of each table, as they are declared.
        seed: What the commits depend on.
        threads: As of a `Database`.
    """

    def __init__(self, tables: dict[str, str], seed: int, *, threads: int = 1) -> None:
        self._random = random.Random(seed)
        self._columns = {name: [part.split() for part in columns.split(", ")] for name, columns in tables.items()}
        self._rows: dict[str, list[Row]] = {name: [] for name in tables}
        self._database = Database(threads=threads)
        self._sums: dict[str, Counter[Row]] = {}
        self._texts: dict[str, str] = {}
        self._views: dict[str, View] = {}
        for name, columns in tables.items():
            self._database.execute(f"CREATE TABLE {name} ({columns})")

    @property
    def views(self) -> dict[str, View]:
        """The views by their names, which are v0, v1, ... in the order of their creation."""
        return self._views

    def create(self, sql: str, plain: str = "") -> bool:
        """Make a view, which may read earlier ones; False if it is refused. ``plain`` is the text for DuckDB."""
        name = f"v{len(self._texts)}"
        try:
            view = self._database.create_view(name, sql, allow_product=True)
        except UnsupportedQueryError:
            return False
        self._texts[name], self._views[name] = plain or sql, view
        self._sums[name] = multiset(view.to_arrow())
        return True

    def commit(self) -> None:
        """One commit: a few changes, or a table is emptied or filled; views and deltas are compared, views read."""
        draw, changes = self._random, {}
        for name in draw.sample(list(self._rows), min(len(self._rows), draw.choice([1, 1, 2, 3]))):
            rows = self._rows[name]
            kind = draw.choice(["few", "few", "few", "empty", "fill"])
            gone = list(rows) if kind == "empty" else draw.sample(rows, min(len(rows), draw.choice([0, 1, 2])))
            came = (
                [] if kind == "empty" else [self._row(name) for _ in range(8 if kind == "fill" else draw.randrange(3))]
            )
            for row in gone:
                rows.remove(row)
            if "PRIMARY" in self._columns[name][0]:
                came = list({row[0]: row for row in came if row[0] not in {old[0] for old in rows}}.values())
            rows += came
            names = [column[0] for column in self._columns[name]]
            written = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            changes[name] = [{**dict(zip(names, row, strict=True)), "_change_type": kind} for row, kind in written]
        commit = self._database.apply({name: rows for name, rows in changes.items() if rows})
        connection = connect()
        for name, columns in self._columns.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c[0]} {c[1]}' for c in columns)})")
            for row in self._rows[name]:
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", row)
        for name, sql in self._texts.items():
            connection.execute(f"CREATE VIEW {name} AS {sql}")
            result = connection.sql(sql).to_arrow_table()
            expected = multiset(result)
            assert multiset(self._views[name].to_arrow()) == expected, (sql, self._rows)
            check_reading(self._views[name], result, draw)
            self._sums[name].update(signed_multiset(commit[name]))
            assert without_zeros(self._sums[name]) == expected, (sql, self._rows)

    def _row(self, name: str) -> Row:
        draw = self._random
        return tuple(
            draw.randrange(4) if "NULL" in column or "PRIMARY" in column or draw.random() < 0.75 else None
            for column in self._columns[name]
        )
