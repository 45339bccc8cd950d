"""Lines of files that are no rows of their table, and rows that are no changes: as any bad row, by on_bad_rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltas import sum_of
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.spark import BatchReport, QueryFailedError
from livejoin.spark.sources import FileSource, read_changes
from livejoin.sql import parse_columns
from maintaining import IN_CELLS, maintain

pytestmark = pytest.mark.spark
CELLS = pytest.mark.parametrize("more", [{}, IN_CELLS], ids=str)  # without Spark `tests/distributed` has bad rows
COLUMNS_OF_CSV = "id BIGINT, n INT, s STRING"
COLUMNS = "id BIGINT, n INT, at TIMESTAMP, s STRUCT<x: INT, y: ARRAY<INT>>"
ALL = {"v": "SELECT id, n FROM T WHERE at IS NULL OR s IS NULL OR s IS NOT NULL"}
GOOD = ['{"id": 1, "n": 5, "_change_type": "insert"}', '{"id": 2, "s": {"x": 1}, "_change_type": "insert"}']
BAD = [
    '{"id": 3, "n": 99999999999, "_change_type": "insert"}',
    '{"id": 4, "at": "yesterday", "_change_type": "insert"}',
    '{"id": 5, "s": {"x": "word"}, "_change_type": "insert"}',
    '{"id": 6, "s": {"y": [1, {}]}, "_change_type": "insert"}',
    '{"id": 7, "s": 7, "_change_type": "insert"}',
    '{"id": 8, "n": 1',
    "null",
]
KINDS = ['{"id": 9, "n": 1, "_change_type": "remove"}', '{"id": 10, "n": 1}']


def files(spark: SparkSession, folder: Path, text: str, columns: str = COLUMNS, **more: Any) -> DataFrame:
    """A stream of one file."""
    folder.mkdir()
    (folder / "1").write_text(text)
    table = parse_columns("T", columns)
    named = [(column.name, str(column.type)) for column in table.columns]
    if more.get("feed") == "change-feed":
        named.append(("_change_type", "STRING"))
    values: dict[str, Any] = {"format": "json", "options": {"mode": "FAILFAST"}, **more}
    source = FileSource(table, tuple(named), path=folder, **values)
    return read_changes(spark, source, folder.with_suffix(".scratch"))


def run(root: Path, spark: SparkSession, views: dict[str, str], frame: DataFrame, **more: Any) -> list[Any]:
    """A query to its end: what went to the dead letters, and the report."""
    told: list[Any] = []
    reports: list[BatchReport] = []
    places: dict[str, Any] = {"path": root / "out", "checkpoint": root / "state", "trigger": {"availableNow": True}}
    if "dead_letter" in more.values():
        more["dead_letters"] = lambda row, *rest: told.append((row, rest[-1]))
    query = maintain(spark, views, {"T": frame}, on_batch=reports.append, **places, **more)
    assert query.awaitTermination(100)
    assert sum(reports[0].dead_letters.values()) == len(told)
    return [told, reports[0]]


@CELLS
def test_lines_of_json(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    lines = "\n".join([GOOD[0], *BAD, *KINDS, GOOD[1]])
    frame = files(spark, tmp_path / "in", lines, feed="change-feed")
    told, report = run(tmp_path / "1", spark, ALL, frame, on_bad_rows="dead_letter", **more)
    assert Counter(row["_corrupt_record"] for row, _ in told) == Counter([*BAD, None, None])
    assert all((row["_corrupt_file"] is None) == (row["_corrupt_record"] is None) for row, _ in told)
    assert sorted(row["_change_type"] or "" for row, _ in told if row["_corrupt_record"] is None) == ["", "remove"]
    assert not any("in the file" in reason for _, reason in told)
    assert all("no row of the table" in reason or "_change_type is" in reason for _, reason in told)
    assert sum_of(tmp_path / "1" / "out" / "v") == Counter({(1, 5): 1, (2, None): 1})
    assert report.changes == 2
    with pytest.raises(QueryFailedError) as caught:
        run(tmp_path / "2", spark, ALL, frame, **more)
    said = str(caught.value).splitlines()
    assert said[0].startswith("ChangeFormatError: table 'T'")
    assert "what came is no row of the table: column 'n' is INT, and came as '99999999999'" in said[0]
    assert said[0].endswith(f", in the file '{tmp_path}/in/1'")
    assert said[1].startswith("the change is ")
    assert said[2] == f"it is line 2 of {tmp_path}/in/1"
    assert said[-1].startswith("Here on_bad_rows of RunOptions, or of the pipeline file, is 'fail'; 'skip' leaves such")
    assert len(said) == (5 if not more else len(said))
    assert isinstance(caught.value.__cause__, ChangeFormatError)


def test_what_no_view_reads_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    frame = files(spark, tmp_path / "in", "\n".join([*GOOD, *BAD]))
    _, report = run(tmp_path, spark, {"v": "SELECT COUNT(*) AS c FROM T"}, frame, on_bad_rows="skip")
    assert (report.skipped, report.changes) == (2, 7)


def test_lines_of_csv(spark: SparkSession, tmp_path: Path) -> None:
    bad = ["x,1", "3,99999999999", "4", "5,5,5"]
    options = {"mode": "FAILFAST", "header": "true", "enforceSchema": "false"}
    lines = "\n".join(["id,n", "1,5", *bad, "2,"])
    frame = files(spark, tmp_path / "in", lines, "id BIGINT, n INT", format="csv", options=options)
    told, _ = run(tmp_path, spark, {"v": "SELECT id, n FROM T"}, frame, on_bad_rows="dead_letter")
    assert sorted(row["_corrupt_record"] for row, _ in told) == sorted(bad)
    assert sum_of(tmp_path / "out" / "v") == Counter({(1, 5): 1, (2, None): 1})
    said = {row["_corrupt_record"]: reason for row, reason in told}
    no_row = "what came is no row of the table: "
    assert {row["_corrupt_file"] for row, _ in told} == {f"{tmp_path}/in/1"}  # which the reason need not say again
    assert said["x,1"] == f"{no_row}column 'id' is BIGINT, and came as 'x'"
    assert said["3,99999999999"] == f"{no_row}column 'n' is INT, and came as '99999999999'"
    assert said["4"].startswith(f"{no_row}'4'; of its columns")


def test_half_a_line_of_csv_is_none_also_where_views_do_not_read_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    frame = files(spark, tmp_path / "in", "1,5,a\n2\n3,6\n4,7,b,c\n5,8,\n6,9", COLUMNS_OF_CSV, format="csv")
    told, report = run(tmp_path, spark, {"v": "SELECT id FROM T"}, frame, on_bad_rows="dead_letter")
    assert sorted(row["_corrupt_record"] for row, _ in told) == ["2", "3,6", "4,7,b,c", "6,9"]
    assert sum_of(tmp_path / "out" / "v") == Counter({(1,): 1, (5,): 1})
    assert report.changes == 2


def test_decimals_of_csv_are_read_digit_by_digit(spark: SparkSession, tmp_path: Path) -> None:
    good = ["12.5", "+1", "-0.050", ".5", "7.", "1E+1", "0E-10", "", "1234.56"]
    bad = ["12,50", "1.255", "12345", "1 2", " 1", "1e-3", "x", "."]
    lines = "\n".join(f"{at};{text};a" for at, text in enumerate([*good, *bad]))
    options = {"mode": "FAILFAST", "sep": ";"}
    columns = "id BIGINT, m DECIMAL(6, 2), s STRING"
    frame = files(spark, tmp_path / "in", lines, columns, format="csv", options=options)
    frame = frame.withColumn("_seq", -frame["id"])
    told, _ = run(tmp_path, spark, {"v": "SELECT id, m FROM T"}, frame, on_bad_rows="dead_letter")
    assert sorted((row["id"], reason.split("'")[3]) for row, reason in told) == list(enumerate(bad, len(good)))
    assert sorted((-row["_seq"], row["_corrupt_record"]) for row, _ in told) == list(enumerate(bad, len(good)))
    assert {row["m"] for row, _ in told} == {None}
    assert all(row["_corrupt_file"] == f"{tmp_path}/in/1" for row, _ in told)
    assert all("column 'm' is DECIMAL(6, 2), and came as" in reason for _, reason in told)
    values = [None if text == "" else Decimal(text).quantize(Decimal("0.01")) for text in good]
    assert sum_of(tmp_path / "out" / "v") == Counter(enumerate(values))
    table = parse_columns("T", columns)
    static = FileSource(
        replace(table, settings=replace(table.settings, static=True)),
        tuple((column.name, str(column.type)) for column in table.columns),
        "csv",
        tmp_path / "in",
        options,
    )
    rows = read_changes(spark, static, tmp_path / "none")
    with pytest.raises(PySparkException, match="column 'm' is DECIMAL\\(6, 2\\), and came as '12,50'"):
        rows.collect()


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"])
def test_envelopes(spark: SparkSession, tmp_path: Path, key: str) -> None:
    row = {"id": 1, "n": 5}
    good = [{"op": "c", "after": row}, {"op": "u", "before": row, "after": {"id": 2, "n": 6}}]
    bad = [{"op": "t"}, {"op": "d", "after": row}, {"op": "c"}, {"after": row}, {"op": "u", "before": row}]
    lines = [*map(json.dumps, [*good, *bad]), '{"op": "c", "after": {"id": "x"}}']
    frame = files(spark, tmp_path / "in", "\n".join(lines), "id BIGINT, n INT" + key, feed="debezium")
    more: dict[str, Any] = {"of": {"T": {"key": "id"}}} if key else {}
    told, _ = run(tmp_path, spark, {"v": "SELECT id, n FROM T"}, frame, on_bad_rows="dead_letter", **more)
    assert sum_of(tmp_path / "out" / "v") == Counter({(2, 6): 1})
    texts = Counter(json.dumps(json.loads(row["_corrupt_record"])) for row, _ in told)
    assert texts == Counter(json.dumps(one) for one in [*bad, {"op": "c", "after": {"id": "x"}}])
    reasons = sorted(reason for _, reason in told)
    assert [reason[:26] for reason in reasons] == [
        *["op of a Debezium envelope "] * 2,
        *["the message has no row aft"] * 2,
        "the message has no row bef",
        "what came is no row of the",
    ]


def test_rows_of_a_change_data_feed_and_places_in_the_order(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(1, 1, "insert", 1), (2, 2, "upsert", 1), (3, 3, None, 2), (4, 4, "insert", None)]
    versions = spark.createDataFrame(rows, "id BIGINT, n INT, _change_type STRING, _commit_version BIGINT")
    more: dict[str, Any] = {"of": {"T": {"changes": "cdf"}}, "on_bad_rows": "dead_letter"}
    told, _ = run(tmp_path / "1", spark, {"v": "SELECT id, n FROM T"}, versions, **more)
    assert sorted(reason.partition("found ")[2] for _, reason in told) == ["insert, none", "none, 2", "upsert, 1"]
    ordered = spark.createDataFrame([(1, 1, None), (2, 2, 7)], "id BIGINT, n INT, _seq BIGINT")
    told, _ = run(tmp_path / "2", spark, {"v": "SELECT id, n FROM T"}, ordered, on_bad_rows="dead_letter")
    assert [(row["id"], reason[:12]) for row, reason in told] == [(1, "_seq is NULL")]
    assert sum_of(tmp_path / "2" / "out" / "v") == Counter({(2, 2): 1})


def test_a_frame_of_the_user(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own name for such texts is enough; static rows have none."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text("\n".join(['{"id": 1}', *BAD]))
    reader = spark.readStream.schema("id BIGINT, n INT, _corrupt_record STRING")
    view = {"v": "SELECT id, n FROM T"}
    told, _ = run(tmp_path, spark, view, reader.json(str(tmp_path / "in")), on_bad_rows="dead_letter")
    assert Counter(row["_corrupt_record"] for row, _ in told) == Counter([BAD[0], *BAD[-2:]])
    with pytest.raises(SchemaError, match="column name '_Refused' is reserved"):
        files(spark, tmp_path / "in2", "", "id BIGINT, _Refused STRING")
    rows = spark.read.schema("id BIGINT, _corrupt_record STRING").json(str(tmp_path / "in"))
    tables = {"T": reader.json(str(tmp_path / "in")), "S": rows}
    with pytest.raises(SchemaError, match="'S' is static, and comes as a frame of changes, with _corrupt_record"):
        maintain(
            spark,
            {"v": "SELECT T.id FROM T JOIN S ON T.id = S.id"},
            tables,
            of={"S": {"static": True}},
            path=tmp_path / "o",
            checkpoint=tmp_path / "s",
        )
