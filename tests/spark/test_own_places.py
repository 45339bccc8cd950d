"""What a query writes lies apart from what it reads; without Spark `tests/pipeline/test_load.py` asks for more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from livejoin.errors import PipelineError
from livejoin.spark.streams.file_paths import files_of
from maintaining import maintain

pytestmark = pytest.mark.spark


def test_folders_of_a_query_lie_apart(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in of it").mkdir()
    stream = spark.readStream.schema("a INT").json(f"{(tmp_path / 'in of it').as_uri().replace('%20', ' ')}/*.json")
    assert list(files_of(stream.selectExpr("a + 1 AS a"))) == [(tmp_path / "in of it", "*.json")]
    for places, message in (
        ({"path": "x", "checkpoint": "x"}, "^path: .* is the folder of checkpoint= too"),
        ({"path": "x", "checkpoint": "x/y"}, "which is checkpoint=, lies in"),
        ({"path": "x/y", "checkpoint": "x"}, "lies in '.*/x', which is checkpoint=; give each a folder"),
        ({"path": "x", "checkpoint": "y", "dead_letters": "x/z"}, "which is dead_letters=, lies in"),
        ({"path": "in of it/1.json", "checkpoint": "y"}, r"which is path=, lies in '.*/in of it/\*.json'"),
    ):
        given: dict[str, Any] = {name: tmp_path / place for name, place in places.items()}
        with pytest.raises(PipelineError, match=message):
            maintain(spark, {"v": "SELECT a FROM T"}, {"T": stream}, **given)
    assert [one.name for one in tmp_path.iterdir()] == ["in of it"]
