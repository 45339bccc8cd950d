"""Reading views without enumeration: what is answered, what is refused, and how samples are distributed."""

from __future__ import annotations

import pickle
import re
import sys
import tracemalloc
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from any_join import ANY_JOIN
from livejoin.errors import AbsentRowError, CapacityError, ReadError, StateError
from livejoin.search.algorithm import Algorithm
from reader import rows_of

HOP2 = "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src"
EDGES = [(1, 2), (1, 2), (2, 3), (2, 4), (2, 4), (2, 4), (4, 2), (5, 1)]

by_algorithm = pytest.mark.parametrize("algorithm", ANY_JOIN)


def graph(edges: list[Any] = EDGES, columns: str = "src BIGINT, dst BIGINT") -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", columns)
    db.apply("G", edges)
    return db


@by_algorithm
def test_a_row_is_a_tuple_or_a_dict(algorithm: Algorithm) -> None:
    view = graph().create_view("v", HOP2, algorithm=algorithm)
    assert view.multiplicity((1, 2, 4)) == view.multiplicity([1, 2, 4]) == 6
    assert view.multiplicity({"c": 4, "a": 1, "b": 2}) == 6
    assert (1, 2, 4) in view
    assert (1, 2, 5) not in view
    assert (1, None, 4) not in view


@by_algorithm
def test_reading_follows_every_change(algorithm: Algorithm) -> None:
    db = graph()
    view = db.create_view("v", HOP2, algorithm=algorithm)
    for change, times in (("delete", 4), ("insert", 6), ("insert", 8)):
        db.apply("G", [{"src": 2, "dst": 4, "_change_type": change}])
        assert view.multiplicity((1, 2, 4)) == times
        assert Counter(view.at(i) for i in range(view.count())) == Counter(rows_of(view.to_arrow()))
    db.apply("G", [{"src": s, "dst": d, "_change_type": "delete"} for s, d in [*EDGES, (2, 4)]])
    assert (1, 2, 4) not in view
    with pytest.raises(ReadError, match="the result has 0 rows"):
        view.at(0)


def test_positions_are_those_of_batches() -> None:
    view = graph().create_view("v", HOP2)
    rows = [row for batch in view.batches(3) for row in rows_of(pa.Table.from_batches([batch]))]
    assert [view.at(i) for i in range(len(rows))] == rows
    assert [view.at(i - len(rows)) for i in range(len(rows))] == rows


@pytest.mark.parametrize("position", [25, -26, 1 << 70])
def test_positions_beyond_the_result(position: int) -> None:
    view = graph([(i % 5, i // 5) for i in range(25)]).create_view("v", "SELECT * FROM G")
    assert view.at(24) == view.at(-1)
    with pytest.raises(ReadError, match=rf"no row at position {position:,}: the result has 25 rows"):
        view.at(position)


@pytest.mark.parametrize("position", [1.0, "1", None])
def test_positions_are_integers(position: Any) -> None:
    with pytest.raises(ReadError, match="a position is an integer"):
        graph().create_view("v", HOP2).at(position)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1, 2), "a row has 3 columns, a, b, c; found 2 values"),
        ((1, 2, 3, 4), "found 4 values"),
        ("abc", r"a row is a tuple in the order a, b, c or a dict"),
        (7, r"found 7"),
        ({1, 2, 3}, "a row is a tuple"),
        ({"a": 1, "b": 2}, r"missing are \['c'\]"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, r"unknown are \['d'\]"),
        ((1, "2", 3), "'2' is no value of the column 'b', which has the type int64"),
        ((1, 2.5, 3), "2.5 is no value of the column 'b'"),
        ((1, 1 << 64, 3), "is no value of the column 'b'"),
        ((1, datetime(1970, 1, 1), 3), "is no value of the column 'b'"),
    ],
)
def test_rows_that_do_not_fit(row: Any, message: str) -> None:
    view = graph().create_view("v", HOP2)
    with pytest.raises(ReadError, match=message):
        view.multiplicity(row)
    with pytest.raises(ReadError, match=message):
        _ = row in view


