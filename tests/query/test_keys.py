"""Keys of relations: those that follow, and that no found key is wrong on random rows."""

from __future__ import annotations

import random

import pytest

from livejoin.catalog import Catalog
from livejoin.query.bound_query import Query
from livejoin.query.keys import keys
from livejoin.sql import bind_query, parse_columns

CATALOG = Catalog()
for _name, _columns in {
    "R": "k INT PRIMARY KEY, a INT, b INT",
    "S": "x INT, y INT, c INT, PRIMARY KEY (x, y)",
    "M": "a INT, b INT",
}.items():
    CATALOG.add(parse_columns(_name, _columns))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT k, a FROM R", [{0}]),
        ("SELECT a, b FROM R", []),
        ("SELECT a, b FROM M", []),
        ("SELECT k + 1 AS l, a FROM R", []),
        ("SELECT k, k AS l, a FROM R", [{0}, {1}]),
        ("SELECT x, y, c FROM S", [{0, 1}]),
        ("SELECT x, c FROM S", []),
        # A row of R is determined by a row of S, or the other way round by its columns.
        ("SELECT S.x, S.y, R.k FROM S JOIN R ON S.c = R.k", [{0, 1}]),
        ("SELECT S.x, S.y, R.k FROM S JOIN R ON S.y = R.k", [{0, 1}, {0, 2}]),
        ("SELECT S.x, R.k FROM S JOIN R ON S.y = R.a AND S.x = R.k", [{0}, {1}]),
        ("SELECT R.k, M.a FROM R JOIN M ON R.a = M.a", []),
        ("SELECT P.k, Q.k AS l FROM R P, R Q", [{0, 1}]),
        ("SELECT P.k, Q.k AS l FROM R P JOIN R Q ON P.a = Q.k", [{0}]),
        # Operators.
        ("SELECT DISTINCT a, b FROM M", [{0, 1}]),
        ("SELECT DISTINCT k, a FROM R", [{0}]),
        ("SELECT a, COUNT(*) AS n FROM M GROUP BY a", [{0}]),
        ("SELECT COUNT(*) AS n, b, a FROM M GROUP BY a, b", [{1, 2}]),
        ("SELECT COUNT(*) AS n, a FROM M GROUP BY a, b", []),
        ("SELECT k, a, COUNT(*) AS n FROM R GROUP BY k, a", [{0}]),
        ("SELECT COUNT(*) AS n FROM M", [set()]),
        ("SELECT a, b FROM M UNION SELECT k, a FROM R", [{0, 1}]),
        ("SELECT a, b FROM M UNION ALL SELECT k, a FROM R", []),
        ("SELECT k, a FROM R UNION ALL SELECT k, a FROM R", []),
        ("SELECT k, a FROM R EXCEPT ALL SELECT a, b FROM M", [{0}]),
        ("SELECT a, b FROM M EXCEPT SELECT k, a FROM R", [{0, 1}]),
        ("SELECT a, b FROM M INTERSECT ALL SELECT k, a FROM R", [{0}]),
        ("SELECT a, k FROM R INTERSECT SELECT k, a FROM R", [{0}, {1}]),
        ("SELECT a, b FROM M ORDER BY a LIMIT 3", []),
        ("SELECT k, b FROM R ORDER BY b LIMIT 3", [{0}]),
        ("SELECT a, b FROM M ORDER BY a LIMIT 1", [set()]),
        # Groups: what determines the other columns of GROUP BY.
        ("SELECT k, a, COUNT(*) AS n FROM R GROUP BY k, a", [{0}]),
        ("SELECT R.k, R.b, COUNT(*) AS n FROM R JOIN M ON R.a = M.a GROUP BY R.k, R.b", [{0}]),
        ("SELECT M.b, R.b AS c, R.k, COUNT(*) AS n FROM R JOIN M ON R.a = M.a GROUP BY M.b, R.b, R.k", [{0, 2}]),
        ("SELECT M.b, R.b AS c, COUNT(*) AS n FROM R JOIN M ON R.k = M.b GROUP BY M.b, R.b", [{0}]),
        ("SELECT R.k + 1 AS l, R.k, R.b, COUNT(*) AS n FROM R, M GROUP BY R.k + 1, R.k, R.b", [{0, 1}]),
        # Inputs: a group has one row for each row of R.
        ("SELECT R.k, n FROM R JOIN (SELECT a, COUNT(*) AS n FROM M GROUP BY a) g ON R.a = g.a", [{0}]),
        ("SELECT g.a, n FROM M JOIN (SELECT a, COUNT(*) AS n FROM M GROUP BY a) g ON M.a = g.a", []),
        ("SELECT R.k, n FROM R, (SELECT COUNT(*) AS n FROM M) g", [{0}]),
        ("SELECT R.k, g.b FROM R JOIN (SELECT DISTINCT a, b FROM M) g ON R.a = g.a", [{0, 1}]),
    ],
)
def test_keys(sql: str, expected: list[set[int]]) -> None:
    assert sorted(map(sorted, keys(bind(sql).root))) == sorted(map(sorted, expected))


