"""The rows of a view as a frame, while its pipeline runs and afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from changing_tables import EDGE, PERSON, VIEWS, WINDOW, Source, expected
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from livejoin.errors import SchemaError, StateError
from livejoin.spark import read_view
from livejoin.spark.current_rows import _read
from maintaining import IN_CELLS, maintain
from strategies import IS_FUZZ

pytestmark = pytest.mark.spark


def test_a_worker_without_livejoin_says_which_python_it_is(tmp_path: Path) -> None:
    packed = cloudpickle.dumps(_read(tmp_path, []))
    program = (
        "import sys; sys.modules['livejoin'] = None\n"  # as if it were not installed
        "from pyspark import cloudpickle\n"
        f"print(list(cloudpickle.loads({packed!r})(iter(()))))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"RuntimeError: Spark's workers run {sys.executable}, which cannot import livejoin (")
    assert f"Set spark.pyspark.python or PYSPARK_PYTHON to a Python that has it, as {sys.executable}" in last


@pytest.mark.parametrize("options", [pytest.param({}, id="driver"), IN_CELLS])
def test_rows_while_a_pipeline_runs(spark: SparkSession, tmp_path: Path, options: dict[str, Any]) -> None:
    source = Source(tmp_path)
    source.step()
    streams = {
        name: spark.readStream.schema(schema).csv((tmp_path / name).as_uri())
        for name, schema in {"G": EDGE, "P": PERSON}.items()
    }
    checkpoint = tmp_path / "check point"
    with pytest.raises(StateError, match="there is no checkpoint"):
        read_view(spark, checkpoint, "hop3")
    query = maintain(
        spark,
        VIEWS,
        streams,
        of={"G": {"window_rows": WINDOW}, "P": {"key": "id", "sequence_by": "at"}},
        path=tmp_path / "out",
        checkpoint=checkpoint,
        **options,
    )
    try:
        query.processAllAvailable()
        some = list(VIEWS) if IS_FUZZ and not options else ["hop3", "towns"]
        first = expected(source, VIEWS)
        for view in some:
            assert Counter(map(tuple, read_view(spark, checkpoint, view).collect())) == first[view], view
        before = read_view(spark, str(checkpoint), "TOWNS")
        source.step()
        query.processAllAvailable()
        now = expected(source, VIEWS)
        assert now["towns"] != first["towns"]
        assert Counter(map(tuple, read_view(spark, checkpoint, "towns").collect())) == now["towns"]
        assert Counter(map(tuple, before.collect())) == first["towns"], "a frame stays as it was"
        joined = read_view(spark, checkpoint, "towns").join(before.select("town"), "town").agg(F.count("*"))
        assert joined.collect()[0][0] == len([town for town, *_ in now["towns"] if town is not None])
    finally:
        query.stop()
    assert Counter(map(tuple, read_view(spark, checkpoint, "total").collect())) == now["total"]
    with pytest.raises(SchemaError, match=r"no view 'nope' in the checkpoint .* its views are 'hop3'"):
        read_view(spark, checkpoint, "nope")
    with pytest.raises(SchemaError, match="view= is None; it takes the name of a view, as 'hop3', "):
        read_view(spark, checkpoint, None)  # type: ignore[arg-type]
    begins = 0 if options else 1
    for version in (-1, begins - 1):
        with pytest.raises(StateError, match=f"there never was a version {version} in .* first commit is .* {begins}"):
            read_view(spark, checkpoint, "total", version=version)
    with pytest.raises(SchemaError, match="version= is '1'"):
        read_view(spark, checkpoint, "total", version="1")  # type: ignore[arg-type]