def test_looking_up_adds_nothing() -> None:
    """Strings and wide decimals that are asked for do not enter the dictionaries; reserved values are not there."""
    db = livejoin.Database()
    db.create_table("T", "s STRING, d DECIMAL(30, 2), n BIGINT, t TIMESTAMP")
    db.apply("T", [("a", 10**25, 1, None), ("b", None, 2, None), (None, 1, None, None)])
    view = db.create_view("v", "SELECT * FROM T")
    other = db.create_view("w", "SELECT s FROM T UNION ALL SELECT upper(s) AS s FROM T")
    entries = db._contents.codec.entries
    reserved = 0x7FF94E554C4C0001
    assert view.multiplicity(("a", 10**25, 1, None)) == 1
    assert view.multiplicity((None, 1, None, None)) == 1
    for row in [("z", 10**25, 1, None), ("a", 10**25 + 1, 1, None), ("a", 10**25, reserved, None), ("", 1, 1, None)]:
        assert row not in view
    with pytest.raises(ReadError, match="does not use all columns of 'T'"):
        other.multiplicity(("A",))
    assert db._contents.codec.entries == entries


def test_values_have_to_be_those_of_the_type() -> None:
    """Nothing is rounded or cut off on the way."""
    db = livejoin.Database()
    db.create_table("T", "d DATE, p DECIMAL(9, 2), x DOUBLE, k INT")
    db.apply("T", [(date(2024, 2, 29), Decimal("1.50"), 2.0, 3)])
    view = db.create_view("v", "SELECT d, p, x, ARRAY_AGG(k) AS ks FROM T GROUP BY d, p, x")
    assert (date(2024, 2, 29), Decimal("1.5"), 2, [3]) in view
    assert (date(2024, 2, 29), Decimal("1.5"), 2, [3, 3]) not in view
    for row in [
        (datetime(2024, 2, 29, 1), Decimal("1.5"), 2.0, [3]),
        (date(2024, 2, 29), Decimal("1.505"), 2.0, [3]),
        (date(2024, 2, 29), Decimal("1.5"), (1 << 53) + 1, [3]),
        (date(2024, 2, 29), Decimal("1.5"), 2.0, 3),
    ]:
        with pytest.raises(ReadError, match="is no value of the column"):
            view.multiplicity(row)


def test_doubles_are_compared_as_they_are_grouped() -> None:
    db = livejoin.Database()
    db.create_table("T", "x DOUBLE")
    db.apply("T", [(0.0,), (-0.0,), (float("nan"),), (None,)])
    view = db.create_view("v", "SELECT x, x * 2 AS y FROM T")
    assert view.multiplicity((-0.0, 0.0)) == 2
    assert view.multiplicity((float("nan"), float("nan"))) == 1
    assert view.multiplicity((None, None)) == 1
    assert (None, 0.0) not in view


