"""The daemon of Spark's Python workers on the cluster of a campaign; Spark runs it in the place of its own one.

In its workers the rows of the table W come in another order whenever they are read, and in those of one executor of two
what a step leaves is always a file. As long as there is a file with one of the names below in the folder for temporary
files, first attempts of tasks are slow, or the disk of the host is full.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext, daemon
from stream_child import FULL_DISK, SLOW_TASKS, another_order, counted, full_disk, instead

from livejoin.distributed import cell_process, parts
from livejoin.spark.streams import frames
from livejoin.state import files

_LONGEST = 1.5  # seconds for which an attempt waits before its work, or behind it


def is_on(fault: str) -> bool:
    return (Path(tempfile.gettempdir()) / fault).exists()


def slow(dice: random.Random, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, for which a first attempt of two takes longer, before it or behind it."""

    def slowly(*arguments: Any, **named: Any) -> Any:
        context = TaskContext.get()
        is_slow = is_on(SLOW_TASKS) and context is not None and not context.attemptNumber() and dice.random() < 0.5
        is_late = dice.random() < 0.5
        if is_slow and not is_late:
            time.sleep(_LONGEST * dice.random())
        found = function(*arguments, **named)
        if is_slow and is_late:
            time.sleep(_LONGEST * dice.random())
        return found

    return slowly


def without_room(dice: random.Random, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, in the task's own process, whose disk is full at some write if the host's is."""

    def does(*arguments: Any, **named: Any) -> Any:
        if not is_on(FULL_DISK):
            return function(*arguments, **named)
        with (
            instead(cell_process, "_address", lambda _: lambda *of: None),
            instead(files, "system", full_disk(counted(dice.randrange(1, 4)))),
        ):
            return function(*arguments, **named)

    return does


def disturb(dice: random.Random) -> None:
    """Replace what tasks call, for the life of this process and of its forks."""
    frames.unpack = slow(dice, another_order(dice)(frames.unpack))
    cell_process.advance_warm = slow(dice, without_room(dice, cell_process.advance_warm))


if __name__ == "__main__":
    dice = random.SystemRandom()  # each worker is a fork, and would have the numbers of the others
    disturb(dice)
    if dice.random() < 0.5:
        parts.SMALL = -1
    daemon.manager()
