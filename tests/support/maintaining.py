"""`livejoin.spark.maintain` for tests: what is said of tables by their names, and how it runs as keywords."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from livejoin.spark import MaintainedQuery, RunOptions, stream
from livejoin.spark import maintain as maintain_views

IN_CELLS = pytest.param({"mode": "distributed", "cells": 2}, marks=pytest.mark.torture, id="cells")
"""The options of a run in cells, for tests whose like `tests/distributed` has without Spark."""


def maintain(
    spark: Any,
    views: Any,
    tables: Mapping[str, Any],
    *,
    of: Mapping[str, Mapping[str, Any]] | None = None,
    sink: Any = "parquet",
    path: Any = None,
    checkpoint: Any = None,
    trigger: Any = None,
    **options: Any,
) -> MaintainedQuery:
    """A query that keeps the views.

    Args:
        spark: The session.
        views: The views.
        tables: The frame of each table.
        of: Arguments of `stream` for some of them.
        sink: Where deltas go.
        path: The folder of Parquet.
        checkpoint: The folder of the state.
        trigger: Of Spark.
        options: Those of `RunOptions`.
    """
    if of:
        tables = {**tables, **{name: stream(tables[name], **arguments) for name, arguments in of.items()}}
    where = {"sink": sink, "path": path, "checkpoint": checkpoint, "trigger": trigger}
    return maintain_views(spark, views, tables, **where, options=RunOptions(**options))
