"""An error of a batch says first what it is, and so do arguments that cannot be."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import AbsentRowError, ExpressionError, LivejoinError, PipelineError, SchemaError, StorageError
from livejoin.spark import MaintainedQuery, QueryFailedError
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.distributed.steps import check_shared
from livejoin.spark.failures import failure_of
from maintaining import IN_CELLS, maintain

NOW = {"availableNow": True}
COPY = {"v": "SELECT id FROM T"}
CELLS = pytest.mark.parametrize("more", [{}, IN_CELLS])


def started(root: Path, spark: SparkSession, views: dict[str, str], frame: Any, **more: Any) -> MaintainedQuery:
    options: dict[str, Any] = {"path": root / "out", "checkpoint": root / "state", "trigger": NOW, **more}
    return maintain(spark, views, {"T": frame}, **options)


def ended(query: MaintainedQuery) -> QueryFailedError:
    """The error at the end of a query, of which all ways to it say the same."""
    with pytest.raises(QueryFailedError) as caught:
        query.awaitTermination(100)
    error = caught.value
    assert isinstance(error, LivejoinError)
    assert isinstance(error, StreamingQueryException)
    assert query.failure is not None
    assert str(query.exception()) == str(error)
    assert str(query.failure) in str(error)
    assert len(str(error).splitlines()) < 8
    return error


@pytest.mark.spark
@CELLS
def test_the_cause_comes_first(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    gone = spark.createDataFrame([(7, "delete")], "id INT, _change_type STRING")
    query = started(tmp_path / "a", spark, COPY, gone, **more)
    first, *rest = str(ended(query)).splitlines()
    assert first.startswith("AbsentRowError: table 'T'")
    assert "in micro-batch 0 of Spark; none of it was applied" in rest
    assert isinstance(query.failure, AbsentRowError)
    assert query.failure.__traceback__ is None, "the way through Spark's bridge says nothing to people"
    query = started(tmp_path / "b", spark, {"v": "SELECT 1 / id AS x FROM T"}, spark.range(1), **more)
    assert str(ended(query)).startswith("ExpressionError: ")
    assert isinstance(query.failure, ExpressionError)
    assert isinstance(ended(query).__cause__, ExpressionError)


@pytest.mark.spark
@CELLS
def test_a_row_that_spark_cannot_read(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"id": 1}\n{"id": "x"\n')
    frame = spark.readStream.schema("id INT").option("mode", "FAILFAST").json(str(tmp_path / "in"))
    error = str(ended(started(tmp_path, spark, COPY, frame, on_bad_rows="skip", **more)))
    assert "is malformed: " in error.splitlines()[0]
    assert "1.json" in error.splitlines()[0]
    assert "mode = PERMISSIVE and the column _corrupt_record STRING" in error.splitlines()[0]


@pytest.mark.spark
def test_a_file_that_spark_cannot_read(spark: SparkSession, tmp_path: Path) -> None:
    """One line says which file it is, and why: here a column has another type."""
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "in" / "1.parquet")
    frame = spark.readStream.schema("id INT").parquet(str(tmp_path / "in"))
    first = str(ended(started(tmp_path, spark, COPY, frame, on_bad_rows="skip"))).splitlines()[0]
    assert re.search(
        r"the file \S*1\.parquet cannot be read: column: \[id\], .*; Spark hands out none of its rows", first
    )


@pytest.mark.spark
def test_rows_that_are_no_changes_and_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    """The start says so in one line, of a static table and of a batch frame."""
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "1.json").write_text('{"id": 1}\n{"id": "x"}\n')
    rows = spark.read.schema("id INT").option("mode", "FAILFAST").json(str(tmp_path / "S"))
    views = {"v": "SELECT T.id FROM T JOIN S ON T.id = S.id"}
    options: dict[str, Any] = {"path": tmp_path / "out", "on_bad_rows": "skip"}
    for number, more in enumerate(({"of": {"S": {"static": True}}}, {})):
        with pytest.raises(LivejoinError) as caught:
            maintain(
                spark, views, {"T": spark.range(1), "S": rows}, **options, **more, checkpoint=tmp_path / str(number)
            )
        (line,) = str(caught.value).splitlines()
        what = "the static table 'S'" if more else "a batch frame"
        assert line.startswith(f"the rows of {what} cannot be read: a row of file://")
        assert "1.json is malformed: " in line
        assert line.endswith("on_bad_rows is not for them. Repair that, and start again")


@pytest.mark.spark
def test_an_error_of_a_function(spark: SparkSession, tmp_path: Path) -> None:
    def sink(view: str, delta: DataFrame, batch_id: int) -> None:
        raise KeyError("of mine")

    query = started(tmp_path, spark, COPY, spark.range(1), sink=sink, path=None)
    assert str(ended(query)).startswith("LivejoinError: KeyError: 'of mine'")


@pytest.mark.spark
def test_a_query_that_ends_well(spark: SparkSession, tmp_path: Path) -> None:
    query = started(tmp_path, spark, COPY, spark.range(1))
    assert query.awaitTermination(100)
    query.processAllAvailable()
    assert (query.failure, query.exception(), query.isActive) == (None, None, False)


@pytest.mark.spark
def test_what_is_no_frame(spark: SparkSession, tmp_path: Path) -> None:
    for frame in ("T", None, 7, tmp_path):
        with pytest.raises(SchemaError, match=r"for 'T', which is no frame; give a DataFrame, as spark.readStream"):
            started(tmp_path, spark, COPY, frame)
    given: Any
    for given in (["T"], "T", spark.range(1)):
        with pytest.raises(SchemaError, match="it takes a mapping, with the frame of each name"):
            maintain(spark, COPY, given, path=tmp_path / "out", checkpoint=tmp_path / "state")
        with pytest.raises(SchemaError, match="it takes a mapping, with the SQL text of each name"):
            maintain(spark, given, {"T": spark.range(1)}, path=tmp_path / "out", checkpoint=tmp_path / "state")


@pytest.mark.spark
@CELLS
def test_folders_that_cannot_be(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing")):
        for argument in ("path", "checkpoint", "dead_letters"):
            options = {argument: place, "on_bad_rows": "dead_letter" if argument == "dead_letters" else "fail", **more}
            with pytest.raises(StorageError, match=r"the folder .* cannot be used: .*; give another one") as caught:
                started(tmp_path / "x", spark, COPY, spark.range(1), **options)
            assert str(place) in str(caught.value)


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(StorageError, match="is on a file system without locks"):
        lock_checkpoint(tmp_path)


def test_hosts_that_do_not_share_the_checkpoint(tmp_path: Path) -> None:
    check_shared(tmp_path)
    with pytest.raises(PipelineError, match=r"the checkpoint is not on the host .* of an executor: .*/gone"):
        check_shared(tmp_path / "gone")


def imported(before: str, imports: list[str]) -> list[str]:
    """The last lines of what imports that fail say, one behind the other in one process."""
    program = (
        f"import sys, traceback\n{before}\nfor line in sys.argv[1:]:\n    try:\n        exec('from livejoin.' + line)\n"
        "    except Exception as error:\n"
        "        print(''.join(traceback.format_exception_only(error)).splitlines()[-1])"
    )
    command = [sys.executable, "-c", program, *imports]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said = ran.stdout.splitlines()
    assert len(said) == len(imports), ran.stdout
    return said


def test_without_spark_the_extra_is_named() -> None:
    before = (
        "import importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pyspark' else found(name, *rest)"
    )
    for said in imported(before, [f"spark import {name}" for name in ("maintain", "local_session", "read_deltas")]):
        assert "PipelineError: Spark is not here: pip install 'livejoin[spark]'" in said


def test_what_an_older_spark_has_not_is_said() -> None:
    there = "pyspark.sql.streaming.datasource"  # which PySpark itself has imported by then
    before = f"import pyspark.sql.datasource; sys.modules['{there}'] = None"
    names = ["spark import read_deltas", "spark.kafka import read_kafka", "spark.postgres import read_postgres"]
    for said in imported(before, names):
        assert "take PySpark 4.2 or newer, and this is " in said
        assert "OldSparkError" in said


def test_a_failure_is_one_line() -> None:
    assert str(failure_of(ValueError("no such column\n  x\n"))) == "ValueError: no such column x"
    assert str(failure_of(ValueError())) == "ValueError"


@pytest.mark.spark
def test_an_error_of_a_function_says_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    def broken(_view: str, _delta: Any, _batch: int) -> None:
        {}["x"]

    query = maintain(spark, COPY, {"T": spark.range(1)}, sink=broken, checkpoint=tmp_path)
    failure = ended(query).__cause__
    assert str(failure) == "KeyError: 'x'"
    assert failure is not None
    (where,) = traceback.extract_tb(cast(BaseException, failure.__cause__).__traceback__)
    assert (where.filename, where.name) == (__file__, "broken")
