"""Decimals of Debezium on Spark: bytes in base64, texts and numbers, and none is taken for another one."""

from __future__ import annotations

import base64
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltas import sum_of
from pyspark.sql import SparkSession
from test_bad_lines import files, run

import livejoin
from livejoin.errors import SchemaError
from livejoin.pipeline.check import table_now
from livejoin.spark.debezium.decimals import DECIMALS
from livejoin.spark.debezium.rows import check_declared
from livejoin.spark.sources import FileSource
from livejoin.sql import parse_columns

pytestmark = pytest.mark.spark
COLUMNS = "id BIGINT, d DECIMAL(38, 2)"
LARGEST = 10**38 - 1
UNSCALED = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31, -(2**31), 2**32, 2**63, -(2**63), -(2**64), 2**96 - 1]
UNSCALED += [-(2**96), 14073748835532, LARGEST, -LARGEST, LARGEST - 1, 1 - LARGEST]


def in_base64(number: int, more: int = 0) -> str:
    """The fewest bytes that have the number and its sign, as Java gives them, and some more."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1 + more
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def envelopes(rows: list[dict[str, Any]]) -> str:
    return "\n".join(f'{{"op": "c", "before": null, "after": {json.dumps(row)}}}' for row in rows)


def exact(number: int) -> Decimal:
    return Decimal(f"{number}E-2")


def test_bytes_in_base64_as_the_embedded_library_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"id": i, "d": in_base64(number)} for i, number in enumerate(UNSCALED)]
    rows += [{"id": 100, "d": None}, {"id": 101}, {"id": 102, "d": "1234"}, {"id": 103, "d": in_base64(-5, 20)}]
    rows += [{"id": 104, "d": {"scale": 1, "value": in_base64(-15)}}, {"id": 105, "d": 12.5}]
    bad = ["12.50", "", "MDk", in_base64(LARGEST + 1), in_base64(-LARGEST - 1), True, {"scale": 1}]
    told, _ = run(
        tmp_path,
        spark,
        {"v": "SELECT id, d FROM T"},
        files(
            spark,
            tmp_path / "in",
            envelopes([*rows, *({"id": 200 + i, "d": value} for i, value in enumerate(bad))]),
            COLUMNS,
            feed="debezium",
            decimals="base64",
        ),
        on_bad_rows="dead_letter",
    )
    expected = {(i, exact(number)) for i, number in enumerate(UNSCALED)}
    expected |= {(100, None), (101, None), (102, exact(int.from_bytes(base64.b64decode("1234"), "big", signed=True)))}
    expected |= {(103, exact(-5)), (104, Decimal("-1.5")), (105, Decimal("12.5"))}
    assert sum_of(tmp_path / "out" / "v") == Counter(expected)
    assert len(told) == len(bad)
    assert any("column 'd' is \"12.50\", which is no DECIMAL(38,2) in base64" in reason for _, reason in told)
    field = {"field": "d", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    schema = {"fields": [{"field": "after", "fields": [field]}]}
    known = [row for row in rows if not isinstance(row.get("d"), dict | float)]
    messages = [{"schema": schema, "payload": {"op": "c", "before": None, "after": row}} for row in known]
    embedded = {(row["id"], row.get("d")) for row in livejoin.from_debezium(messages)}
    assert embedded == {row for row in expected if row[0] not in (104, 105)}


@pytest.mark.parametrize("decimals", ["text", None])
def test_without_a_declaration_what_may_be_either_is_no_row(spark: SparkSession, tmp_path: Path, decimals: Any) -> None:
    values = ["1234", "MDk=", "12.50", "-5", "123", "1E+3", "+123", "x y", 1234, -0.5, 12345678901234567890123.25, 0]
    numbers = [json.dumps({"id": i, "d": value}) for i, value in enumerate(values)]
    numbers += ['{"id": 20, "d": 123456789012345678901234567890123456.78}', '{"id": 21, "d": 1.5E3}']
    numbers += ['{"id": 22, "d": 1.23456789012345678901E19}', '{"id": 23, "d": null}']
    lines = "\n".join(f'{{"op": "r", "before": null, "after": {row}}}' for row in numbers)
    frame = files(spark, tmp_path / "in", lines, COLUMNS, feed="debezium", decimals=decimals)
    told, _ = run(tmp_path, spark, {"v": "SELECT id, d FROM T"}, frame, on_bad_rows="dead_letter")
    found = {row[0]: row[1] for row in sum_of(tmp_path / "out" / "v")}
    why = {json.loads(row["_corrupt_record"])["after"]["id"]: reason for row, reason in told}
    sure = {2: "12.50", 3: "-5", 4: "123", 8: "1234", 9: "-0.5", 11: "0"}
    sure |= {20: "123456789012345678901234567890123456.78", 21: "1500"}
    if decimals == "text":
        sure |= {0: "1234", 5: "1000", 6: "123", 10: "12345678901234568000000", 22: "12345678901234567890.10"}
        assert sorted(why) == [1, 7]
        assert why[1].startswith("column 'd' is MDk=, which is no DECIMAL(38,2)")
    else:
        assert sorted(why) == [0, 1, 5, 6, 7, 10, 22]
        assert "column 'd' is \"1234\", a text, and the message does not say whether it is a number or" in why[0]
        assert "decimals = 'base64' where the connector's decimal.handling.mode is precise" in why[0]
        assert "decimals = 'text'" in why[22]
    assert found == {i: Decimal(value) for i, value in sure.items()} | {23: None}


def test_within_structs_arrays_and_maps(spark: SparkSession, tmp_path: Path) -> None:
    columns = (
        "id BIGINT, a ARRAY<DECIMAL(6, 2)>, s STRUCT<t: TIMESTAMP_NTZ, n: ARRAY<STRUCT<d: DATE, x: INT>>>, "
        "m MAP<STRING, DECIMAL(3, 1)>"
    )
    good = {
        "id": 1,
        "a": [in_base64(-5), None, in_base64(12345)],
        "s": {"t": 1_500, "n": [{"d": 1, "x": 7}, None, {"d": None}]},
        "m": {"k": in_base64(15)},
    }
    rows = [good, {"id": 2, "a": None, "s": None}, {"id": 3, "a": ["?"]}, {"id": 4, "m": {"k": "x"}}]
    rows += [{"id": 5, "s": {"n": [None, {"d": "noon"}]}}, {"id": 6, "a": []}]
    given: dict[str, Any] = {"feed": "debezium", "decimals": "base64", "integer_times": "milliseconds"}
    frame = files(spark, tmp_path / "in", envelopes(rows), columns, **given)
    told, _ = run(tmp_path, spark, {"v": "SELECT id, a, s, m FROM T"}, frame, on_bad_rows="dead_letter")
    shown = duckdb.sql(f"SELECT id, a::VARCHAR, s::VARCHAR, m::VARCHAR FROM '{tmp_path}/out/v/**/*.parquet' ORDER BY 1")
    first, second, third = shown.fetchall()
    assert first[:2] == (1, "[-0.05, NULL, 123.45]")
    assert "1970-01-01 00:00:01.5" in first[2]
    assert "1970-01-02" in first[2]
    assert first[3] == "{k=1.5}"
    assert second == (2, None, None, None)
    assert third[:2] == (6, "[]")
    assert sorted(reason.split(",")[0] for _, reason in told) == [
        "column 'a' is \"?\"",
        "column 'm' is \"x\"",
        "column 's.n.d' is noon",
    ]


def test_another_way_to_write_is_refused() -> None:
    with pytest.raises(SchemaError, match="topic 'x': decimals is 'precise'; allowed are 'text', 'base64'"):
        check_declared("decimals", "precise", DECIMALS, "topic 'x'")


@pytest.mark.parametrize("decimals", ["base64", "text", None])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"])
def test_livejoin_check_reads_them_too(tmp_path: Path, decimals: Any, key: str) -> None:
    written = [in_base64(n) if decimals == "base64" else f"{exact(n):.2f}" for n in UNSCALED]
    rows = [{"id": i, "d": value} for i, value in enumerate(written)]
    rows += [{"id": 100, "d": None}, {"id": 101}, {"id": 102, "d": 12.5}]
    (tmp_path / "1.json").write_text(envelopes(rows))
    table = parse_columns("T", COLUMNS + key)
    named = tuple((column.name, str(column.type)) for column in table.columns)
    source = FileSource(table, named, "json", tmp_path, {}, feed="debezium", decimals=decimals)
    expected = [*((i, exact(n)) for i, n in enumerate(UNSCALED)), (100, None), (101, None), (102, Decimal("12.50"))]
    assert sorted(duckdb.sql(table_now(source)).fetchall()) == expected