class TestRefusals:
    """What nothing that is kept can tell is refused with the reason and what would help."""

    def refused(self, db: livejoin.Database, sql: str, row: Any, message: str, algorithm: Algorithm = "auto") -> None:
        view = db.create_view(f"v{len(db.views)}", sql, algorithm=algorithm)
        with pytest.raises(ReadError, match=message):
            view.multiplicity(row)
        assert [view.at(i) for i in range(view.count())] == rows_of(view.to_arrow())

    def test_join_columns_that_are_not_shown(self) -> None:
        sql = "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src"
        for algorithm in ("crown", "dyn"):
            message = r"does not show A\.dst.*COUNT\(\*\) and GROUP BY"
            self.refused(graph(), sql, (1, 4), message, algorithm)  # type: ignore[arg-type]
        assert graph().create_view("chain", sql, algorithm="change-propagation").multiplicity((1, 4)) == 6
        counted = f"{sql.replace('SELECT', 'SELECT COUNT(*) AS n,')} GROUP BY A.src, B.dst"
        assert (6, 1, 4) in graph().create_view("counted", counted)

    def test_columns_that_are_computed(self) -> None:
        self.refused(graph(), "SELECT src + 1 AS x FROM G", (2,), r"does not show G\.src")
        assert graph().create_view("v", "SELECT src, dst, src + 1 AS x FROM G").multiplicity((2, 4, 3)) == 3

    def test_columns_of_a_group_that_are_not_shown(self) -> None:
        self.refused(graph(), "SELECT COUNT(*) + 1 AS n FROM G GROUP BY src", (3,), "'n' is computed from columns")

    def test_rows_that_no_index_leads_to(self) -> None:
        self.refused(graph(), "SELECT src FROM G", (2,), "does not use all columns of 'G'")
        self.refused(graph(), "SELECT A.src, B.dst FROM G A, G B", (2, 4), "does not use all columns of 'G'")


@by_algorithm
def test_tables_with_columns_that_are_not_used(algorithm: Algorithm) -> None:
    """Rows are found by the primary key, or among those with the key of the join."""
    db = livejoin.Database()
    db.create_table("P", "id INT PRIMARY KEY, name STRING, note STRING")
    db.create_table("S", "id INT, amount INT, day DATE, note STRING")
    db.apply({"P": [(i, f"n{i % 2}", "x") for i in range(5)], "S": [(i % 4, i % 3, None, str(i)) for i in range(24)]})
    sql = "SELECT P.id, name, amount FROM P JOIN S ON P.id = S.id"
    view = db.create_view("v", sql, algorithm=algorithm)
    whole = Counter(rows_of(view.to_arrow()))
    assert {row: view.multiplicity(row) for row in whole} == whole
    assert (4, "n0", 0) not in view
    assert (1, "n0", 0) not in view
    pairs = db.create_view("w", "SELECT A.id, A.amount FROM S A JOIN P ON A.id = P.id", algorithm=algorithm)
    whole = Counter(rows_of(pairs.to_arrow()))
    assert {row: pairs.multiplicity(row) for row in whole} == whole
    assert (0, 7) not in pairs


@by_algorithm
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT A.src, A.dst FROM G A JOIN G B ON A.dst = B.src",
        "SELECT DISTINCT A.src, A.dst, B.dst AS c FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
        "SELECT A.src, A.dst, COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src, A.dst",
        "SELECT src, dst FROM G WHERE dst <> 4",
        "SELECT DISTINCT src FROM G WHERE dst <> 4",
    ],
)
def test_rows_of_tables_that_join_nothing(algorithm: Algorithm, sql: str) -> None:
    """Values that the tables have in just these columns, but that are no result."""
    view = graph().create_view("v", sql, algorithm=algorithm)
    whole = Counter(rows_of(view.to_arrow()))
    asked = list(product(range(1, 9), repeat=len(view.schema)))
    assert {row: times for row in asked if (times := view.multiplicity(row))} == whole


