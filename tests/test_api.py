"""The embedded API as the README shows it: every name of the contract, with the forms of data that it accepts."""

from __future__ import annotations

import importlib.resources
import json
import re
import subprocess
import sys
from functools import partial
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeFormatError, ReadError, SqlSyntaxError
from oracle import multiset, signed_multiset

SQL = (
    "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d "
    "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 10 = 0"
)
EDGES = [(1, 2), (2, 3), (3, 10), (3, 4), (4, 20)]
PATHS = [(1, 2, 3, 10), (2, 3, 4, 20)]


def test_the_contract_as_it_is_written() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = db.create_view("hop3", SQL)
    commit = db.apply("G", EDGES)
    assert commit.version == 1
    assert isinstance(commit.version, int)
    delta = commit["hop3"]
    assert isinstance(delta, pa.Table)
    assert delta.schema.names == ["a", "b", "c", "d", "_change_type", "_commit_version"]
    assert signed_multiset(delta) == dict.fromkeys(PATHS, 1)
    assert delta["_change_type"].to_pylist() == ["insert", "insert"]
    assert delta["_commit_version"].to_pylist() == [1, 1]
    assert commit.views == ("hop3",)
    assert commit.changes == 5
    assert commit.ignored == 0

    log = pa.table(
        {
            "src": pa.array([5, 3, 2], pa.int64()),
            "dst": pa.array([1, 10, 3], pa.int64()),
            "_change_type": ["insert", "delete", "delete"],
            "_seq": pa.array([7, 8, 9], pa.int64()),
        }
    )
    commit = db.replay({"G": log}, granularity="change")
    assert commit.version == db.version == 4
    assert commit["hop3"].to_pylist() == [
        {"a": 1, "b": 2, "c": 3, "d": 10, "_change_type": "delete", "_commit_version": 3},
        {"a": 2, "b": 3, "c": 4, "d": 20, "_change_type": "delete", "_commit_version": 4},
    ]

    assert view.to_arrow().schema == view.schema == pa.schema([(c, pa.int64()) for c in "abcd"])
    assert view.to_arrow().num_rows == view.count() == len(view.to_pandas()) == 0
    assert list(view.batches(max_rows=65536)) == []
    assert str(view.explain()).startswith("verdict ") and view.sql in str(view.explain())
    assert {"state_bytes", "rows", "changes", "delta_rows", "commits"} <= set(view.stats())
    assert db.views["hop3"] is view
    assert view.name == "hop3"
    assert list(db.tables) == ["G"]


def test_a_view_is_read_by_whatever_reads_arrow() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, name STRING)")
    view = db.create_view("named", "SELECT name, src FROM G ORDER BY src")
    assert list(view) == view.to_pylist() == []
    assert len(view) == 0
    db.apply("G", [(2, "two"), (1, None), (2, "two")])
    rows = [(None, 1), ("two", 2), ("two", 2)]
    assert list(view) == rows
    assert len(view) == view.count() == 3
    assert view.to_pylist() == [{"name": name, "src": src} for name, src in rows]
    assert pa.table(view).equals(view.to_arrow())
    assert view.to_polars().equals(pl.DataFrame(view))
    assert view.to_polars().rows() == rows
    assert duckdb.sql("SELECT SUM(src) FROM view").fetchall() == [(5,)]
    stream = pa.RecordBatchReader.from_stream(view)
    db.apply("G", [(3, "three")])
    assert stream.read_all().num_rows == 3


def test_values_that_python_has_not_are_refused_by_name() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE D (day DATE)")
    view = db.create_view("late", "SELECT day FROM D")
    db.apply("D", pa.table({"day": pa.array([2932897], pa.int32()).cast(pa.date32())}))
    for read in (view.to_pylist, lambda: list(view)):
        with pytest.raises(ReadError, match="Python has no objects for column 'day'"):
            read()


def test_several_tables_are_one_commit() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.execute("CREATE TABLE H (id BIGINT, name STRING)")
    db.create_view("named", "SELECT G.src, H.name FROM G JOIN H ON G.dst = H.id")
    commit = db.apply({"G": [(1, 2)], "H": [(2, "two"), (3, "three")]})
    assert commit.version == 1
    assert commit["named"].to_pylist() == [
        {"src": 1, "name": "two", "_change_type": "insert", "_commit_version": 1},
    ]


