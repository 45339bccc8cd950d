"""Rows of joins whose columns are computed from what they do not show: how often they are there, by any algorithm."""

from __future__ import annotations

from random import Random

import pytest

from livejoin import Database
from livejoin.errors import ExpressionError, ReadError, UnsupportedQueryError
from livejoin.search.algorithm import ALGORITHMS, Algorithm
from oracle import connect
from reader import check_reading
from strategies import seeds

TABLES = (
    "CREATE TABLE D (id INT PRIMARY KEY, y INT, w INT)",
    "CREATE TABLE E (id INT PRIMARY KEY, d INT)",
    "CREATE TABLE F (id INT PRIMARY KEY, d INT NOT NULL, x INT{})",
)
TOLD = [
    "SELECT id, EXISTS (SELECT 1 FROM E WHERE E.d = D.id) AS e FROM D",
    "SELECT id, NOT EXISTS (SELECT 1 FROM E WHERE E.d = D.y AND E.id > 2) AS e, D.y FROM D",
    "SELECT F.id, F.x, F.d, D.id IS NULL AS e FROM F LEFT JOIN D ON F.x = D.id",
    "SELECT F.id, F.x, F.d, D.y, COALESCE(D.id, D.y) AS e FROM F LEFT JOIN D ON F.x = D.id",
    "SELECT F.id, F.x, F.d, D.y, E.d AS z, D.id + F.x AS e, E.id IS NULL AS f FROM F LEFT JOIN (D JOIN E"
    " ON D.y = E.id) ON F.x = D.id",
    "SELECT F.id, F.x, F.d, D.id IS NULL AS e, D.y, E.id + D.y AS f, E.d FROM F LEFT JOIN D ON F.x = D.id LEFT JOIN E"
    " ON D.y = E.id",
    "SELECT F.id, F.d, F.x + D.y AS e FROM F JOIN D ON F.d = D.id",
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_computed_tells_rows_apart(algorithm: Algorithm) -> None:
    database, draw = Database(), Random(4)
    rows: dict[str, dict[int, tuple[int, int | None, int | None]]] = {"D": {}, "E": {}, "F": {}}
    for statement in TABLES:
        database.execute(statement.format(", FOREIGN KEY (d) REFERENCES D (id)" if algorithm == "aju" else ""))
    views = {}
    for number, sql in enumerate(TOLD):
        try:
            views[sql] = database.create_view(f"v{number}", sql, algorithm=algorithm)
        except UnsupportedQueryError:
            assert algorithm not in ("auto", "crown")
    for _ in seeds(4, 10):
        changes: dict[str, list[tuple[int | None, ...]]] = {}
        for name, width in (("D", 3), ("E", 2), ("F", 3)):
            for key in draw.sample(range(5), 2):
                if key not in rows[name] and (name != "F" or rows["D"]):
                    second = draw.choice([*rows["D"]]) if name == "F" else draw.choice([None, 0, 1, 2, 3])
                    rows[name][key] = (key, second, draw.choice([None, 0, 1, 2, 3]))
                    changes.setdefault(name, []).append(rows[name][key][:width])
        database.apply(dict(changes))
        if gone := draw.sample(sorted(rows["E"]), min(1, len(rows["E"]))):
            row = rows["E"].pop(gone[0])
            database.apply("E", [{"id": row[0], "d": row[1], "_change_type": "delete"}])
        with connect() as connection:
            for statement in TABLES:
                connection.execute(statement.format(""))
            for name, width in (("D", 3), ("E", 2), ("F", 3)):
                for row in rows[name].values():
                    connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * width)})", row[:width])
            for sql, view in views.items():
                tells = check_reading(view, connection.sql(sql).to_arrow_table(), draw)
                assert tells or algorithm not in ("auto", "crown") or sql is TOLD[-1], sql


def test_what_a_row_does_not_tell_is_said() -> None:
    database = Database()
    database.execute(TABLES[0])
    database.execute(TABLES[1])
    view = database.create_view("v", "SELECT D.id, E.d + 1 AS e FROM D LEFT JOIN E ON D.y = E.id")
    with pytest.raises(ReadError, match=r"does not show E\.d, D\.y"):
        view.multiplicity((1, 2))


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT D.id, (SELECT max(d) FROM E WHERE E.id = D.y) AS r FROM D", (1, 1)),
        ("SELECT D.w + 1 AS w1, (SELECT max(d) FROM E WHERE E.id = D.y) AS r FROM D", (1, 1)),
        ("SELECT (SELECT count(*) FROM E WHERE E.d = D.w) AS n FROM D", (1,)),
        ("SELECT D.w, D.y > ALL (SELECT E.d FROM E WHERE E.id < 5) AS r FROM D", (1, True)),
        (
            "SELECT D.w, (SELECT sum(d) FROM E WHERE E.id = D.y) + (SELECT min(d) FROM E WHERE E.d = D.y) AS r FROM D",
            (1, 1),
        ),
    ],
)
def test_what_a_row_does_not_show_has_no_names_of_ours(sql: str, row: tuple[int, ...]) -> None:
    database = Database()
    for statement in TABLES[:2]:
        database.execute(statement)
    with pytest.raises(ReadError, match=r"does not show .*(D\.[wy]|what a sub-query gives)") as caught:
        database.create_view("v", sql).multiplicity(row)
    assert "query." not in str(caught.value)
    assert "rows." not in str(caught.value)


def test_a_name_that_we_give_too_is_told_where_users_gave_it() -> None:
    database = Database()
    database.create_table("query", "k0 INT, v0 INT")
    database.create_table("rows", "k0 INT, c1 INT")
    view = database.create_view("v", "SELECT query.v0 + 1 AS v, rows.c1 + 1 AS c FROM query JOIN rows USING (k0)")
    with pytest.raises(ReadError, match=r"a row does not show rows\.c1, query\.k0, query\.v0, so that"):
        view.multiplicity((1, 2))


def test_errors_of_rows_have_no_names_of_ours() -> None:
    database = Database()
    database.create_table("D", "id INT, w INT")
    database.create_table("E", "id INT, d INT")
    database.create_view("v", "SELECT id, 1 / (SELECT MIN(d) FROM E WHERE E.id = D.id) AS r FROM D")
    database.apply("D", [(1, 2)])
    with pytest.raises(ExpressionError) as caught:
        database.apply("E", [(1, 0)])
    assert str(caught.value).startswith(
        "view 'v': cannot evaluate '1 / (MIN(d))' in 'r' for the row (what a sub-query gives = 0): division by zero"
    )
