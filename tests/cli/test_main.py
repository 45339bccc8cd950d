from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from livejoin.checkpoint.batch_delta import SpilledDelta
from livejoin.cli.main import FAILED, INTERRUPTED, OK, WRONG_INPUT, main
from livejoin.kernels import ahead, warm
from livejoin.kernels.compiling.signatures import declared

PIPELINE = """
[tables.G]
schema = "src BIGINT, dst BIGINT, _change_type STRING"
format = "csv"
path = "in/*.csv"
options = { maxFilesPerTrigger = 1 }
feed = "change-feed"

[views.hop2]
sql = "SELECT x.src, y.dst FROM G x JOIN G y ON x.dst = y.src"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
check = true
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("1,2,insert\n2,3,insert\n")
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    return tmp_path / "pipeline.toml"


def test_help_and_version_need_no_spark(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, text in (
        (["--help"], "run a pipeline file"),
        (["run", "--help"], "--fresh"),
        (["--version"], "livejoin"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert text in capsys.readouterr().out


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "livejoin", "run"], capture_output=True, text=True, check=False)
    assert ran.returncode == WRONG_INPUT
    assert "PIPELINE.toml" in ran.stderr


def test_a_wrong_file_is_one_short_error(pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline.write_text(PIPELINE.replace("y.src", "y.nothing").replace("[sink]", "[sunk]"))
    assert main(["run", str(pipeline)]) == WRONG_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: {pipeline}:")
    assert "Traceback" not in said.err


@pytest.mark.parametrize("name", ["memory-limit", "spill-over"])
def test_a_limit_that_is_none_is_one_short_error(name: str, pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given in ("4 G", "0", "-1"):
        with pytest.raises(SystemExit) as ended:
            main(["run", str(pipeline), f"--{name}={given}"])
        assert ended.value.code == WRONG_INPUT
        said = capsys.readouterr().err
        assert f"argument --{name}: {name.replace('-', '_')} is" in said
        assert "allowed are numbers of bytes from 1 on, and texts as '4GB' and '4GiB'" in said


@pytest.mark.spark
@pytest.mark.torture
def test_a_limit_of_the_file_and_one_of_the_command(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.write_text(PIPELINE + 'memory_limit = "200KB"\n')
    (pipeline.parent / "in" / "1.csv").write_text("".join(f"{n},{n + 1},insert\n" for n in range(20_000)))
    assert main(["run", str(pipeline)]) == FAILED
    said = capsys.readouterr().err
    assert "memory_limit is 200 KB, and with" in said
    assert "in micro-batch 0 of Spark; none of it was applied" in said
    assert "Traceback" not in said
    assert main(["run", str(pipeline), "--memory-limit", "200MB"]) == OK
    assert "hop2: DuckDB 19,999 rows, livejoin 19,999 rows: identical" in capsys.readouterr().out


@pytest.mark.spark
def test_deltas_are_spilled_where_the_file_or_the_command_says(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spilled: list[str] = []
    read = SpilledDelta.to_batches

    def to_batches(delta: SpilledDelta, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        spilled.append(delta.view)
        return read(delta, max_chunksize)

    monkeypatch.setattr(SpilledDelta, "to_batches", to_batches)
    many = "".join(f"{n},{n + 1},insert\n" for n in range(2000))
    (pipeline.parent / "in" / "1.csv").write_text(many)
    assert main(["run", str(pipeline)]) == OK
    assert not spilled
    arguments = ["--fresh", "--spill", str(pipeline.parent / "here"), "--spill-over", "1KB"]
    assert main(["run", str(pipeline), *arguments]) == OK
    pipeline.write_text(PIPELINE + 'spill = "there"\nspill_over = 1000\n')
    assert main(["run", str(pipeline), "--fresh"]) == OK
    assert spilled == ["hop2", "hop2"]
    assert capsys.readouterr().out.count("hop2: DuckDB 1,999 rows, livejoin 1,999 rows: identical") == 3
    assert [list((pipeline.parent / name).iterdir()) for name in ("here", "there")] == [[], []]
    pipeline.write_text(PIPELINE + "spill_over = 1000\n")
    assert main(["run", str(pipeline), "--fresh"]) == FAILED
    assert "spill names no folder to write to" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.torture
def test_a_folder_of_models_from_start_to_check(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of SQL that read one another; then one of them is changed, and the next run tells the difference."""
    models = pipeline.parent / "models"
    models.mkdir()
    (models / "hop2.sql").write_text("SELECT x.src, y.dst FROM {{ ref('edges') }} x JOIN G y ON x.dst = y.src")
    (models / "edges.sql").write_text("SELECT src, dst FROM {{ source('graph', 'G') }} WHERE src < 9")
    before, _, behind = PIPELINE.partition("[views.hop2]")
    pipeline.write_text('models = "models"\n' + before + behind[behind.index("[sink]") :])
    assert main(["check", str(pipeline)]) == OK
    assert "1 table and 2 views" in capsys.readouterr().out
    assert main(["run", str(pipeline), "--fresh"]) == OK
    said = capsys.readouterr().out
    for view, rows in (("edges", 2), ("hop2", 1)):
        assert f"{view}: DuckDB {rows} rows, livejoin {rows} rows: identical" in said
    (models / "edges.sql").write_text("SELECT src, dst FROM {{ source('graph', 'G') }} WHERE src > 1")
    (pipeline.parent / "in" / "2.csv").write_text("3,4,insert\n")
    assert main(["run", str(pipeline)]) == OK
    said = capsys.readouterr().out
    assert "edges: DuckDB 2 rows, livejoin 2 rows: identical" in said
    assert "hop2: DuckDB 1 rows, livejoin 1 rows: identical" in said


