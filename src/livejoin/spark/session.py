"""A quiet Spark inside of this process.

Spark's Java process writes to the terminal from its first moment: warnings of the JVM, greetings of the logging system,
progress bars. Here its standard output and error go to a log file from the start. The terminal stays with the program,
and the file has everything that one may want to read after a failure.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from livejoin.errors import PipelineError
from livejoin.spark.java import ensure_java

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def local_session(
    name: str = "livejoin",
    cores: int | str = "*",
    log_file: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process without a word on the terminal, or return the session that runs already.

    Its Python workers run this process's Python, unless the setting ``spark.pyspark.python`` or the environment
    variable ``PYSPARK_PYTHON`` names another one.

    Args:
        name: The application's name.
        cores: Threads that Spark uses; ``"*"`` takes all cores.
        log_file: Where Spark and its JVM write to; a file in the system's temporary folder if None.
        settings: Spark settings, which override the defaults here (no web page, few shuffle partitions, time zone UTC).

    Raises:
        PipelineError: There is no Java, or Spark did not start; the message names the log file.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    ensure_java()
    log = Path(log_file) if log_file else Path(tempfile.mkdtemp(prefix="livejoin-")) / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    conf = SparkConf(loadDefaults=False)
    conf.setMaster(f"local[{cores}]").setAppName(name)
    worker = os.environ.get("PYSPARK_PYTHON", sys.executable)
    for key, value in {**QUIET, "spark.pyspark.python": worker, **(settings or {})}.items():
        conf.set(key, value)
    if SparkContext._gateway is not None:
        # The JVM outlives a stopped session, and a process has one of them.
        with _workers_run(conf):
            return SparkSession.builder.config(conf=conf).getOrCreate()
    # PySpark warns about versions of pandas when a session starts; nothing here goes through pandas.
    with _workers_run(conf), warnings.catch_warnings(), log.open("ab") as stream:
        warnings.simplefilter("ignore")
        try:
            gateway = launch_gateway(conf, {"stdout": stream, "stderr": stream})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            msg = f"Spark did not start: {_last_line(log)}; the whole story is in {log}"
            raise PipelineError(msg) from error
        return SparkSession(SparkContext(gateway=gateway, conf=conf))


@contextmanager
def _workers_run(conf: SparkConf) -> Iterator[None]:
    """A context in which Spark's settings choose the workers' Python; PySpark reads it from the environment only."""
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = conf.get("spark.pyspark.python") or sys.executable
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]
        else:
            os.environ["PYSPARK_PYTHON"] = before


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it ended without a message"
