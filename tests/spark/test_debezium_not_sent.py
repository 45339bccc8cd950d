"""What stands in Debezium's messages on Spark for a large value that PostgreSQL did not send is no value."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from deltas import sum_of
from pyspark.sql import SparkSession
from test_bad_lines import files, run

from livejoin.changes.debezium import PLACEHOLDER

pytestmark = pytest.mark.spark


def test_a_value_that_was_not_sent_makes_the_message_no_change(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        ("c", None, {"id": 1, "s": "a", "b": None}),
        ("u", {"id": 1, "s": "a", "b": None}, {"id": 1, "s": PLACEHOLDER, "b": None}),
        ("c", None, {"id": 2, "s": None, "b": base64.b64encode(PLACEHOLDER.encode()).decode()}),
        ("c", None, {"id": 4, "s": "b", "b": base64.b64encode(b"x").decode()}),
        ("c", None, {"id": 3, "s": PLACEHOLDER[1:], "b": None}),
    ]
    text = "\n".join(json.dumps({"op": op, "before": before, "after": after}) for op, before, after in rows)
    columns = "id BIGINT, s STRING, b BINARY"
    frame = files(spark, tmp_path / "in", text, columns, feed="debezium")
    told, _ = run(tmp_path, spark, {"v": "SELECT id, s FROM T"}, frame, on_bad_rows="dead_letter")
    assert set(sum_of(tmp_path / "out" / "v")) == {(1, "a"), (4, "b"), (3, PLACEHOLDER[1:])}
    reasons = sorted(reason for _, reason in told)
    assert len(reasons) == 2
    assert reasons[0].startswith(f"column 'b' has {PLACEHOLDER}: PostgreSQL does not send a large value")
    assert reasons[1].startswith(f"column 's' has {PLACEHOLDER}:") and "read_postgres" in reasons[1]
