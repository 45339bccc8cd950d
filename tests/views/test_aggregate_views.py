"""Views with aggregates where sums overflow, commits fail, groups empty and snapshots are loaded."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import AbsentRowError, CapacityError, ExpressionError
from oracle import multiset, signed_multiset

LARGEST = 2**63 - 1
WIDEST = Decimal("9" * 38)

OVERFLOWING = {
    "columns": ("SELECT k, SUM(x) AS s FROM T GROUP BY k", [(1, LARGEST), (1, 1)]),
    "expressions": ("SELECT k % 2 AS g, SUM(x * 1) AS s FROM T GROUP BY k % 2", [(1, LARGEST), (3, 1)]),
    "negative": ("SELECT SUM(x) AS s FROM T", [(1, -LARGEST), (2, -20)]),
    "distinct": ("SELECT SUM(DISTINCT x) AS s FROM T", [(1, LARGEST), (2, LARGEST), (3, 1)]),
    "products": (
        "SELECT A.k, SUM(A.x * B.x) AS s FROM T A, T B WHERE A.k = B.k GROUP BY A.k",
        [(1, 2**32), (1, 2**31)],
    ),
    "below": ("SELECT k FROM T GROUP BY k HAVING SUM(x) > 0", [(1, LARGEST), (1, 1)]),
    "first": ("SELECT k, SUM(x) AS s FROM T GROUP BY k ORDER BY s LIMIT 1", [(1, LARGEST), (1, 1)]),
    "united": ("SELECT SUM(x) FROM T GROUP BY k UNION SELECT k FROM T", [(1, LARGEST), (1, 1)]),
}
"""Queries, and rows whose sum BIGINT cannot hold."""


class Two:
    """A database with one view that may fail, between two others, and what all of them showed last."""

    def __init__(self, sql: str) -> None:
        self.db = livejoin.Database()
        self.db.create_table("T", "k BIGINT, x BIGINT")
        self.views = [
            self.db.create_view("counts", "SELECT k, COUNT(*) AS n, MAX(x) AS m, ARRAY_AGG(x) AS l FROM T GROUP BY k"),
            self.db.create_view("tested", sql),
            self.db.create_view("rows", "SELECT k, x FROM T"),
            self.db.create_view("least", "SELECT DISTINCT x FROM T ORDER BY x LIMIT 2"),
        ]
        self.db.apply("T", [(1, 5), (2, 6), (None, None)])
        self.shown = [multiset(view.to_arrow()) for view in self.views]

    def refuses(self, action: Callable[[livejoin.Database], object], error: type[Exception], message: str) -> None:
        """The action raises and changes nothing; a good commit and its opposite still do what they should."""
        version = self.db.version
        with pytest.raises(error, match=message):
            action(self.db)
        assert self.db.version == version
        self.unchanged()
        self.db.apply("T", [(2, 7), (3, 8)])
        assert [multiset(view.to_arrow()) for view in self.views] != self.shown
        self.db.apply("T", [{"k": k, "x": x, "_change_type": "delete"} for k, x in [(2, 7), (3, 8)]])
        self.unchanged()

    def unchanged(self) -> None:
        self.db._check()
        assert [multiset(view.to_arrow()) for view in self.views] == self.shown
        assert [view.count() for view in self.views] == [shown.total() for shown in self.shown]


@pytest.mark.parametrize("name", OVERFLOWING)
def test_a_sum_that_overflows_undoes_the_commit(name: str) -> None:
    sql, rows = OVERFLOWING[name]
    two = Two(sql)
    two.refuses(lambda db: db.apply("T", rows), CapacityError, "BIGINT")
    log = pa.table({"k": [k for k, _ in rows], "x": [x for _, x in rows], "_seq": range(len(rows))})
    for granularity in ("change", "commit"):
        two.refuses(lambda db, g=granularity: db.replay({"T": log}, granularity=g), CapacityError, "BIGINT")


@pytest.mark.parametrize("name", OVERFLOWING)
def test_a_view_whose_sum_overflows_is_not_created_or_not_read(name: str) -> None:
    """A sum is found to overflow when it is computed: with the view where rows are stored, else when it is read."""
    sql, rows = OVERFLOWING[name]
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    db.apply("T", rows)
    with pytest.raises(CapacityError, match="BIGINT"):
        db.create_view("v", sql).to_arrow()


def test_a_sum_of_decimals_beyond_38_digits_undoes_the_commit() -> None:
    db = livejoin.Database()
    db.create_table("T", "k INT, d DECIMAL(38, 0)")
    views = [
        db.create_view("sums", "SELECT k, SUM(d) AS s FROM T GROUP BY k"),
        db.create_view("count", "SELECT COUNT(d) AS n FROM T"),
    ]
    db.apply("T", [(1, WIDEST)])
    with pytest.raises(CapacityError, match="38"):
        db.apply("T", [(1, Decimal(1))])
    assert [view.to_arrow().to_pylist() for view in views] == [[{"k": 1, "s": WIDEST}], [{"n": 1}]]
    db.apply("T", [(1, Decimal(-1)), (2, Decimal(1))])
    assert multiset(views[0].to_arrow()) == multiset([(1, Decimal("9" * 37 + "8")), (2, Decimal(1))])
    db._check()


def test_a_failure_elsewhere_leaves_aggregates_as_they_were() -> None:
    two = Two("SELECT k, 1 / (x - 9) AS r, CAST(COUNT(*) AS STRING) AS n FROM T GROUP BY k, x")
    changes = [{"k": 4, "x": 4, "_change_type": "insert"}, {"k": 77, "x": 0, "_change_type": "delete"}]
    two.refuses(lambda db: db.apply("T", changes), AbsentRowError, "77")
    strings = livejoin.Database()
    strings.create_table("T", "k INT, s STRING")
    grouped = strings.create_view("grouped", "SELECT k, COUNT(*) AS n, MIN(s) AS m FROM T GROUP BY k")
    parsed = strings.create_view("parsed", "SELECT k, SUM(CAST(s AS INT)) AS n FROM T GROUP BY k")
    strings.apply("T", [(1, "10"), (1, "20")])
    with pytest.raises(ExpressionError, match="x3"):
        strings.apply("T", [(1, "30"), (2, "x3")])
    assert grouped.to_arrow().to_pylist() == [{"k": 1, "n": 2, "m": "10"}]
    assert parsed.to_arrow().to_pylist() == [{"k": 1, "n": 30}]
    strings.apply("T", [(2, "3")])
    assert multiset(parsed.to_arrow()) == multiset([(1, 30), (2, 3)])
    strings._check()


@pytest.mark.parametrize("argument", ["x", "x + 0"])
def test_variances_of_the_largest_integers(argument: str) -> None:
    """Their squares need more than 128 bits when there are two of them."""
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    view = db.create_view("v", f"SELECT k, VAR_POP({argument}) AS v, AVG({argument}) AS a FROM T GROUP BY k")
    values = [LARGEST, -LARGEST, -LARGEST]
    db.apply("T", [(1, value) for value in values])
    mean = Fraction(sum(values), 3)
    variance = sum((value - mean) ** 2 for value in values) / 3
    assert view.to_arrow().to_pylist() == [{"k": 1, "v": float(variance), "a": float(mean)}]


def kinds(delta: pa.Table) -> list[tuple[Any, ...]]:
    """The change types of a delta with the rows, in order."""
    return [(row["_change_type"], row["k"], row["n"]) for row in delta.select(["_change_type", "k", "n"]).to_pylist()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, COUNT(*) AS n FROM T GROUP BY k",
        "SELECT k, COUNT(DISTINCT x) AS n FROM T GROUP BY k",
        "SELECT k + 0 AS k, COUNT(*) AS n FROM T GROUP BY k + 0",
    ],
)
def test_the_life_of_a_group(sql: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    db.create_view("v", sql)

    def deleted(*rows: tuple[int, int]) -> list[dict[str, Any]]:
        return [{"k": k, "x": x, "_change_type": "delete"} for k, x in rows]

    def given(*rows: tuple[int, int]) -> list[dict[str, Any]]:
        return [{"k": k, "x": x, "_change_type": "insert"} for k, x in rows]

    assert kinds(db.apply("T", given((1, 1)))["v"]) == [("insert", 1, 1)]
    assert kinds(db.apply("T", given((1, 2)))["v"]) == [("update_preimage", 1, 1), ("update_postimage", 1, 2)]
    assert kinds(db.apply("T", deleted((1, 1)) + given((1, 3)))["v"]) == []
    assert kinds(db.apply("T", deleted((1, 2), (1, 3)) + given((1, 9)))["v"]) == [
        ("update_preimage", 1, 2),
        ("update_postimage", 1, 1),
    ]
    assert kinds(db.apply("T", deleted((1, 9)) + given((2, 9)))["v"]) in (
        [("delete", 1, 1), ("insert", 2, 1)],
        [("insert", 2, 1), ("delete", 1, 1)],
    )
    assert kinds(db.apply("T", given((3, 1)) + deleted((3, 1)))["v"]) == []
    log = pa.table({"k": [3, 3, 3], "x": [1, 1, 1], "_change_type": ["insert", "delete", "insert"], "_seq": [1, 2, 3]})
    replayed = db.replay({"T": log}, granularity="change")["v"]
    assert kinds(replayed) == [("insert", 3, 1), ("delete", 3, 1), ("insert", 3, 1)]


def test_a_snapshot_holds_stores_of_all_kinds(tmp_path: Path) -> None:
    """What is loaded goes on with the same deltas as what was saved."""
    db = livejoin.Database()
    db.create_table("T", "k STRING, x DOUBLE, d DECIMAL(30, 4)")
    queries = {
        "ring": "SELECT k, COUNT(*) AS n FROM T GROUP BY k",
        "groups": "SELECT k, SUM(x) AS s, AVG(d) AS a, MIN(d) AS m, ARRAY_AGG(x) AS l, STD(x) AS v FROM T GROUP BY k",
        "lists": "SELECT COLLECT_SET(k) AS l, COUNT(DISTINCT d) AS n FROM T",
        "sets": "SELECT k, d FROM T EXCEPT ALL SELECT k, d FROM T WHERE x < 1",
        "first": "SELECT k || '!' AS k, d FROM T ORDER BY d DESC, k LIMIT 3",
    }
    for name, sql in queries.items():
        db.create_view(name, sql)
    wide = Decimal("12345678901234567890123456.7891")
    rows = [("a", 1.5, wide), ("a", 0.1, -wide), ("b", None, wide), (None, float("nan"), None), ("ä" * 20, 3.0, wide)]
    db.apply("T", rows)
    db.save(tmp_path)
    loaded = livejoin.Database.load(tmp_path)
    changes = [
        {"k": k, "x": x, "d": d, "_change_type": kind}
        for kind, (k, x, d) in [("delete", rows[0]), ("delete", rows[3]), ("insert", ("c" * 30, 2.5, wide / 7))]
    ]
    deltas = [one.apply("T", changes) for one in (db, loaded)]
    for name, view in db.views.items():
        assert signed_multiset(deltas[0][name])
        assert signed_multiset(deltas[1][name]) == signed_multiset(deltas[0][name])
        assert multiset(loaded.views[name].to_arrow()) == multiset(view.to_arrow())
    loaded._check()


def test_a_quiet_view_computes_sums_when_it_is_read() -> None:
    """Without deltas, annotations are all that a commit maintains; they are exact beyond the type of the sum."""
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x BIGINT")
    view = db.create_view("v", "SELECT k, SUM(x) AS s FROM T GROUP BY k", deltas=False)
    db.apply("T", [(1, LARGEST), (1, LARGEST), (2, 1)])
    with pytest.raises(CapacityError, match="BIGINT"):
        view.to_arrow()
    db.apply("T", [{"k": 1, "x": LARGEST, "_change_type": "delete"}])
    assert multiset(view.to_arrow()) == multiset([(1, LARGEST), (2, 1)])
