"""Spark with executors in processes of their own, ``local-cluster[2,1,1024]``: a cluster on one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from livejoin.spark import local_session

CLUSTER = "local-cluster[2,1,1024]"
# The first tier of the compiler alone: a JVM that lives for seconds takes half the processor time so.
_QUICK = "-XX:TieredStopAtLevel=1"


def session(master: str, folder: Path, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session in this process, which has none yet.

    Args:
        master: As Spark names it.
        folder: Where Spark's logs go, and what its workers write, which they do in the folder of their Spark.
        settings: More of Spark's settings.
    """
    home = folder / "spark"
    home.mkdir(parents=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    found = {
        "spark.master": master,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.executor.extraJavaOptions": _QUICK,
        **(settings or {}),
    }
    return local_session(log_file=folder / "spark.log", settings=found)
