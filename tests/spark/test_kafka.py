"""A topic as what views read and as what they are written to, on the mock cluster of Kafka's own client."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltas import sum_of
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

import livejoin
from kafka_cluster import Cluster, all_of
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.spark.kafka import KafkaSink, read_kafka
from livejoin.spark.kafka.source import KafkaReader
from livejoin.spark.sinks import SinkView
from maintaining import maintain


def test_ranges_of_offsets_are_exact(cluster: Cluster) -> None:
    cluster.send("ranges", [(n, n) for n in range(5)], partition=0)
    cluster.send("ranges", [(n, None) for n in range(3)], partition=1)
    reader = KafkaReader("ranges", {"bootstrap.servers": cluster.servers})
    start = reader.initialOffset()
    end: Any = reader.latestOffset(start, None)  # type: ignore[arg-type]
    assert (start["0"], end["0"], start["1"], end["1"]) == (0, 5, 0, 3)
    cluster.send("ranges", [(n, n) for n in range(5, 9)], partition=0)
    read = all_of(reader, start, end)
    assert read == [
        *((0, n, str(n).encode(), str(n).encode()) for n in range(5)),
        *((1, n, str(n).encode(), None) for n in range(3)),
    ]
    assert all_of(reader, start, end) == read, "as often as it is asked"
    newest: Any = reader.latestOffset(end, None)  # type: ignore[arg-type]
    assert [offset for _, offset, _, _ in all_of(reader, end, newest)] == [5, 6, 7, 8]
    assert all_of(reader, newest, newest) == []
    with pytest.raises(StateError, match=r"ends at offset 9 of partition 0, and the checkpoint has read it up to 12"):
        reader.latestOffset({**newest, "0": 12}, None)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=r"Kafka at 127\.0\.0\.1:.*, topic 'nowhere': "):
        KafkaReader("nowhere", {"bootstrap.servers": cluster.servers}).initialOffset()


def test_messages_with_keys(cluster: Cluster) -> None:
    """Whoever keeps the last message of each key has the view, also where a batch came twice."""
    database = livejoin.Database()
    database.create_table("T", "k STRING, v DECIMAL(9, 2)")
    keyed = database.create_view("keyed", "SELECT k, SUM(v) AS total FROM T GROUP BY k")
    database.create_view("plain", "SELECT k FROM T")
    sink = KafkaSink(cluster.servers, {"plain": "log"})
    views = {name: SinkView(view.schema, view.keys) for name, view in database.views.items()}
    sink.open(views, None, WrittenParts(), "run")
    deletion = {"k": "a", "v": Decimal("1.50"), "_change_type": "delete"}
    for batch, changes in enumerate(
        ([("a", Decimal("1.50")), (None, 2), ("b'\"", 1)], [deletion, {"k": None, "v": 1, "_change_type": "insert"}])
    ):
        commit = database.apply("T", changes)
        deltas = {}
        for view in views:
            times = pa.nulls(commit[view].num_rows, pa.timestamp("us", "UTC"))
            deltas[view] = commit[view].append_column("_commit_timestamp", times)
        for _ in range(2):
            assert sink.deliver(deltas, batch) == []

    last = cluster.last
    held = [{"k": row["k"], "total": float(row["total"])} for row in keyed.to_arrow().to_pylist()]
    assert sorted(last("keyed").values(), key=repr) == sorted(held, key=repr)
    assert set(map(str, last("keyed"))) == {json.dumps({"k": row["k"]}, separators=(",", ":")) for row in held}
    kinds = [(row["k"], row["_change_type"]) for row in last("log").values()]
    assert Counter(kinds) == Counter(
        [("a", "insert"), (None, "insert"), ("b'\"", "insert"), ("a", "delete"), (None, "insert")]
    )
    with pytest.raises(SchemaError, match="names 'w'; the views are keyed, plain"):
        KafkaSink(cluster.servers, {"w": "x"}).open(views, None, WrittenParts(), "run")


@pytest.mark.spark
@pytest.mark.torture
def test_from_topics_to_topics(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    """Upserts with tombstones and Debezium's envelopes, over two starts."""

    def run(sink: Any) -> None:
        tables = {
            "people": read_kafka(spark, cluster.servers, "people", "id BIGINT, name STRING", "upsert", "id"),
            "orders": read_kafka(spark, cluster.servers, "orders", "id BIGINT, person BIGINT", "debezium", "id"),
        }
        views = {"named": "SELECT o.id, p.name FROM orders o JOIN people p ON o.person = p.id"}
        more: Any = {"checkpoint": tmp_path / "checkpoint", "trigger": {"availableNow": True}, "sink": sink}
        assert maintain(
            spark, views, tables, of={"people": {"key": "id"}, "orders": {"key": "id"}}, **more
        ).awaitTermination(60)

    def held() -> Counter[Any]:
        """What the messages that came last say."""
        rows = cluster.last("named").values()
        return Counter((row["id"], row["name"]) for row in rows)

    def order(op: str, number: int, person: int, wrapped: bool = False) -> tuple[Any, Any]:
        row = {"id": number, "person": person}
        envelope = {"op": op, "before": row if op == "d" else None, "after": None if op == "d" else row}
        return ({"id": number}, {"schema": {}, "payload": envelope} if wrapped else envelope)

    cluster.send("people", [({"id": n}, {"id": n, "name": f"p{n}"}) for n in range(4)])
    cluster.send("orders", [order("c", n, n % 4, wrapped=n % 2 == 0) for n in range(8)])
    run(KafkaSink(cluster.servers))
    assert held() == Counter((n, f"p{n % 4}") for n in range(8))
    cluster.send(
        "people", [({"id": 1}, {"id": 1, "name": "late"}), ({"id": 2}, None), ({"id": 1}, {"id": 1, "name": "x"})]
    )
    cluster.send("orders", [order("d", 4, 0), ({"id": 4}, None), order("u", 0, 3, wrapped=True)])
    run(KafkaSink(cluster.servers))
    assert held() == Counter([(0, "p3"), (1, "x"), (3, "p3"), (5, "x"), (7, "p3")])
    cluster.send("people", [({"id": n}, {"id": n, "name": "new"}) for n in range(9)])
    batches: list[int] = []
    limited = read_kafka(spark, cluster.servers, "people", "id BIGINT, name STRING", "upsert", "id", max_messages=4)
    more: Any = {"checkpoint": tmp_path / "other", "path": tmp_path / "out", "trigger": {"availableNow": True}}
    views = {"names": "SELECT name, COUNT(*) AS n FROM people GROUP BY name"}
    query = maintain(
        spark,
        views,
        {"people": limited},
        of={"people": {"key": "id"}},
        **more,
        on_batch=lambda b: batches.append(b.changes),
    )
    assert query.awaitTermination(60)
    assert [count for count in batches if count] == [4, 4, 4, 4]
    with pytest.raises(SchemaError, match="topic 'people': upserts go by a key, and there is none"):
        read_kafka(spark, cluster.servers, "people", "id BIGINT", "upsert")