@pytest.mark.spark
def test_a_run_from_start_to_check(spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(pipeline)]) == OK
    said = capsys.readouterr().out
    assert "1 batch, 2 changes, 1 delta row" in said
    assert "hop2: DuckDB 1 rows, livejoin 1 rows: identical" in said

    (pipeline.parent / "in" / "2.csv").write_text("1,2,delete\n3,4,insert\n")
    assert main(["run", str(pipeline)]) == OK
    said = capsys.readouterr().out
    assert "batches 2" in said
    assert "batches 2 of" not in said  # nobody knows how many batches a run that goes on makes
    assert "(the sum of the 3 delta rows on disk too)" in said

    assert main(["run", str(pipeline)]) == OK
    assert "Nothing new has arrived" in capsys.readouterr().out

    (pipeline.parent / "out" / "hop2" / "mine.txt").write_text("kept")
    assert main(["run", str(pipeline), "--fresh"]) == OK
    assert "2 batches, 4 changes" in capsys.readouterr().out
    assert (pipeline.parent / "out" / "hop2" / "mine.txt").exists()


@pytest.mark.spark
def test_views_that_read_views(spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two levels, each checked against DuckDB."""
    above = '[views.reach]\nsql = "SELECT src, COUNT(*) AS n FROM hop2 GROUP BY src HAVING COUNT(*) > 1"\n\n[sink]'
    pipeline.write_text(PIPELINE.replace("[sink]", above))
    (pipeline.parent / "in" / "2.csv").write_text("2,4,insert\n1,3,insert\n3,9,insert\n2,3,delete\n")
    assert main(["run", str(pipeline)]) == OK
    said = capsys.readouterr().out
    assert "hop2: DuckDB 2 rows, livejoin 2 rows: identical" in said
    assert "reach: DuckDB 1 rows, livejoin 1 rows: identical" in said


@pytest.mark.spark
def test_the_check_finds_a_delta_that_was_lost(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline)]) == OK
    file = pipeline.parent / "out" / "hop2" / "part-00000000.parquet"
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table, table]), file)
    capsys.readouterr()
    assert main(["run", str(pipeline)]) == FAILED
    said = capsys.readouterr().out
    assert "DIFFERENT" in said
    assert "(src = 1, dst = 3): 1 times in DuckDB, 1 in the engine, 2 in the sum of the deltas" in said


@pytest.mark.spark
def test_the_check_finds_input_that_was_never_applied(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(pipeline)]) == OK
    (pipeline.parent / "in" / "1.csv").write_text("1,2,insert\n2,3,insert\n2,4,insert\n")
    capsys.readouterr()
    main(["run", str(pipeline)])
    assert "hop2: DuckDB 2 rows, livejoin" in capsys.readouterr().out


@pytest.mark.spark
def test_a_change_that_cannot_be_applied_is_one_short_error(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pipeline.parent / "in" / "1.csv").write_text("1,2,delete\n")
    assert main(["run", str(pipeline)]) == FAILED
    said = capsys.readouterr().err
    assert said.startswith("error: table 'G', row 0")
    assert "in micro-batch 0 of Spark; none of it was applied" in said
    assert "Traceback" not in said


@pytest.mark.spark
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("dst BIGINT, src BIGINT", "src,dst\n1,2\n"),  # other names than the header's
        pytest.param("src BIGINT", "src,dst\n1,2\n", marks=pytest.mark.torture),  # fewer
        ("src BIGINT, dst BIGINT", "src,dst\na,2\n"),  # a value that is none
    ],
)
def test_a_csv_that_does_not_fit_its_schema_ends_the_run(
    spark: SparkSession, pipeline: Path, capsys: pytest.CaptureFixture[str], schema: str, text: str
) -> None:
    """Spark alone would take columns by position and turn what it cannot parse into NULL."""
    changed = PIPELINE.replace("src BIGINT, dst BIGINT, _change_type STRING", schema)
    changed = changed.replace("options = {", "options = { header = true,").replace('"change-feed"', '"append"')
    pipeline.write_text(changed.replace("SELECT x.src, y.dst FROM G x JOIN G y ON x.dst = y.src", "SELECT src FROM G"))
    (pipeline.parent / "in" / "1.csv").write_text(text)
    assert main(["run", str(pipeline)]) == FAILED
    said = capsys.readouterr()
    assert "identical" not in said.out
    assert "error: " in [line[:7] for line in said.err.splitlines()]  # below what says that kernels took long
    assert "Traceback" not in said.err
    is_value = text.endswith("a,2\n")  # which is a bad row, as on_bad_rows says
    assert ("column 'src' is BIGINT, and came as 'a'" if is_value else "1.csv") in said.err
    assert ("table 'G'" if is_value else "CSV header") in said.err


def test_warm_says_what_it_compiled(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the two kernels of the list that are compiled soonest, and what is said when it is stopped."""
    known = [one for one in declared() if one[0].py_func.__name__ in {"count_nulls", "finish"}]
    assert len(known) == 2
    monkeypatch.setattr(warm, "declared", lambda: known)
    monkeypatch.setattr(ahead, "note_complete", lambda: None)
    assert main(["warm"]) == OK
    assert re.fullmatch(r"2 kernels are ready: \d were there, \d compiled, in \d+\.\d s\n", capsys.readouterr().out)
    assert main(["warm"]) == OK
    assert capsys.readouterr().out.startswith("2 kernels are ready: 2 were there, 0 compiled")

    def stop() -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(warm, "declared", stop)
    assert main(["warm"]) == INTERRUPTED
    assert "what was compiled is kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["ru", "p.toml"], "run"), (["run", "--fesh", "p.toml"], "--fresh"), (["serve", "--prt=1"], "--port")],
)
def test_a_misspelled_command_or_option(words: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"(did you mean {meant!r}?)" in capsys.readouterr().err
