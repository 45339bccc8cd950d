"""Window functions over parts of partitions: after every commit what DuckDB gives, deltas included."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from livejoin import Commit, Database
from livejoin.errors import CapacityError, UnsupportedQueryError
from livejoin.kernels.compiling import signatures
from livejoin.kernels.ordered import partitions, running
from oracle import connect, multiset, signed_multiset, without_zeros
from reader import check_reading
from strategies import IS_FUZZ, seeds
from window_views import SCHEMA, VALUES, VIEWS, Row, changed

COMMITS = 40 if IS_FUZZ else 6


def apply(databases: Sequence[Database], changes: dict[str, list[tuple[Row, str]]]) -> list[Commit]:
    """Bring changes into each of some databases."""
    tables = databases[0].tables
    given = {
        name: [
            {**{one.name: value for one, value in zip(tables[name].columns, row, strict=True)}, "_change_type": kind}
            for row, kind in listed
        ]
        for name, listed in changes.items()
    }
    return [database.apply(given) for database in databases]


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    draw, database, sums = random.Random(seed), Database(threads=2 - seed % 2), dict[str, Counter[Row]]()
    for statement in SCHEMA.strip().splitlines():
        database.execute(statement)
    views = {f"v{i}": database.create_view(f"v{i}", sql) for i, sql in enumerate(VIEWS)}
    rows: dict[str, list[Row]] = {name: [] for name in VALUES}
    for _ in range(COMMITS):
        changes = changed(rows, draw)
        (commit,) = apply([database], changes)
        with connect() as connection:
            connection.execute(SCHEMA)
            for name, listed in rows.items():
                for row in listed:
                    connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", row)
            for (name, view), sql in zip(views.items(), VIEWS, strict=True):
                result = connection.sql(sql).to_arrow_table()
                expected = multiset(result)
                found = multiset(view.to_arrow())
                assert (found - expected, expected - found) == (Counter(), Counter()), (sql, rows)
                sums.setdefault(name, Counter()).update(signed_multiset(commit[name]))
                assert without_zeros(sums[name]) == expected, (sql, rows)
                check_reading(view, result, draw)


def test_explain_says_what_a_change_costs() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    told = database.explain("SELECT b, SUM(b) OVER (PARTITION BY a ORDER BY b) AS s FROM R")
    assert "also changes the running aggregates of the rows behind it" in " ".join(str(told).split())
    assert any("up to the last row with its keys of each partition" in line for line in told.operators)
    for sql in ("LAG(b) OVER (PARTITION BY a ORDER BY b)", "SUM(b) OVER (PARTITION BY a ORDER BY b ROWS 2 PRECEDING)"):
        told = database.explain(f"SELECT b, {sql} AS s FROM R")
        assert "also changes" not in str(told)
    for call, cost in (("SUM(b)", "O(1) for each"), ("SUM(CAST(b AS DOUBLE))", "O(3) for each")):
        told = database.explain(f"SELECT b, {call} OVER (PARTITION BY a ORDER BY b ROWS 2 PRECEDING) AS s FROM R")
        assert any("around each row of each partition" in line and cost in line for line in told.operators)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_snapshot_goes_on(tmp_path: Path, trusted: bool) -> None:
    draw, database = random.Random(5), Database()
    for statement in SCHEMA.strip().splitlines():
        database.execute(statement)
    names = [database.create_view(f"v{i}", sql).name for i, sql in enumerate(VIEWS)]
    rows: dict[str, list[Row]] = {name: [] for name in VALUES}
    for _ in range(3):
        apply([database], changed(rows, draw))
    database.save(tmp_path / "saved")
    loaded = Database.load(tmp_path / "saved", trusted=trusted)
    for _ in range(3):
        apply([database, loaded], changed(rows, draw))
        loaded._check()
        for name in names:
            assert multiset(loaded.views[name].to_arrow()) == multiset(database.views[name].to_arrow())


def test_averages_of_decimals_are_rounded_once() -> None:
    draw, database = random.Random(3), Database()
    database.execute("CREATE TABLE N (id INT PRIMARY KEY, n DECIMAL(9, 2), w DECIMAL(30, 3), i BIGINT)")
    view = database.create_view("v", "SELECT id, AVG(n) OVER (ORDER BY id) AS n FROM N")
    wide = database.create_view("w", "SELECT id, AVG(w) OVER (ORDER BY id) AS w, AVG(i) OVER (ORDER BY id) AS i FROM N")
    mills = 10**25
    rows = [
        (
            i,
            Decimal(draw.randrange(-999, 999)) / 100,
            Decimal(draw.randrange(-mills, mills)) / 1000,
            draw.getrandbits(61),
        )
        for i in range(60)
    ]
    database.apply("N", rows)
    sums = [Fraction(0)] * 3
    for row, narrow, other in zip(rows, view.to_arrow().to_pylist(), wide.to_arrow().to_pylist(), strict=True):
        sums = [before + Fraction(value) for before, value in zip(sums, row[1:], strict=True)]
        means = [total / (row[0] + 1) for total in sums]
        assert abs(Fraction(narrow["n"]) - means[0]) <= Fraction(1, 2 * 10**6)
        assert abs(Fraction(other["w"]) - means[1]) <= Fraction(1, 2 * 10**7)
        assert other["i"] == float(means[2])


def test_sums_beyond_their_type() -> None:
    database = Database()
    database.execute("CREATE TABLE N (id INT PRIMARY KEY, w DECIMAL(38, 0), i BIGINT)")
    view = database.create_view("v", "SELECT id, SUM(i) OVER (ORDER BY id) AS i FROM N")
    database.create_view("w", "SELECT id, SUM(w) OVER (ORDER BY id) AS w FROM N")
    database.apply("N", [(1, 9 * Decimal(10) ** 37, 1 << 62), (2, 0, 1)])
    with pytest.raises(CapacityError, match="BIGINT cannot hold"):
        database.apply("N", [(3, 0, 1 << 62)])
    with pytest.raises(CapacityError, match="needs more than 128 bits"):
        database.apply("N", [(3, 9 * Decimal(10) ** 37, 0)])
    assert view.to_arrow()["i"].to_pylist() == [1 << 62, (1 << 62) + 1]
    database.apply("N", [(3, -1, -1)])
    assert view.to_arrow()["i"].to_pylist() == [1 << 62, (1 << 62) + 1, 1 << 62]
    database._check()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("SUM(b) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)", "by EXCLUDE"),
        ("COUNT(*) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)", "EXCLUDE"),
        ("NTH_VALUE(b, 0) OVER (ORDER BY a)", "from 1 to 10,000"),
        ("NTH_VALUE(b, a) OVER (ORDER BY a)", "from 1 to 10,000"),
        ("NTH_VALUE(b, 2) OVER (PARTITION BY a)", "needs an order"),
        ("NTH_VALUE(b, 2) IGNORE NULLS OVER (ORDER BY a ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)", "so many"),
        ("NTH_VALUE(b, 2) OVER (ORDER BY a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)", "write ROWS"),
        ("NTILE(0) OVER (ORDER BY a)", "from 1 to 10,000"),
        ("NTILE(b) OVER (ORDER BY a)", "whole number of tiles"),
        ("NTILE(2) OVER (PARTITION BY a)", "needs an order"),
        ("NTILE(2) OVER (ORDER BY a ROWS 2 PRECEDING)", "OVER a frame is not supported"),
        ("PERCENT_RANK() OVER (PARTITION BY a)", "needs an order"),
        ("CUME_DIST() OVER (ORDER BY a ROWS 2 PRECEDING)", "OVER a frame is not supported"),
    ],
)
def test_what_is_refused_says_what_to_write(function: str, said: str) -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    with pytest.raises(UnsupportedQueryError, match=said):
        database.create_view("v", f"SELECT a, {function} AS w FROM R")


def test_a_row_by_its_number_that_stays_is_not_in_the_delta() -> None:
    database = Database()
    database.execute("CREATE TABLE R (id INT PRIMARY KEY, x INT)")
    database.create_view("v", "SELECT id, NTH_VALUE(x, 3) OVER (ORDER BY id) AS w FROM R")
    database.apply("R", [(i, 10 * i) for i in range(1, 9)])
    changed = database.apply("R", [{"id": 5, "x": 50, "_change_type": "delete"}])["v"]
    assert changed.column("id").to_pylist() == [5]
    changed = database.apply("R", [{"id": 1, "x": 10, "_change_type": "delete"}])["v"]
    assert sorted(changed.column("id").to_pylist()) == [1, 3, 3, 4, 4, 6, 6, 7, 7, 8, 8]  # of row 2 it stays NULL


def test_a_row_that_comes_moves_one_row_at_each_border_of_tiles() -> None:
    database = Database()
    database.execute("CREATE TABLE R (id INT PRIMARY KEY)")
    view = database.create_view("v", "SELECT id, NTILE(4) OVER (ORDER BY id) AS w FROM R")
    database.apply("R", [(2 * i,) for i in range(400)])
    changed = database.apply("R", [(1,)])["v"]
    assert sorted(set(changed.column("id").to_pylist())) == [1]  # the first tile has one more
    changed = database.apply("R", [(3,)])["v"]
    assert sorted(set(changed.column("id").to_pylist())) == [3, 198]
    database._check()
    assert [row["w"] for row in view.to_arrow().sort_by("id").to_pylist()].count(1) == 101
    told = str(database.explain(view.sql))
    assert "cuts the rows into 4 tiles" in told


def test_a_view_without_a_partition_needs_no_other_kernel() -> None:
    """A kernel is compiled again for an array that may not be written to, which takes the first commit a minute."""
    database = Database()
    database.execute("CREATE TABLE R (id INT, x INT)")
    frame = "OVER (ORDER BY id ROWS 2 PRECEDING)"
    database.create_view("v", f"SELECT id, MAX(x) {frame} AS w FROM R")
    database.create_view("ranks", "SELECT id, RANK() OVER (ORDER BY id) AS w FROM R")
    database.apply("R", [(1, 5)])
    database.apply("R", [(2, 4), (3, 3), (4, 9)])
    assert [row["w"] for row in database.views["v"].to_arrow().sort_by("id").to_pylist()] == [5, 5, 5, 9]
    for kernel in (running.maintain, partitions.maintain):
        kinds = [signatures.described(kernel.py_func, types) for types in kernel.signatures]
        assert kinds
        assert not [kind for kind in kinds if "readonly array" in kind]