def bind(sql: str) -> Query:
    return bind_query(sql, CATALOG)


def test_all_minimal_keys_of_joins_by_brute_force() -> None:
    """A set of columns is a key if it determines all of them and the join's rows: by all sets of columns."""
    draw = random.Random(7)
    several = compared = 0
    for _ in range(200):
        tables = [draw.choice("RSS") for _ in range(draw.choice([2, 3, 4]))]
        columns = {i: ["k", "a", "b"] if name == "R" else ["x", "y", "c"] for i, name in enumerate(tables)}
        joins = []
        for i in range(1, len(tables)):
            for _ in range(draw.choice([1, 1, 2])):
                j = draw.randrange(i)
                joins.append((f"t{i}.{draw.choice(columns[i])}", f"t{j}.{draw.choice(columns[j])}"))
        every = [f"t{i}.{column}" for i in columns for column in columns[i]]
        shown = draw.sample(every, draw.choice([4, 5, 6]))
        items = ", ".join(f"{column} AS o{n}" for n, column in enumerate(shown))
        source = ", ".join(f"{name} t{i}" for i, name in enumerate(tables))
        where = " AND ".join(f"{a} = {b}" for a, b in joins)
        found = set(keys(bind(f"SELECT {items} FROM {source} WHERE {where}").root))
        expected = _minimal_keys(tables, joins, shown)
        assert all(any(other <= key for other in expected) for key in found)
        # Of two columns of one table that the joins make equal, one alone is looked at.
        if not any(_equal_to(a, joins) & {b} for a in every for b in every if a[:2] == b[:2] and a != b):
            assert found == expected
            compared += 1
        several += len(found) > 1
    assert several > 10
    assert compared > 50


def _equal_to(column: str, joins: list[tuple[str, str]]) -> set[str]:
    found = {column}
    while more := {b for pair in joins for a, b in (pair, pair[::-1]) if a in found} - found:
        found |= more
    return found


def _minimal_keys(tables: list[str], joins: list[tuple[str, str]], shown: list[str]) -> set[frozenset[int]]:
    rows = [
        [f"t{i}.k", f"t{i}.a", f"t{i}.b"] if t == "R" else [f"t{i}.x", f"t{i}.y", f"t{i}.c"]
        for i, t in enumerate(tables)
    ]

    def is_key(chosen: frozenset[int]) -> bool:
        known = {shown[i] for i in chosen}
        while True:
            more = {b for pair in joins for a, b in (pair, pair[::-1]) if a in known}
            for name, row in zip(tables, rows, strict=True):
                if known.issuperset(row[:1] if name == "R" else row[:2]):
                    more |= set(row)
            if more <= known:
                return all(known.issuperset(row) for row in rows)
            known |= more

    sets = [frozenset(i for i in range(len(shown)) if mask >> i & 1) for mask in range(1 << len(shown))]
    good = [chosen for chosen in sets if is_key(chosen)]
    return {key for key in good if not any(other < key for other in good)}
