"""Conditions between columns, told as means: over all pairs of small tables, and over pairs drawn of large ones."""

from __future__ import annotations

import random
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import livejoin
from livejoin.plan.explain.effects.effect import Effect

LARGE = 150_000
DECLARED = """
    CREATE TABLE a (id BIGINT PRIMARY KEY, k BIGINT, x BIGINT, y DOUBLE, s STRING);
    CREATE TABLE b (k BIGINT, x BIGINT, z DECIMAL(10, 2), s STRING)
"""


def tables(rows: int, keys: int) -> dict[str, pa.Table]:
    chance = random.Random(rows)
    some = [chance.randrange(keys) for _ in range(rows)]
    words = [chance.choice(["x", "y", "z", None]) for _ in range(rows)]
    numbers = [chance.randrange(100) for _ in range(rows)]
    one = {"id": range(rows), "k": some, "x": numbers, "y": [n / 2 for n in numbers], "s": words}
    other = {"k": sorted(some), "x": numbers[::-1], "z": map(Decimal, numbers), "s": words[::-1]}
    types = {"z": pa.decimal128(10, 2)}
    return {
        table: pa.table({name: pa.array(list(values), types.get(name)) for name, values in columns.items()})
        for table, columns in (("a", one), ("b", other))
    }


def database(rows: int, keys: int) -> livejoin.Database:
    db = livejoin.Database()
    db.execute(DECLARED)
    db.apply(tables(rows, keys))
    return db


def effect(db: livejoin.Database, sql: str, table: str, **how: object) -> Effect:
    return next(one for one in db.explain(sql, **how).effects if one.table == table)  # type: ignore[arg-type]


CONDITIONS = ("a.x > b.x", "a.x <> b.x", "a.x * 2 + 1 <= b.x", "a.y >= b.z", "a.s = b.s OR a.x = b.x", "a.s > b.s")


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("rows", [600, LARGE])
def test_the_mean_is_that_of_all_pairs(condition: str, rows: int) -> None:
    """Exact where all pairs are there, and within a tenth where they are drawn."""
    db = database(rows, rows // 10)
    sql = f"SELECT a.id, b.x FROM a JOIN b ON a.k = b.k WHERE {condition}"
    with duckdb.connect() as peer:
        for name, rows_of in tables(rows, rows // 10).items():
            peer.register(name, rows_of)
        ((found,),) = peer.sql(f"SELECT COUNT(*) FROM ({sql})").fetchall()
    for table in "ab":
        told = effect(db, sql, table).result
        assert told.expected is not None
        assert not told.is_bound
        assert told.expected == pytest.approx(found / rows, rel=1e-9 if rows < LARGE else 0.1)


def test_rows_of_a_sample_do_not_meet_themselves() -> None:
    """Ten rows a key, of which each meets nine others; the share of the pairs that fit is told of a sample too."""
    db = database(LARGE, LARGE // 10)
    sql = "SELECT x.id, y.id AS o FROM a x JOIN a y ON x.k = y.k WHERE x.id <> y.id"
    told = effect(db, sql, "a").result
    assert told.expected is not None
    assert told.expected == pytest.approx(20.0, rel=0.2)


def test_what_cannot_be_drawn_is_a_bound() -> None:
    db = database(600, 60)
    sql = "SELECT a.id FROM a JOIN (SELECT k, COUNT(*) AS n FROM b GROUP BY k) g ON g.k = a.k WHERE a.x > g.n"
    assert effect(db, sql, "a").result.is_bound


def test_a_condition_over_an_outer_join_is_counted() -> None:
    """Each row of the result belongs to one row of the left table, which brings it and takes it along."""
    db = database(600, 60)
    sql = "SELECT a.id, b.x FROM a LEFT JOIN b ON a.k = b.k WHERE b.x IS NULL OR a.x > b.x"
    found = len(db.create_view("v", sql))
    told = effect(db, sql, "a").result
    assert not told.is_bound
    assert told.expected == pytest.approx(found / 600)


def test_statistics_that_were_given_go_before_rows() -> None:
    db = database(600, 60)
    sql = "SELECT a.id, b.x FROM a JOIN b ON a.k = b.k WHERE a.x > b.x"
    given = {"a": {"rows": 10**6}, "b": {"rows": 10**7, "distinct": {"k": 10}}}
    assert effect(db, sql, "a", statistics=given).result.is_bound


WINDOWS = {
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY id)": True,
    "RANK() OVER (ORDER BY id)": True,
    "SUM(x) OVER (PARTITION BY k ORDER BY id)": True,
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC)": True,
    "AVG(x) OVER (PARTITION BY k)": False,
}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_row_behind_all_others_changes_itself_alone(window: str) -> None:
    """The verdict says so where it is so, beside the mean of a row in the middle."""
    db = database(600, 3)
    view = db.create_view("v", f"SELECT id, {window} AS n FROM a")
    told, (one,) = view.explain().verdict, view.explain().effects
    assert one.last_alone == WINDOWS[window]
    assert ("behind all others" in told) == WINDOWS[window]
    new = -1 if "DESC" in window else 1000
    changed = db.apply("a", [(new, 1, 5, 1.0, "x")])["v"].num_rows
    assert (changed == 1) == WINDOWS[window]
    if WINDOWS[window]:
        assert one.result.expected is not None
        assert one.result.expected > 50
        assert "only itself if it comes behind all others" in " ".join(view.explain().text().split())
