"""Runs a pipeline and kills its own process at a given point: ``killed_pipeline.py PIPELINE POINT BATCH``.

Points: ``taken`` the batch is in the log and not applied, ``between-views`` the first of two views is written,
``before-done`` both are written and the log does not say so, ``after-done`` it does and Spark does not know; ``never``
runs to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.checkpoint.engine import Engine
from livejoin.pipeline import load, run
from livejoin.spark import BatchReport
from livejoin.spark.sinks import ParquetSink


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(file: str, point: str, batch: int) -> None:
    deliver, finish, apply = ParquetSink._deliver, Engine.finish, Engine.apply

    def deliver_and_die(self: ParquetSink, view: str, delta: BatchDelta, batch_id: int) -> bool:
        left = deliver(self, view, delta, batch_id)
        if point == "between-views" and batch_id == batch:
            die()
        return left

    def die_before_done(self: Engine, batch_id: int, parts: Any) -> None:
        if point == "before-done" and batch_id == batch:
            die()
        finish(self, batch_id, parts)

    def die_when_taken(self: Engine, taken: Any) -> Any:
        if point == "taken" and taken.batch_id == batch:
            die()
        return apply(self, taken)

    def after_done(report: BatchReport) -> None:
        if point == "after-done" and report.batch_id == batch:
            die()

    ParquetSink._deliver = deliver_and_die  # type: ignore[method-assign]
    Engine.finish = die_before_done  # type: ignore[method-assign]
    Engine.apply = die_when_taken  # type: ignore[method-assign]
    run(load(file), after_done, lambda: None)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
