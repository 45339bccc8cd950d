"""The first rows of whatever stands below them, which they read again in the midst of commits, against DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from unittest import mock

import duckdb
import pytest

import livejoin
from livejoin.dataflow.stores import top_k
from livejoin.errors import ViolationError
from livejoin.plan.operators import candidates
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

QUERIES = {
    "rows": "SELECT a, b FROM t ORDER BY b DESC, a LIMIT 3",
    "rows of a predicate": "SELECT b, a FROM t WHERE a > 1 ORDER BY a, b LIMIT 2 OFFSET 2",
    "texts": "SELECT c, a FROM t ORDER BY c NULLS LAST, a DESC LIMIT 4",
    "a join": "SELECT t.a, u.b FROM t JOIN u ON t.b = u.a ORDER BY t.a + u.b DESC, t.a, u.b LIMIT 3",
    "an outer join": "SELECT t.a, u.b FROM t LEFT JOIN u ON t.b = u.a ORDER BY u.b NULLS FIRST, t.a LIMIT 5",
    "rows without others": "SELECT a, b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE a = t.b) ORDER BY 1, 2 LIMIT 3",
    "groups": "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY a ORDER BY s DESC NULLS LAST, a LIMIT 2",
    "groups of a join": "SELECT t.c, COUNT(*) AS n FROM t JOIN u ON t.a = u.a GROUP BY t.c ORDER BY n, t.c LIMIT 2",
    "sums of decimals": "SELECT a, SUM(CAST(b AS DECIMAL(20, 2))) AS s FROM t GROUP BY a ORDER BY s, a LIMIT 2",
    "values once": "SELECT DISTINCT b FROM t ORDER BY b LIMIT 2",
    "all rows of two": "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 6",
    "a difference": "SELECT b FROM t EXCEPT SELECT a FROM u ORDER BY 1 DESC LIMIT 2",
    "ranks": "SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, c) AS r FROM t ORDER BY r DESC, a, b LIMIT 3",
    "first rows of first rows": "SELECT a, b FROM (SELECT a, b FROM t ORDER BY a, b LIMIT 9) x ORDER BY b, a LIMIT 2",
    "a join of first rows": "SELECT x.a, u.b FROM (SELECT a, b FROM t ORDER BY b, a LIMIT 4) x JOIN u ON x.b = u.a",
    "a cycle": "SELECT t.a, t.b FROM t JOIN u ON t.b = u.a JOIN u w ON u.b = w.a AND w.b = t.a ORDER BY 1, 2 LIMIT 3",
    "a comparison": "SELECT t.a, u.b FROM t JOIN u ON t.a = u.a AND u.b < t.b ORDER BY u.b DESC, t.a LIMIT 3",
}


@pytest.fixture(autouse=True)
def _few() -> Iterator[None]:
    """Candidates run out, and are too many, all the time."""
    with mock.patch.multiple(candidates, _LEAST=1, SHARE=1 << 40), mock.patch.object(top_k, "_TOO_MANY", 1):
        yield


class Both:
    """The tables in livejoin and in DuckDB; a commit that brings a = 99 is refused, behind all views."""

    def __init__(self, query: str, seed: int) -> None:
        self.db = livejoin.Database()
        self.random = random.Random(seed)
        self.other: duckdb.DuckDBPyConnection = connect()
        self.other.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        for name in ("t", "u"):
            self.db.execute(f"CREATE TABLE {name} (a INT, b INT, c STRING)")
            self.other.execute(f"CREATE TABLE {name} (a INT, b INT, c TEXT)")
        self.rows: dict[str, list[tuple[object, ...]]] = {"t": [], "u": []}
        self.query = query
        self.commit(20)
        self.view = self.db.create_view("v", query)
        self.db.execute("CREATE ASSERTION no_99 CHECK (NOT EXISTS (SELECT 1 FROM t WHERE a = 99))")

    def row(self) -> tuple[object, ...]:
        some = self.random
        texts = [None, "x", "a name of many letters 1", "a name of many letters 2"]
        return (some.choice([None, *range(5)]), some.choice([None, *range(6)]), some.choice(texts))

    def changes(self, most: int) -> dict[str, list[dict[str, object]]]:
        found = {}
        for name, there in self.rows.items():
            coming = [self.row() for _ in range(self.random.randint(0, most))]
            share = self.random.choice([0.0, 0.1, 0.5, 1.0])
            leaving = [row for row in there if self.random.random() < share]
            changes = [("delete", row) for row in leaving] + [("insert", row) for row in coming]
            found[name] = [dict(zip("abc", row, strict=True), _change_type=kind) for kind, row in changes]
        return found

    def note(self, changes: dict[str, list[dict[str, object]]]) -> None:
        for name, some in changes.items():
            for change in some:
                row = (change["a"], change["b"], change["c"])
                (self.rows[name].append if change["_change_type"] == "insert" else self.rows[name].remove)(row)

    def commit(self, most: int) -> livejoin.Commit:
        changes = self.changes(most)
        self.note(changes)
        return self.db.apply(changes)

    def refused(self) -> None:
        changes = self.changes(6)
        changes["t"].append({"a": 99, "b": 1, "c": "x", "_change_type": "insert"})
        with pytest.raises(ViolationError):
            self.db.apply(changes)

    def replay(self) -> livejoin.Commit:
        changes = self.changes(6)
        self.note(changes)
        number = 0
        for some in changes.values():
            for change in some:
                change["_seq"] = number
                number += 1
        return self.db.replay(changes, granularity="change")

    def expected(self) -> Counter[tuple[object, ...]]:
        for name, there in self.rows.items():
            self.other.execute(f"DELETE FROM {name}")
            if there:
                self.other.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", there)
        return multiset(self.other.execute(self.query).fetchall())


@pytest.mark.parametrize("name", QUERIES)
def test_first_rows_of_anything(name: str) -> None:
    for seed in seeds(1, 40):
        both = Both(QUERIES[name], seed)
        before = both.expected()
        for _ in range(10):
            both.refused()
            assert multiset(both.view.to_arrow()) == before
            commit = both.replay() if both.random.random() < 0.3 else both.commit(both.random.choice([1, 6]))
            after = both.expected()
            assert multiset(both.view.to_arrow()) == after
            delta = Counter(after)
            delta.subtract(before)
            assert signed_multiset(commit["v"]) == without_zeros(delta)
            both.db._check()
            before = after


@pytest.mark.parametrize("select", ["k, s", "k, s, p"])
def test_what_is_read_behind_a_commit_that_was_cut_off(select: str) -> None:
    """A block that was cut off is made anew, and who reads its rows by it goes on with the new one."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT PRIMARY KEY, p INT, s STRING)")
    view = db.create_view("best", f"SELECT {select} FROM t ORDER BY s, p DESC LIMIT 40")
    db.apply("t", [(number, number, f"b{number:04}") for number in range(100)])
    assert view.top(1).to_pylist()[0]["k"] == 0
    whole = top_k.kernel.maintain

    def cut_off(*given: object) -> int:
        whole(*given)
        raise KeyboardInterrupt

    with mock.patch.object(top_k.kernel, "maintain", cut_off), pytest.raises(KeyboardInterrupt):
        db.apply("t", [(100 + number, number, f"a{number:04}") for number in range(100)])
    assert [row["k"] for row in view.top(3).to_pylist()] == [0, 1, 2]
    assert view.at(0)[0] == 0
    assert view.lookup(s="a0000").num_rows == 0
    assert [row["k"] for row in view.to_pylist()] == list(range(40))
