"""What those who operate a query see of it: a listener of Spark's, Prometheus, one line of a failure."""

from __future__ import annotations

import queue
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from livejoin.errors import AbsentRowError
from livejoin.spark.failures import QueryFailedError
from maintaining import IN_CELLS, maintain

pytestmark = pytest.mark.spark

PROMETHEUS = """
import sys, time, urllib.request
from pathlib import Path
from livejoin.spark import RunOptions, local_session, maintain
folder = Path(sys.argv[1])
spark = local_session(cores=1, settings={"spark.ui.enabled": "true", "spark.ui.port": "0",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus"})
(folder / "in").mkdir()
(folder / "in" / "a.json").write_text('{"a": 1}')
frame = spark.readStream.schema("a INT").json(str(folder / "in"))
query = maintain(spark, {"v": "SELECT a FROM T"}, {"T": frame}, path=folder / "out", checkpoint=folder / "state",
                 options=RunOptions(name="orders of today"))
query.processAllAvailable()
print(urllib.request.urlopen(spark.sparkContext.uiWebUrl + "/metrics/prometheus", timeout=30).read().decode())
query.stop()
spark.stop()
"""


class Heard(StreamingQueryListener):
    """What a listener is told."""

    def __init__(self) -> None:
        self.told: queue.Queue[Any] = queue.Queue()

    def onQueryStarted(self, event: Any) -> None:
        self.told.put(("started", event.name))

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        self.told.put(("progress", progress.name, progress.batchId, progress.observedMetrics))

    def onQueryTerminated(self, event: Any) -> None:
        self.told.put(("terminated", event.exception))

    def until(self, kind: str) -> list[Any]:
        found = []
        while not found or found[-1][0] != kind:
            found.append(self.told.get(timeout=60))
        return found


@pytest.mark.parametrize("options", [pytest.param({}, id="driver"), IN_CELLS])
def test_a_listener_sees_the_changes_of_each_batch(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any]
) -> None:
    came = tmp_path / "in"
    came.mkdir()
    for number, rows in enumerate(('{"a": 1}\n{"a": 2}\n{"a": 2}', '{"a": 3}')):
        (came / f"{number}.json").write_text(rows)
    frame = spark.readStream.schema("a INT").option("maxFilesPerTrigger", 1).json(str(came))
    small = spark.createDataFrame([(2, "two")], "a INT, name STRING")
    views = {"v": "SELECT T.a, N.name FROM T JOIN N ON T.a = N.a"}
    heard = Heard()
    spark.streams.addListener(heard)
    try:
        name = f"orders of {tmp_path.name}"
        more = {"path": tmp_path / "out", "checkpoint": tmp_path / "state", "trigger": {"availableNow": True}}
        query = maintain(spark, views, {"T": frame, "N": small}, name=name, **more, **options)
        assert query.awaitTermination(200)
        told = heard.until("terminated")
    finally:
        spark.streams.removeListener(heard)
    assert told[0] == ("started", name)
    assert told[-1] == ("terminated", None)
    batches = [(n, metrics["livejoin"].asDict()) for _, _, n, metrics in told[1:-1] if "livejoin" in metrics]
    assert [number for number, _ in batches] == list(range(len(batches)))
    assert sum(metrics["T"] for _, metrics in batches) == 4
    assert sum(metrics["N"] for _, metrics in batches) == 1
    assert {one[1] for one in told[1:-1]} == {name}


def test_a_listener_is_told_the_reason_of_an_end(spark: SparkSession, tmp_path: Path) -> None:
    gone = spark.createDataFrame([(7, "delete")], "a INT, _change_type STRING")
    heard = Heard()
    spark.streams.addListener(heard)
    try:
        query = maintain(
            spark, {"v": "SELECT a FROM T"}, {"T": gone}, path=tmp_path / "out", checkpoint=tmp_path / "state"
        )
        with pytest.raises(QueryFailedError, match=r"^AbsentRowError: "):
            query.awaitTermination(100)
        _, reason = heard.until("terminated")[-1]
    finally:
        spark.streams.removeListener(heard)
    assert isinstance(query.failure, AbsentRowError)
    assert "\n" not in str(query.failure)
    assert str(query.failure) in reason


def figures_of_orders(told: str) -> set[str]:
    """The figures of the query that is called "orders of today", in what Prometheus reads."""
    return {
        name for name, _ in re.findall(r"^metrics_\S+_orders_of_today_(\w+)_Value\{[^}]*\} (\S+)$", told, re.MULTILINE)
    }


def field(jvm: Any, name: str, attribute: str, of: Any) -> Any:
    """A field of an object of Spark's; py4j cannot look at these classes, which name some that are not there."""
    found = jvm.java.lang.Class.forName(f"org.apache.spark.{name}").getDeclaredField(attribute)
    found.setAccessible(True)
    return found.get(of)


FIGURES = {"inputRate_total", "processingRate_total", "latency"}


def test_spark_knows_the_figures_of_a_query_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark's sink for Prometheus writes of it, asked without its web server."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"a": 1}')
    frame = spark.readStream.schema("a INT").json(str(tmp_path / "in"))
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "state"}
    jvm: Any = spark._jvm
    spark.conf.set("spark.sql.streaming.metricsEnabled", "true")
    try:
        query = maintain(spark, {"v": "SELECT a FROM T"}, {"T": frame}, name="orders of today", **places)
        try:
            query.processAllAvailable()
            environment = spark.sparkContext._jsc.sc().env()
            metrics = field(jvm, "SparkEnv", "metricsSystem", environment)
            registry = field(jvm, "metrics.MetricsSystem", "registry", metrics)
            sink = jvm.org.apache.spark.metrics.sink.PrometheusServlet(jvm.java.util.Properties(), registry)
            told = sink.getMetricsSnapshot(None)
        finally:
            query.stop()
    finally:
        spark.conf.unset("spark.sql.streaming.metricsEnabled")
    assert figures_of_orders(told) >= FIGURES, told[:3000]


@pytest.mark.torture
def test_prometheus_reads_a_query_by_its_name(tmp_path: Path) -> None:
    done = subprocess.run(  # a session of its own
        [sys.executable, "-c", PROMETHEUS, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert figures_of_orders(done.stdout) >= FIGURES, done.stdout[:3000]
