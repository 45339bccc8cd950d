"""Aggregates beyond sums in the whole engine: after every commit each view is what DuckDB computes of its text."""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.catalog import Catalog
from livejoin.errors import CapacityError
from livejoin.sql import parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset, without_zeros

COLUMNS = "k BIGINT, i INT, x DOUBLE, m DECIMAL(9, 2), s STRING, d DATE, b BOOLEAN"
TYPES = [pa.int64(), pa.int32(), pa.float64(), pa.decimal128(9, 2), pa.string(), pa.date32(), pa.bool_()]
NAMES = [column.split()[0] for column in COLUMNS.replace("(9, 2)", "").split(", ")]

CALLS = {
    "open": "FIRST(i) AS a, LAST(s) IGNORE NULLS AS b, ANY_VALUE(d) AS c, APPROX_COUNT_DISTINCT(s) AS d, MODE(s) AS e",
    "tried": "TRY_SUM(i) AS a, TRY_AVG(m) AS b, TRY_SUM(x) FILTER (WHERE b) AS c",
    "two": "COVAR_POP(x, i) AS a, COVAR_SAMP(x, m) AS b, CORR(i, m) AS c, REGR_SLOPE(x, i) AS d, REGR_COUNT(x, m) AS e",
    "regression": "REGR_AVGX(m, i) AS a, REGR_INTERCEPT(x, i) AS b, REGR_R2(i, x) AS c, REGR_SXY(i, m) AS d",
    "shape": "SKEWNESS(i) AS a, KURTOSIS(x) AS b, SKEWNESS(x) FILTER (WHERE i > 0) AS c",
    "by": "MIN_BY(s, i) AS a, MAX_BY(d, x) AS b, MAX_BY(i, s) FILTER (WHERE b) AS c, COUNT(*) AS n",
    "percentiles": "MEDIAN(i) AS a, PERCENTILE(x, 0.2) AS b, PERCENTILE_DISC(0.7) WITHIN GROUP (ORDER BY m) AS c, "
    "PERCENTILE_APPROX(d, 0.5) AS d, PERCENTILE(i, array(0.0, 1.0)) AS e, MODE() WITHIN GROUP (ORDER BY i) AS f",
    "bits": "BIT_AND(i) AS a, BIT_OR(i) AS b, BIT_XOR(k) AS c, BIT_XOR(DISTINCT i) AS d",
    "lists": "LISTAGG(s, ', ') WITHIN GROUP (ORDER BY i) AS a, STRING_AGG(DISTINCT s, '-') AS b, "
    "ARRAY_AGG(i ORDER BY x DESC) AS c, LISTAGG(s) WITHIN GROUP (ORDER BY s DESC) AS d",
}
SHAPES = {
    "grouped": "SELECT k, {} FROM T GROUP BY k",
    "global": "SELECT {} FROM T",
    "joined": "SELECT U.j, {} FROM T JOIN U ON T.k = U.k GROUP BY U.j HAVING COUNT(*) > 1",
}

SETS = {
    "rollup": "SELECT k, b, COUNT(*) AS n, SUM(m) AS s, GROUPING_ID() AS g FROM T GROUP BY ROLLUP (k, b)",
    "cube": "SELECT k, s, d, MAX(x) AS m, MEDIAN(i) AS p, GROUPING(s) AS g FROM T GROUP BY CUBE (k, (s, d))",
    "sets": "SELECT i, b, COUNT(DISTINCT s) AS n FROM T "
    "GROUP BY GROUPING SETS ((i, b), (), (b), (b)) HAVING COUNT(*) > 1",
    "product": "SELECT k, b, i, AVG(m) AS a FROM T GROUP BY k, ROLLUP (b), ROLLUP (i)",
    "joined": "SELECT U.j, T.b, COUNT(*) AS n, SUM(T.i * U.j) AS s FROM T JOIN U ON T.k = U.k GROUP BY CUBE (U.j, T.b)",
    "plain": "SELECT b, k FROM T GROUP BY ROLLUP (b, k)",
    "read": "SELECT g, SUM(n) AS n FROM (SELECT k, b, COUNT(*) AS n, GROUPING_ID() AS g FROM T GROUP BY CUBE (k, b)) q "
    "GROUP BY g",
    "all": "SELECT k, b, COUNT(*) AS n, LAST(s) AS l FROM T GROUP BY ALL",
    "empty": "SELECT COUNT(*) AS n, MIN(i) AS m FROM T GROUP BY GROUPING SETS (())",
    "first": "SELECT k, b, COUNT(*) AS n FROM T GROUP BY CUBE (k, b) ORDER BY n DESC, GROUPING(k), k, b LIMIT 4",
}

