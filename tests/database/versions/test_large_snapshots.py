"""Results that are larger than memory in snapshots: the view answers as long as it is at the version."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import AbsentIndexError, MemoryLimitError

ROWS = 3000


@pytest.fixture
def db() -> Iterator[livejoin.Database]:
    with livejoin.Database(memory_limit=60_000_000) as found:
        found.execute("CREATE TABLE a (k INT, x INT); CREATE TABLE b (k INT, y INT)")
        for name, column in (("a", "x"), ("b", "y")):
            found.apply(name, pa.table({"k": np.zeros(ROWS, np.int32), column: np.arange(ROWS, dtype=np.int32)}))
        found.create_view("big", "SELECT a.x, b.y FROM a JOIN b ON a.k = b.k")  # 9 million rows
        yield found


def test_a_view_answers_while_it_is_at_the_version(db: livejoin.Database) -> None:
    with db.snapshot() as at:
        assert len(at["big"]) == ROWS * ROWS
        assert at["big"].sample(3, seed=1).num_rows == 3
        assert at["big"].at(5) == db.views["big"].at(5)
        with pytest.raises(MemoryLimitError, match=r"the rows of 'big' at a version.*; close snapshots, read"):
            at["big"].to_arrow()
        db.apply("a", [(1, 1)])  # the view stays as it is, the database does not
        assert at["big"].count() == ROWS * ROWS
        db.apply("a", [(0, -1)])
        for ask in (at["big"].count, lambda: at["big"].at(0), lambda: at["big"].sample(1)):
            with pytest.raises(MemoryLimitError):
                ask()
    assert db.views["big"].count() == ROWS * ROWS + ROWS


def test_look_ups_go_by_the_indexes_of_the_present_rows() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT, v INT); CREATE VIEW sums AS SELECT k, SUM(v) AS s FROM t GROUP BY k")
    db.apply("t", [(1, 10), (2, 20)])
    with db.snapshot() as at:
        assert at["sums"].get(1) == (1, 10)
        assert at["sums"].get(7) is None
        assert at["sums"].lookup(k=2).to_pylist() == [{"k": 2, "s": 20}]
        db.apply("t", [(1, 1)])
        for ask in (lambda: at["sums"].get(1), lambda: at["sums"].lookup(k=1), lambda: at["t"].get(1)):
            with pytest.raises(AbsentIndexError, match="present rows"):
                ask()
        assert at.sql("SELECT s FROM sums WHERE k = 1").to_pylist() == [{"s": 10}]
    assert db.views["sums"].get(1) == (1, 11)
