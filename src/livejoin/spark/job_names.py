"""What Spark's page of jobs says of the jobs of a batch: which query it is, which batch, and what is being done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from livejoin.spark.failures import OF_SPARK

_DESCRIPTION = "spark.job.description"


@contextmanager
def described(session: SparkSession, what: str) -> Iterator[None]:
    """Let jobs that this thread starts have a description; Spark's own stands there again afterwards.

    Args:
        session: The session.
        what: The description, as ``orders, batch 7``.
    """
    context = session.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, what)
    try:
        yield
    finally:
        with suppress(*OF_SPARK):  # as at the end of a session, where the error of the batch is what counts
            context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # None takes it away


@contextmanager
def doing(session: SparkSession, what: str) -> Iterator[None]:
    """Let jobs that this thread starts say what they do, behind what `described` says.

    Args:
        session: The session.
        what: The work that they do, as ``packs the changes``.
    """
    outer = session.sparkContext.getLocalProperty(_DESCRIPTION) or "livejoin"
    with described(session, f"{outer}: {what}"):
        yield
