from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from livejoin.pipeline.check import table_now
from livejoin.pipeline.reader_options import READER_OPTIONS
from livejoin.schema import TableSettings
from livejoin.spark.sources import FileSource, arrange, read_changes
from livejoin.sql import parse_columns
from maintaining import maintain

ROW = "id BIGINT, name STRING"
ROW_COLUMNS = (("id", "BIGINT"), ("name", "STRING"))


def source(path: Path, **more: Any) -> FileSource:
    values: dict[str, Any] = {"columns": ROW_COLUMNS, "format": "csv", "options": {}}
    return FileSource(table=parse_columns("T", ROW), path=path, **(values | more))


def same_time(folder: Path, names: list[str]) -> None:
    """Files that all have one modification time, made in an order of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(name)
        os.utime(folder / name, (1e9, 1e9))


def test_files_arrive_in_the_order_of_their_names(tmp_path: Path) -> None:
    same_time(tmp_path / "in", ["c.csv", "a.csv", ".hidden", "_SUCCESS", "b.csv"])
    by_name = source(tmp_path / "in", by_name=True)
    assert [file.name for file in by_name.files()] == ["a.csv", "b.csv", "c.csv"]
    arrange(by_name.files(), tmp_path / "ordered")
    times = [(tmp_path / "ordered" / name).stat().st_mtime for name in ("a.csv", "b.csv", "c.csv")]
    assert times == sorted(set(times))


def test_a_file_that_comes_later_arrives_last(tmp_path: Path) -> None:
    by_name = source(tmp_path / "in", by_name=True)
    same_time(tmp_path / "in", ["b.csv", "c.csv"])
    arrange(by_name.files(), tmp_path / "ordered")
    same_time(tmp_path / "in", ["a.csv"])
    arrange(by_name.files(), tmp_path / "ordered")
    by_time = sorted((tmp_path / "ordered").iterdir(), key=lambda file: file.stat().st_mtime)
    assert [file.name for file in by_time] == ["b.csv", "c.csv", "a.csv"]


def test_patterns_and_batches(tmp_path: Path) -> None:
    same_time(tmp_path, ["x1.csv", "x2.csv", "x3.csv", "y.csv"])
    assert len(source(tmp_path / "x*.csv").files()) == 3
    assert source(tmp_path / "x*.csv", options={"maxFilesPerTrigger": "2"}).batches() == 2
    assert source(tmp_path / "x*.csv").batches() == 1


ENVELOPES = [
    {"op": "r", "before": None, "after": {"id": 1, "name": "a"}},
    {"op": "c", "before": None, "after": {"id": 2, "name": "b"}},
    {"op": "u", "before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": "A"}},
    {"op": "d", "before": {"id": 2, "name": "b"}, "after": None},
    {"op": "c", "before": None, "after": {"id": 3, "name": None}},
]


def in_duckdb(given: FileSource) -> Counter[Any]:
    import duckdb  # noqa: PLC0415

    return Counter(duckdb.sql(table_now(given)).fetchall())


@pytest.mark.spark
def test_debezium_envelopes(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps(envelope) for envelope in ENVELOPES]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("\n".join(lines))
    given = source(tmp_path / "in", format="json", feed="debezium")
    frame = read_changes(spark, given, tmp_path / "scratch")
    trigger = {"availableNow": True}
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint", "trigger": trigger}
    assert maintain(spark, {"v": "SELECT * FROM T"}, {"T": frame}, **places).awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, "A"): 1, (3, None): 1})
    assert in_duckdb(given) == Counter({(1, "A"): 1, (3, None): 1})


@pytest.mark.spark
def test_an_unknown_envelope_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"op": "t", "before": null, "after": null}')
    frame = read_changes(spark, source(tmp_path / "in", format="json", feed="debezium"), tmp_path / "scratch")
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    query = maintain(spark, {"v": "SELECT * FROM T"}, {"T": frame}, **places, trigger={"availableNow": True})
    with pytest.raises(StreamingQueryException, match=r"table 'T', row 0 .*: op of a Debezium envelope .*found t"):
        query.awaitTermination(60)


def test_duckdb_reads_what_a_table_holds(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("3,x\n1,a\n")
    (tmp_path / "2.csv").write_text("2,b\n")
    ordered = (("_seq", "BIGINT"), ("name", "STRING"))
    table = parse_columns("T", "name STRING", TableSettings(window_rows=2))
    window = FileSource(table, ordered, "csv", tmp_path, {}, by_name=True)
    assert in_duckdb(window) == Counter({("b",): 1, ("x",): 1})
    no_sequence = FileSource(
        parse_columns("T", ROW, TableSettings(window_rows=2)), ROW_COLUMNS, "csv", tmp_path, {}, by_name=True
    )
    assert in_duckdb(no_sequence) == Counter({(1, "a"): 1, (2, "b"): 1})


def test_duckdb_sums_a_change_feed(tmp_path: Path) -> None:
    feed = "1|a|insert\n1|a|insert\n1|a|delete\n1|a|update_preimage\n2||update_postimage\n"
    (tmp_path / "1.csv").write_text("id|name|_change_type\n" + feed)
    columns = (*ROW_COLUMNS, ("_change_type", "STRING"))
    options = {"header": "true", "sep": "|"}
    assert in_duckdb(source(tmp_path, columns=columns, feed="change-feed", options=options)) == Counter({(2, None): 1})


BY_KEY = [
    {"_seq": 10, "op": "r", "before": None, "after": {"id": 1, "name": "a"}},
    {"_seq": 20, "op": "c", "before": None, "after": {"id": 2, "name": "b"}},
    {"_seq": 30, "op": "u", "before": None, "after": {"id": 1, "name": "A"}},
    {"_seq": 15, "op": "d", "before": {"id": 4, "name": None}, "after": None},
    {"_seq": 50, "op": "d", "before": {"id": 2, "name": None}, "after": None},
    {"_seq": 60, "op": "u", "before": {"id": 3, "name": "d"}, "after": {"id": 5, "name": "e"}},
    {"_seq": 40, "op": "c", "before": None, "after": {"id": 3, "name": "d"}},
    {"_seq": 12, "op": "c", "before": None, "after": {"id": 4, "name": "x"}},
    {"_seq": 70, "op": "r", "before": None, "after": {"id": 1, "name": "A"}},
]


@pytest.mark.spark
def test_debezium_envelopes_by_key(spark: SparkSession, tmp_path: Path) -> None:
    """Updates without the row before, deletions with the key alone, messages twice, an update of a key."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("\n".join(json.dumps(envelope) for envelope in BY_KEY))
    table = parse_columns("T", f"{ROW}, PRIMARY KEY (id)")
    given = FileSource(table, (("_seq", "BIGINT"), *ROW_COLUMNS), "json", tmp_path / "in", {}, feed="debezium")
    frame = read_changes(spark, given, tmp_path / "scratch")
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    query = maintain(
        spark, {"v": "SELECT * FROM T"}, {"T": frame}, of={"T": {"key": "id"}}, trigger={"availableNow": True}, **places
    )
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, "A"): 1, (5, "e"): 1})
    assert in_duckdb(given) == Counter({(1, "A"): 1, (5, "e"): 1})