@by_algorithm
@pytest.mark.parametrize(
    "sql",
    [
        HOP2,
        "SELECT DISTINCT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src",
        "SELECT A.src, COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
        "SELECT src FROM G EXCEPT ALL SELECT dst FROM G WHERE dst = 4",
        "SELECT src, dst FROM G UNION ALL SELECT dst, src FROM G",
        "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src ORDER BY 2, 1 LIMIT 5 OFFSET 1",
        "SELECT A.src x, A.dst y, B.dst z FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    ],
)
def test_samples_are_uniform(algorithm: Algorithm, sql: str) -> None:
    """Pearson's chi-squared test with a fixed seed, before and after a change."""
    db = graph([*EDGES, (3, 1), (4, 5), (5, 5)])
    view = db.create_view("v", sql, algorithm=algorithm)
    before = assert_uniform(view, 11)
    kinds = ["insert", "insert", "delete", "delete", "delete"]
    db.apply("G", pa.table({"src": [1, 2, 4, 2, 3], "dst": [2, 5, 2, 4, 1], "_change_type": kinds}))
    after = assert_uniform(view, 12)
    assert before - after, "rows have gone"


def assert_uniform(view: livejoin.View, seed: int) -> Counter[Any]:
    """Assert that a sample has every row as often as the result makes likely; the result."""
    whole = Counter(rows_of(view.to_arrow()))
    drawn = Counter(rows_of(view.sample(20_000, seed=seed)))
    assert drawn.keys() == whole.keys()
    observed = [drawn[row] for row in whole]
    expected = [20_000 * times / whole.total() for times in whole.values()]
    if (freedom := len(whole) - 1) > 0:
        distance = sum((seen - due) ** 2 / due for seen, due in zip(observed, expected, strict=True))
        assert distance < chi_square_bound(freedom)
    return whole


def chi_square_bound(freedom: int) -> float:
    """What chi square is above once in 10,000 times (Wilson and Hilferty 1931: its cube root is nearly normal)."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + NormalDist().inv_cdf(1 - 1e-4) * spread**0.5) ** 3


def test_samples_are_repeatable() -> None:
    view = graph().create_view("v", HOP2)
    assert view.sample(50, seed=3).equals(view.sample(50, seed=3))
    assert not view.sample(50, seed=3).equals(view.sample(50, seed=4))
    assert view.sample(0).schema.equals(view.schema)


@pytest.mark.parametrize("rows", [-1, 2.5, "3"])
def test_sizes_of_samples_are_natural_numbers(rows: Any) -> None:
    with pytest.raises(ReadError, match="allowed is a whole number from 0"):
        graph().create_view("v", HOP2).sample(rows)


@pytest.mark.parametrize("algorithm", ["crown", "dyn"])
def test_results_of_any_size(algorithm: Algorithm) -> None:
    """27 * 10^12 rows are read by position and sampled; 8.1 * 10^17 * 10^3 have no positions."""
    db = livejoin.Database()
    db.create_table("T", "x INT")
    db.apply("T", [(i,) for i in range(30_000)])
    cube = db.create_view("cube", "SELECT A.x a, B.x b, C.x c FROM T A, T B, T C", deltas=False, algorithm=algorithm)
    assert cube.count() == 30_000**3
    places = {cube.at(i * 30_000**2 + j * 30_000 + k) for i, j, k in [(7, 8, 9), (29_999, 0, 1), (0, 0, 29_999)]}
    assert {tuple(sorted(place)) for place in places} == {(7, 8, 9), (0, 1, 29_999), (0, 0, 29_999)}
    assert cube.sample(1000, seed=1).num_rows == 1000
    assert (7, 8, 30_000) not in cube
    texts = ", ".join(f"{alias}.x {alias.lower()}" for alias in "ABCDE")
    large = f"SELECT {texts} FROM {', '.join(f'T {alias}' for alias in 'ABCDE')}"
    huge = db.create_view("huge", large, deltas=False, algorithm=algorithm)
    for read in (lambda: huge.at(0), lambda: huge.sample(1), huge.count):
        with pytest.raises(CapacityError, match="64 bits"):
            read()
    assert (1, 2, 3, 4, 5) in huge


def test_multiplicities_beyond_64_bits() -> None:
    db = livejoin.Database()
    db.create_table("T", "x INT")
    db.apply("T", [(1,)] * 70_000)
    for algorithm in ("crown", "dyn"):
        sql = "SELECT A.x a, B.x b, C.x c, D.x d FROM T A, T B, T C, T D"
        view = db.create_view(algorithm, sql, deltas=False, algorithm=algorithm)  # type: ignore[arg-type]
        with pytest.raises(CapacityError, match="64 bits"):
            view.multiplicity((1, 1, 1, 1))


@by_algorithm
@pytest.mark.parametrize("deltas", [True, False])
def test_counts_follow_changes(algorithm: Algorithm, deltas: bool) -> None:
    db = graph([])
    views = [
        db.create_view("hop", HOP2, deltas=deltas, algorithm=algorithm),
        db.create_view("ends", "SELECT DISTINCT A.src FROM G A JOIN G B ON A.dst = B.src", deltas=deltas),
        db.create_view("sums", "SELECT src, SUM(dst) AS s FROM G GROUP BY src", deltas=deltas),
        db.create_view("many", "SELECT src, SUM(dst) AS s FROM G GROUP BY src HAVING COUNT(*) > 1", deltas=deltas),
        db.create_view("both", "SELECT src FROM G UNION ALL SELECT dst FROM G", deltas=deltas),
    ]
    for edges in (EDGES, [(1, 2)], EDGES):
        before = [view.count() for view in views]
        db.apply("G", edges)
        for view in views:
            assert view.count() == view.count() == view.to_arrow().num_rows
        assert [view.count() for view in views] != before
        with pytest.raises(livejoin.errors.AbsentRowError):
            db.apply("G", [{"src": 9, "dst": 9, "_change_type": "delete"}])
        assert [view.count() for view in views] == [view.to_arrow().num_rows for view in views]


def test_a_slow_reader_holds_one_batch() -> None:
    """A million rows of a join of a thousand, of which a reader sees one batch at a time."""
    view = graph([(i % 2, i) for i in range(1000)], "k INT, x INT").create_view(
        "v", "SELECT A.k, A.x AS a, B.x AS b FROM G A JOIN G B ON A.k = B.k", deltas=False
    )
    next(view.batches(1000))
    tracemalloc.start()
    pool = pa.total_allocated_bytes()
    most = rows = 0
    for batch in view.batches(1000):
        rows += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - pool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == view.count() == 500_000
    assert most + peak < 1_000_000  # the whole result has 6 MB


def test_batches_end_when_the_view_changes() -> None:
    db = graph()
    view = db.create_view("v", HOP2)
    reader = view.batches(2)
    next(reader)
    db.apply("G", [(1, 2)])
    with pytest.raises(ReadError, match="changed while it was read"):
        next(reader)


def test_commits_of_other_tables_do_not_disturb() -> None:
    """Neither who reads in batches, nor what was counted for reading by position."""
    db = graph()
    db.create_table("T", "x INT")
    view = db.create_view("v", HOP2, deltas=False)
    rows = [view.at(i) for i in range(view.count())]
    access = view._access
    seen = []
    for batch in view.batches(2):
        seen += rows_of(pa.Table.from_batches([batch]))
        db.apply("T", [(len(seen),)])
    assert seen == rows
    assert view._access is access
    assert view.count() == len(rows)


def test_a_dropped_view_is_not_read() -> None:
    db = graph()
    view = db.create_view("v", HOP2)
    db.drop_view("v")
    for read in (lambda: view.at(0), lambda: view.sample(1), lambda: view.multiplicity((1, 2, 4))):
        with pytest.raises(ReadError, match="was dropped"):
            read()


def test_a_row_that_python_cannot_hold() -> None:
    """Arrow's dates go on after the year 9999."""
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, d DATE")
    view = db.create_view("v", "SELECT k, d FROM T")
    late = pa.table({"k": [1], "d": pa.array([2**30], pa.int32()).cast(pa.date32())})
    db.apply("T", late)
    with pytest.raises(ReadError, match=r"column 'd' of the row \(k = 1, d = 1073741824 .*to_arrow"):
        view.at(0)
    assert view.to_arrow().equals(late)
    absent = late.append_column("_change_type", pa.array(["delete"]))
    db.apply("T", absent)
    with pytest.raises(AbsentRowError, match=r"the row \(k = 1, d = 1073741824"):
        db.apply("T", absent)


def test_pandas_has_no_dates_after_9999() -> None:
    database = livejoin.Database()
    database.execute("CREATE TABLE days (d DATE)")
    view = database.create_view("v", "SELECT d FROM days")
    database.apply("days", pa.table({"d": pa.array([100_000_000], pa.int32()).cast(pa.date32())}))
    with pytest.raises(ReadError, match=r"pandas has no objects for column 'd': .*1 to 9999; .*to_arrow\(\).*to_numpy"):
        view.to_pandas()
    assert view.to_arrow().num_rows == 1


def test_months_are_refused_for_polars_which_has_no_such_type() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (id BIGINT, `a b` INTERVAL YEAR TO MONTH, m INTERVAL YEAR TO MONTH)")
    view = db.create_view("v", "SELECT * FROM t")
    for rows in (0, 1):  # Polars panics without rows, and fails with some
        if rows:
            db.execute("INSERT INTO t VALUES (1, INTERVAL '1-3' YEAR TO MONTH, NULL)")
        assert len(view.to_pandas()) == rows
        for readable in (view, db.snapshot()["v"]):
            with pytest.raises(ReadError, match=r"columns 'a b', 'm' are.*CAST\(`a b` AS INT\) AS `a b`"):
                readable.to_polars()
    advised = db.create_view("w", "SELECT CAST(`a b` AS INT) AS `a b`, CAST(m AS INT) AS m FROM t")
    assert advised.to_polars().rows() == [(15, None)]


@pytest.mark.parametrize(("package", "extra"), [("polars", "pip install polars"), ("pandas", "livejoin[notebook]")])
def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, package: str, extra: str) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (id BIGINT); CREATE VIEW v AS SELECT id FROM t")
    monkeypatch.setitem(sys.modules, package, None)  # an import of it fails
    with pytest.raises(ReadError, match=re.escape(extra)):
        getattr(db.views["v"], f"to_{package}")()


