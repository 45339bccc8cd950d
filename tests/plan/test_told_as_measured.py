"""What the verdict tells of closed windows and of rows without a match is what changes cost."""

from __future__ import annotations

from datetime import datetime, timedelta

from livejoin import Database
from livejoin.plan.explain.verdict import verdict

BEGIN = datetime(2026, 1, 1)


def test_each_window_that_a_watermark_closes_is_told_once_among_the_rows_of_its_table() -> None:
    db = Database()
    db.execute(
        "CREATE TABLE e (id BIGINT PRIMARY KEY, who BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 minute')"
    )
    sql = (
        "SELECT who, window(ts, '10 minutes').start AS s, COUNT(*) AS n FROM e "
        "GROUP BY who, window(ts, '10 minutes') EMIT FINAL"
    )
    view = db.create_view("closed", sql)
    db.apply("e", [(i, i % 4, BEGIN + timedelta(seconds=10 * i)) for i in range(600)])
    told = db.explain(sql)
    (one,) = told.effects  # the watermark is told with its table
    before, more = len(view), 1200
    for i in range(600, 600 + more):
        db.apply("e", [(i, i % 4, BEGIN + timedelta(seconds=10 * i))])
    measured = (len(view) - before) / more
    assert one.closes
    assert one.result.expected is not None
    assert measured / 1.2 <= one.result.expected <= measured * 1.2
    assert "adds less than 1 row of the result" in verdict(told)
    assert "The watermark of e adds the rows" in verdict(told)


def test_rows_without_a_match_come_where_the_only_match_goes() -> None:
    """20 rows a key on both sides: no row of one side is the only match. One a key: each of them is."""
    sql = "SELECT a.id FROM a LEFT JOIN b ON b.k = a.k WHERE b.id IS NULL"
    for matches in (20, 1):
        db = Database()
        db.execute("CREATE TABLE a (id BIGINT PRIMARY KEY, k BIGINT)")
        db.execute("CREATE TABLE b (id BIGINT PRIMARY KEY, k BIGINT)")
        rows = [(i, i % 20) for i in range(20 * matches)]
        view = db.create_view("unmatched", sql)
        db.apply({"a": [(i, i % 20) for i in range(400)], "b": rows})
        told = next(one for one in db.explain(sql).effects if one.table == "b")
        measured = 0
        for row in rows:
            db.execute(f"DELETE FROM b WHERE id = {row[0]}")
            measured += len(view)
            db.apply("b", [row])
        assert told.result.expected == measured / len(rows) == (20 if matches == 1 else 0)


def test_a_condition_on_null_is_told_without_brackets() -> None:
    db = Database()
    db.execute("CREATE TABLE a (id BIGINT PRIMARY KEY, k BIGINT)")
    db.execute("CREATE TABLE b (id BIGINT PRIMARY KEY, k BIGINT)")
    db.apply({"a": [(i, i % 20) for i in range(400)], "b": [(i, i % 20) for i in range(400)]})
    told = verdict(db.explain("SELECT id FROM a WHERE k NOT IN (SELECT k FROM b)"))
    assert "A change of b where k IS NULL (none now)" in told
    assert "one row of b whose k is NULL empties the result of NOT IN." in told
