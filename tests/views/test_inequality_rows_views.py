"""Views of rows of a join by one comparison: what DuckDB gives after every commit, from two ordered sides."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from test_inequality_views import Life, operators, plan, small

from livejoin import Database
from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.errors import AbsentIndexError, ExpressionError, UnsupportedQueryError
from livejoin.plan.operators import InequalityJoinOperator
from look_ups import check_look_ups
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
    "SELECT T.id, Q.p FROM T JOIN Q ON T.k = Q.k AND NOT (Q.ts >= T.ts OR Q.n = T.n)",
    "SELECT T.id, Q.p FROM T JOIN Q ON T.k = Q.k AND Q.m <> T.m AND T.n >= Q.n AND 10 / (Q.n - T.n - 9) < 3 "
    "AND Q.n > T.n - 3",
    "SELECT T.id, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.n BETWEEN T.id AND T.n",
    "SELECT Q.n, T.x, Q.x AS y FROM T JOIN Q ON T.k = Q.k AND T.ts BETWEEN Q.ts AND Q.day",
]
OTHERS = [
    "SELECT T.id, Q.n FROM T JOIN Q ON T.k = Q.k AND Q.n <> T.n",
    "SELECT T.id, a.n FROM Q a JOIN T ON T.id = a.n AND a.ts < T.ts",
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


KEYED = "T id INT PRIMARY KEY, k STRING, n INT NOT NULL UNIQUE, ts INT; Q qid INT PRIMARY KEY, k STRING, ts INT, p INT"
FOUND = {
    "SELECT id, T.k, n, qid, Q.ts, p + 1 AS p FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - 3 AND T.ts": 4,
    "SELECT Q.k, qid, id, T.ts FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": 3,
    "SELECT id, g.* FROM T JOIN (SELECT k, ts, SUM(p) AS s FROM Q GROUP BY k, ts) g ON T.k = g.k AND g.ts <= T.ts": 2,
    "SELECT id, qid, d.p FROM T JOIN (SELECT DISTINCT qid, k, ts, p FROM Q) d ON T.k = d.k AND d.ts > T.ts": 1,
}


@pytest.mark.parametrize("sql", FOUND)
def test_rows_are_found_by_keys_of_both_tables_and_by_what_joins_them(sql: str) -> None:
    database, draw = Database(), random.Random(sql)
    for table in KEYED.split("; "):
        name, columns = table.split(" ", 1)
        database.execute(f"CREATE TABLE {name} ({columns})")
    view = database.create_view("v", sql)
    for step in range(4):
        begin = 40 * step
        came = [(begin + i, draw.choice(["a", "b", "c", None]), begin + i, draw.randrange(30)) for i in range(40)]
        others = [(begin + i, draw.choice("abd"), draw.randrange(30), draw.randrange(3)) for i in range(40)]
        database.apply({"T": came, "Q": others})
        gone = [row for row in came if draw.random() < 0.3]
        database.apply(
            "T", [{**dict(zip(("id", "k", "n", "ts"), row, strict=True)), "_change_type": "delete"} for row in gone]
        )
        rows = view.to_arrow()
        assert check_look_ups(view, rows) >= 1
        assert sum(view._access.leads({i}) for i in range(rows.num_columns)) == FOUND[sql]
        assert view.slice(0, rows.num_rows + 1).equals(rows)
        assert multiset(view.sample(5, seed=step)) <= multiset(rows)
    assert any(isinstance(one, InequalityJoinOperator) for one in operators(view._node.plan))


def test_a_look_up_tells_what_leads_to_rows() -> None:
    database = small()
    view = database.create_view("v", "SELECT id, T.k, p FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts")
    database.apply({"T": [(1, "a", 5)], "Q": [("a", 4, 1), ("a", 4, 1), ("a", 3, 2)]})
    assert view.lookup(id=1).num_rows == view.lookup(k="a").num_rows == 3
    assert view.lookup(id=1, p=1).to_pylist() == [{"id": 1, "k": "a", "p": 1}] * 2
    assert view.lookup(id=2).num_rows == view.lookup(k="nobody has it").num_rows == view.lookup(k=None).num_rows == 0
    with pytest.raises(AbsentIndexError, match=r"no index by p, .* it has indexes by \(id\), \(k\)"):
        view.lookup(p=1)


def test_explain_names_what_is_compared_and_what_is_checked_besides() -> None:
    database = small()
    joined = "SELECT id, p FROM T JOIN Q ON T.k = Q.k AND"

    def told(condition: str) -> str:
        return " ".join(database.explain(f"{joined} {condition}").text().split())

    said = told("Q.ts BETWEEN T.ts - 5 AND T.ts AND Q.p <> T.id")
    assert "one key of 1 column and Q.ts BETWEEN T.ts - 5 AND T.ts, over ordered stores of both sides" in said
    assert "where Q.p <> T.id, which is checked on each row that the join gives" in said
    said = told("NOT (T.ts >= Q.ts)")
    assert "one key of 1 column and T.ts < Q.ts, over" in said and "no other pair is looked at" in said
    said = told("T.ts BETWEEN Q.ts AND Q.p")
    assert "a row of T also passes over rows of Q with its key that begin behind it" in said


@pytest.mark.parametrize(
    ("condition", "reason"),
    {
        "T.k < Q.ts": "a STRING is compared as BIGINT, which fails for texts that are none",
        "Q.ts <> T.ts": "which no equality connects",
    }.items(),
)
def test_a_refused_product_says_what_would_help(condition: str, reason: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="which no equality connects") as refused:
        small().create_view("v", f"SELECT COUNT(*) AS n FROM T JOIN Q ON {condition}")
    assert reason in str(refused.value)


def test_a_sum_of_what_may_not_fit_says_why_its_pairs_are_made() -> None:
    said = small().explain("SELECT SUM(p + 1) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts").text()
    assert "each pair is made: p + 1 may not fit its type in some rows" in " ".join(said.split())


def test_rows_that_are_loaded_make_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """16,000,000 pairs take no memory, and no time, until somebody reads them."""
    db = Database()
    db.execute("CREATE TABLE o (id BIGINT PRIMARY KEY, k BIGINT, at BIGINT, until BIGINT)")
    db.apply("o", [(i, i % 2, i, i + 3) for i in range(8_000)])

    def refuse(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(InequalityRowsStore, "_rows", refuse)
        wide = db.create_view("wide", "SELECT a.id, b.id AS c FROM o a JOIN o b ON a.k = b.k AND a.at < b.at")
        narrow = db.create_view(
            "narrow", "SELECT a.id, b.id AS c FROM o a JOIN o b ON a.k = b.k AND b.at BETWEEN a.at AND a.until"
        )
        assert wide.count() == 2 * (4_000 * 3_999 // 2)
        assert narrow.count() == 8_000 + 7_998
