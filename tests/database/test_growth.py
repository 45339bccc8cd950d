"""Thousands of rows: the small random cases never grow a buffer, these do, many times, and are compared in DuckDB."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import livejoin
from oracle import connect
from strategies import IS_FUZZ

QUERIES = {
    "hop3": (
        "SELECT A.src AS a, B.src AS b, C.src AS c, C.dst AS d FROM G A JOIN G B ON A.dst = B.src "
        "JOIN G C ON B.dst = C.src WHERE C.dst % 10 = 0"
    ),
    "star": "SELECT G.src, G.w, N.name, M.name AS other FROM G JOIN N ON G.src = N.id JOIN N M ON G.src = M.id",
    "comb": "SELECT A.w, N.name FROM G A, G B, N, G C WHERE A.dst = B.src AND B.w = N.id AND C.src = B.src AND C.w = 3",
    "payload": "SELECT name, id FROM N WHERE length(name) > 12",
}


def changes(random: np.random.Generator, rows: int, nodes: int) -> pa.Table:
    """Edges with a skewed source."""
    src = np.minimum(random.zipf(1.5, rows), nodes).astype(np.int64)
    return pa.table({"src": src, "dst": random.integers(0, nodes, rows), "w": random.integers(0, 40, rows)})


def names(random: np.random.Generator, rows: int, nodes: int) -> pa.Table:
    ids = random.integers(0, nodes, rows)
    texts = [None if i % 11 == 0 else f"name {i} " + "x" * (int(i) % 30) for i in ids]
    return pa.table({"id": ids, "name": pa.array(texts, pa.string())})


def assert_equal_in_duckdb(found: pa.Table, expected_sql: str, connection: duckdb.DuckDBPyConnection) -> None:
    connection.register("found", found)
    extra = connection.sql(f"SELECT * FROM found EXCEPT ALL ({expected_sql}) LIMIT 5").fetchall()
    missing = connection.sql(f"({expected_sql}) EXCEPT ALL SELECT * FROM found LIMIT 5").fetchall()
    assert (extra, missing) == ([], [])


@pytest.mark.parametrize("granularity", ["commit", "change"])
def test_large_commits_with_deletions(granularity: str) -> None:
    random = np.random.default_rng(20240501)
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT, w INT)")
    db.execute("CREATE TABLE N (id BIGINT, name STRING)")
    for name, sql in QUERIES.items():
        db.create_view(name, sql)
    db.create_view("quiet", QUERIES["hop3"], deltas=False)
    connection = connect()
    base = {"G": changes(random, 0, 1), "N": names(random, 0, 1)}
    base = {t: db.tables[t].arrow.empty_table() for t in base}
    sums = dict.fromkeys(QUERIES, 0)
    sequence = 0
    for rows in (10, 1500, 600, 0, 900):
        fresh = {
            "G": changes(random, rows, 400).cast(base["G"].schema),
            "N": names(random, rows // 4, 400).cast(base["N"].schema),
        }
        log = {}
        for table, new in fresh.items():
            keep = random.random(base[table].num_rows) > (1.0 if rows == 0 else 0.4) - 1e-9
            gone = base[table].filter(pa.array(~keep))
            kinds = ["delete"] * gone.num_rows + ["insert"] * new.num_rows
            log[table] = pa.concat_tables([gone, new]).append_column("_change_type", pa.array(kinds, pa.string()))
            log[table] = log[table].append_column("_seq", pa.array(range(sequence, sequence + len(kinds)), pa.int64()))
            sequence += len(kinds)
            base[table] = pa.concat_tables([base[table].filter(pa.array(keep)), new])
        commit = db.replay(log, granularity=granularity) if granularity == "change" else db.apply(log)
        db._check()
        for name, rows_table in base.items():
            connection.register(name, rows_table)
        for name, sql in QUERIES.items():
            view = db.views[name]
            assert_equal_in_duckdb(view.to_arrow(), sql, connection)
            kinds = commit[name]["_change_type"].to_numpy(zero_copy_only=False)
            sums[name] += int((kinds == "insert").sum() - (kinds == "delete").sum())
            assert view.count() == sums[name] == connection.sql(f"SELECT count(*) FROM ({sql})").fetchall()[0][0]
        assert_equal_in_duckdb(db.views["quiet"].to_arrow(), QUERIES["hop3"], connection)


def test_a_heavy_key_and_large_multiplicities() -> None:
    """One key with thousands of rows on both sides, and one row a thousand times."""
    db = livejoin.Database()
    db.execute("CREATE TABLE L (k BIGINT, x BIGINT)")
    db.execute("CREATE TABLE R (k BIGINT, y BIGINT)")
    view = db.create_view("both", "SELECT x, y FROM L JOIN R USING (k)")
    db.apply({"L": pa.table({"k": [7] * 3000, "x": range(3000)}), "R": [(7, 1)] * 1000})
    assert view.count() == 3_000_000
    commit = db.apply("R", pa.table({"k": [7] * 999, "y": [1] * 999, "_change_type": ["delete"] * 999}))
    assert commit["both"].num_rows == 3000 * 999
    assert view.count() == view.to_arrow().num_rows == 3000
    commit = db.apply("R", [{"k": 7, "y": 1, "_change_type": "delete"}])
    assert commit["both"].num_rows == 3000
    assert view.count() == 0
    db._check()


def test_strings_and_decimals_that_come_and_go() -> None:
    """Dictionary codes of values that are gone are used again; rows, old deltas and snapshots keep their own values."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT, name STRING, wide DECIMAL(38, 5))")
    view = db.create_view("pairs", "SELECT A.name, B.wide FROM T A JOIN T B ON A.name = B.name AND A.wide = B.wide")
    schema = db.tables["T"].arrow
    live: pa.Table = schema.empty_table()
    kept: list[tuple[pa.Table, list[dict[str, object]]]] = []
    connection = connect()
    for turn in range(12 if IS_FUZZ else 6):
        ids = np.arange(turn * 3000, turn * 3000 + 3000)
        fresh = pa.table(
            [ids, [f"name {i}" if i % 7 else None for i in ids], [Decimal(int(i)) * 10**20 for i in ids]], schema=schema
        )
        gone = live.slice(50 * turn)
        kinds = ["delete"] * gone.num_rows + ["insert"] * fresh.num_rows
        data = pa.concat_tables([gone, fresh]).append_column("_change_type", pa.array(kinds, pa.string()))
        if turn % 3 == 1:
            with pytest.raises(livejoin.errors.AbsentRowError):
                db.apply("T", pa.concat_tables([data, data]))
        delta = db.apply("T", data)["pairs"]
        kept.append((delta, delta.slice(0, 20).to_pylist()))
        live = pa.concat_tables([live.slice(0, 50 * turn), fresh])
        connection.register("T", live)
        assert_equal_in_duckdb(view.to_arrow(), view.sql, connection)
        db._check()
    assert db._contents.codec.entries < 4 * 2 * live.num_rows, "values that no row uses are forgotten"
    for delta, first in kept:
        assert delta.slice(0, 20).to_pylist() == first


def test_a_window_forgets_rows_that_are_deleted_before_they_are_old() -> None:
    """State is linear in the rows that are there, also where explicit deletions keep the window from filling."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=100)
    view = db.create_view("hop2", "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src")
    db.apply("G", [(-1, -1)])
    bytes_used = []
    for turn in range(60):
        rows = pa.table({"src": range(turn * 90, turn * 90 + 90), "dst": range(turn * 90, turn * 90 + 90)})
        db.apply("G", rows)
        db.apply("G", rows.append_column("_change_type", pa.array(["delete"] * 90)))
        bytes_used.append(view.stats()["state_bytes"] + db._contents.tables["g"].nbytes)
    assert view.count() == 1
    db._check()
    assert bytes_used[-1] <= 2 * bytes_used[9], bytes_used
