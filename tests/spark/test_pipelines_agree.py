"""Every kind of view on Spark, over starts with other views and tables: the output adds up to what DuckDB computes."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltas import sum_of
from pyspark.sql import SparkSession

from livejoin.spark import maintain
from oracle import connect

pytestmark = pytest.mark.spark

NODES, WINDOW, NEW = 9, 60, "note STRING"
EDGE, PERSON = "_seq BIGINT, src BIGINT, dst BIGINT", "id INT, age INT, town STRING, at INT, _change_type STRING"
VIEWS = {
    "hop3": (
        "SELECT A.src AS a, B.src AS b, C.src AS c, C.dst AS d "
        "FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src WHERE C.dst % 3 = 0"
    ),
    "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age, MIN(age) AS least FROM P GROUP BY town",
    "total": "SELECT COUNT(*) AS n, SUM(src) AS s FROM G",
    "lonely": "SELECT id, town FROM P WHERE id NOT IN (SELECT src FROM G) OR age > (SELECT AVG(age) FROM P)",
    "degrees": "SELECT P.id, G.dst FROM P LEFT JOIN G ON P.id = G.src AND G.dst > 4",
    "oldest": "SELECT id, age FROM P ORDER BY age DESC, id LIMIT 3",
    "busy": "SELECT town, n FROM towns WHERE n > 1",
}
OTHER = {
    "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age, MAX(age) AS least FROM P GROUP BY town",
    "known": "SELECT P.id, N.name FROM P FULL JOIN N ON P.id = N.k",
    "distinct_ends": "SELECT DISTINCT dst FROM G EXCEPT SELECT id FROM P",
}


class Source:
    """Files of changes that come in any order and more than once, and what is left of them."""

    def __init__(self, root: Path) -> None:
        self._root, self._dice, self._files = root, random.Random(11), 0
        self.edges: list[tuple[int, int]] = []
        self._people: dict[int, tuple[int, tuple[Any, ...] | None]] = {}
        self.names: list[tuple[int, str]] = []

    def feed(self, table: str, lines: list[str]) -> None:
        (self._root / table).mkdir(exist_ok=True)
        self._files += 1
        file = self._root / table / f"{self._files:03}.csv"
        file.write_text("".join(f"{line}\n" for line in lines))
        os.utime(file, (10**9 + self._files, 10**9 + self._files))  # Spark takes them in this order

    def step(self) -> None:
        dice = self._dice
        for _ in range(3):
            new = [(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(14)]
            self.feed("G", [f"{len(self.edges) + place},{a},{b}" for place, (a, b) in enumerate(new)])
            self.edges += new
            changes = []
            for _ in range(8):
                row = (
                    dice.randrange(NODES),
                    dice.randrange(90),
                    dice.choice(["Bern", "Rom", "Ulm"]),
                    dice.randrange(10**6),
                )
                changes.append((*row, dice.choice(["upsert", "upsert", "delete"])))
            changes += changes[:3]  # they come twice
            dice.shuffle(changes)
            for *row, kind in changes:
                if row[3] >= self._people.get(row[0], (-1, None))[0]:
                    self._people[row[0]] = (row[3], tuple(row) if kind == "upsert" else None)
            self.feed("P", [",".join(map(str, change)) for change in changes])
        self.names.append((dice.randrange(NODES), dice.choice("xyz")))
        self.feed("N", [",".join(map(str, self.names[-1]))])

    def left(self) -> dict[str, list[Any]]:
        people = [row for _, row in self._people.values() if row is not None]
        return {"G": self.edges[-WINDOW:], "P": people, "N": self.names}


def expected(source: Source, views: dict[str, str]) -> dict[str, Counter[Any]]:
    connection = connect()
    types = {"G": "src BIGINT, dst BIGINT", "P": 'id INT, age INT, town VARCHAR, "at" INT', "N": "k INT, name VARCHAR"}
    for name, rows in source.left().items():
        connection.execute(f"CREATE TABLE {name} ({types[name]})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    found = {}
    for name, sql in views.items():
        connection.execute(f"CREATE VIEW {name} AS {sql}")
        found[name] = Counter(connection.execute(f"FROM {name}").fetchall())
    return found


def test_views_of_all_kinds_over_changing_jobs(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(tmp_path)

    def run(views: dict[str, str], tables: dict[str, str], **more: Any) -> None:
        def stream(table: str, schema: str) -> Any:
            reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            return reader.csv((tmp_path / table).as_uri())

        query = maintain(
            spark,
            views,
            {table: stream(table, schema) for table, schema in tables.items()},
            {"G": WINDOW},
            keys={"P": "id"},
            sequence_by={"P": "at"},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            keep="all",
            **more,
        )
        assert query.awaitTermination(120)
        for view, rows in expected(source, views).items():
            assert sum_of(tmp_path / "out" / view) == rows, view

    source.step()
    run(VIEWS, {"G": EDGE, "P": PERSON})
    source.step()
    run(VIEWS, {"G": EDGE, "P": PERSON}, recovery_seconds=0.0)
    source.step()
    # Other queries of the same names, views that read them, a table more, and a column more.
    person = f"{PERSON}, {NEW}"
    for line in range(2):
        source.feed("P", [f"{line},50,Ulm,{10**6 + line},upsert,a note"])
        source._people[line] = (10**6 + line, (line, 50, "Ulm", 10**6 + line))
    other = {**VIEWS, **OTHER}
    run(other, {"G": EDGE, "P": PERSON, "N": "k INT, name STRING"})
    source.step()
    run({**other, "notes": "SELECT id FROM P WHERE town = 'Ulm'"}, {"N": "k INT, name STRING", "P": person, "G": EDGE})