def _change_frame(kind: str) -> dict[str, Any]:
    return {"src": [e[0] for e in EDGES], "dst": [e[1] for e in EDGES], "_change_type": [kind] * len(EDGES)}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(pa.table, id="pyarrow table"),
        pytest.param(lambda d: pa.table(d).to_batches()[0], id="record batch"),
        pytest.param(lambda d: pa.table(d).to_reader(), id="record batch reader"),
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(pl.DataFrame, id="polars"),
        pytest.param(lambda d: duckdb.from_arrow(pa.table(d)), id="duckdb relation"),
        pytest.param(lambda d: pa.Table.from_pylist(pa.table(d).to_pylist()).to_pylist(), id="list of dicts"),
        pytest.param(lambda d: pa.table(d).select(["_change_type", "dst", "src"]), id="columns in another order"),
        pytest.param(lambda d: pa.table({k.upper(): v for k, v in d.items()}), id="names in another case"),
        pytest.param(lambda d: pa.table(d).cast(pa.schema([("src", pa.int32()), ("dst", pa.uint8()),
                                                           ("_change_type", pa.large_string())])), id="narrow types"),
        pytest.param(lambda d: pa.table(d | {"_change_type": pa.array(d["_change_type"]).dictionary_encode()}),
                     id="dictionary"),
    ],
)  # fmt: skip
def test_every_form_of_data(make: Any) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = db.create_view("hop3", SQL)
    db.apply("G", make(_change_frame("insert")))
    assert multiset(view.to_arrow()) == multiset(PATHS)
    commit = db.apply("G", make(_change_frame("delete")))
    assert signed_multiset(commit["hop3"]) == dict.fromkeys(PATHS, -1)
    assert view.count() == 0


def test_tuples_and_generators_are_insertions() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = db.create_view("hop3", SQL)
    db.apply("G", [tuple(edge) for edge in EDGES])
    db.apply("G", [list(edge) for edge in EDGES])
    assert view.count() == 2**3 * len(PATHS)
    assert multiset(view.to_arrow()) == multiset(PATHS * 8)


def test_update_pairs_are_one_change_to_the_result() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE P (id INT PRIMARY KEY, name STRING)")
    db.create_view("names", "SELECT id, upper(name) AS name FROM P")
    db.apply("P", [(1, "one"), (2, "two")])
    update = [
        {"id": 1, "name": "one", "_change_type": "update_preimage"},
        {"id": 1, "name": "uno", "_change_type": "update_postimage"},
        {"id": 2, "name": "two", "_change_type": "update_preimage"},
        {"id": 2, "name": "TWO", "_change_type": "update_postimage"},
    ]
    commit = db.apply("P", update)
    assert signed_multiset(commit["names"]) == {(1, "ONE"): -1, (1, "UNO"): 1}
    assert commit["names"].num_rows == 2  # 'TWO' before and after: the net change is nothing


def test_an_empty_commit_is_a_version() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.create_view("hop3", SQL)
    for number, data in enumerate([{}, {"G": []}, {"G": pa.table({"src": pa.array([], pa.int64()), "dst": []})}], 1):
        commit = db.apply(data)
        assert commit.version == number
        assert commit.changes == 0
        assert commit["hop3"].num_rows == 0
        assert commit["hop3"].schema.names == ["a", "b", "c", "d", "_change_type", "_commit_version"]


def test_an_empty_replay_changes_nothing() -> None:
    """Every change of a log is a version, so a log without changes is none; as one commit it is an empty commit."""
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.create_view("hop3", SQL)
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("src", "dst", "_seq")})
    for logs in ({}, {"G": empty}):
        commit = db.replay(logs, granularity="change")
        assert commit.version == db.version == 0
        assert commit["hop3"].num_rows == commit.changes == 0
    for number, logs in enumerate(({}, {"G": empty}), 1):
        assert db.replay(logs, granularity="commit").version == db.version == number


def test_a_commit_that_undoes_itself_has_no_delta() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.create_view("hop3", SQL)
    both = [{"src": s, "dst": d, "_change_type": kind} for kind in ("delete", "insert") for s, d in EDGES]
    commit = db.apply("G", both)
    assert commit["hop3"].num_rows == 0
    assert db.views["hop3"].count() == 0


def test_names_are_found_in_any_case() -> None:
    db = livejoin.Database()
    db.execute("create table Edges (Src bigint, Dst bigint)")
    view = db.create_view("Loops", "select SRC as X from EDGES where src = dst")
    commit = db.apply("eDGES", [{"sRC": 4, "DST": 4}])
    assert view.schema.names == ["X"]
    assert commit["loops"].num_rows == commit["Loops"].num_rows == 1
    assert db.views["LOOPS"] is view