def test_duckdb_takes_the_last_change_of_each_key(tmp_path: Path) -> None:
    columns = (("id", "BIGINT"), ("at", "INT"), ("_change_type", "STRING"))
    (tmp_path / "1.csv").write_text("1,5,upsert\n2,5,insert\n1,4,delete\n3,1,insert\n")
    (tmp_path / "2.csv").write_text("2,5,delete\n3,2,update_preimage\n3,2,update_postimage\n4,1,insert\n")
    for sequence, expected in ((None, {(3, 2), (4, 1)}), ("at", {(1, 5), (3, 2), (4, 1)})):
        table = parse_columns("T", "id BIGINT PRIMARY KEY, at INT", TableSettings(sequence_by=sequence))
        given = FileSource(table, columns, "csv", tmp_path, {}, feed="change-feed", by_name=True)
        assert in_duckdb(given) == Counter(expected)


def test_the_options_of_readers_are_all_known(spark: SparkSession) -> None:
    """A newer Spark may have more: then they belong into `reader_options`."""
    jvm: Any = spark._jvm
    catalyst, sources = jvm.org.apache.spark.sql.catalyst, jvm.org.apache.spark.sql.execution.datasources
    theirs = {
        "csv": catalyst.csv.CSVOptions,
        "json": catalyst.json.JSONOptions,
        "parquet": sources.parquet.ParquetOptions,
        "orc": sources.orc.OrcOptions,
    }
    absent = {
        name: set(one.getAllOptions().mkString(",").split(",")) - {*READER_OPTIONS[name]}
        for name, one in theirs.items()
    }
    assert absent == {name: set() for name in theirs}
