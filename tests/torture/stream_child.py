"""The process of a campaign that runs pipelines, with the fault that its parent wants: ``stream_child.py SEED FOLDER``.

It starts Spark, says so, and runs one pipeline after the other, each told by a line of JSON on its standard input; what
happens goes as lines of JSON to its standard output. The rows of the table W come in another order whenever they are
read. On a cluster all stages of one run of two are tasks of executors, also small ones.
"""

from __future__ import annotations

import errno
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import local_cluster
from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine
from livejoin.distributed import Manifests
from livejoin.pipeline import load, run
from livejoin.spark import BatchReport, micro_batch
from livejoin.spark.distributed import stage_runs
from livejoin.spark.distributed.batches import DistributedBatches
from livejoin.spark.micro_batch import MicroBatches
from livejoin.state import files

LOCAL = "local[2]"
TO_ITS_END = "to its end"
POINTS = {
    "not in the log": ("take", True),
    "in the log": ("apply", True),
    "applied": ("apply", False),
    "delivered": ("finish", True),
    "done": ("finish", False),
}
"""Where a batch can stop: what the engine is called for there, and whether that is before the call."""

SLOW_TASKS = "slow tasks"
FULL_DISK = "full disk of a cell"
"""Faults of the executors, which see a file of this name in the folder for temporary files."""

OF_CLUSTER = {
    "spark.python.daemon.module": "stream_daemon",
    "spark.task.maxFailures": "100",
    "spark.deploy.maxExecutorRetries": "-1",
}
"""Spark gives up neither a task nor a cluster of which a process was killed some times within a batch."""

POINTS_OF_CELLS = {
    "cells are not committed": ("commit", True),
    "cells are committed": ("commit", False),
    "cells are delivered": ("finish", True),
    "cells are done": ("finish", False),
}
"""The same for the manifests, where tables are spread over cells."""


class Enough(Exception):
    """The run has seen as many batches as it is to see."""


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


@contextmanager
def instead(owner: Any, name: str, made: Callable[[Any], Any]) -> Iterator[None]:
    """What ``made`` makes of an attribute, in its place for a while."""
    before = getattr(owner, name)
    setattr(owner, name, made(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


def counted(count: int) -> Callable[[], bool]:
    """Tells once, at its ``count``-th call, that it is time."""
    left = [count]

    def is_time() -> bool:
        left[0] -= 1
        return left[0] == 0

    return is_time


def full_disk(is_time: Callable[[], bool]) -> Callable[[Any], Any]:
    def made(system: Any) -> Any:
        def refuse(function: Any, *arguments: Any, **named: Any) -> Any:
            if function is os.write and is_time():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return system(function, *arguments, **named)

        return refuse

    return made


def failing_sink(is_time: Callable[[], bool], is_late: bool) -> Callable[[Any], Any]:
    """A sink that fails before it has delivered a batch, or behind that."""

    def made(init: Any) -> Any:
        def with_sink(self: MicroBatches | DistributedBatches, *arguments: Any) -> None:
            init(self, *arguments)
            sink = self._sink

            class Failing:
                def deliver(self, *delivered: Any) -> Any:
                    fails = is_time()
                    if fails and not is_late:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    parts = sink.deliver(*delivered)
                    if fails:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    return parts

            self._sink = Failing()  # type: ignore[assignment]

        return with_sink

    return made


def another_order(dice: random.Random) -> Callable[[Any], Any]:
    def made(unpack: Any) -> Any:
        def unordered(*arguments: Any, **named: Any) -> Arrival:
            arrival: Arrival = unpack(*arguments, **named)
            changes = {
                name: rows.take(dice.sample(range(rows.num_rows), rows.num_rows)) if name == "W" else rows
                for name, rows in arrival.changes.items()
            }
            return replace(arrival, changes=changes)

        return unordered

    return made


def pausing(is_time: Callable[[], bool], is_before: bool) -> Callable[[Any], Any]:
    """Stop until the parent lets it go on; by then it may have killed somebody."""

    def pause() -> None:
        if is_time():
            say(event="paused")
            sys.stdin.readline()

    def made(function: Any) -> Any:
        def paused(*arguments: Any) -> Any:
            if is_before:
                pause()
            found = function(*arguments)
            if not is_before:
                pause()
            return found

        return paused

    return made


@contextmanager
def disturbed(fault: str, count: int, dice: random.Random) -> Iterator[None]:
    """Let a fault happen at the ``count``-th time that it can, and rows of W come in another order."""
    by_executors = fault in (SLOW_TASKS, FULL_DISK) or dice.random() < 0.5
    with ExitStack() as stack:
        stack.enter_context(instead(micro_batch, "unpack_pieces", another_order(dice)))
        stack.enter_context(instead(stage_runs, "SMALL", lambda least: -1 if by_executors else least))
        match fault:
            case "full disk":
                stack.enter_context(instead(files, "system", full_disk(counted(count))))
            case "failing sink":
                late = failing_sink(counted(count), dice.random() < 0.5)
                for owner in (MicroBatches, DistributedBatches):
                    stack.enter_context(instead(owner, "__init__", late))
            case _ if fault in POINTS:
                called, is_before = POINTS[fault]
                stack.enter_context(instead(Engine, called, pausing(counted(count), is_before)))
            case _ if fault in POINTS_OF_CELLS:
                called, is_before = POINTS_OF_CELLS[fault]
                stack.enter_context(instead(Manifests, called, pausing(counted(count), is_before)))
        yield


def answer(job: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Run a pipeline; whether it came to its end, or what it said."""
    left = [job["batches"]]

    def stop(_: BatchReport) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Enough

    with disturbed(job["fault"], job["count"], dice):
        try:
            run(load(job["pipeline"]), stop, lambda: say(event="up"))
        except Exception as error:
            if left[0] == 0 and "Enough" in str(error):
                return {"event": "end", "failed": False, "said": "enough"}
            return {"event": "end", "failed": True, "said": f"{type(error).__name__}: {error}"}
    return {"event": "end", "failed": False, "said": TO_ITS_END}


def main(seed: int, folder: str, master: str) -> None:
    dice = random.Random(seed)
    settings = dict[str, str]()
    if master != LOCAL:
        settings = local_cluster.SPECULATION | OF_CLUSTER | local_cluster.other_hosts(Path(folder))
    spark = local_cluster.session(master, Path(folder), settings)
    levels = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    tasks = "org.apache.spark.scheduler.TaskSetManager"  # which says when a slow one is attempted once more
    levels.core.config.Configurator.setLevel(tasks, levels.Level.INFO)
    spark.range(9).selectExpr("id + 1 AS n").toArrow()
    say(event="warm", jvm=int(spark._jvm.java.lang.ProcessHandle.current().pid()))  # type: ignore[union-attr]
    for line in sys.stdin:
        say(**answer(json.loads(line), dice))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else LOCAL)