def test_old_commits_stay_readable() -> None:
    """A commit's delta is the caller's: later commits do not change it."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT, name STRING)")
    db.create_view("all", "SELECT id, name FROM T")
    first = db.apply("T", [(1, "one"), (2, "two")])
    before = first["all"]
    copied = before.to_pylist()
    db.apply("T", [{"id": i, "name": n, "_change_type": "delete"} for i, n in ((1, "one"), (2, "two"))])
    db.apply("T", [(i, f"number {i}") for i in range(3, 2000)])
    assert before.to_pylist() == copied
    assert first["all"].to_pylist() == copied


async def _awaited(delta: object, more: int = 0) -> None:
    raise AssertionError(delta, more)


class _Awaited:
    async def __call__(self, delta: object) -> None:
        raise AssertionError(delta)

    async def method(self, delta: object) -> None:
        raise AssertionError(delta)


async def _generated(delta: object) -> Any:
    yield delta


@pytest.mark.parametrize(
    "callback",
    [_awaited, _Awaited(), _Awaited().method, partial(_awaited, more=1), partial(partial(_Awaited()), 1), _generated],
)
def test_an_async_subscriber_without_a_loop_is_refused(callback: Any) -> None:
    """Nothing would await what it returns."""
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = db.create_view("v", "SELECT src FROM G")
    with pytest.raises(ReadError, match=r"subscribe a (plain )?function"):
        view.subscribe(callback)
    seen: list[pa.Table] = []
    for plain in (seen.append, partial(lambda delta, more: more.append(delta), more=seen)):
        view.subscribe(plain)
    db.apply("G", [(1, 2)])
    assert [delta.num_rows for delta in seen] == [1, 1]


def test_every_error_is_at_the_top_and_the_package_is_typed() -> None:
    errors = {name: value for name, value in vars(livejoin.errors).items() if isinstance(value, type)}
    assert {"LivejoinError", "SqlError", "CapacityError"} <= errors.keys()
    for name, error in errors.items():
        assert getattr(livejoin, name) is error
        assert issubclass(error, livejoin.LivejoinError)
        assert name in livejoin.__all__
    assert importlib.resources.files(livejoin).joinpath("py.typed").is_file()


def test_importing_the_package_imports_no_engine_and_a_commit_no_pandas() -> None:
    """Whoever only names it pays for it; all names are there, and the engine comes with the first that needs it.

    pyarrow imports pandas for lists of Python objects and for empty tables, which takes a fifth of a second.
    """
    program = """
import sys, livejoin
heavy = ("numba", "pyarrow", "numpy", "duckdb", "sqlglot", "pandas")
assert not [name for name in heavy if name in sys.modules], sys.modules
assert {"Database", "View", "from_delta", "SqlError", *livejoin.__all__} <= set(dir(livejoin))
from livejoin import Commit, Database
assert livejoin.Database is Database and "numba" in sys.modules
later = ("pandas", "pyarrow.dataset", "pydantic", "rich", "pyspark", "networkx", "polars", "matplotlib", "asyncio")
assert not [name for name in later if name in sys.modules], sys.modules
try:
    livejoin.Nothing
except AttributeError as error:
    assert "'livejoin' has no attribute 'Nothing'" in str(error)
db = livejoin.Database()
db.execute("CREATE TABLE T (a BIGINT, s STRING)")
db.create_view("v", "SELECT A.a, B.s FROM T A JOIN T B ON A.a = B.a")
db.create_view("w", "SELECT s, COUNT(*) AS n FROM T WHERE a > 5 GROUP BY s")
db.apply("T", [(1, "x")])
commit = db.apply("T", [{"a": 2, "s": "y", "_change_type": "insert"}])
assert commit["v"].num_rows == 1 and commit.rows("w") == 0
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_subscriber_that_fails_does_not_keep_the_delta_from_others() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a BIGINT)")
    view = db.create_view("v", "SELECT a FROM T")
    seen: list[int] = []

    def fail(delta: pa.Table) -> None:
        raise RuntimeError("full")

    view.subscribe(fail)
    view.subscribe(lambda delta: seen.append(delta.num_rows))
    assert db.apply("T", [(1,)]).version == 1
    assert seen == [1]
    assert str(view.last_subscriber_error) == "full"
    assert db.version == 1
    assert view.count() == 1


