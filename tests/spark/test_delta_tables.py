"""Delta tables as what views read and as what they are written to."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

import livejoin
from livejoin.checkpoint.batch_delta import JoinedDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark.arrow_columns import sql_columns
from livejoin.spark.delta import DeltaSink, read_delta
from livejoin.spark.delta.source import _types, table_columns
from livejoin.spark.sinks import SinkView
from maintaining import maintain


def held(place: Path) -> list[Any]:
    rows = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def rows_of(view: livejoin.View) -> list[Any]:
    return sorted((tuple(row.values()) for row in view.to_arrow().to_pylist()), key=repr)


def opened(
    folder: Path, database: livejoin.Database, last: int | None = None, run: str = "r", **more: Any
) -> DeltaSink:
    sink = DeltaSink(folder, **more)
    views = {name: SinkView(view.schema, view.keys) for name, view in database.views.items()}
    sink.open(views, last, WrittenParts(), run)
    return sink


def test_random_histories(tmp_path: Path) -> None:
    """Composite keys with NULL, and a row that there is always; batches come twice, and in two versions."""
    draw = random.Random(11)
    database = livejoin.Database()
    database.create_table("G", "k STRING, j BIGINT, v DECIMAL(9, 2), at TIMESTAMP")
    views = {
        "sums": "SELECT k, j, SUM(v) AS total, MAX(at) AS newest FROM G GROUP BY k, j",
        "all": "SELECT COUNT(*) AS n FROM G",
        "log": "SELECT k, j FROM G WHERE j = 1",
    }
    for name, text in views.items():
        database.create_view(name, text)
    sink = opened(tmp_path, database, history=["log"])
    there: list[tuple[Any, ...]] = []

    def commit() -> Any:
        changes = []
        for _ in range(draw.randrange(1, 6)):
            if there and draw.random() < 0.4:
                changes.append((*there.pop(draw.randrange(len(there))), "delete"))
            else:
                row = (draw.choice(["a", "", None]), draw.choice([1, 2, None]), draw.randrange(9), None)
                there.append(row)
                changes.append((*row, "insert"))
        columns = [*zip(*changes, strict=True)]
        types = [pa.string(), pa.int64(), pa.int64(), pa.timestamp("us"), pa.string()]
        names = ["k", "j", "v", "at", "_change_type"]
        given = {n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}
        return database.apply("G", pa.table(given))

    def timed(delta: pa.Table) -> pa.Table:
        return delta.append_column("_commit_timestamp", pa.nulls(delta.num_rows, pa.timestamp("us", "UTC")))

    for batch in range(8):
        commits = [commit() for _ in range(2 if batch == 3 else 1)]
        deltas: Any = {view: JoinedDelta(tuple(timed(each[view]) for each in commits)) for view in views}
        sink.deliver(deltas, batch)
        if draw.random() < 0.5:
            sink = opened(tmp_path, database, last=batch - 1 if batch else None, history=["log"])
            sink.deliver(deltas, batch)
        for name in ("sums", "all"):
            assert held(tmp_path / name) == rows_of(database.views[name]), (batch, name)
    signs = "sum(CASE WHEN _change_type = 'insert' THEN 1 ELSE -1 END)"
    with duckdb.connect() as connection:
        connection.register("log", DeltaTable(str(tmp_path / "log")).to_pyarrow_table())
        summed = connection.sql(f"SELECT k, j, {signs} FROM log GROUP BY ALL HAVING {signs} <> 0").fetchall()
    assert Counter({(k, j): int(n) for k, j, n in summed}) == Counter(rows_of(database.views["log"]))
    with pytest.raises(StateError, match=r"has seen the batches up to 3, and the Delta table .* up to 7: one of them"):
        opened(tmp_path, database, last=3, history=["log"])
    with pytest.raises(StateError, match="holds rows that are not of this checkpoint"):
        opened(tmp_path, database, run="another", history=["log"])
    with pytest.raises(SchemaError, match=r"view 'log' has no key .* history = \['log'\]"):
        opened(tmp_path, database, last=7)
    sink.forget("r")
    opened(tmp_path, database, run="another", history=["log"])


def test_texts_with_a_length_are_declared_so(tmp_path: Path) -> None:
    columns = [
        Field("c", PrimitiveType("string"), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}),
        Field("v", PrimitiveType("string"), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(4)"}),
        Field("s", PrimitiveType("string")),
    ]
    feed = {"delta.enableChangeDataFeed": "true"}
    DeltaTable.create(str(tmp_path), schema=Schema(columns), configuration=feed)
    assert sql_columns("T", table_columns(tmp_path)) == "`c` CHAR(3), `v` VARCHAR(4), `s` STRING"
    assert _types(table_columns(tmp_path))["c"].metadata == {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}


@pytest.mark.spark
@pytest.mark.torture
def test_a_snapshot_then_the_versions(spark: SparkSession, tmp_path: Path) -> None:
    """From Delta to Delta, by key and as whole rows, over several starts."""
    place = str(tmp_path / "people")
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
    write_deltalake(place, rows)
    with pytest.raises(SchemaError, match="has no change data feed"):
        read_delta(spark, place)
    with pytest.raises(StorageError, match="nothing was read"):
        read_delta(spark, tmp_path / "nowhere")
    write_deltalake(place, rows, mode="overwrite", configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(place).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})

    def run(sink: Any) -> None:
        frame = read_delta(spark, place)
        more: Any = {"path": tmp_path / "out", "trigger": {"availableNow": True}}
        checkpoint = tmp_path / f"ckpt-{type(sink).__name__}"
        if sink == "parquet":
            query = maintain(
                spark,
                {"v": "SELECT * FROM P"},
                {"P": frame},
                of={"P": {"changes": "cdf"}},
                checkpoint=checkpoint,
                **more,
            )
        else:
            views = {"v": "SELECT id, name FROM P WHERE id <> 7"}
            keys: Any = {"of": {"P": {"changes": "cdf", "key": "id"}}}
            query = maintain(spark, views, {"P": frame}, **keys, sink=sink, checkpoint=checkpoint, **more)
        assert query.awaitTermination(60)

    def check() -> None:
        now = held(Path(place))
        assert sum_of(tmp_path / "out" / "v") == Counter(now)
        assert held(tmp_path / "tables" / "v") == [row for row in now if row[0] != 7]

    for step in range(2):
        run("parquet")
        run(DeltaSink(tmp_path / "tables"))
        check()
        table = DeltaTable(place)
        write_deltalake(table, pa.table({"id": [7 + step], "name": ["new"]}), mode="append")
        table = DeltaTable(place)
        table.update(updates={"name": "'changed'"}, predicate=f"id = {1 + step}")
        table.delete(f"id = {3 + step}")
    run("parquet")
    run(DeltaSink(tmp_path / "tables"))
    check()
    DeltaTable(place).restore(0)
    frame = pa.table({"id": [1], "name": ["x"]})
    (tmp_path / "other").mkdir()
    (tmp_path / "people").rename(tmp_path / "other" / "people")
    write_deltalake(place, frame, configuration={"delta.enableChangeDataFeed": "true"})
    with pytest.raises(StreamingQueryException, match="it is another table, or was put back"):
        run("parquet")
