"""A pipeline file whose tables have keys: from files of changes to deltas that DuckDB agrees with."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from deltas import sum_of
from pyspark.sql import SparkSession

from livejoin.checkpoint import read_checkpoint
from livejoin.pipeline import load
from livejoin.pipeline.check import check
from livejoin.pipeline.run import run

FILE = """
[tables.people]
schema = "id INT, region STRING, name STRING, at BIGINT, _change_type STRING, PRIMARY KEY (id, region)"
format = "csv"
path = "people"
feed = "change-feed"
sequence_by = "at"
arrival = "by-name"
options = { maxFilesPerTrigger = 1 }

[tables.orders]
schema = "id BIGINT PRIMARY KEY, person INT, _seq BIGINT"
format = "json"
path = "orders"
feed = "debezium"

[views.named]
sql = "SELECT o.id, p.name FROM orders o JOIN people p ON o.person = p.id"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
check = true
"""

PEOPLE = {
    "1.csv": "1,n,Ada,5,insert\n2,n,Bob,5,upsert\n2,s,Cy,5,insert\n",
    "2.csv": "2,n,,9,delete\n1,n,late,4,upsert\n",
    "3.csv": "2,n,late,8,upsert\n1,n,Eve,6,update_postimage\n",
}
ORDERS = [
    {"_seq": 1, "op": "r", "before": None, "after": {"id": 10, "person": 1}},
    {"_seq": 3, "op": "u", "before": None, "after": {"id": 11, "person": 2}},
    {"_seq": 2, "op": "c", "before": None, "after": {"id": 11, "person": 1}},
    {"_seq": 4, "op": "c", "before": None, "after": {"id": 12, "person": 1}},
    {"_seq": 5, "op": "d", "before": {"id": 12, "person": None}, "after": None},
]


@pytest.mark.spark
def test_a_pipeline_with_keys(spark: SparkSession, tmp_path: Path) -> None:
    for folder, files in (("people", PEOPLE), ("orders", {"1.json": "\n".join(map(json.dumps, ORDERS))})):
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "p.toml").write_text(FILE)
    pipeline = load(tmp_path / "p.toml")
    run(pipeline, lambda report: None, lambda: None)
    assert sum_of(tmp_path / "out" / "named") == Counter({(10, "Eve"): 1, (11, "Cy"): 1})
    (found,) = check(pipeline)
    assert found.identical, found.example
    figures = read_checkpoint(tmp_path / "checkpoint").stats()["tables"]["people"]
    assert (figures["rows"], figures["tombstones"], figures["late"]) == (2, 1, 2)
