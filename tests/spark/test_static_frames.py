"""Static and append-only tables on Spark: embedded and in cells the same, over restarts with another source."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import DuplicateKeyError, PipelineError, SchemaError, StateError
from livejoin.schema import TableSettings
from livejoin.spark import BatchReport, QueryFailedError
from livejoin.spark.distributed.static_frames import StaticFrame
from livejoin.spark.streams.stream_part import StreamPart
from livejoin.sql import parse_columns
from maintaining import IN_CELLS, maintain

pytestmark = pytest.mark.spark

EVENT = "id INT, product INT, _change_type STRING"
VIEWS = {
    "sold": "SELECT E.id, P.name, T.tag FROM E JOIN P ON E.product = P.product JOIN T ON P.name = T.name",
    "names": "SELECT name, COUNT(*) AS n FROM P GROUP BY name",
}


class Shop:
    """A job over events that only come, and products and tags that are static."""

    def __init__(self, spark: SparkSession, root: Path, mode: dict[str, Any]) -> None:
        self.spark, self.root, self.mode = spark, root, mode
        self.products: list[tuple[int, str | None]] = [(1, "pen"), (2, "ink"), (3, None)]
        self.tags: list[tuple[str, list[int]]] = [("pen", [1]), ("ink", []), ("ink", [2, 3])]
        self.reports: list[BatchReport] = []
        self.events: list[tuple[int, int]] = []
        self.files = 0

    def feed(self, *lines: str) -> None:
        (self.root / "E").mkdir(exist_ok=True)
        self.files += 1
        file = self.root / "E" / f"{self.files}.csv"
        file.write_text("".join(f"{line}\n" for line in lines))
        os.utime(file, (10**9 + self.files, 10**9 + self.files))

    def tables(self) -> dict[str, DataFrame | StreamPart]:
        return {
            "E": self.spark.readStream.schema(EVENT).csv((self.root / "E").as_uri()),
            "P": self.spark.createDataFrame(self.products, "product INT, name STRING"),
            "T": self.spark.createDataFrame(self.tags, "name STRING, tag ARRAY<INT>"),
        }

    def run(self, of_events: dict[str, Any] | None = None, **more: Any) -> None:
        query = maintain(
            self.spark,
            VIEWS,
            self.tables(),
            **{
                "of": {
                    "P": {"key": "product", "static": True},
                    "T": {"static": True},
                    "E": {"key": "id", "append_only": True, **(of_events or {})},
                },
                "path": self.root / "out",
                "checkpoint": self.root / "checkpoint",
                "trigger": {"availableNow": True},
                "on_batch": self.reports.append,
                **self.mode,
                **more,
            },
        )
        assert query.awaitTermination(120)

    def check(self) -> None:
        names = dict(self.products)
        sold = Counter(
            (id, names[product], str(tag))
            for id, product in self.events
            for name, tag in self.tags
            if names.get(product) == name
        )
        found = sum_of(self.root / "out" / "sold", of=lambda row: (*row[:2], str(row[2])))
        assert found == sold
        assert sum_of(self.root / "out" / "names") == Counter(Counter(names.values()).items())


@pytest.mark.parametrize("mode", [{}, IN_CELLS])
def test_a_source_that_changes_between_starts(spark: SparkSession, tmp_path: Path, mode: dict[str, Any]) -> None:
    shop = Shop(spark, tmp_path, mode)
    shop.feed("1,1,insert", "2,2,insert", "3,9,insert", "4,1,insert")
    shop.events = [(1, 1), (2, 2), (3, 9), (4, 1)]
    shop.run(on_static_change="refuse")
    shop.check()
    shop.products = [(1, "pen"), (2, "pen"), (9, "ink")]
    shop.tags = shop.tags[::-1]  # the same rows
    with pytest.raises(StateError, match=r"^static table 'P': [^;]* other rows .*on_static_change='refresh'"):
        shop.run(on_static_change="refuse")
    shop.tags = [*shop.tags, ("pen", [1]), ("pen", [1])]
    shop.feed("5,3,insert", "1,1,delete", "6,1,update_preimage", "6,2,update_postimage", "4,7,insert")
    shop.events.append((5, 3))
    if not mode:  # in cells without Spark, in tests/distributed
        with pytest.raises(QueryFailedError, match=r"table 'E'.*is 'delete', and the table is append_only"):
            shop.run()
    shop.run(on_bad_rows="skip", on_conflict="dead_letter", dead_letters=tmp_path / "letters")
    shop.check()
    assert list(shop.reports[-1].refreshed) == ["P", "T"]
    (letter,) = pq.read_table(tmp_path / "letters" / "E").to_pylist()
    assert (letter["id"], shop.reports[-1].skipped, dict(shop.reports[-1].dead_letters)) == (4, 3, {"E": 1})


def test_keys_of_static_tables_in_cells(spark: SparkSession) -> None:
    """No cell sees all rows with a key; NULL in UNIQUE is no value, and CHAR is filled up."""
    table = parse_columns("P", "id BIGINT PRIMARY KEY, c CHAR(3), n INT, UNIQUE (c, n)", TableSettings(static=True))
    schema = "id BIGINT, c STRING, n INT"
    rows = [(1, "a", 1), (2, "a", None), (3, "a", None), (4, "a", 2)]
    StaticFrame(table, spark.createDataFrame(rows, schema)).check_keys()
    for more, key in (((4, "b", 1), "id = 4"), ((5, "a  ", 1), "c = 'a', n = 1")):
        with pytest.raises(DuplicateKeyError, match=rf"table 'P': 2 rows of a static table have the key \({key}\)"):
            StaticFrame(table, spark.createDataFrame([*rows, more], schema)).check_keys()


def test_what_cannot_stand_beside_append_only(spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(spark, tmp_path, {})
    shop.feed("1,1,insert")
    for more, says in (
        ({"changes": "upsert"}, "append_only and changes = 'upsert'"),
        ({"apply_as_deletes": "id = 1"}, "append_only and apply_as_deletes"),
        ({"sequence_by": "product"}, "append_only and sequence_by"),
        ({"window_rows": 5}, "append_only and a window"),
        ({"static": True}, "append_only and static"),
    ):
        with pytest.raises(SchemaError, match=says):
            shop.run(more)
    with pytest.raises(PipelineError, match="on_static_change='ignore' is unknown"):
        shop.run(on_static_change="ignore")
