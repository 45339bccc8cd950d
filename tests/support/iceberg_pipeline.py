"""Runs a pipeline into tables of Iceberg, maybe until it dies: ``iceberg_pipeline.py FOLDER JARS STATEMENT``.

The process kills itself behind the given statement that changes a table, counted from 0; ``-1`` lets it live, and it
prints what the tables hold then, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from livejoin.spark import TableSink, local_session, maintain

VIEWS = {
    "sums": "SELECT k, COUNT(*) AS n, SUM(v) AS v, MAX(at) AS last FROM T GROUP BY k",
    "total": "SELECT COUNT(*) AS n FROM T",
    "rows": "SELECT k, v FROM T",
    "told": "SELECT k FROM T WHERE v > 1",
}
ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}


def main(folder: Path, jars: str, dies_behind: int) -> None:
    settings = {**ICEBERG, "spark.jars": jars, "spark.sql.catalog.ice.warehouse": str(folder / "warehouse")}
    spark = local_session(cores=2, log_file=folder / "spark.log", settings=settings)
    run, left = TableSink._sql, [dies_behind]

    def run_and_die(self: TableSink, text: str) -> list[tuple[object, ...]]:
        found = run(self, text)
        if text.startswith(("MERGE", "INSERT", "ALTER", "CREATE")):
            left[0] -= 1
            if left[0] == -1:
                os.kill(os.getpid(), signal.SIGKILL)
        return found

    if dies_behind >= 0:
        TableSink._sql = run_and_die  # type: ignore[method-assign]
    source = spark.readStream.schema("k INT, v INT, at TIMESTAMP, _change_type STRING").option("maxFilesPerTrigger", 1)
    sink = TableSink("ice.live.{view}", history=["told"], counts=["rows"], provider="iceberg")
    query = maintain(
        spark,
        VIEWS,
        {"T": source.csv((folder / "in").as_uri())},
        sink=sink,
        checkpoint=folder / "state",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    asked = {
        "sums": "SELECT k, n, v FROM ice.live.sums ORDER BY k",
        "total": "SELECT n FROM ice.live.total",
        "rows": "SELECT k, v, _count FROM ice.live.rows ORDER BY k, v",
        "told": "SELECT k, SUM(IF(_change_type IN ('insert', 'update_postimage'), 1, -1)) AS n FROM ice.live.told "
        "GROUP BY k HAVING n <> 0 ORDER BY k",
    }
    found = {view: [list(row) for row in spark.sql(text).collect()] for view, text in asked.items()}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
