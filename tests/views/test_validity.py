"""What the page of validity says to write is what the plain joins give, after every commit, against DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from livejoin import Database
from livejoin.errors import UnsupportedQueryError, ViolationError
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

TABLES = {"S": "id INT, k STRING, ts INT, d DOUBLE", "V": "k STRING, x INT, a INT NOT NULL, b INT, CHECK (a < b)"}
APART = (
    "NOT EXISTS (SELECT k, b, next FROM (SELECT k, b, LEAD(a) OVER (PARTITION BY k ORDER BY a) AS next FROM V) AS r "
    "WHERE next < b OR (b IS NULL AND next IS NOT NULL))"
)
INSIDE = "S.k = V.k AND S.ts >= V.a AND (S.ts < V.b OR V.b IS NULL)"
AS_OF = "S.k = V.k AND S.ts >= V.a"
SUMS = "SELECT S.k, COUNT(*) AS n, SUM(V.x) AS s FROM S"
VIEWS = {
    "inner": (
        f"SELECT S.id, S.d, V.x FROM S ASOF JOIN V ON {AS_OF} WHERE S.ts < V.b OR V.b IS NULL",
        f"SELECT S.id, S.d, V.x FROM S JOIN V ON {INSIDE}",
    ),
    "left": (
        f"SELECT S.id, CASE WHEN V.b IS NULL OR S.ts < V.b THEN V.x END AS x FROM S ASOF LEFT JOIN V ON {AS_OF}",
        f"SELECT S.id, V.x FROM S LEFT JOIN V ON {INSIDE}",
    ),
    "history": (
        "SELECT k, x, a, LEAD(a) OVER (PARTITION BY k ORDER BY a) AS b FROM V",
        "SELECT k, x, a, (SELECT MIN(o.a) FROM V o WHERE o.k IS NOT DISTINCT FROM V.k AND o.a > V.a) AS b FROM V",
    ),
    "sums": (
        f"SELECT k, SUM(n) AS n, SUM(s) AS s FROM ({SUMS} JOIN V ON V.a <= S.ts GROUP BY S.k UNION ALL SELECT S.k, "
        "COUNT(*), NULL FROM S WHERE NOT EXISTS (SELECT 1 FROM V WHERE V.a <= S.ts) GROUP BY S.k) AS p GROUP BY k",
        f"{SUMS} LEFT JOIN V ON V.a <= S.ts GROUP BY S.k",
    ),
    "sums of NaN": (
        f"SELECT k, SUM(n) AS n, SUM(s) AS s FROM ({SUMS} JOIN V ON V.a < S.d GROUP BY S.k UNION ALL SELECT S.k, "
        "COUNT(*), NULL FROM S WHERE NOT EXISTS (SELECT 1 FROM V WHERE V.a < S.d) GROUP BY S.k) AS p GROUP BY k",
        f"{SUMS} LEFT JOIN V ON V.a < S.d GROUP BY S.k",
    ),
}
KEYS = (None, "a", "b")
Row = tuple[Any, ...]


def overlap(rows: Counter[Row]) -> bool:
    """Whether two intervals of a key overlap, by looking at each pair."""
    there = list(rows.elements())
    ends = [(k, a, float("inf") if b is None else b) for k, _, a, b in there]
    return any(
        one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
        for place, one in enumerate(ends)
        for other in ends[:place]
    )


def interval(draw: random.Random) -> Row:
    begin = draw.randrange(12)
    return draw.choice(KEYS), draw.randrange(5), begin, draw.choice((None, *range(begin + 1, 14)))


def sale(draw: random.Random) -> Row:
    number = draw.choice((None, float("nan"), float("inf"), -1.0, 0.5, 3.0, 3.0))
    return draw.randrange(9), draw.choice(KEYS), draw.choice((None, *range(14))), number


@pytest.mark.parametrize("seed", seeds(1, 10))
def test_the_rows_valid_at_a_time(seed: int) -> None:
    """Tables come from nothing and go to nothing; a commit with intervals that overlap is refused, and no other."""
    draw, database, connection = random.Random(seed), Database(), connect()
    for name, columns in TABLES.items():
        database.create_table(name, columns)
        connection.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR').partition(', CHECK')[0]})")
    database.create_assertion("apart", APART)
    for name, (sql, _) in VIEWS.items():
        database.create_view(name, sql)
    rows: dict[str, Counter[Row]] = {"S": Counter(), "V": Counter()}
    told: dict[str, Counter[Row]] = {name: Counter() for name in VIEWS}
    refused = 0
    for step in range(60):
        grows = (step // 15) % 2 == 0
        name = draw.choice("SVV" if grows else "SV")
        there = list(rows[name].elements())
        come = [interval(draw) if name == "V" else sale(draw) for _ in range(draw.randrange(1, 3) if grows else 0)]
        go = draw.sample(there, min(len(there), draw.randrange(2) if grows else 3))
        if step % 15 == 14 and not grows:
            go = there
        after = without_zeros(rows[name] + Counter(come) - Counter(go))
        names = [one.split()[0] for one in TABLES[name].partition(", CHECK")[0].split(", ")]
        changes = [
            {**dict(zip(names, row, strict=True)), "_change_type": kind}
            for kind, some in (("insert", come), ("delete", go))
            for row in some
        ]
        if name == "V" and overlap(after):
            with pytest.raises(ViolationError, match="'apart' does not hold"):
                database.apply(name, changes)
            refused += 1
            continue
        commit = database.apply(name, changes)
        rows[name] = after
        connection.execute(f"DELETE FROM {name}")
        if after:
            marks = ", ".join("?" * len(names))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", [list(row) for row in after.elements()])
        for view, (_, plain) in VIEWS.items():
            expected = multiset(connection.sql(plain).to_arrow_table())
            assert multiset(database.views[view].to_arrow()) == expected, (view, step)
            told[view].update(signed_multiset(commit[view]) if view in commit.views else {})
            assert without_zeros(told[view]) == expected, (view, step)
    assert refused > 3


def test_what_to_write_for_the_version_of_a_time() -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.create_table(name, columns)
    with pytest.raises(UnsupportedQueryError, match=r"as ASOF JOIN v ON t\.k = v\.k AND t\.ts >= v\.valid_from"):
        database.create_view("w", "SELECT S.id FROM S JOIN V FOR SYSTEM_TIME AS OF S.ts ON S.k = V.k")
    with pytest.raises(UnsupportedQueryError, match=r"by db\.snapshot"):
        database.create_view("w", "SELECT id FROM S VERSION AS OF 3")
    with pytest.raises(UnsupportedQueryError, match="livejoin docs guides/validity"):
        database.create_view("w", "SELECT MAX(V.x) AS n FROM S LEFT JOIN V ON V.a <= S.ts")
