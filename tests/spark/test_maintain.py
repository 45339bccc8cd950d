from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltas import add, sum_of, versions_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from livejoin.checkpoint import read_checkpoint
from livejoin.database import Database
from livejoin.errors import PipelineError, SchemaError, StateError, UnknownNameError, UnsupportedQueryError
from livejoin.spark import BatchReport
from maintaining import maintain

pytestmark = pytest.mark.spark

EDGES = "src BIGINT, dst BIGINT"
HOP2 = "SELECT G1.src AS a, G1.dst AS b, G2.dst AS c FROM G G1 JOIN G G2 ON G1.dst = G2.src"


def feed(folder: Path, name: str, text: str) -> None:
    """Let a file arrive in a folder that a stream watches."""
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def stream(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(schema).csv(folder.as_uri())


def test_tables_advance_together_and_restart_where_they_were(spark: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT u.name, m.text FROM users u JOIN messages m ON u.id = m.author"
    out, reports = tmp_path / "out", list[BatchReport]()

    def run() -> None:
        tables = {
            "users": stream(spark, tmp_path / "users", "id INT, name STRING, _change_type STRING"),
            "messages": stream(spark, tmp_path / "messages", "author INT, text STRING"),
        }
        query = maintain(
            spark,
            {"inbox": sql},
            tables,
            path=out,
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            on_batch=reports.append,
        )
        assert query.awaitTermination(60)
        (block,) = query.explain_view("inbox", analyze=True).to_dict()["actual"]["blocks"]
        if len(reports) == 1:  # a row that comes twice is one change
            assert (block["commits"], block["received"]) == (1, 4)
            assert [sum(one.changes.values()) for one in query.slow_commits()] == [4]

    feed(tmp_path / "users", "1.csv", "1,ann,insert\n2,bob,insert\n")
    feed(tmp_path / "messages", "1.csv", "1,hello\n1,hello\n3,lost\n")
    run()
    assert sum_of(out / "inbox") == Counter({("ann", "hello"): 2})

    feed(tmp_path / "users", "2.csv", "1,ann,update_preimage\n1,anna,update_postimage\n3,cyd,insert\n2,bob,delete\n")
    feed(tmp_path / "messages", "2.csv", "2,to nobody\n")
    run()
    assert sum_of(out / "inbox") == Counter({("anna", "hello"): 2, ("cyd", "lost"): 1})
    assert [file.name for file in sorted((out / "inbox").iterdir())] == [
        "part-00000000.parquet",
        "part-00000001.parquet",
    ]
    assert versions_of(out / "inbox") == [[1], [2]]
    assert [(r.batch_id, r.changes, r.delta_rows, r.rows) for r in reports] == [
        (0, 5, {"inbox": 2}, {"inbox": 2}),
        (1, 5, {"inbox": 5}, {"inbox": 3}),
    ]


def test_delta_files_carry_the_change_feed_columns(spark: SparkSession, tmp_path: Path) -> None:
    edges = spark.createDataFrame([(1, 2), (2, 3)], EDGES)
    query = maintain(spark, {"hop2": HOP2}, {"G": edges}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert query.awaitTermination(60)
    table = pq.read_table(tmp_path / "out" / "hop2" / "part-00000000.parquet")
    assert table.drop_columns("_commit_timestamp").to_pylist() == [
        {"a": 1, "b": 2, "c": 3, "_change_type": "insert", "_commit_version": 1}
    ]
    assert table["_commit_timestamp"].null_count == 0
    read_by_spark = spark.read.parquet((tmp_path / "out" / "hop2").as_uri())
    assert read_by_spark.columns == ["a", "b", "c", "_change_type", "_commit_version", "_commit_timestamp"]
    assert read_by_spark.count() == 1


def test_static_frames_and_streams_mix(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.createDataFrame([(1, "one"), (2, "two")], "k BIGINT, name STRING")
    feed(tmp_path / "in", "1.csv", "1,2\n2,1\n")
    for _ in range(2):  # the second time from the checkpoint, with nothing new
        query = maintain(
            spark,
            {"named": "SELECT name, dst FROM G JOIN N ON G.src = N.k"},
            {"G": stream(spark, tmp_path / "in", EDGES), "N": names},
            path=(tmp_path / "out").as_uri(),
            checkpoint=str(tmp_path / "checkpoint"),
            trigger={"availableNow": True},
        )
        assert query.awaitTermination(60)
        assert sum_of(tmp_path / "out" / "named") == Counter({("one", 2): 1, ("two", 1): 1})


def test_a_window_takes_the_rows_in_the_order_of_the_sequence(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(i * 7 % 20, i * 7 % 20, 100) for i in range(20)]
    frame = spark.createDataFrame(rows, "_seq BIGINT, src BIGINT, dst BIGINT").repartition(4)
    query = maintain(
        spark,
        {"all": "SELECT src FROM G"},
        {"G": frame},
        of={"G": {"window_rows": 3}},
        path=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
    )
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "all") == Counter({(17,): 1, (18,): 1, (19,): 1})


def test_a_function_gets_each_delta_as_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    totals: dict[str, Counter[Any]] = {"hop2": Counter(), "loops": Counter()}

    def sink(view: str, delta: DataFrame, batch_id: int) -> None:
        seen.append((view, batch_id))
        add(totals[view], [tuple(row) for row in delta.collect()])

    feed(tmp_path / "in", "1.csv", "1,2\n2,3\n")
    feed(tmp_path / "in", "2.csv", "2,4\n")
    frame = spark.readStream.schema(EDGES).option("maxFilesPerTrigger", 1).csv((tmp_path / "in").as_uri())
    query = maintain(
        spark,
        {"hop2": HOP2, "loops": "SELECT src FROM G WHERE src = dst"},
        {"G": frame},
        sink=sink,
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query.awaitTermination(60)
    assert totals == {"hop2": Counter({(1, 2, 3): 1, (1, 2, 4): 1}), "loops": Counter()}
    assert [view for view, _ in seen] == ["hop2"] * len(seen)
    assert len({batch for _, batch in seen}) == len(seen)


def test_views_read_views(spark: SparkSession, tmp_path: Path) -> None:
    """Two levels: groups, and a join over them; every delta has its view's keys."""
    views = {
        "degree": "SELECT src, COUNT(*) AS n FROM G GROUP BY src",
        "busy": "WITH b AS (SELECT src FROM degree WHERE n > 1) SELECT DISTINCT G.dst AS d FROM G JOIN b USING (src)",
    }
    out = tmp_path / "out"

    def run(views: dict[str, str]) -> None:
        tables = {"G": stream(spark, tmp_path / "in", f"{EDGES}, weight DOUBLE, _change_type STRING")}
        arguments: dict[str, Any] = {"path": out, "checkpoint": tmp_path / "checkpoint"}
        assert maintain(spark, views, tables, trigger={"availableNow": True}, **arguments).awaitTermination(60)

    with pytest.raises(UnknownNameError, match="that none can be first: busy reads degree reads busy"):
        run({**views, "degree": "SELECT d AS src, 2 AS n FROM busy"})
    with pytest.raises(SchemaError, match="the name 'g' is taken by a table"):
        run({"g": "SELECT 1 AS one FROM G"})
    feed(tmp_path / "in", "1.csv", "1,2,0.5,insert\n1,3,0.5,insert\n2,4,0.5,insert\n")
    run(dict(reversed(views.items())))
    assert sum_of(out / "degree") == Counter({(1, 2): 1, (2, 1): 1})
    assert sum_of(out / "busy") == Counter({(2,): 1, (3,): 1})
    feed(tmp_path / "in", "2.csv", "1,3,0.5,delete\n2,5,0.5,insert\n")
    run(views)
    assert sum_of(out / "degree") == Counter({(1, 1): 1, (2, 2): 1})
    assert sum_of(out / "busy") == Counter({(4,): 1, (5,): 1})
    (file, *_) = sorted((out / "degree").glob("*.parquet"))
    assert pq.read_schema(file).metadata[b"livejoin.keys"] == b'[["src"]]'


def test_a_bad_change_ends_the_query_with_its_message(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, 2, "delete")], EDGES + ", _change_type STRING")
    query = maintain(spark, {"hop2": HOP2}, {"G": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match=r"^AbsentRowError: table 'G', row 0"):
        query.awaitTermination(60)
    assert "in micro-batch 0 of Spark; none of it was applied" in str(query.exception())
    assert list((tmp_path / "out" / "hop2").iterdir()) == []


def test_bytes_that_are_no_text_end_the_query_with_their_row(spark: SparkSession, tmp_path: Path) -> None:
    """Spark and Parquet take any bytes as STRING; here latin-1."""
    folder = tmp_path / "in"
    folder.mkdir()
    names = pa.array([b"Bern", b"M\xfcnchen"]).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2], "name": names}), folder / "1.parquet")
    frame = spark.readStream.schema("id BIGINT, name STRING").parquet(folder.as_uri())
    views = {"v": "SELECT id, upper(name) AS name FROM C"}
    for _ in range(2):  # a restart says the same
        query = maintain(spark, views, {"C": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
        with pytest.raises(StreamingQueryException, match=r"ChangeValueError: table 'C', row 1 .*'name' is not UTF-8"):
            query.awaitTermination(60)
    assert list((tmp_path / "out" / "v").iterdir()) == []
    db = Database()
    db.create_table("C", "id BIGINT, name STRING")
    view = db.create_view("v", views["v"])
    db.apply("C", [(1, "x")])
    assert view.to_arrow().to_pylist() == [{"id": 1, "name": "X"}]


def test_an_interrupt_in_a_sink_ends_the_query_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's bridge answers for an Exception only, and waited for ever for what a KeyboardInterrupt had ended."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    frame = spark.createDataFrame([(1, 2), (2, 3)], EDGES)
    query = maintain(spark, {"hop2": HOP2}, {"G": frame}, sink=interrupt, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match="KeyboardInterrupt ended the query"):
        query.awaitTermination(60)
    assert not query.isActive


def test_output_that_is_gone_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    frame = spark.createDataFrame([(1, 2), (2, 3)], EDGES)
    assert maintain(spark, {"hop2": HOP2}, {"G": frame}, **places).awaitTermination(60)
    (tmp_path / "out" / "hop2" / "part-00000000.parquet").unlink()
    with pytest.raises(StateError, match=r"hop2 lacks part-00000000\.parquet, and the checkpoint says"):
        maintain(spark, {"hop2": HOP2}, {"G": frame}, **places)


def test_columns_that_no_view_uses_stay_out_of_the_engine(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, 2, 3, "x")], "a BIGINT, b BIGINT, c BIGINT, d STRING")
    sql = "SELECT x.a FROM T x JOIN T y ON x.a = y.a WHERE y.c > 2"
    query = maintain(spark, {"v": sql}, {"T": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1,): 1})
    with pytest.raises(StateError) as caught:
        sql = "SELECT x.a FROM T x JOIN T y ON x.a = y.a WHERE y.b > 2"
        maintain(spark, {"v": sql}, {"T": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert "column 'b' was not kept of the rows that are there, because no view read it" in str(caught.value)
    sql = "SELECT x.a FROM T x JOIN T y ON x.a = y.a WHERE y.c > 3"
    query = maintain(spark, {"v": sql}, {"T": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert query.awaitTermination(60)
    assert read_checkpoint(tmp_path / "checkpoint").tables["T"].columns[1].name == "c"


def test_another_window_does_not_go_with_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, 2)], EDGES)
    places = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    assert maintain(spark, {"hop2": HOP2}, {"G": frame}, of={"G": {"window_rows": 5}}, **places).awaitTermination(60)
    with pytest.raises(StateError, match=r"table 'G': window_rows was 5 and is now absent"):
        maintain(spark, {"hop2": HOP2}, {"G": frame}, **places)


def test_output_of_another_run_is_not_mixed_up_with_this_one(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "hop2"
    folder.mkdir(parents=True)
    (folder / "part-00000003.parquet").write_bytes(b"")
    with pytest.raises(StateError, match=r"part-00000003\.parquet, and the checkpoint has not seen a batch yet"):
        maintain(
            spark,
            {"hop2": HOP2},
            {"G": spark.createDataFrame([(1, 2)], EDGES)},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
        )


@pytest.mark.parametrize("lost", ["livejoin", "spark"])
def test_half_a_checkpoint_is_refused(spark: SparkSession, tmp_path: Path, lost: str) -> None:
    def run() -> None:
        query = maintain(
            spark,
            {"hop2": HOP2},
            {"G": stream(spark, tmp_path / "in", EDGES)},
            sink=lambda *_: None,
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
        query.awaitTermination(60)

    for name in ("1.csv", "2.csv"):
        feed(tmp_path / "in", name, "1,2\n")
        run()
    (tmp_path / "checkpoint" / lost).rename(tmp_path / "lost")
    feed(tmp_path / "in", "3.csv", "1,2\n")
    with pytest.raises((StateError, StreamingQueryException), match="the two halves of the checkpoint do not belong"):
        run()


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"tables": {}}, SchemaError, "no tables are given"),
        ({"views": {}}, SchemaError, "no views are given"),
        ({"of": {"G": {"window_rows": 0}}}, SchemaError, "window_rows is 0"),
        ({"views": {"v": "SELECT nothing FROM G"}}, UnknownNameError, "nothing"),
        ({"path": None}, PipelineError, "path= is missing"),
        ({"checkpoint": None}, PipelineError, "checkpoint= is missing"),
        (
            {"path": "hdfs://host/out"},
            PipelineError,
            "path='hdfs://host/out' is not a local folder: .*exclusive creation",
        ),
        ({"dead_letters": Path("gs://bucket/out")}, PipelineError, "dead_letters='gs:/bucket/out' is not"),
        (
            {"checkpoint": "hdfs://host/state", "mode": "distributed", "cells": 2},
            PipelineError,
            "checkpoint='hdfs://host/state' is not a local folder",
        ),
        ({"sink": "delta"}, PipelineError, "sink='delta' is unknown"),
    ],
)
def test_wrong_arguments_are_refused_before_the_start(
    spark: SparkSession, tmp_path: Path, wrong: dict[str, Any], kind: type[Exception], message: str
) -> None:
    arguments: dict[str, Any] = {
        "views": {"hop2": HOP2},
        "tables": {"G": spark.createDataFrame([(1, 2)], EDGES)},
        "path": tmp_path / "out",
        "checkpoint": tmp_path / "checkpoint",
    }
    with pytest.raises(kind, match=message):
        maintain(spark, **(arguments | wrong))
    assert not (tmp_path / "checkpoint").exists()