WINDOWS = {
    "first": "SELECT k, i, s, x FROM T QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, i, s) <= 2",
    "shown": "SELECT * FROM (SELECT k, i, RANK() OVER (PARTITION BY k ORDER BY i) AS r FROM T) q WHERE r < 3",
    "dense": "SELECT s, i FROM (SELECT s, i, DENSE_RANK() OVER (PARTITION BY s ORDER BY i DESC) AS r FROM T) q "
    "WHERE r = 2",
    "best": "SELECT i, m FROM T QUALIFY RANK() OVER (ORDER BY m) = 1",
    "share": "SELECT k, i, SUM(i) OVER (PARTITION BY k) AS s, COUNT(*) OVER () AS n FROM T",
    "several": "SELECT s, MEDIAN(x) OVER (PARTITION BY s, b) AS m, MAX(d) OVER (PARTITION BY k) FROM T WHERE i > 0",
    "both": "SELECT k, AVG(i) OVER (PARTITION BY k) AS a FROM T "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY i, s, x, m, d, b) = 1",
    "left": "SELECT T.k, T.i, U.j, COUNT(U.j) OVER (PARTITION BY T.k) AS n FROM T LEFT JOIN U ON T.k = U.k "
    "QUALIFY RANK() OVER (PARTITION BY T.b ORDER BY T.i, U.j) <= 3",
    "within": "SELECT k, i FROM T WHERE i IN (SELECT i FROM T QUALIFY RANK() OVER (PARTITION BY k ORDER BY i) = 1) "
    "AND k IN (SELECT k FROM U)",
    "sorted": "SELECT k, i, RANK() OVER (PARTITION BY k ORDER BY i) AS r FROM T QUALIFY r < 3 ORDER BY r, k, i LIMIT 5",
    "groups": "SELECT k, b, SUM(i) AS s, SUM(SUM(i)) OVER (PARTITION BY k) AS t FROM T GROUP BY k, b",
    "joined": "SELECT U.j, T.i, q.s FROM U JOIN T ON T.k = U.k JOIN (SELECT k, s, ROW_NUMBER() OVER "
    "(PARTITION BY k ORDER BY i, s) AS n FROM T) q ON q.k = U.k WHERE q.n = 1",
    "over": "SELECT j, COUNT(*) AS n FROM (SELECT T.i, U.j FROM T JOIN U ON T.k = U.k "
    "QUALIFY DENSE_RANK() OVER (PARTITION BY U.j ORDER BY T.i) <= 2) q GROUP BY j",
}

BESIDE = {
    "full": "SELECT T.i, U.j, COUNT(T.i) OVER (PARTITION BY U.j) AS n FROM T FULL JOIN U ON T.k = U.k",
    "ranked": "SELECT T.i, U.j FROM T FULL JOIN U ON T.k = U.k "
    "QUALIFY RANK() OVER (PARTITION BY U.j ORDER BY T.i) <= 2",
    "cube": "SELECT T.k, U.j, COUNT(U.j) AS n, MEDIAN(T.i) AS m FROM T LEFT JOIN U ON T.k = U.k "
    "GROUP BY CUBE (T.k, U.j)",
    "anti": "SELECT T.s, MODE(T.i) AS m, MIN_BY(T.d, T.x) AS b FROM T LEFT ANTI JOIN U ON T.k = U.k GROUP BY T.s",
    "scalar": "SELECT k, (SELECT MAX_BY(s, i) FROM T b WHERE b.k = a.k) AS m, "
    "(SELECT MEDIAN(x) FROM T c) AS d FROM T a",
    "counts": "SELECT j, (SELECT REGR_COUNT(i, x) FROM T WHERE T.k = U.k) AS c, "
    "(SELECT APPROX_COUNT_DISTINCT(s) FROM T WHERE T.k = U.k) AS d FROM U",
    "outer": "SELECT U.j, q.i FROM U LEFT JOIN (SELECT k, i, ROW_NUMBER() OVER "
    "(PARTITION BY k ORDER BY i, s, x, m, d, b) AS n FROM T) q ON q.k = U.k AND q.n <= 2",
    "none": "SELECT k, i FROM T WHERE NOT EXISTS (SELECT 1 FROM (SELECT k, j, RANK() OVER (PARTITION BY k ORDER BY j) "
    "AS r FROM U) q WHERE q.k = T.k AND q.r = 1 AND q.j = 1)",
    "twice": "WITH q AS (SELECT k, i, RANK() OVER (PARTITION BY k ORDER BY i) AS r FROM T) "
    "SELECT a.i, b.i AS c FROM q a JOIN q b ON a.k = b.k WHERE a.r <= 1 AND b.r < 3",
    "residual": "SELECT a.i, q.j FROM T a JOIN (SELECT k, j, SUM(j) OVER (PARTITION BY k) AS s FROM U) q "
    "ON a.k = q.k AND a.i < q.s",
}


def row(rng: random.Random) -> tuple[Any, ...]:
    values = (
        rng.randrange(3),
        rng.randrange(-4, 9),
        rng.choice([0.5, 1.25, -3.0, 1e6, 2.0**-20]),
        Decimal(rng.randrange(-200, 200)).scaleb(-2),
        rng.choice(["a", "b", "", "äö", "a longer text than others"]),
        date(2024, 1, rng.randrange(1, 9)),
        rng.random() < 0.5,
    )
    return tuple(None if rng.random() < 0.15 else value for value in values)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(found) and math.isnan(expected))
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return sorted(found, key=lambda one: [(value is not None, str(value)) for value in one])


