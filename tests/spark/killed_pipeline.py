"""Runs a pipeline and kills its own process at a given point: ``killed_pipeline.py PIPELINE POINT BATCH``.

Points: ``between-views`` the first of two views is written, ``before-save`` both are written and the engine is not
saved, ``after-save`` the engine is saved and Spark does not know; ``never`` runs to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from livejoin.database import Database
from livejoin.pipeline import load, run
from livejoin.spark import BatchReport
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.spilled_delta import BatchDelta


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(file: str, point: str, batch: int) -> None:
    deliver, save = ParquetSink._deliver, Database.save

    def deliver_and_die(self: ParquetSink, view: str, delta: BatchDelta, batch_id: int) -> bool:
        left = deliver(self, view, delta, batch_id)
        if point == "between-views" and batch_id == batch:
            die()
        return left

    def die_before_save(self: Database, folder: Any, extra: Any = None) -> None:
        if point == "before-save" and extra["batch_id"] == batch:
            die()
        save(self, folder, extra)

    def after_save(report: BatchReport) -> None:
        if point == "after-save" and report.batch_id == batch:
            die()

    ParquetSink._deliver = deliver_and_die  # type: ignore[method-assign]
    Database.save = die_before_save  # type: ignore[method-assign]
    run(load(file), after_save, lambda: None)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