def test_two_streams_of_insertions_only(spark: SparkSession, tmp_path: Path) -> None:
    """A literal `_change_type` is never NULL, and beside another table's rows there is none."""
    feed(tmp_path / "g", "1.csv", "1,2\n2,3\n")
    feed(tmp_path / "h", "1.csv", "2,7\n")
    tables = {
        name: stream(spark, tmp_path / name.lower(), EDGES).withColumn("_change_type", F.lit("insert"))
        for name in ("G", "H")
    }
    query = maintain(
        spark,
        {"v": "SELECT G.src, H.dst FROM G JOIN H ON G.dst = H.src"},
        tables,
        path=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, 7): 1})


LOCKS = """
import sys
from pathlib import Path
from livejoin.errors import StateError
from livejoin.spark.checkpoint_lock import lock_checkpoint
while True:
    try:
        lock_checkpoint(Path(sys.argv[1]))
        print("locked", flush=True)
    except StateError as error:
        print(repr(str(error)), flush=True)
    sys.stdin.readline()
"""


def test_one_query_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"

    def run(folder: str) -> StreamingQuery:
        frame = stream(spark, tmp_path / "in", EDGES)
        return maintain(spark, {"v": "SELECT src FROM G"}, {"G": frame}, path=tmp_path / folder, checkpoint=checkpoint)

    first = run("out")
    with pytest.raises(StateError) as caught:
        run("elsewhere")
    assert str(checkpoint) in str(caught.value)
    assert f"the query {first.id} in process {os.getpid()}" in str(caught.value)
    assert not (tmp_path / "elsewhere").exists()
    assert first.isActive
    command = [sys.executable, "-c", LOCKS, str(checkpoint)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert f"the query {first.id} in process {os.getpid()}" in process.stdout.readline()
        first.stop()
        second = run("out")
        assert second.isActive
        second.stop()
        (tmp_path / "foreign" / "v").mkdir(parents=True)
        (tmp_path / "foreign" / "v" / "part-00000009.parquet").write_bytes(b"")
        with pytest.raises(StateError, match="the files are of another run"):  # a start that fails leaves no lock
            run("foreign")
        process.stdin.write("again\n")
        process.stdin.flush()
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(StateError, match=f"in process {process.pid}, which runs"):
            run("out")
        process.kill()  # the lock dies with its process
    run("out").stop()


def test_workers_run_the_same_python(spark: SparkSession) -> None:
    def interpreter(_: int) -> str:
        from sys import executable  # noqa: PLC0415

        return executable

    assert spark.sparkContext.parallelize([0], 1).map(interpreter).collect() == [sys.executable]


def test_a_deletion_finds_its_row_by_columns_that_no_view_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Two rows alike but for ``sent``: the younger one is deleted, so the older one leaves the window in its turn."""
    changes = [
        (1, 2, 3, "insert", 0),
        (7, 8, 0, "insert", 1),
        (1, 2, 5, "insert", 2),
        (1, 2, 5, "delete", 3),
        (10, 10, 0, "insert", 4),
        (11, 11, 0, "insert", 5),
    ]
    folder = tmp_path / "in"
    schema = "src BIGINT, dst BIGINT, sent BIGINT, _change_type STRING, _seq BIGINT"
    frame = stream(spark, folder, schema)

    def run() -> None:
        query = maintain(
            spark,
            {"pairs": "SELECT src, dst FROM G"},
            {"G": frame},
            of={"G": {"window_rows": 3}},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
        )
        assert query.awaitTermination(60)

    for first, last in ((0, 3), (3, 6)):
        feed(folder, f"{first}.csv", "\n".join(",".join(map(str, c)) for c in changes[first:last]) + "\n")
        run()
    assert sum_of(tmp_path / "out" / "pairs") == Counter({(7, 8): 1, (10, 10): 1, (11, 11): 1})


def test_a_row_that_differs_in_an_unread_column_is_absent(spark: SparkSession, tmp_path: Path) -> None:
    schema = "src BIGINT, dst BIGINT, sent BIGINT, _change_type STRING"
    frame = spark.createDataFrame([(1, 2, 3, "insert"), (1, 2, 99, "delete")], schema)
    query = maintain(
        spark, {"v": "SELECT src FROM G"}, {"G": frame}, path=tmp_path / "out", checkpoint=tmp_path / "checkpoint"
    )
    with pytest.raises(StreamingQueryException, match=r"AbsentRowError.*sent = 99"):
        query.awaitTermination(60)


def test_changes_go_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """What comes takes the place of the row with its key, a deletion looks at the key alone; also after a restart."""
    out, reports = tmp_path / "out", list[BatchReport]()
    schema = "id INT, name STRING, unused STRING, at INT, _change_type STRING, _seq BIGINT"

    def run(**more: Any) -> None:
        query = maintain(
            spark,
            {"inbox": "SELECT u.name, m.text FROM users u JOIN messages m ON u.id = m.author"},
            {
                "users": stream(spark, tmp_path / "users", schema),
                "messages": stream(spark, tmp_path / "messages", "author INT, text STRING"),
            },
            of={"users": {"key": "ID", "sequence_by": "at", **more}},
            path=out,
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            on_batch=reports.append,
        )
        assert query.awaitTermination(60)

    feed(
        tmp_path / "users",
        "1.csv",
        "1,bob,x,2,upsert,20\n1,ann,x,1,insert,10\n2,cyd,x,1,insert,30\n3,dan,x,1,insert,5\n",
    )
    feed(tmp_path / "messages", "1.csv", "1,hello\n2,hi\n3,lost\n")
    run()
    assert sum_of(out / "inbox") == Counter({("bob", "hello"): 1, ("cyd", "hi"): 1, ("dan", "lost"): 1})
    feed(
        tmp_path / "users", "2.csv", "1,ann,y,3,insert,7\n2,,,2,delete,8\n9,,,2,delete,9\n3,old,,0,update_postimage,4\n"
    )
    run()
    assert sum_of(out / "inbox") == Counter({("ann", "hello"): 1, ("dan", "lost"): 1})
    database = read_checkpoint(tmp_path / "checkpoint")
    table = database.tables["users"]
    assert [column.name for column in table.columns] == ["id", "name", "at"], "the key, what orders it, what is used"
    assert (table.primary_key, table.sequence_by) == ((0,), 2)
    assert database.stats()["tables"]["users"]["late"] == 1
    assert database.stats()["tables"]["users"]["tombstones"] == 2
    with pytest.raises(StateError, match="table 'users': sequence_by was 'at' and is now absent"):
        run(sequence_by=None)
    with pytest.raises(SchemaError, match="no column 'nr'"):
        run(key="nr")


def test_a_deletion_by_key_alone_in_a_batch_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """Without upsert nor sequence: a table with a key takes all of its changes by it."""
    out, places = tmp_path / "out", {"checkpoint": tmp_path / "checkpoint", "trigger": {"availableNow": True}}
    for number, text in enumerate(("1,a,insert\n2,b,insert\n", "1,,delete\n", "2,c,insert\n")):
        feed(tmp_path / "in", f"{number}.csv", text)
        frame = stream(spark, tmp_path / "in", "id INT, name STRING, _change_type STRING")
        query = maintain(spark, {"v": "SELECT * FROM T"}, {"T": frame}, of={"T": {"key": ["id"]}}, path=out, **places)
        assert query.awaitTermination(60)
    assert sum_of(out / "v") == Counter({(2, "c"): 1})


def test_a_product_with_a_condition_wants_leave(spark: SparkSession, tmp_path: Path) -> None:
    views = {"less": "SELECT a.x, b.x AS y FROM T a, T b WHERE a.x < b.x"}
    tables = {"T": spark.createDataFrame([(1,), (2,), (3,)], "x INT")}
    arguments = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(UnsupportedQueryError, match="allow_product=True"):
        maintain(spark, views, tables, **arguments)
    for _ in range(2):  # the second one goes on from the checkpoint
        assert maintain(spark, views, tables, **arguments, allow_product=True).awaitTermination(60)
        assert sum_of(tmp_path / "out" / "less") == Counter({(1, 2): 1, (1, 3): 1, (2, 3): 1})


def test_a_static_table_is_there_before_the_views(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.createDataFrame([(1, "one", 1.5), (2, "two", 2.5)], "k BIGINT, name STRING, more DOUBLE")
    views = {"named": "SELECT name, dst FROM G JOIN N ON G.src = N.k"}
    for number, text in enumerate(("1,2\n3,1\n", "2,7\n")):
        feed(tmp_path / "in", f"{number}.csv", text)
        tables = {"N": names, "G": stream(spark, tmp_path / "in", EDGES)}
        places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
        query = maintain(spark, views, tables, of={"N": {"static": True}}, trigger={"availableNow": True}, **places)
        assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "named") == Counter({("one", 2): 1, ("two", 7): 1})
    database = read_checkpoint(tmp_path / "checkpoint")
    assert database.tables["N"].static
    assert [column.name for column in database.tables["N"].columns] == ["k", "name"]
    for wrong, message in (
        (["G"], "table 'G' is static, and comes as a stream"),
        (["G", "N"], "all tables are static"),
    ):
        with pytest.raises(SchemaError, match=message):
            of = {name: {"static": True} for name in wrong}
            maintain(spark, views, tables, of=of, path=tmp_path / "o", checkpoint=tmp_path / "c")


def test_views_are_expressions_of_ibis_too(spark: SparkSession, tmp_path: Path) -> None:
    edges = ibis.table({"src": "int64", "dst": "int64"}, name="G")
    counts = edges.group_by("src").agg(n=edges.count())
    feed(tmp_path / "G", "1.csv", "1,2\n1,3\n2,3\n")
    tables = {"G": stream(spark, tmp_path / "G", EDGES)}
    query = maintain(
        spark,
        {"counts": counts},
        tables,
        path=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert sum_of(tmp_path / "out" / "counts") == Counter({(1, 2): 1, (2, 1): 1})
