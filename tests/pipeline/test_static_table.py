"""A pipeline file with a table that does not change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from livejoin.checkpoint import read_checkpoint
from livejoin.cli.main import OK, main
from livejoin.errors import PipelineError, StateError
from livejoin.pipeline import check, load, run

EXAMPLE = Path(__file__).parents[2] / "examples" / "static"
FILE = (EXAMPLE / "pipeline.toml").read_text()


@pytest.mark.spark
def test_a_static_table_is_read_once(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.toml").write_text(FILE)
    (tmp_path / "regions.csv").write_text("1,north\n2,south\n")
    (tmp_path / "sales").mkdir()
    for number, rows in enumerate(("1,5\n1,6\n3,100\n", "2,7\n")):
        (tmp_path / "sales" / f"{number}.csv").write_text(rows)
        pipeline = load(tmp_path / "p.toml")
        run(pipeline, lambda _: None, lambda: None)
        assert all(result.identical for result in check(pipeline))
    database = read_checkpoint(pipeline.checkpoint)
    assert database.tables["regions"].static
    held = database.views["totals"].to_arrow().to_pylist()
    assert sorted((row["name"], row["total"]) for row in held) == [("north", 11), ("south", 7)]
    (tmp_path / "regions.csv").write_text("1,north\n2,south\n3,west\n")
    (tmp_path / "p.toml").write_text(FILE.replace('"refresh"', '"refuse"'))
    with pytest.raises(StateError, match=r"static table 'regions': .*1 came, 0 went"):
        run(load(tmp_path / "p.toml"), lambda _: None, lambda: None)
    (tmp_path / "p.toml").write_text(FILE)
    pipeline = load(tmp_path / "p.toml")
    with pytest.raises(PipelineError, match="table 'regions' is static, and 1 rows of its files are others"):
        check(pipeline)
    assert main(["run", str(tmp_path / "p.toml")]) == OK
    assert "Not compared yet: " in capsys.readouterr().out
    (tmp_path / "sales" / "2.csv").write_text("1,1\n")
    run(pipeline, lambda _: None, lambda: None)
    assert all(result.identical for result in check(pipeline))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("static = true", 'static = true\nfeed = "debezium"', "tables.regions: a static table has rows"),
        (
            '"id INT PRIMARY KEY',
            '"_seq BIGINT, id INT PRIMARY KEY',
            "tables.regions.schema: a static table has no changes",
        ),
        ("static = true", "static = true\nwindow_rows = 5", "tables.regions.schema: .* static and has window_rows"),
        ("static = true", "static = true\nappend_only = true", "tables.regions.schema: .* append_only and static"),
        ("append_only = true", "append_only = true\nwindow_rows = 5", "tables.sales.schema: .* and a window"),
        ("append_only = true", 'append_only = true\nfeed = "upsert"', "tables.sales: append_only and feed 'upsert'"),
        ('"refresh"', '"ignore"', "run.on_static_change: .*'refresh'"),
    ],
)
def test_what_a_static_table_cannot_be(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "p.toml").write_text(FILE.replace(old, new, 1).replace('"csv"', '"json"', 1))
    (tmp_path / "regions.csv").write_text("")
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "1.csv").write_text("")
    with pytest.raises(PipelineError, match=says):
        load(tmp_path / "p.toml")
