"""Two tables that change, in files that come in any order and more than once, views over them, and what they hold."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

from oracle import connect

NODES, WINDOW = 9, 60
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
    "later": (
        "SELECT A.src, COUNT(*) AS n, SUM(B.dst) AS s "
        "FROM G A JOIN G B ON A.src = B.src AND A.dst < B.dst GROUP BY A.src"
    ),
    "pairs": "SELECT A.dst, B.dst AS b FROM G A JOIN G B ON A.src = B.src AND A.dst < B.dst",
    "younger": "SELECT P.id, COUNT(*) AS n FROM P JOIN G ON P.age BETWEEN G.dst * 9 AND G.dst * 9 + 20 GROUP BY P.id",
    "oldest": "SELECT id, age FROM P ORDER BY age DESC, id LIMIT 3",
    "busy": "SELECT town, n FROM towns WHERE n > 1",
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
