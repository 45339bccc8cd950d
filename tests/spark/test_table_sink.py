"""Tables that are merged into; without a session of Spark, over DuckDB, which knows MERGE too."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

import livejoin
from livejoin.checkpoint.batch_delta import timed
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import PipelineError, SchemaError, StateError, StorageError
from livejoin.pipeline import load
from livejoin.spark import TableSink
from livejoin.spark.sinks import SinkView
from sql_session import SqlSession

VIEWS = {
    "sums": "SELECT k, s, COUNT(*) AS n, SUM(v) AS v FROM T GROUP BY k, s",
    "total": "SELECT COUNT(*) AS n, MAX(v) AS most FROM T",
    "rows": "SELECT k, s FROM T",
    "told": "SELECT k FROM T WHERE v > 1",
}
MANNERS: dict[str, Any] = {"history": ["told"], "counts": ["rows"]}


class Pipeline:
    """A database, and a sink that is opened again and again; mutable."""

    def __init__(self, **more: Any) -> None:
        self.session, self.more = SqlSession(), {"name": "{view}", **MANNERS, **more}
        self.database = livejoin.Database()
        self.database.create_table("T", "k INT, s STRING, v INT")
        for name, sql in VIEWS.items():
            self.database.create_view(name, sql)
        self.written, self.last, self.dice = WrittenParts(), -1, random.Random(3)
        self.held: list[tuple[Any, ...]] = []
        first = {name: view.to_arrow() for name, view in self.database.views.items()}
        self.begins = {name: self._told(name, rows) for name, rows in first.items() if rows.num_rows}

    def _told(self, name: str, rows: Any) -> Any:
        kinds = rows.append_column("_change_type", [["insert"] * rows.num_rows])
        schema = self.database.views[name].delta_schema
        return timed(kinds.append_column("_commit_version", [[0] * rows.num_rows]).cast(schema), None)

    def open(self, run: str = "r", **more: Any) -> TableSink:
        sink = TableSink(**{**self.more, **more})
        sink.use(cast(Any, self.session))
        views = {name: SinkView(view.schema, view.keys) for name, view in self.database.views.items()}
        sink.open(views, None if self.last < 0 else self.last, self.written, run)
        return sink

    def batch(self) -> dict[str, Any]:
        if self.begins:
            given, self.begins = self.begins, {}
            return given
        rows = []
        for _ in range(self.dice.randrange(1, 6)):
            if self.held and self.dice.random() < 0.5:
                rows.append((*self.held.pop(self.dice.randrange(len(self.held))), "delete"))
            else:
                self.held.append((self.dice.randrange(3), self.dice.choice(["x", None]), self.dice.randrange(4)))
                rows.append((*self.held[-1], "insert"))
        names = ("k", "s", "v", "_change_type")
        commit = self.database.apply("T", [dict(zip(names, row, strict=True)) for row in rows])
        return {name: timed(commit[name], None) for name in commit.views}

    def deliver(self, sink: TableSink, deltas: dict[str, Any]) -> None:
        self.written.add(self.last + 1, sink.deliver(deltas, self.last + 1))
        self.last += 1

    def check(self) -> None:
        for view in ("sums", "total"):
            assert Counter(self.session.rows(f"FROM {view}")) == self.whole(view)
        counted = self.session.rows("SELECT k, s, _count FROM rows")
        assert len({row[:-1] for row in counted}) == len(counted)
        assert Counter({row[:-1]: row[-1] for row in counted}) == self.whole("rows")
        told = Counter[Any]()
        for k, kind in self.session.rows("SELECT k, _change_type FROM told"):
            told[k,] += 1 if kind in ("insert", "update_postimage") else -1
        assert +told == self.whole("told")
        assert min(told.values(), default=0) >= 0

    def whole(self, view: str) -> Counter[Any]:
        return Counter(tuple(row.values()) for row in self.database.views[view].to_arrow().to_pylist())


def test_tables_are_their_views() -> None:
    pipeline = Pipeline()
    sink = pipeline.open()
    for number in range(16):
        deltas = pipeline.batch()
        if number % 7 == 3:
            sink.deliver(deltas, pipeline.last + 1)  # the process died before the checkpoint noted it
            sink = pipeline.open()
        pipeline.deliver(sink, deltas)
        pipeline.check()
        if number % 5 == 2:
            sink = pipeline.open()
    newest = max(pipeline.written.batches("sums"))
    assert pipeline.session.properties["`sums`"] == {"livejoin-run": "r", "livejoin-batch": str(newest)}


def test_a_catalog_that_dies_at_any_statement() -> None:
    pipeline = Pipeline()
    pipeline.deliver(pipeline.open(), pipeline.batch())
    deaths = 0
    for _ in range(2):
        deltas, ends = pipeline.batch(), False
        for fails in range(40):
            sink = pipeline.open()
            pipeline.session.fails = fails
            try:
                pipeline.deliver(sink, deltas)
                ends = True
            except StorageError as error:
                assert "the catalog is gone; it holds batch" in str(error)
                deaths += 1
            pipeline.session.fails = None
            if ends:
                break
        pipeline.check()
    assert deaths > 8


def test_a_first_start_that_dies_at_any_statement() -> None:
    pipeline = Pipeline()
    for fails in range(40):
        pipeline.session.fails = fails
        try:
            sink = pipeline.open()
        except StorageError:
            continue
        break
    pipeline.session.fails = None
    assert fails > 3
    pipeline.deliver(sink, pipeline.batch())
    pipeline.check()


def test_what_does_not_belong_together(tmp_path: Path) -> None:
    pipeline = Pipeline()
    sink = pipeline.open()
    for _ in range(8):
        pipeline.deliver(sink, pipeline.batch())
    pipeline.open()
    with pytest.raises(StateError, match="table `sums` holds rows that are not of this checkpoint"):
        pipeline.open("another")
    properties = dict(pipeline.session.properties["`total`"])
    pipeline.session.properties["`total`"]["livejoin-batch"] = "3"
    with pytest.raises(
        StateError, match=r"view 'total' up to batch .*, and the table `total` has those up to 3: one of"
    ):
        pipeline.open()
    pipeline.session.properties["`total`"] = properties
    last, pipeline.last = pipeline.last, 2
    written, pipeline.written = pipeline.written, WrittenParts()
    with pytest.raises(StateError, match="put back to an earlier state"):
        pipeline.open()
    pipeline.last, pipeline.written = last, WrittenParts()
    pipeline.session.connection.execute("CREATE SCHEMA other; CREATE SCHEMA more")
    with pytest.raises(StateError, match=r"has seen the batches up to 7, and no table of '.*' has any of them"):
        pipeline.open(name="other.{view}")
    pipeline.written = written
    with pytest.raises(StateError):
        pipeline.open(name="more.{view}")
    sink.forget("r")
    pipeline.last, pipeline.written = -1, WrittenParts()
    assert not pipeline.session.rows("FROM sums")
    pipeline.open("another")


@pytest.mark.parametrize(
    ("more", "kind", "message"),
    [
        ({"name": "t"}, PipelineError, r"name = 't' is one table, and there are 4 views; let it have \{view\}"),
        ({"counts": []}, SchemaError, r"view 'rows' has no key .* counts = \['rows'\], or .* history = \['rows'\]"),
        ({"history": ["nope"]}, SchemaError, "history= of the sink names 'nope'; the views are sums, total"),
        ({"name": " "}, PipelineError, "name= is ' '; it takes the name of a table"),
    ],
)
def test_what_is_refused(more: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Pipeline(**more).open()


def test_a_table_that_knows_no_merge_is_not_left_behind() -> None:
    pipeline = Pipeline()
    pipeline.session.knows_merge = False
    with pytest.raises(
        SchemaError, match=r"table `sums` cannot be merged into: no MERGE here\. Give a table that knows"
    ):
        pipeline.open()
    assert not pipeline.session.rows("SHOW TABLES")


def test_other_columns_are_refused() -> None:
    pipeline = Pipeline()
    pipeline.session.connection.execute("CREATE TABLE total (n BIGINT)")
    with pytest.raises(
        SchemaError, match=r"`total` has the columns \(n bigint\), and view 'total' \(n bigint, most int"
    ):
        pipeline.open()


FILE = """
[tables.T]
schema = "k INT, v INT"
format = "csv"
path = "in"

[views.v]
sql = "SELECT k, SUM(v) AS v FROM T GROUP BY k"

[sink]
kind = "table"
name = "ice.live.{view}"
provider = "iceberg"

[run]
checkpoint = "state"
"""


def test_a_pipeline_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("1,2\n")
    (tmp_path / "p.toml").write_text(FILE)
    sink = load(tmp_path / "p.toml").sink
    assert isinstance(sink, TableSink)
    assert sink.of("v") == "ice.live.`v`"
    (tmp_path / "p.toml").write_text(FILE.replace('name = "ice.live.{view}"', 'name = ""'))
    with pytest.raises(PipelineError, match=r"sink\.name"):
        load(tmp_path / "p.toml")
