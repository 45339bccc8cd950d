"""Views of rows of a join by one comparison: what DuckDB gives after every commit, from two ordered sides."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from test_inequality_views import Life, plan, small

from livejoin import Database
from livejoin.errors import ExpressionError
from livejoin.plan.operators import InequalityJoinOperator
from oracle import multiset
from strategies import EXAMPLES

ROWS = [
    "SELECT T.id, Q.p FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts",
    "SELECT T.k, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.d >= T.d",
    "SELECT DISTINCT Q.n FROM T JOIN Q ON T.k = Q.k AND T.ts >= Q.ts",
    "SELECT T.id, T.n + Q.n AS s FROM T JOIN Q ON T.k = Q.k AND ABS(T.n - Q.n) <= 2",
    "SELECT Q.p, T.ts FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - INTERVAL 2 MINUTE AND T.ts WHERE Q.n > 1",
    "SELECT a.n, b.n AS m FROM Q a JOIN Q b ON a.k = b.k AND a.ts < b.ts",
    "SELECT T.k, MAX(Q.d) AS m FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts GROUP BY T.k",
    "SELECT T.id, COUNT(DISTINCT Q.n) AS m FROM T JOIN Q ON T.k <=> Q.k AND Q.ts < T.ts GROUP BY T.id",
    "SELECT T.id FROM T JOIN Q ON T.k = Q.k AND Q.p < T.d UNION ALL SELECT n FROM Q",
    "SELECT T.id, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.n < T.n ORDER BY T.id, Q.n LIMIT 5",
    "SELECT T.id, Q.n FROM T LEFT JOIN Q ON T.k = Q.k AND Q.n < T.n",
]
OTHERS = [
    "SELECT T.id, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.n <> T.n",
    "SELECT T.id, a.n FROM Q a JOIN T ON T.id = a.n AND a.ts < T.ts",
    "SELECT T.id, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.n BETWEEN T.id AND T.n",
]


@pytest.mark.parametrize("sql", [*ROWS, *OTHERS])
def test_which_rows_are_found_in_order(sql: str) -> None:
    assert any(isinstance(one, InequalityJoinOperator) for one in plan(sql)) == (sql in ROWS)


@pytest.mark.parametrize("seed", range(min(EXAMPLES, 12)))
def test_rows_are_those_of_duckdb_after_every_commit(seed: int, tmp_path: Path) -> None:
    life = Life(seed)
    for sql in ROWS[::2]:
        life.create(sql)
    life.commit(first=True)
    for sql in ROWS[1::2]:
        life.create(sql)
    for _ in range(4):
        life.commit(first=False)
        life.compare()
    life.database.save(tmp_path / "kept")
    for trusted in (False, True):
        again = Database.load(tmp_path / "kept", trusted=trusted)
        for name, view in life.database.views.items():
            assert multiset(again.views[name].to_arrow()) == multiset(view.to_arrow())
            assert again.views[name].count() == view.count()


def test_a_failed_commit_leaves_rows_as_they_were_and_rows_are_found() -> None:
    database, draw = small(), random.Random(3)
    view = database.create_view("v", "SELECT id, p FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - 5 AND T.ts")
    database.apply(
        {"T": [(i, "a", draw.randrange(50)) for i in range(30)], "Q": [("a", draw.randrange(50), i) for i in range(30)]}
    )
    before: Any = multiset(view.to_arrow())
    with pytest.raises(ExpressionError, match="ts - 5"):
        database.apply({"T": [(99, "a", 7), (100, "a", -(2**31))], "Q": [("a", 6, 99)]})
    database._check()
    assert multiset(view.to_arrow()) == before and view.count() == sum(before.values())
    some = next(iter(before))
    assert len(view.why({"id": some[0], "p": some[1]}).rows("Q")) >= 1
