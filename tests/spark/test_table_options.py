"""What `maintain` is told of a table: keys, order, deletions, kinds of changes, windows and references."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from deltas import sum_of
from pyspark.sql import DataFrame, SparkSession

from livejoin.checkpoint import read_checkpoint
from livejoin.errors import LivejoinError, SchemaError
from livejoin.spark import RunOptions, stream
from maintaining import maintain

pytestmark = pytest.mark.spark


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Callable[..., Counter[Any]]:
    """The sum of the deltas of a view over what is there."""

    def once(sql: str, tables: dict[str, DataFrame], **more: Any) -> Counter[Any]:
        place = {"path": tmp_path / "out", "checkpoint": tmp_path / "ckpt", "trigger": {"availableNow": True}}
        query = maintain(spark, {"v": sql}, tables, **place, **more)
        assert query.awaitTermination(60)
        return sum_of(tmp_path / "out" / "v")

    return once


def test_upserts_out_of_order_with_duplicates(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Counter[Any]]
) -> None:
    """As AUTO CDC: the newest change of each key by the sequence, deletions by a condition, over several batches."""
    draw = random.Random(5)
    changes = [(draw.randrange(20), number, draw.choice(["PUT", "PUT", "DROP", ""])) for number in range(200)]
    newest: dict[int, tuple[int, str]] = {}
    for key, number, kind in changes:
        newest[key] = (number, kind)
    arriving = changes + draw.sample(changes, 50)
    draw.shuffle(arriving)
    (tmp_path / "in").mkdir()
    for place in range(5):
        rows = arriving[place * 50 : place * 50 + 50]
        (tmp_path / "in" / f"{place}.csv").write_text("".join(f"{k},{n},{kind}\n" for k, n, kind in rows))
    schema = "id BIGINT, number BIGINT, kind STRING"
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv((tmp_path / "in").as_uri())
    given = {"key": "id", "sequence_by": "number", "apply_as_deletes": "kind = 'DROP'"}
    expected = Counter((key, number) for key, (number, kind) in newest.items() if kind != "DROP")
    assert run("SELECT id, number FROM T", {"T": frame}, of={"T": given}) == expected


def test_envelopes_with_a_sequence_beside_the_rows(spark: SparkSession, run: Callable[..., Counter[Any]]) -> None:
    rows = [
        {"op": "c", "before": None, "after": {"id": 1, "name": "Ada"}, "source": {"lsn": 10}},
        {"op": "u", "before": None, "after": {"id": 1, "name": "Eve"}, "source": {"lsn": 12}},
        {"op": "u", "before": None, "after": {"id": 1, "name": "late"}, "source": {"lsn": 11}},
        {"op": "c", "before": None, "after": {"id": 2, "name": "Bob"}, "source": {"lsn": 13}},
        {"op": "d", "before": {"id": 2, "name": None}, "after": None, "source": {"lsn": 14}},
        {"op": "c", "before": None, "after": {"id": 2, "name": "Bob"}, "source": {"lsn": 13}},
    ]
    row = "STRUCT<id: BIGINT, name: STRING>"
    schema = f"op STRING, before {row}, after {row}, source STRUCT<lsn: BIGINT>"
    frame = spark.createDataFrame([(json.dumps(each),) for each in rows], "value STRING")
    frame = frame.selectExpr(f"from_json(value, '{schema}') AS message").select("message.*")
    more: Any = {"changes": "debezium", "key": "id", "sequence_by": "source.lsn"}
    assert run("SELECT id, name, lsn FROM P", {"P": frame}, of={"P": more}) == Counter([(1, "Eve", 12)])


def test_a_change_data_feed(spark: SparkSession, run: Callable[..., Counter[Any]]) -> None:
    rows = [
        (1, "a", "insert", 0, None),
        (1, "a", "update_preimage", 2, None),
        (1, "b", "update_postimage", 2, None),
        (2, "c", "insert", 1, None),
        (2, "c", "delete", 3, None),
    ]
    columns = "id INT, name STRING, _change_type STRING, _commit_version BIGINT, _commit_timestamp TIMESTAMP"
    frame = spark.createDataFrame(rows[::-1], columns)
    assert run("SELECT * FROM F", {"F": frame}, of={"F": {"changes": "cdf"}}) == Counter([(1, "b")])


def test_a_window_of_time_and_a_reference(
    spark: SparkSession, tmp_path: Path, run: Callable[..., Counter[Any]]
) -> None:
    start = datetime(2024, 1, 1)
    events = spark.createDataFrame(
        [(n % 3, start + timedelta(minutes=n)) for n in range(100)], "k INT, at TIMESTAMP_NTZ"
    )
    people = spark.createDataFrame([(0, "a"), (1, "b"), (2, "c")], "id INT, name STRING")
    sql = "SELECT p.name, COUNT(*) AS n FROM events e JOIN people p ON e.k = p.id GROUP BY p.name"
    more: Any = {
        "people": {"key": "id"},
        "events": {"window_range": ("at", timedelta(minutes=30)), "foreign_keys": {"k": "people"}},
    }
    assert run(sql, {"people": people, "events": events}, of=more) == Counter([("a", 10), ("b", 10), ("c", 10)])
    kept = read_checkpoint(tmp_path / "ckpt").tables["events"]
    assert kept.window_range is not None
    assert kept.window_range.width == 30 * 60 * 10**6
    assert [key.table for key in kept.foreign_keys] == ["people"]


def test_options_are_looked_at_before_anything_runs(spark: SparkSession) -> None:
    for options, message in (
        ({"recovery_seconds": "x"}, "recovery_seconds= is 'x'; allowed is a number of seconds"),
        ({"on_batch": "print"}, "on_batch= is 'print'; it takes a function"),
        ({"memory_limit": "4 bananas"}, "memory_limit"),
        ({"on_bad_rows": "dead_leter"}, "on_bad_rows is 'dead_leter'; allowed are .* .did you mean 'dead_letter'"),
        ({"on_conflict": True}, "on_conflict is True; allowed are 'fail', 'skip', 'dead_letter'"),
        ({"max_bad_rows": -1}, "max_bad_rows is -1; allowed is a number of changes, 0 or more"),
        ({"mode": "distibuted"}, "mode='distibuted' is unknown; allowed are .* .did you mean 'distributed'"),
        ({"initial": "all"}, "initial='all' is unknown; allowed are 'difference', 'whole', 'nothing'"),
        ({"keep": None}, "keep=None is unknown; allowed are 'used' and 'all'"),
        ({"on_static_change": "ignore"}, "on_static_change='ignore' is unknown; allowed are 'refresh' and 'refuse'"),
        ({"reshard": "no"}, "reshard"),
    ):
        with pytest.raises(LivejoinError, match=message):
            RunOptions(**cast(Any, options))
    for key in (5, ["a", 5], None):
        with pytest.raises(SchemaError, match="stands in the place of columns; give the name of one"):
            stream(spark.range(1), key=cast(Any, key))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"changes": "scd2"}, "changes = 'scd2' is unknown; allowed are 'append', 'cdf', 'debezium', 'upsert'"),
        ({"changes": "upsert"}, "upserts go by a key, and it has none"),
        ({"apply_as_deletes": "a > 1"}, "upserts go by a key, and it has none"),
        ({"apply_as_deletes": "a > 1", "changes": "cdf"}, "apply_as_deletes is for changes = 'upsert'"),
        ({"apply_as_deletes": "z > 1", "key": "a"}, r"apply_as_deletes = 'z > 1' is no condition"),
        ({"changes": "cdf"}, "_change_type, _commit_version is missing among a, b"),
        ({"changes": "debezium"}, "op, before, after is missing among a, b"),
        ({"window_range": ("z", 5)}, "window_range names the column 'z'"),
        ({"foreign_keys": {"a": "U"}}, "names a table that is not there"),
    ],
)
def test_what_does_not_fit_is_refused(
    spark: SparkSession, run: Callable[..., Counter[Any]], more: dict[str, Any], message: str
) -> None:
    frame = spark.createDataFrame([(1, date(2024, 1, 1))], "a INT, b DATE")
    with pytest.raises(SchemaError, match=message):
        run("SELECT a FROM T", {"T": frame}, of={"T": more})
