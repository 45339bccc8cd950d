"""What is said when Spark ends a query."""

from __future__ import annotations

from pathlib import Path

from livejoin.pipeline.load import Pipeline
from livejoin.pipeline.run import _spark_failure


def test_a_source_speaks_from_a_process_of_sparks() -> None:
    """Its own message is what counts, not the trace around it."""
    text = (
        "[STREAM_FAILED] Query terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when "
        "Python streaming data source perform commitSource: Traceback (most recent call last):\n"
        '  File "connection.py", line 37, in connect\n'
        "psycopg.OperationalError: connection refused\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "livejoin.errors.StorageError: PostgreSQL at localhost/shop: connection refused; the query ends\n"
        " SQLSTATE: 38000\n"
    )
    pipeline = Pipeline(Path("p.toml"), {}, {}, None, Path("checkpoint"), {}, False, {})
    assert str(_spark_failure(RuntimeError(text), pipeline)) == (
        "Spark ended the query: PostgreSQL at localhost/shop: connection refused; the query ends; "
        "more is in checkpoint/spark.log"
    )
    plain = RuntimeError("[X] it failed\n at a.b\nCaused by: java.io.IOException: no space\n\tat c.d\n")
    assert "Spark ended the query: no space; more" in str(_spark_failure(plain, pipeline))
