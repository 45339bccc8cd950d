"""Pipelines with all kinds of queries over tables that change in all ways, for one process and for cells of many.

A pipeline is its changes, batch by batch, and what its tables hold behind each, which is computed here and not by the
engine. `expected` asks DuckDB for the views over that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

import livejoin
from livejoin.sql import to_duckdb
from oracle import connect, multiset
from scenario import Row
from tpch_rows import QUERIES, Tables, schema, statements


@dataclass(frozen=True)
class Declared:
    """A table, and what is said of it.

    Args:
        columns: Its columns, as in SQL.
        key: The column of its key, several with commas; empty for none.
        sequence_by: The column that orders the changes of a key; empty for none.
        window_rows: How many rows it keeps.
        window_range: The column and the width of its window.
    """

    columns: str
    key: str = ""
    sequence_by: str = ""
    window_rows: int | None = None
    window_range: tuple[str, int] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Database.create_table`."""
        found = {"window_rows": self.window_rows, "window_range": self.window_range}
        found["sequence_by"] = self.sequence_by or None
        return {name: value for name, value in found.items() if value is not None}


Batch = Mapping[str, pa.Table]
Held = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Views over tables that change.

    Args:
        tables: The tables.
        views: The queries.
        batches: The changes of each batch; a table without a change in it is not there.
        held: What the tables hold behind each batch.
    """

    tables: Mapping[str, Declared]
    views: Mapping[str, str]
    batches: Sequence[Batch] = field(repr=False)
    held: Sequence[Held] = field(repr=False)

    def database(self) -> livejoin.Database:
        """A database with its tables, empty, and its views."""
        found = livejoin.Database()
        for name, one in self.tables.items():
            key = f", PRIMARY KEY ({one.key})" if one.key else ""
            found.create_table(name, one.columns + key, **one.options)
        for name, sql in self.views.items():
            found.create_view(name, sql)
        return found

    @cached_property
    def expected(self) -> list[dict[str, Counter[Row]]]:
        """The rows of each view behind each batch, by DuckDB."""
        bound, connection = self.database(), connect()
        catalog = bound._contents.catalog
        views = bound._contents.queries
        texts = {name: to_duckdb(sql, catalog, views) for name, sql in self.views.items()}
        found = []
        for held in self.held:
            for name in self.tables:
                connection.register(name, _table(catalog[name].arrow, held[name]))
            for name, text in texts.items():
                connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {text}")
            found.append({name: multiset(connection.table(name).to_arrow_table()) for name in texts})
        return found


def _table(names: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    columns = [pa.array([row[i] for row in rows], one.type) for i, one in enumerate(names)]
    return pa.table(columns, schema=pa.schema([pa.field(one.name, one.type) for one in names]))


def _changes(names: pa.Schema, changes: Sequence[tuple[str, Row]], first: int) -> pa.Table:
    """Changes as they come, with what each is and its place among all of the table."""
    rows = _table(names, [row for _, row in changes])
    rows = rows.append_column("_change_type", pa.array([kind for kind, _ in changes], pa.string()))
    return rows.append_column("_seq", pa.array(range(first, first + len(changes)), pa.int64()))


def _made(
    tables: Mapping[str, Declared],
    views: Mapping[str, str],
    lived: Iterator[tuple[Mapping[str, list[tuple[str, Row]]], Held]],
) -> Pipeline:
    pipeline = Pipeline(tables, views, batches := [], held := [])
    catalog = pipeline.database()._contents.catalog
    came = Counter[str]()
    for changes, left in lived:
        batches.append({})
        for name, some in changes.items():
            if some:
                batches[-1][name] = _changes(catalog[name].arrow, some, came[name])
                came[name] += len(some)
        held.append(left)
    return pipeline


def graph(seed: int, batches: int = 5, edges: int = 30, nodes: int = 8) -> Pipeline:
    """A graph of which a third is one node's: joins, cycles, groups, sets, orders."""
    dice = random.Random(seed)
    columns = "src BIGINT, dst BIGINT, w INT"
    hop2 = "G A JOIN G B ON A.dst = B.src"
    triangle = f"{hop2} JOIN G C ON B.dst = C.src AND C.dst = A.src"
    views = {
        "hop3": f"SELECT A.src AS a, B.src AS b, C.src AS c, C.dst AS d FROM {hop2} JOIN G C ON B.dst = C.src",
        "triangles": f"SELECT A.src AS a, B.src AS b, C.src AS c FROM {triangle}",
        "triangle_count": f"SELECT COUNT(*) AS n FROM {triangle}",
        "paths": f"SELECT A.src AS a, COUNT(*) AS n, SUM(B.w) AS w FROM {hop2} GROUP BY A.src",
        "weights": "SELECT w, COUNT(*) AS n, SUM(src) AS s, MIN(dst) AS least, MAX(dst) AS most FROM G GROUP BY w",
        "ends": f"SELECT COUNT(*) AS n, SUM(B.w) AS w, MIN(A.w) AS least FROM {hop2}",
        "pairs": f"SELECT DISTINCT A.src AS a, B.dst AS b FROM {hop2}",
        "one_way": f"SELECT src, dst FROM G EXCEPT SELECT A.src, B.dst FROM {hop2}",
        "more": "SELECT src, dst FROM G EXCEPT ALL SELECT dst, src FROM G",
        "first": "SELECT src, dst, w FROM G ORDER BY w DESC, src, dst LIMIT 5 OFFSET 1",
        "so_far": "SELECT src, w, dst, SUM(dst) OVER (PARTITION BY src ORDER BY w) AS s FROM G",
        "places": "SELECT src, dst, RANK() OVER (PARTITION BY w ORDER BY dst DESC) AS p FROM G",
        "busiest": "SELECT src, COUNT(*) AS n FROM G GROUP BY src ORDER BY n DESC, src LIMIT 3",
    }

    def lived() -> Iterator[tuple[Mapping[str, list[tuple[str, Row]]], Held]]:
        rows: list[Row] = []
        for number in range(batches):
            gone = dice.sample(rows, len(rows) // 3 if number != batches - 2 else len(rows))  # once, all of them
            for row in gone:
                rows.remove(row)
            heavy = [0] * (nodes // 2) + list(range(nodes))
            new: list[Row] = [
                (dice.choice([*heavy, None]), dice.choice(heavy), dice.randrange(4)) for _ in range(edges)
            ]
            new += gone[:4]  # some come again
            rows += new
            yield {"G": [*(("delete", row) for row in gone), *(("insert", row) for row in new)]}, {"G": list(rows)}

    return _made({"G": Declared(columns)}, views, lived())


def keyed(seed: int, batches: int = 5, changes: int = 16, nodes: int = 8) -> Pipeline:
    """Upserts and deletions by key that come out of order and twice, and a window of each kind."""
    dice = random.Random(seed)
    tables = {
        "P": Declared("id INT, age INT, town STRING, at INT", key="id", sequence_by="at"),
        "W": Declared("src BIGINT, dst BIGINT", window_rows=25),
        "E": Declared("who INT, ts BIGINT", window_range=("ts", 20)),
    }
    views = {
        "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age, MIN(age) AS least FROM P GROUP BY town",
        "lonely": "SELECT id, town FROM P WHERE id NOT IN (SELECT src FROM W) OR age > (SELECT AVG(age) FROM P)",
        "degrees": "SELECT P.id, P.town, W.dst FROM P LEFT JOIN W ON P.id = W.src AND W.dst > 3",
        "oldest": "SELECT id, age FROM P ORDER BY age DESC, id LIMIT 3",
        "hops": "SELECT A.src AS a, B.dst AS b, COUNT(*) AS n FROM W A JOIN W B ON A.dst = B.src GROUP BY A.src, B.dst",
        "seen": "SELECT P.town, COUNT(*) AS n, MAX(E.ts) AS last FROM E JOIN P ON E.who = P.id GROUP BY P.town",
        "recent": "SELECT who, ts FROM E WHERE EXISTS (SELECT 1 FROM W WHERE W.src = E.who)",
        "total": "SELECT COUNT(*) AS n, SUM(src) AS s FROM W",
        "busy": "SELECT town, n FROM towns WHERE n > 1",
    }

    def lived() -> Iterator[tuple[Mapping[str, list[tuple[str, Row]]], Held]]:
        people: dict[int, tuple[int, Row | None]] = {}
        window: list[Row] = []
        events: list[Row] = []
        newest, last = 0, list[tuple[str, Row]]()
        for number in range(batches):
            some: list[tuple[str, Row]] = []
            times = dice.sample(range(1_000_000), changes)
            for at in times:
                row = (dice.randrange(nodes), dice.randrange(90), dice.choice(["Bern", "Rom", "Ulm"]), at)
                some.append((dice.choice(["upsert", "upsert", "delete"]), row))
            some += [*some[:4], *last[:4]]  # they come twice, also in two batches
            dice.shuffle(some)
            last = some
            for kind, row in some:
                if row[3] >= people.get(row[0], (-1, None))[0]:
                    people[row[0]] = (row[3], row if kind == "upsert" else None)
            edges: list[Row] = [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(changes)]
            window = [*window, *edges][-25:]
            came: list[Row] = [(dice.randrange(nodes), 8 * number + dice.randrange(-9, 9)) for _ in range(changes)]
            newest = max(newest, *(ts for _, ts in came))
            events = [row for row in [*events, *came] if row[1] > newest - 20]
            left = {"P": [row for _, row in people.values() if row is not None], "W": window, "E": events}
            inserted = {"W": [("insert", row) for row in edges], "E": [("insert", row) for row in came]}
            yield {"P": some, **inserted}, left

    return _made(tables, views, lived())


def tpch(seed: int, batches: int = 5, numbers: Sequence[int] = (3, 5, 13, 17, 21)) -> Pipeline:
    """Queries of TPC-H over small tables with random lives."""
    bound = livejoin.Database()
    for statement in statements(schema(nullable=False)):
        bound.execute(statement)
    views = {f"q{number:02}": QUERIES[f"q{number:02}"].rstrip().removesuffix(";") for number in numbers}
    tables = {
        table.name: Declared(
            ", ".join(f"{column.name} {column.type}" for column in table.columns),
            ", ".join(table.columns[i].name for i in table.primary_key),
        )
        for table in bound._contents.catalog
    }

    def lived() -> Iterator[tuple[Mapping[str, list[tuple[str, Row]]], Held]]:
        life = Tables(random.Random(seed), nullable=False)
        for _ in range(batches):
            changes: dict[str, list[tuple[str, Row]]] = {}
            for _ in range(3):  # net of one another only by key
                for name, some in life.step().items():
                    changes.setdefault(name, []).extend(some)
            yield changes, {name: list(rows.values()) for name, rows in life.rows.items()}

    return _made(tables, views, lived())


PIPELINES: Mapping[str, Callable[..., Pipeline]] = {"graph": graph, "keyed": keyed, "tpch": tpch}
