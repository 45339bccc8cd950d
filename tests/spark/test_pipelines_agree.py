"""Every kind of view on Spark, over starts with other views and tables: the output adds up to what DuckDB computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changing_tables import EDGE, PERSON, VIEWS, WINDOW, Source, expected
from deltas import sum_of
from pyspark.sql import SparkSession

from maintaining import maintain

pytestmark = pytest.mark.spark

NEW = "note STRING"
OTHER = {
    "towns": "SELECT town, COUNT(*) AS n, SUM(age) AS age, MAX(age) AS least FROM P GROUP BY town",
    "known": "SELECT P.id, N.name FROM P FULL JOIN N ON P.id = N.k",
    "distinct_ends": "SELECT DISTINCT dst FROM G EXCEPT SELECT id FROM P",
}


SAID: dict[str, Any] = {"G": {"window_rows": WINDOW}, "P": {"key": "id", "sequence_by": "at"}}


@pytest.mark.torture
def test_views_of_all_kinds_over_changing_jobs(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(tmp_path)

    def run(views: dict[str, str], tables: dict[str, str], **more: Any) -> None:
        def stream(table: str, schema: str) -> Any:
            reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            return reader.csv((tmp_path / table).as_uri())

        query = maintain(
            spark,
            views,
            {table: stream(table, schema) for table, schema in tables.items()},
            of={name: said for name, said in SAID.items() if name in tables},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            keep="all",
            **more,
        )
        assert query.awaitTermination(120)
        for view, rows in expected(source, views).items():
            assert sum_of(tmp_path / "out" / view) == rows, view

    source.step()
    run(VIEWS, {"G": EDGE, "P": PERSON})
    source.step()
    run(VIEWS, {"G": EDGE, "P": PERSON}, recovery_seconds=0.0)
    source.step()
    # Other queries of the same names, views that read them, a table more, and a column more.
    person = f"{PERSON}, {NEW}"
    for line in range(2):
        source.feed("P", [f"{line},50,Ulm,{10**6 + line},upsert,a note"])
        source._people[line] = (10**6 + line, (line, 50, "Ulm", 10**6 + line))
    other = {**VIEWS, **OTHER}
    run(other, {"G": EDGE, "P": PERSON, "N": "k INT, name STRING"})
    source.step()
    run({**other, "notes": "SELECT id FROM P WHERE town = 'Ulm'"}, {"N": "k INT, name STRING", "P": person, "G": EDGE})
