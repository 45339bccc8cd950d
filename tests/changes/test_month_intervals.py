"""INTERVAL YEAR TO MONTH, and sums of both kinds of intervals, against DuckDB and Python after every commit.

DuckDB has the months as an INT. What Spark 4.3 makes of such expressions was asked by casts to INT, as PySpark has no
value for them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import CapacityError, ChangeValueError, ExpressionError, SqlTypeError, UnsupportedQueryError
from oracle import connect

TABLE = "k INT, d DATE, a TIMESTAMP, m INTERVAL YEAR TO MONTH, i INTERVAL DAY TO SECOND"
VIEWS = {
    "columns": ("SELECT k, m FROM T", "SELECT k, m FROM T"),
    "times": (
        "SELECT d + m AS x, a - m AS y, m + d AS z FROM T",
        "SELECT CAST(d + to_months(m) AS DATE), a - to_months(m), CAST(d + to_months(m) AS DATE) FROM T",
    ),
    "sums": (
        "SELECT m + INTERVAL 1 MONTH, INTERVAL 2 YEAR - m, -m, abs(m), m * k, 2 * m, m - m FROM T",
        "SELECT m + 1, 24 - m, -m, abs(m), m * k, 2 * m, m - m FROM T",
    ),
    "numbers": (
        "SELECT CAST(m AS INT), CAST(m AS TINYINT), extract(YEAR FROM m), extract(MONTH FROM m), CAST(m AS BIGINT) "
        "FROM T",
        "SELECT m, m, CAST(trunc(m / 12) AS INT), m % 12, m FROM T",
    ),
    "made": (
        "SELECT make_ym_interval(k, 5), make_ym_interval(k), make_ym_interval() FROM T",
        "SELECT k * 12 + 5, k * 12, 0 FROM T",
    ),
    "joined": ("SELECT x.k, y.d FROM T x JOIN T y ON x.m = y.m", "SELECT x.k, y.d FROM T x JOIN T y ON x.m = y.m"),
    "by_sum": (
        "SELECT x.k, y.k AS l FROM T x JOIN T y ON x.m + INTERVAL 1 YEAR = y.m",
        "SELECT x.k, y.k FROM T x JOIN T y ON x.m + 12 = y.m",
    ),
    "full": (
        "SELECT x.k, y.m, y.i FROM T x FULL JOIN T y ON x.k = y.k + 1",
        "SELECT x.k, y.m, y.i FROM T x FULL JOIN T y ON x.k = y.k + 1",
    ),
    "grouped": (
        "SELECT m, COUNT(*), MIN(m), MAX(m), COUNT(DISTINCT m) FROM T GROUP BY m",
        "SELECT m, COUNT(*), MIN(m), MAX(m), COUNT(DISTINCT m) FROM T GROUP BY m",
    ),
    "pairs": (
        "SELECT COUNT(DISTINCT m, k) FROM T",
        "SELECT COUNT(DISTINCT (m, k)) FILTER (WHERE m IS NOT NULL) FROM T",
    ),
    "kept": (
        "SELECT k FROM T WHERE m > INTERVAL '1-1' YEAR TO MONTH OR m IN (INTERVAL 1 MONTH, INTERVAL -1 YEAR)",
        "SELECT k FROM T WHERE m > 13 OR m IN (1, -12)",
    ),
    "chosen": (
        "SELECT greatest(m, INTERVAL 1 YEAR), coalesce(m, INTERVAL 3 MONTH), nullif(m, INTERVAL 12 MONTH) FROM T",
        "SELECT greatest(m, 12), coalesce(m, 3), nullif(m, 12) FROM T",
    ),
    "first": ("SELECT m FROM T ORDER BY m DESC LIMIT 2", "SELECT m FROM T ORDER BY m DESC NULLS LAST LIMIT 2"),
    "united": ("SELECT m FROM T UNION SELECT INTERVAL 1 YEAR", "SELECT m FROM T UNION SELECT 12"),
}
SUMS = {
    "of_groups": "SELECT k, SUM(m), AVG(m), SUM(DISTINCT m), SUM(i), AVG(i), AVG(DISTINCT i) FROM T GROUP BY k",
    "over_a_join": "SELECT x.k, SUM(y.m), AVG(y.m), SUM(DISTINCT y.m), SUM(y.i), AVG(y.i), AVG(DISTINCT y.i) "
    "FROM S x JOIN T y ON x.k = y.k GROUP BY x.k",
}
DATES = [dt.date(2020, 1, 31), dt.date(1968, 2, 29), None]
TIMES = [dt.datetime(2020, 3, 31, 23, 59, 59, 999999), dt.datetime(1969, 12, 31), None]
MONTHS = [0, 1, -1, 12, -12, 14, 100, None]
SPANS = [dt.timedelta(0), dt.timedelta(microseconds=1), dt.timedelta(microseconds=-2), dt.timedelta(days=400), None]


def interval(months: int | None) -> pa.MonthDayNano | None:
    return None if months is None else pa.MonthDayNano([months, 0, 0])


def plain(value: Any) -> Any:
    """A value as DuckDB has it here."""
    if not isinstance(value, pa.MonthDayNano):
        return value
    assert value[1:] == (0, 0)
    return value[0]


def rows_of(view: livejoin.View) -> Counter[Any]:
    return Counter(
        tuple(map(plain, row)) for row in zip(*(c.to_pylist() for c in view.to_arrow().columns), strict=True)
    )


def half_away(total: int, count: int) -> int:
    """The nearest whole number, as Java's HALF_UP."""
    size = int(abs(Fraction(total, count)) + Fraction(1, 2))
    return -size if total < 0 else size


