"""`livejoin run --fresh`: what earlier runs wrote goes, and nothing of a pipeline that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from livejoin.errors import StateError
from livejoin.pipeline import clear, load
from livejoin.pipeline.load import Pipeline
from livejoin.spark.checkpoint_lock import lock_checkpoint

TEXT = """
[tables.G]
schema = "a BIGINT, b BIGINT"
format = "csv"
path = "in"

[views.v]
sql = "SELECT a FROM G"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "state"
on_bad_rows = "dead_letter"
dead_letters = "letters"
"""
OURS = (
    "out/v/part-00000000.parquet",
    "out/v/_part-00000000-to-00000003.waiting",
    "out/v/_ranges",
    "letters/G/part-00000000.parquet",
    "state/livejoin/log",
    "state/spark/offsets/0",
)
OTHERS = ("out/v/notes.txt", "out/w/part-00000000.parquet", "state/mine.txt", "in/1.csv")


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    for name in (*OURS, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "p.toml").write_text(TEXT)
    return load(tmp_path / "p.toml")


def there(folder: Path) -> set[str]:
    return {name for name in (*OURS, *OTHERS) if (folder / name).exists()}


def test_what_earlier_runs_wrote_goes_and_nothing_else(pipeline: Pipeline, tmp_path: Path) -> None:
    clear(pipeline)
    assert there(tmp_path) == set(OTHERS)
    clear(pipeline)


def test_nothing_of_a_pipeline_that_runs_goes(pipeline: Pipeline, tmp_path: Path) -> None:
    lock = lock_checkpoint(pipeline.checkpoint)
    with pytest.raises(StateError, match=r"is that of .*, which runs"):
        clear(pipeline)
    assert there(tmp_path) == {*OURS, *OTHERS}
    lock.release()
    clear(pipeline)
    assert there(tmp_path) == set(OTHERS)