@pytest.mark.parametrize("shape", SHAPES)
def test_random_commits(shape: str) -> None:
    sqls = {name: SHAPES[shape].format(calls) for name, calls in CALLS.items()}
    if shape == "joined":
        sqls = {name: sql.replace("(k)", "(T.k)") for name, sql in sqls.items()}
    check(sqls, random.Random(shape))


def test_grouping_sets() -> None:
    check(SETS, random.Random(3))


def test_windows() -> None:
    check(WINDOWS, random.Random(4))


def test_beside_outer_joins_and_sub_queries() -> None:
    check(BESIDE, random.Random(8))


def check(sqls: dict[str, str], rng: random.Random) -> None:
    """Views under commits that bring rows, take some or all of them, and bring others."""
    db = livejoin.Database()
    db.create_table("T", COLUMNS)
    db.create_table("U", "k BIGINT, j BIGINT")
    views = {name: db.create_view(name, sql) for name, sql in sqls.items()}
    catalog = Catalog()
    catalog.add(parse_columns("T", COLUMNS))
    catalog.add(parse_columns("U", "k BIGINT, j BIGINT"))
    texts = {name: to_duckdb(sql, catalog) for name, sql in sqls.items()}
    present: list[tuple[Any, ...]] = []
    others = [(k, j) for k in (0, 0, 1, 2, None) for j in (1, k)]
    db.apply("U", others)
    oracle = connect()
    oracle.register("U", pa.table([list(column) for column in zip(*others, strict=True)], names=["k", "j"]))
    for step in range(8):
        come = [row(rng) for _ in range(rng.choice([1, 4, 30]))] if step != 5 else []
        rng.shuffle(present)
        gone = present[: len(present) if step == 5 else len(present) // 3]
        present = present[len(gone) :] + come
        before = {name: multiset(view.to_arrow()) for name, view in views.items()}
        changes = [dict(zip([*NAMES, "_change_type"], (*one, "delete"), strict=True)) for one in gone]
        changes += [dict(zip([*NAMES, "_change_type"], (*one, "insert"), strict=True)) for one in come]
        commit = db.apply("T", changes)
        db._check()
        arrays = [pa.array([one[i] for one in present], kind) for i, kind in enumerate(TYPES)]
        oracle.register("T", pa.table(arrays, NAMES))
        for name, view in views.items():
            found, expected = rows_of(view.to_arrow()), rows_of(oracle.sql(texts[name]).to_arrow_table())
            assert len(found) == len(expected), (name, found, expected)
            for mine, theirs in zip(found, expected, strict=True):
                assert all(map(same, mine, theirs)), (name, mine, theirs)
            after = Counter(before[name])
            after.update(signed_multiset(commit[name]))
            assert without_zeros(after) == multiset(view.to_arrow()), name


def test_try_sum_is_null_where_sum_refuses() -> None:
    db = livejoin.Database()
    db.create_table("T", "x BIGINT")
    view = db.create_view("v", "SELECT TRY_SUM(x) AS t, COUNT(*) AS n FROM T")
    db.apply("T", [(2**63 - 1,), (1,)])
    assert view.to_arrow().to_pylist() == [{"t": None, "n": 2}]
    db.apply("T", [{"x": 1, "_change_type": "delete"}])
    assert view.to_arrow().to_pylist() == [{"t": 2**63 - 1, "n": 1}]
    db.create_view("w", "SELECT SUM(x) AS s FROM T")
    with pytest.raises(CapacityError):
        db.apply("T", [(1,)])


def test_percentiles_of_one_argument_share_their_values() -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, x DOUBLE")
    db.create_view("one", "SELECT k, MEDIAN(x) AS m FROM T GROUP BY k")
    db.create_view("several", "SELECT k, MEDIAN(x) AS m, PERCENTILE(x, array(0.1, 0.9)) AS p FROM T GROUP BY k")
    db.apply("T", [(k, float(x)) for k in range(3) for x in range(500)])
    sizes = [block["state_bytes"] for block in db.stats()["blocks"] if "view" not in str(block["kind"])]
    held = [size for size in sizes if size > 20_000]
    assert len(held) == 2 and held[1] < 1.1 * held[0], "a second percentile keeps nothing of its own"


def test_grouping_sets_over_a_join_share_it() -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, a BIGINT")
    db.create_table("U", "k BIGINT, b BIGINT")
    db.create_view("v", "SELECT a, b, COUNT(*) AS n FROM T JOIN U ON T.k = U.k GROUP BY CUBE (a, b)")
    kinds = [str(block["kind"]) for block in db.stats()["blocks"]]
    assert sum("join" in kind for kind in kinds) == 1, kinds