def summed(values: list[Any], distinct: bool) -> tuple[Any, Any]:
    """SUM and AVG of months, or of spans."""
    there = [value for value in values if value is not None]
    there = list(set(there)) if distinct else there
    if not there:
        return None, None
    if isinstance(there[0], int):
        return sum(there), half_away(sum(there), len(there))
    unit = dt.timedelta(microseconds=1)
    total = sum(value // unit for value in there)
    return total * unit, half_away(total, len(there)) * unit


def expected_sums(rows: list[tuple[Any, ...]]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for k in {row[0] for row in rows}:
        months, spans = ([row[place] for row in rows if row[0] == k] for place in (3, 4))
        (s, a), (sd, _) = summed(months, False), summed(months, True)
        (si, ai), (_, aid) = summed(spans, False), summed(spans, True)
        found[k, s, a, sd, si, ai, aid] += 1
    return found


@pytest.mark.parametrize("seed", range(3))
def test_histories(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    db, oracle = livejoin.Database(), connect()
    db.create_table("T", TABLE)
    db.create_table("S", "k INT")
    db.apply("S", [(k,) for k in range(3)])
    oracle.execute("CREATE TABLE T (k INT, d DATE, a TIMESTAMP, m INT, i INTERVAL)")
    for name, sql in ({name: sql for name, (sql, _) in VIEWS.items()} | SUMS).items():
        db.create_view(name, sql)
    rows: list[tuple[Any, ...]] = []
    for step in range(6):
        new = [
            (chosen.randrange(3), *map(chosen.choice, (DATES, TIMES, MONTHS, SPANS)))
            for _ in range(chosen.randrange(5))
        ]
        rows += new
        chosen.shuffle(rows)
        gone = [rows.pop() for _ in range(min(len(rows), chosen.randrange(4)))]
        changes = [(row, "insert") for row in new] + [(row, "delete") for row in gone]
        db.apply("T", [
            dict(zip("kdami", (*row[:3], interval(row[3]), row[4]), strict=True)) | {"_change_type": kind}
            for row, kind in changes
        ])  # fmt: skip
        oracle.execute("DELETE FROM T")
        for row in rows:
            oracle.execute("INSERT INTO T VALUES (?, ?, ?, ?, ?)", row)
        for name, (_, sql) in VIEWS.items():
            assert rows_of(db.views[name]) == Counter(oracle.execute(sql).fetchall()), name
        for name in SUMS:
            assert rows_of(db.views[name]) == expected_sums(rows), name
        if step == 3:
            db.save(tmp_path / "saved")
            db = livejoin.Database.load(tmp_path / "saved")


def test_months_come_in_as_intervals_and_as_numbers() -> None:
    db = livejoin.Database()
    db.create_table("T", "m INTERVAL YEAR TO MONTH")
    view = db.create_view("v", "SELECT m FROM T ORDER BY m LIMIT 9")
    intervals = pa.array([interval(5), None, interval(7)], pa.month_day_nano_interval())
    db.apply("T", pa.table({"m": intervals[1:]}))
    db.apply("T", pa.table({"m": pa.chunked_array([pa.array([3, None]), pa.array([-(1 << 31)])])}))
    db.apply("T", [(interval(4),), (None,)])
    assert str(db.tables["T"].columns[0]) == "m INTERVAL YEAR TO MONTH"
    assert view.schema.field("m").type == pa.month_day_nano_interval()
    assert [plain(value) for value in view.to_arrow()["m"].to_pylist()] == [None, None, None, -(1 << 31), 3, 4, 7]


@pytest.mark.parametrize(
    "wrong",
    [
        pa.table({"m": pa.array([None, interval(1), pa.MonthDayNano([1, 1, 0])])}),
        pa.table({"m": pa.array([None, interval(1), pa.MonthDayNano([1, 0, 1])])}),
        pa.table({"m": pa.array([None, 1, 1 << 31])}),
        [(None,), (interval(1),), (5,)],
        [(None,), (interval(1),), (pa.MonthDayNano([0, 3, 0]),)],
        [(None,), (interval(1),), (dt.timedelta(days=1),)],
    ],
)
def test_other_values_are_refused_with_their_row(wrong: Any) -> None:
    db = livejoin.Database()
    db.create_table("T", "m INTERVAL YEAR TO MONTH")
    with pytest.raises(ChangeValueError, match="INTERVAL YEAR TO MONTH; allowed: intervals of whole months") as caught:
        db.apply("T", wrong)
    assert caught.value.row == 2


@pytest.mark.parametrize("expression", ["m + INTERVAL 1 MONTH", "m * 2", "-(m * -1 - INTERVAL 1 MONTH)", "abs(-m) + m"])
def test_what_does_not_fit_is_an_error_of_its_row(expression: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "m INTERVAL YEAR TO MONTH")
    db.create_view("v", f"SELECT {expression} AS x FROM T")
    with pytest.raises(ExpressionError, match="does not fit INTERVAL YEAR TO MONTH"):
        db.apply("T", [(interval((1 << 31) - 1),)])


@pytest.mark.parametrize("function", ["SUM", "AVG"])
def test_sums_that_do_not_fit_refuse_the_commit(function: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "k INT, m INTERVAL YEAR TO MONTH, i INTERVAL DAY TO SECOND")
    months = db.create_view("months", f"SELECT k, {function}(m) AS x FROM T GROUP BY k")
    spans = db.create_view("spans", f"SELECT {function}(i) AS x FROM T")
    most, longest = interval((1 << 31) - 1), pa.scalar((1 << 63) - 1, pa.duration("us"))
    db.apply("T", pa.table({"k": [1], "m": [most], "i": pa.array([longest])}))
    both = {"SUM": "months", "AVG": "months"}[function]
    if function == "SUM":
        with pytest.raises(CapacityError, match=rf"SUM of a group is 2,147,483,648 {both}, which INTERVAL YEAR TO M"):
            db.apply("T", [(1, interval(1), None)])
        with pytest.raises(
            CapacityError, match=r"9,223,372,036,854,775,808 microseconds, which INTERVAL DAY TO SECOND"
        ):
            db.apply("T", [(1, None, dt.timedelta(microseconds=1))])
    # In which order the rows come does not matter, as it does in Spark: what counts is the sum of all.
    db.apply("T", [(1, interval(1), dt.timedelta(microseconds=1)), (1, interval(-2), dt.timedelta(microseconds=-3))])
    divided = 1 if function == "SUM" else 3
    assert plain(months.to_arrow()["x"][0].as_py()) == half_away((1 << 31) - 2, divided)
    assert spans.to_arrow()["x"].combine_chunks().cast(pa.int64())[0].as_py() == half_away((1 << 63) - 3, divided)


@pytest.mark.parametrize(
    "expression",
    [
        *("m + i", "m = i", "i - m", "m + 1", "m / 2", "m * 1.5", "m || 'x'", "CAST(m AS STRING)", "m = '1-2'"),
        *(
            "STDDEV(m)",
            "MEDIAN(m)",
            "collect_list(m)",
            "array_agg(i ORDER BY m)",
            "year(m)",
            "k - m",
            "CAST(k AS DATE) + m",
        ),
    ],
)
def test_what_is_not_there_is_refused(expression: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "k INT, m INTERVAL YEAR TO MONTH, i INTERVAL DAY TO SECOND")
    with pytest.raises((SqlTypeError, UnsupportedQueryError)):
        db.create_view("v", f"SELECT {expression} AS x FROM T")