@pytest.mark.spark
@pytest.mark.parametrize("messages", [pytest.param("append", marks=pytest.mark.torture), "upsert", "debezium"])
def test_messages_that_are_none(spark: SparkSession, cluster: Cluster, tmp_path: Path, messages: Any) -> None:
    """Each is a bad row with its text; the others of its batch are applied."""
    topic, good = f"bad-{messages}", {"id": 1, "name": "a"}
    bad = ["{", "", "null", "5", '[{"id": 2}]', '{"id": "x"}']
    key = '{"id": 1}'
    message = json.dumps({"op": "c", "after": good} if messages == "debezium" else good)
    cluster.send_texts(topic, [(key, message), *((key, text) for text in bad), ("{", None)])
    told: list[Any] = []
    keys = () if messages == "append" else "id"
    frame = read_kafka(spark, cluster.servers, topic, "id BIGINT, name STRING", messages, keys)
    more: Any = {"checkpoint": tmp_path / "state", "path": tmp_path / "out", "trigger": {"availableNow": True}}
    letters: Any = {"on_bad_rows": "dead_letter", "dead_letters": lambda row, *rest: told.append((row, rest[-1]))}
    by_key: Any = {"of": {"T": {"key": keys}}} if keys else {}
    query = maintain(spark, {"v": "SELECT id, name FROM T"}, {"T": frame}, **by_key, **more, **letters)
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, "a"): 1})
    texts = Counter(row["_corrupt_record"] for row, _ in told)
    assert texts == Counter(bad + (["{"] if messages == "upsert" else []))
    said = ("what came is no row of the table: ", "op of a Debezium envelope is c, r, u or d, found none")
    assert all(reason.startswith(said) for _, reason in told)


@pytest.mark.spark
@pytest.mark.torture
def test_decimals_of_envelopes_are_as_declared(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    rows = [{"id": 1, "price": "AN3H"}, {"id": 2, "price": None}, {"id": 3, "price": "/w=="}]
    envelopes = [{"op": "c", "before": None, "after": row} for row in rows]
    cluster.send("priced", [({"id": 1}, one) for one in (envelopes[0], {"payload": envelopes[1]}, envelopes[2])])
    table = read_kafka(
        spark, cluster.servers, "priced", "id BIGINT, price DECIMAL(9, 2)", "debezium", decimals="base64"
    )
    places: Any = {"path": tmp_path / "out", "checkpoint": tmp_path / "state", "trigger": {"availableNow": True}}
    assert maintain(spark, {"v": "SELECT id, price FROM T"}, {"T": table}, **places).awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, Decimal("567.75")), (2, None), (3, Decimal("-0.01"))})
    with pytest.raises(SchemaError, match="decimals is for messages = 'debezium', and these are 'append'"):
        read_kafka(spark, cluster.servers, "priced", "id BIGINT", decimals="text")