def test_explain_before_a_view_is_created() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src"
    before = db.explain(sql)
    assert not db.views
    assert before == db.create_view("v", sql).explain()
    assert before.digest == db.views["v"]._joins[0].physical.digest


@pytest.mark.parametrize(
    ("wrong", "error", "parts"),
    [
        (lambda db: db.apply({"G": [(1, 2)]}, [(3, 4)]), livejoin.errors.ChangeFormatError, "found both"),
        (lambda db: db.views["v"].subscribe(3), livejoin.errors.ReadError, "a function of one argument"),
        (lambda db: db.create_table("W", "a BIGINT", window_rows="5"), livejoin.errors.SchemaError, "'5'"),
        (lambda db: db.create_table("W", "a BIGINT", window_rows=True), livejoin.errors.SchemaError, "True"),
        (lambda db: db.replay({"G": [(1, 2)]}), livejoin.errors.ChangeFormatError, "a replay needs it"),
    ],
)
def test_calls_that_cannot_be_meant(wrong: object, error: type[Exception], parts: str) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.create_view("v", "SELECT src FROM G")
    with pytest.raises(error, match=parts):
        wrong(db)  # type: ignore[operator]
    assert db.version == 0


def test_a_dropped_view_cannot_be_read() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a BIGINT)")
    view = db.create_view("v", "SELECT a FROM T")
    db.drop_view("v")
    db.apply("T", [(1,)])
    for read in (view.to_arrow, view.count, view.stats):
        with pytest.raises(livejoin.errors.ReadError, match="was dropped"):
            read()


def test_statistics_of_a_result_beyond_64_bits() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a BIGINT)")
    tables = ", ".join(f"T t{i}" for i in range(8))
    view = db.create_view("v", f"SELECT t0.a FROM {tables}", deltas=False)
    db.apply("T", [(i,) for i in range(1000)])
    assert view.stats()["rows"] == pytest.approx(1e24)
    with pytest.raises(livejoin.errors.CapacityError, match="more than 64 bits"):
        view.count()


def test_a_triangle_is_explained_and_maintained() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    sql = "SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
    told = db.explain(sql)
    assert (told.query_class.name, told.executable, told.plan.kind) == ("cyclic", True, "bags")
    view = db.create_view("v", sql)
    db.apply("G", [(1, 2), (2, 3), (3, 1), (3, 4)])
    assert sorted(view.to_arrow()["src"].to_pylist()) == [1, 2, 3]


def test_a_log_is_explained_and_not_applied() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src"
    log = [{"src": i % 3, "dst": i % 3, "_change_type": "insert" if i < 3 else "delete"} for i in range(6)]
    told = db.explain(sql, log={"G": log}).log
    assert told is not None
    assert (told.changes, told.lifespans, told.pattern, told.enclosure) == (6, 3, "first-in-first-out", 1.0)
    assert db.version == 0
    assert db.explain(sql).log is None


def test_an_explanation_in_every_form() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    told = db.create_view("v", "SELECT A.src FROM G A JOIN G B ON A.dst = B.src").explain()
    assert json.loads(told.json()) == told.to_dict()
    assert told.svg().startswith("<svg")
    page = told._repr_html_()
    assert re.sub(r"<desc>.*</desc>\n", "", told.svg(terms=True)) in page
    assert "<desc>" in told.svg()
    assert "<desc>" not in page  # which has the sentences as text
    assert page.count(told.verdict) == 1
    assert max(map(len, told.text(80).splitlines())) <= 80


def test_calls_of_explain_that_cannot_be_meant() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src"
    with pytest.raises(ChangeFormatError, match="a mapping from names of tables to their changes"):
        db.explain(sql, log=[(1, 2)])  # type: ignore[arg-type]
    with pytest.raises(SqlSyntaxError, match="a query is a text; found 5"):
        db.explain(5)  # type: ignore[arg-type]


def test_a_log_in_which_two_changes_have_the_same_place() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    db.execute("CREATE TABLE H (src BIGINT, dst BIGINT)")
    log = {name: [{"src": 1, "dst": 2, "_seq": 1}] for name in "GH"}
    with pytest.raises(ChangeFormatError, match="_seq has the value 1 twice"):
        db.explain("SELECT G.src FROM G JOIN H ON G.dst = H.src", log=log)
