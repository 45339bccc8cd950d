"""What Spark's pages say of a query and of its jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from livejoin.errors import PipelineError
from livejoin.spark import RunOptions
from maintaining import IN_CELLS, maintain

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("options", [pytest.param({}, id="driver"), IN_CELLS])
def test_jobs_have_the_name_of_their_query(spark: SparkSession, tmp_path: Path, options: dict[str, Any]) -> None:
    rows = spark.createDataFrame([(1,), (2,)], "a INT")
    seen = []

    def sink(_view: str, delta: Any, _batch: int) -> None:
        seen.extend(delta.collect())

    name = f"orders of {tmp_path.name}"
    views = {"v": "SELECT a FROM T"}
    query = maintain(spark, views, {"T": rows}, sink=sink, checkpoint=tmp_path / "state", name=name, **options)
    assert query.awaitTermination(120)
    assert query.name == name
    progress = query.lastProgress
    assert progress is not None
    assert progress["observedMetrics"]["livejoin"].asDict() == {"T": 2}
    assert len(seen) == 2
    jobs = spark._jsparkSession.sparkContext().statusStore().jobsList(None)
    said = [str(jobs.apply(place).description().toString()) for place in range(jobs.size())]
    what = ": packs the changes" if options else ""
    assert f"Some({name}, batch 0{what})" in said
    spark.range(3).count()
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None, "other jobs have none of it"


@pytest.mark.parametrize("name", ["", " ", 7])
def test_names_that_are_none(name: Any) -> None:
    with pytest.raises(PipelineError, match="name= is"):
        RunOptions(name=name)


def test_an_output_that_is_kept_is_one_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="keep_output is -1"):
        RunOptions(keep_output=-1)
    rows = spark.createDataFrame([(1,)], "a INT")
    with pytest.raises(PipelineError, match="keep_output=3 is for sink='parquet'"):
        maintain(spark, {"v": "SELECT a FROM T"}, {"T": rows}, sink=lambda *_: None, checkpoint=tmp_path, keep_output=3)
