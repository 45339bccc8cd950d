"""Clauses that are read as Spark reads them, and what is malformed or not maintained is refused by its name."""

from __future__ import annotations

import pytest

import livejoin

NAN = float("nan")
NAMES = ("a", "s", "d", "k", "ts")
DELETE = {"_change_type": "delete"}


def _database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("t", "a INT, s STRING, d DOUBLE, k INT, ts TIMESTAMP")
    db.create_table("g", "`all` INT, x INT")
    return db


def test_a_column_all_is_grouped_and_ordered_by() -> None:
    """Spark 4.3 takes ALL for the word only where no column is called so."""
    db = _database()
    groups = db.create_view("groups", "SELECT `all`, SUM(x) AS s FROM g GROUP BY all")
    first = db.create_view("first", "SELECT x, `all` FROM g ORDER BY all DESC LIMIT 1")
    whole = db.create_view("whole", "SELECT a, COUNT(*) AS n FROM t GROUP BY all")
    db.apply("g", [(1, 9), (2, 2), (1, 1)])
    db.apply("t", [(1, "x", 0.0, 1, None), (1, "y", 0.0, 1, None)])
    assert sorted(tuple(row.values()) for row in groups.to_arrow().to_pylist()) == [(1, 10), (2, 2)]
    assert first.to_arrow().to_pylist() == [{"x": 2, "all": 2}]
    assert whole.to_arrow().to_pylist() == [{"a": 1, "n": 2}]
    with pytest.raises(livejoin.UnsupportedQueryError, match="neither in GROUP BY"):
        db.create_view("other", "SELECT x, COUNT(*) AS n FROM g GROUP BY all")


def test_lists_with_nan_stay_as_they_are() -> None:
    """One NaN is another one within lists too: in deltas and where a row is looked up."""
    db = _database()
    sets = db.create_view("sets", "SELECT k, collect_set(d) AS l FROM t GROUP BY k")
    wider = db.create_view("wider", "SELECT k, l, k + 1 AS m FROM sets")
    bags = db.create_view("bags", "SELECT k, array_agg(d) AS l FROM t GROUP BY k")
    db.apply("t", [(1, "x", NAN, 1, None)])
    commit = db.apply("t", [(1, "x", NAN, 1, None)])
    assert [commit[name].num_rows for name in ("sets", "wider", "bags")] == [0, 0, 2]
    db.apply("t", [(1, "x", 0.0, 1, None)])
    assert (1, [0.0, NAN]) in sets
    assert wider.multiplicity((1, [0.0, NAN], 2)) == bags.multiplicity((1, [0.0, NAN, NAN])) == 1
    assert (
        sets.multiplicity((1, [NAN, 0.0])) == sets.multiplicity((1, [0.0])) == sets.multiplicity((1, [1.0, NAN])) == 0
    )
    db.apply("t", [{"a": 1, "s": "x", "d": NAN, "k": 1, "ts": None, "_change_type": "delete"}])
    assert bags.multiplicity((1, [0.0, NAN])) == 1


def test_mode_takes_the_greatest_of_several_by_a_descending_order() -> None:
    """Spark 4.3 says so of ORDER BY ... DESC; MODE(a, true) is the least, as without an order."""
    db = _database()
    view = db.create_view(
        "v",
        "SELECT k, MODE() WITHIN GROUP (ORDER BY a DESC) AS m, MODE() WITHIN GROUP (ORDER BY a) AS l, "
        "MODE(a, true) AS t, MODE() WITHIN GROUP (ORDER BY s DESC) FILTER (WHERE a < 3) AS f FROM t GROUP BY k",
    )
    rows = [(a, s, 0.0, 1, None) for a, s in ((1, "x"), (2, "y"), (2, "y"), (1, "x"), (3, "z"), (None, "z"))]
    db.apply("t", rows)
    assert view.to_arrow().to_pylist() == [{"k": 1, "m": 2, "l": 1, "t": 1, "f": "y"}]
    # Many values that are there equally often: the index has several levels, and bounds whose values are gone.
    db.apply("t", [(a, "w", 0.0, 2, None) for a in range(2000)] * 2)
    left = 2000
    for count in (1, 7, 40, 500, 1000, 400):
        going = range(left - count, left)
        db.apply("t", [dict(zip(NAMES, (a, "w", 0.0, 2, None), strict=True)) | DELETE for a in going])
        left -= count
        assert [row["m"] for row in view.to_arrow().to_pylist() if row["k"] == 2] == [left - 1]
    db._check()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT a FROM t WHERE s LIKE ANY ()", "no pattern within the parentheses"),
        ("SELECT a, (WITH q(f) AS (VALUES (a)) SELECT (SELECT f FROM q)) AS z FROM t", "VALUES as a query of its own"),
        ("SELECT a FROM t WHERE a = (VALUES (1))", "VALUES as a query of its own"),
        ("SELECT a FROM t WHERE ts > now() - INTERVAL 1 HOUR", "declare the table with window_range"),
        ("SELECT nosuch(a) AS b FROM t", "NOSUCH is not supported: livejoin has no such function"),
        ("SELECT ROUND(d, 0, 0) AS b FROM t", "ROUND is not supported"),
        ("SELECT array(a)[0] AS b FROM t", "[...] is not supported"),
        ("SELECT ts + interval '中文 interval 1 day' AS b FROM t", "is not understood; write an interval as"),
        ("SELECT CEIL(2.5, 0, 0) AS b FROM t", "CEIL takes at most 2 arguments, and 3 are given"),
        ("SELECT FLOOR(d, 0, 0) AS b FROM t", "FLOOR takes at most 2 arguments, and 3 are given"),
        ("SELECT MODE(a, 'true') AS m FROM t", "the second argument of MODE is 'true'; allowed are TRUE and FALSE"),
    ],
)
def test_what_is_refused_says_so(sql: str, message: str) -> None:
    with pytest.raises(livejoin.LivejoinError) as caught:
        _database().create_view("v", sql)
    assert message in str(caught.value)
    assert "DuckDB" not in str(caught.value)


@pytest.mark.parametrize("text", ["'1 day'", "' 1 day '", "'1' DAY", "1 DAY", "'-1 day'", "'1 day 2 hours'"])
def test_intervals_in_a_text_are_read_as_a_whole(text: str) -> None:
    _database().create_view("v", f"SELECT ts + INTERVAL {text} AS b FROM t")


def test_a_name_that_is_not_there_says_which_are() -> None:
    db = _database()
    db.create_view("v", "SELECT a FROM t")
    with pytest.raises(livejoin.LivejoinError, match="there is no 'to' here; the names: 'v'") as caught:
        db.views["to"]
    assert isinstance(caught.value, KeyError)
    assert db.views.get("to") is None
    assert "to" not in db.views
