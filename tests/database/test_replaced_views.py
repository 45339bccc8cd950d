"""CREATE OR REPLACE VIEW: one commit, whose deltas are the differences of the results."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import SchemaError
from oracle import multiset, signed_multiset
from torture.interrupts import cut_off

QUERIES = (
    "SELECT k, n FROM t",
    "SELECT k, n FROM t WHERE n > 3",
    "SELECT DISTINCT k, n FROM t",
    "SELECT n AS k, k AS n FROM t",
    "SELECT a.k, b.n FROM t a JOIN t b ON a.n = b.k",
)
OTHER = "SELECT k FROM t"
STEP = 25 if "LIVEJOIN_FUZZ" in os.environ else 5000
"""The most points between two at which a call is cut off."""


def test_deltas_are_what_becomes_of_the_results(tmp_path: Path) -> None:
    pick = Random(1)
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
    db.create_view("v", QUERIES[0])
    db.create_view("above", "SELECT k, COUNT(*) AS c FROM v GROUP BY k")
    told = [multiset(db.views["above"].to_arrow())]

    def hear(delta: object) -> None:
        told[0] = told[0].copy()
        told[0].update(signed_multiset(delta))

    db.views["above"].subscribe(hear)
    for step in range(8):
        db.apply("t", [(pick.randrange(5), pick.choice([None, *range(6)])) for _ in range(4)])
        before = {name: multiset(view.to_arrow()) for name, view in db.views.items()}
        sql, version = pick.choice(QUERIES), db.version
        commit = db.execute(f"CREATE OR REPLACE VIEW v AS {sql}")
        assert commit is not None
        assert commit.version == db.version == version + 1
        db._check()
        fresh = db.sql(sql)
        assert multiset(db.views["v"].to_arrow()) == multiset(fresh)
        for name, view in db.views.items():
            now = Counter(before[name])
            now.update(signed_multiset(commit[name]))
            assert +now == multiset(view.to_arrow())
            assert all(count >= 0 for count in now.values())
        assert +told[0] == multiset(db.views["above"].to_arrow())
        if step % 3 == 2:
            seen = {name: (view.sql, multiset(view.to_arrow())) for name, view in db.views.items()}
            version = db.version
            db.close()
            db = livejoin.open(tmp_path / "db")
            assert db.version == version
            assert {name: (view.sql, multiset(view.to_arrow())) for name, view in db.views.items()} == seen
            told[0] = multiset(db.views["above"].to_arrow())
            db.views["above"].subscribe(hear)
    with pytest.raises(SchemaError, match="read by 'above'"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT n FROM t")
    with pytest.raises(SchemaError, match="would read itself"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT k, c AS n FROM above")
    db.drop_view("above")
    old, heard = db.views["v"], list[object]()
    old.subscribe(heard.append)
    new = db.create_view("v", OTHER, replace=True)
    db.apply("t", [(1, 1)])
    assert new is db.views["v"]
    assert new is not old
    assert not heard
    assert new.schema.names == ["k"]
    db.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_replacement_that_is_cut_off_stands_whole_or_not_at_all(error: type[BaseException], tmp_path: Path) -> None:
    pick = Random(2)
    for number, query in enumerate((QUERIES[4], QUERIES[1], OTHER)):
        at, ended = 1, False
        while not ended:
            folder = tmp_path / f"{number} {at}"
            db = livejoin.open(folder, sync="off")
            db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
            view = db.create_view("v", QUERIES[0])
            if query != OTHER:
                db.create_view("above", "SELECT k, COUNT(*) AS c FROM v GROUP BY k")
            db.apply("t", [(1, 2), (2, 3), (2, 5), (5, None)])
            old, heard = multiset(view.to_arrow()), list[pa.Table]()
            view.subscribe(heard.append)
            cut = cut_off(lambda db=db, query=query: db.create_view("v", query, replace=True), error, at)
            ended = cut.points < at
            db._check()
            stands = db.version == 2
            assert stands or db.version == 1
            expected = multiset(db.sql(query if stands else QUERIES[0]))
            assert multiset(db.views["v"].to_arrow()) == expected
            assert db.views["v"].sql == (query if stands else QUERIES[0])
            assert len(heard) == (stands and query != OTHER), cut.where
            assert (view is db.views["v"]) == (query != OTHER or not stands)
            now = Counter(old)
            for delta in heard:
                now.update(signed_multiset(delta))
            assert +now == (expected if view is db.views["v"] else old), cut.where
            db.apply("t", [(2, 4), (4, 1)])
            db._check()
            seen = {name: (one.sql, multiset(one.to_arrow())) for name, one in db.views.items()}
            db.close()
            with livejoin.open(folder) as again:
                assert {name: (one.sql, multiset(one.to_arrow())) for name, one in again.views.items()} == seen
            at += 1 + pick.randrange(STEP)


def test_lists_that_aggregates_make() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
    db.create_view("v", "SELECT k, COLLECT_LIST(n) AS l FROM t GROUP BY k")
    db.apply("t", [(1, 2), (2, 3), (3, None), (4, 9)])
    commit = db.create_view("v", "SELECT k, COLLECT_LIST(n) AS l FROM t WHERE k < 4 GROUP BY k", replace=True)
    assert commit is db.views["v"]
    again = db.execute("CREATE OR REPLACE VIEW v AS SELECT k, COLLECT_LIST(n + 1) AS l FROM t WHERE n > 2 GROUP BY k")
    assert again is not None
    rows = [(one["k"], one["l"], one["_change_type"]) for one in again["v"].to_pylist()]
    assert sorted(rows, key=repr) == [
        (1, [2], "delete"),
        (2, [3], "delete"),
        (2, [4], "insert"),
        (3, [], "delete"),
        (4, [10], "insert"),
    ]
