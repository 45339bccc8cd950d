from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from livejoin.errors import SchemaError
from livejoin.schema import TableSettings
from livejoin.spark.streams.frames import Declared, pack, table_of, unpack

pytestmark = pytest.mark.spark

ALL_TYPES = (
    "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f DOUBLE, g DECIMAL(10,2), h DATE, i TIMESTAMP, "
    "j TIMESTAMP_NTZ, k STRING"
)


def rows_of(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def test_every_supported_type_becomes_that_of_the_table(spark: SparkSession) -> None:
    table = table_of(
        "T",
        spark.createDataFrame([], ALL_TYPES + ", _change_type STRING, _seq BIGINT"),
        Declared(settings=TableSettings(window_rows=7)),
    )
    assert [str(column.type) for column in table.columns] == [
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "DATE", "TIMESTAMP"),
        *("TIMESTAMP_NTZ", "STRING"),
    ]
    assert table.window_rows == 7


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("a BIGINT, b ARRAY<INTERVAL DAY>", r"column 'b' has the Spark type array<interval day>; allowed are boolean"),
        (
            "a BIGINT, b ARRAY<VARIANT>",
            r"column 'b' has the Spark type array<variant>.*struct of these but variant and months",
        ),
        ("a INTERVAL DAY", r"column 'a' has the Spark type interval day.*cast the column"),
        ("a BIGINT, _seq STRING", r"column '_seq' has the Spark type string; allowed is an integer"),
        ("a BIGINT, _change_type INT", r"column '_change_type' has the Spark type int; allowed is a string"),
        ("a STRING COLLATE UNICODE_CI", r"column 'a' has the Spark type string collate UNICODE_CI"),
    ],
)
def test_a_type_that_is_not_kept_is_named(spark: SparkSession, schema: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        table_of("T", spark.createDataFrame([], schema))


def test_tables_come_out_as_they_went_in(spark: SparkSession) -> None:
    first = spark.createDataFrame([(1, "x"), (1, "x"), (None, None)], "`a b` BIGINT, s STRING")
    second = spark.createDataFrame([(5, "delete"), (6, "insert")], "k INT, _CHANGE_TYPE STRING")
    packed = pack({"one": first, "two": second}, {"one": ["a b", "s"], "two": ["k"]})
    batch = unpack(("one", "two"), packed.toArrow())
    assert batch.rows == 5
    assert rows_of(batch.changes["one"]) == Counter({(1, "x"): 2, (None, None): 1})
    assert batch.changes["two"].column_names == ["k", "_change_type"]
    assert rows_of(batch.changes["two"]) == Counter({(5, "delete"): 1, (6, "insert"): 1})


def test_columns_that_are_never_null_travel_with_other_tables(spark: SparkSession) -> None:
    """Spark's range and literals are not nullable; beside another table's rows they are NULL all the same."""
    first = spark.range(2).withColumn("_change_type", F.lit("insert"))
    second = spark.range(5, 7).withColumn("name", F.lit("x")).withColumn("_change_type", F.lit("insert"))
    packed = pack({"one": first, "two": second}, {"one": ["id"], "two": ["id", "name"]})
    batch = unpack(("one", "two"), packed.toArrow())
    assert rows_of(batch.changes["one"]) == Counter({(0, "insert"): 1, (1, "insert"): 1})
    assert rows_of(batch.changes["two"]) == Counter({(5, "x", "insert"): 1, (6, "x", "insert"): 1})


def test_only_the_asked_columns_travel(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 2, 3, 9)], "a BIGINT, b BIGINT, c BIGINT, _seq BIGINT")
    batch = unpack(("T",), pack({"T": frame}, {"T": ["c"]}).toArrow())
    assert batch.changes["T"].to_pylist() == [{"c": 3}]


def test_the_sequence_orders_the_rows_and_goes(spark: SparkSession) -> None:
    shuffled = [(i * 37 % 101, i) for i in range(101)]
    frame = spark.createDataFrame([(value, value) for value, _ in shuffled], "a BIGINT, _seq BIGINT").repartition(3)
    batch = unpack(("T",), pack({"T": frame}, {"T": ["a"]}).toArrow())
    assert batch.changes["T"].to_pydict() == {"a": list(range(101))}


@pytest.mark.parametrize("in_sequence", [True, False])
def test_a_row_without_a_sequence_says_so(in_sequence: bool) -> None:
    """But for one that could not be read, and one that something else is wrong with."""
    texts = [pa.array([None, None, "x", None], pa.string()), pa.array([None, None, None, "why"], pa.string())]
    columns = [pa.array([1, 2, 3, 4]), pa.array([None, 5, None, None], pa.int64()), *texts]
    struct = pa.StructArray.from_arrays(columns, ["a", "_seq", "_corrupt_record", "_refused"])
    time = pa.array([datetime(2025, 1, 1, tzinfo=UTC)] * 4)
    rows = pa.table({"_table": pa.array([0] * 4, pa.int32()), "t0": struct, "_commit_timestamp": time})
    found = unpack(("T",), rows, in_sequence=in_sequence).changes["T"]
    assert found["a"].to_pylist() == ([2, 1, 3, 4] if in_sequence else [1, 2, 3, 4])
    refused = {row["a"]: (row["_refused"] or "")[:12] for row in found.to_pylist()}
    assert refused == {1: "_seq is NULL", 2: "", 3: "", 4: "why"}


def test_instants_come_in_utc_without_a_zone(spark: SparkSession) -> None:
    frame = spark.sql("SELECT TIMESTAMP '2025-06-01 12:00:00+02:00' AS t, TIMESTAMP_NTZ '2025-06-01 12:00:00' AS n")
    batch = unpack(("T",), pack({"T": frame}, {"T": ["t", "n"]}).toArrow())
    assert batch.changes["T"].schema.types == [pa.timestamp("us")] * 2
    assert batch.changes["T"].to_pylist() == [{"t": datetime(2025, 6, 1, 10), "n": datetime(2025, 6, 1, 12)}]


def test_a_micro_batch_without_rows_has_no_changes(spark: SparkSession) -> None:
    batch = unpack(("T",), pack({"T": spark.createDataFrame([], "a BIGINT")}, {"T": ["a"]}).toArrow())
    assert batch.changes == {}
    assert batch.time is None