def test_tables_are_read_as_views_are(tmp_path: Path) -> None:
    with livejoin.open(tmp_path / "shop") as db:
        db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name STRING); CREATE TABLE bag (n INT)")
        table, bag = db.tables["t"], db.tables["bag"]
        assert (len(table), bool(table), table.to_pylist(), list(table)) == (0, False, [], [])
        db.apply({"t": [(1, "Ada"), (2, None)], "bag": [(7,), (7,), (8,)]})
        db.apply("bag", [{"n": 7, "_change_type": "delete"}])
        rows = [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}]
        assert (len(table), table.to_pylist(), sorted(table)[0]) == (2, rows, (1, "Ada"))
        assert table.to_pandas()["id"].tolist() == table.to_polars()["id"].to_list() == [1, 2]
        assert pa.table(table).schema == table.schema == table.to_arrow().schema
        assert (bag.count(), sorted(bag)) == (2, [(7,), (8,)])
        with db.snapshot() as at:  # of its own version, while the table has the present one
            db.execute("DELETE FROM t WHERE id = 1")
            assert (len(table), len(at["t"])) == (1, 2)
        db.execute("ALTER TABLE t ADD COLUMN more INT")
        assert table.to_pylist() == [{"id": 2, "name": None, "more": None}]
        db.drop_table("t")
        for read in (len, list, lambda it: it.to_pandas()):
            with pytest.raises(ReadError, match="there is no table 't' any more; known are bag"):
                read(table)
    with pytest.raises(StateError, match="closed"):
        bag.to_arrow()


def test_a_table_that_is_read_is_still_its_declaration() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name STRING)")
    declared, table = db._contents.catalog["t"], db.tables["t"]
    assert table == declared == table == db.tables["t"]
    assert len({table, declared, db.tables["t"]}) == 1
    copied = pickle.loads(pickle.dumps(table))
    assert (type(copied), copied) == (type(declared), declared)
    db.execute("ALTER TABLE t ADD COLUMN more INT")
    assert table == declared != db.tables["t"]
