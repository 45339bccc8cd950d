"""What is said when Spark ends a query."""

from __future__ import annotations

from livejoin.spark.failures import said


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
    assert said(text) == "PostgreSQL at localhost/shop: connection refused; the query ends"


def test_the_deepest_cause_comes_first() -> None:
    text = "[X] it failed\n at a.b\nCaused by: a.B: it broke\n\tat c.d\nCaused by: java.E: no space\n\tat c.d\n"
    assert said(text) == "no space <- it broke"
    assert said("\n[X] it failed\n at a.b\n") == "[X] it failed"
