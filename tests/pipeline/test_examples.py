"""The examples run, as they are in the repository but for their folder and their server."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from kafka_cluster import Cluster
from livejoin.checkpoint import read_checkpoint
from livejoin.errors import PipelineError
from livejoin.pipeline import clear, load, run
from postgres_server import PostgresServer

EXAMPLES = Path(__file__).parents[2] / "examples"


def copied(name: str, folder: Path, *replaced: tuple[str, str]) -> Path:
    """A copy of an example; its pipeline file."""
    shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("checkpoint", "out"))
    file = folder / name / "pipeline.toml"
    text = file.read_text()
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return file


@pytest.mark.spark
def test_upserts(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = load(copied("upserts", tmp_path))
    run(pipeline, lambda _: None, lambda: None)
    shown = capsys.readouterr().out
    assert "batch 0, regions: 2 rows\n  + region = 'north', total = Decimal('150.00'), accounts = 2\n" in shown
    held = read_checkpoint(pipeline.checkpoint).views["regions"].to_arrow().to_pylist()
    assert sorted((row["region"], int(row["total"]), row["accounts"]) for row in held) == [
        ("north", 8, 1),
        ("south", 170, 2),
    ]


@pytest.mark.spark
def test_delta(spark: SparkSession, tmp_path: Path) -> None:
    """The sink's tables have a change data feed themselves, which the example's second table is read by."""
    file = copied("delta", tmp_path)
    made = {"__name__": "__main__", "__file__": str(file.parent / "make_table.py")}
    exec(compile((file.parent / "make_table.py").read_text(), "make_table.py", "exec"), made)
    pipeline = load(file)
    run(pipeline, lambda _: None, lambda: None)
    stock = DeltaTable(str(file.parent / "out" / "stock"))
    assert sorted(map(tuple, map(dict.values, stock.to_pyarrow_table().to_pylist()))) == [("bolt", 35), ("nut", 12)]
    DeltaTable(str(file.parent / "shelves")).delete("id = 3")
    run(load(file), lambda _: None, lambda: None)
    stock = DeltaTable(str(file.parent / "out" / "stock"))
    assert sorted(map(tuple, map(dict.values, stock.to_pyarrow_table().to_pylist()))) == [("bolt", 35)]
    clear(pipeline)
    assert DeltaTable(str(file.parent / "out" / "stock")).to_pyarrow_table().num_rows == 0
    DeltaTable(str(file.parent / "shelves")).delete()
    (file.parent / "shelves").rename(file.parent / "gone")
    with pytest.raises(PipelineError, match=r"tables\.shelves\.path: the Delta table .*shelves: "):
        load(file)


@pytest.mark.spark
def test_kafka(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    replaced = ("localhost:9092", cluster.servers), ('"1 second" ', '"available-now"')
    file = copied("kafka", tmp_path, *replaced)
    times = [("a", "10:00:00"), ("b", "10:30:00"), ("b", "10:50:00"), ("c", "11:20:00")]
    cluster.send("visits", [(None, {"page": page, "at": f"2024-01-01T{at}"}) for page, at in times])
    run(load(file), lambda _: None, lambda: None)
    assert cluster.last("seen-in-the-last-hour") == {
        '{"page":"b"}': {"page": "b", "n": 2},
        '{"page":"c"}': {"page": "c", "n": 1},
    }
    cluster.send("visits", [(None, {"page": "d", "at": "2024-01-01T11:45:00"})])
    run(load(file), lambda _: None, lambda: None)
    assert sorted((row["page"], row["n"]) for row in cluster.last("seen-in-the-last-hour").values()) == [
        ("b", 1),
        ("c", 1),
        ("d", 1),
    ]
    file.write_text(file.read_text().replace('topic = "visits"', 'topic = "visits"\nmessages = "upsert"'))
    with pytest.raises(PipelineError, match=r"tables\.visits\.schema: messages = 'upsert' go by a key"):
        load(file)


@pytest.mark.spark
@pytest.mark.parametrize("begins_anew", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_postgres(spark: SparkSession, postgres: PostgresServer, tmp_path: Path, begins_anew: bool) -> None:
    url = postgres.database(f"shop{begins_anew:d}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((EXAMPLES / "postgres" / "shop.sql").read_bytes())
        file = copied("postgres", tmp_path, ("postgresql:///shop", url), ('"1 second" ', '"available-now"'))
        pipeline = load(file)
        run(pipeline, lambda _: None, lambda: None)
        spent = "SELECT id, name, total, orders FROM spent ORDER BY id"
        assert [(i, n, str(t), o) for i, n, t, o in connection.execute(spent)] == [
            (1, "Ada", "25.50", 2),
            (2, "Bob", "12.25", 1),
        ]
        connection.execute("UPDATE orders SET amount = 250 WHERE id = 2; DELETE FROM orders WHERE id = 3")
        run(load(file), lambda _: None, lambda: None)
        assert [(i, str(t)) for i, _, t, _ in connection.execute(spent)] == [(1, "270.00")]
        clear(pipeline)
        assert connection.execute(spent).fetchall() == []
        slots = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
        assert connection.execute(slots).fetchall() == []
        if begins_anew:
            run(load(file), lambda _: None, lambda: None)
            assert [(i, str(t)) for i, _, t, _ in connection.execute(spent)] == [(1, "270.00")]
            clear(pipeline)
    text = file.read_text()
    for old, new, says in (
        ('server = "shop"', 'server = "store"', r"names the server 'store', which is not among \[servers\]"),
        ('publication = "livejoin_shop"', 'publication = "none"', "servers.shop.url: there is no publication 'none'"),
        ('checkpoint = "checkpoint"', 'checkpoint = "checkpoint"\ncheck = true', "some tables come from elsewhere"),
        ('slot = "livejoin_shop"', "", "servers.shop.slot: is missing"),
    ):
        file.write_text(text.replace(old, new, 1))
        with pytest.raises(PipelineError, match=says):
            load(file)
