"""Rounds of a campaign over cells on a cluster: executors, Python workers and processes of cells are killed too."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from stream_child import POINTS_OF_CELLS
from stream_files import Files
from stream_rounds import killed
from stream_worker import Workers

BATCHES = 6  # of a run in which something is killed that Spark, or the next batch, starts again
_PAUSE = 1.5  # seconds for which a process that stops stands still
_PATIENCE = 60.0  # seconds in which there has to be one


class Cells(Files):
    """A round; mutable."""

    faults = (
        *("driver", "driver", "JVM", "executor", "executor", "Python worker", "Python worker", "cell", "cell"),
        *("stopped worker", "stopped cell", "file", "file", "full disk", "failing sink"),
    )

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice, f'mode = "distributed"\ncells = {dice.randrange(1, 5)}')

    def fault(self, what: str, workers: Workers) -> str:
        """Let something happen; what came of it."""
        match what:
            case "driver" | "JVM":
                return killed(workers, self._pipeline, self._dice, what, POINTS_OF_CELLS)
            case "executor" | "Python worker" | "cell":
                return self._during(workers, what, is_killed=True)
            case "stopped worker" | "stopped cell":
                return self._during(workers, what, is_killed=False)
            case "file":
                workers.end_cells()  # so that what they know is read
                return super().fault(what, workers)
            case _:
                return super().fault(what, workers)

    def _during(self, workers: Workers, what: str, *, is_killed: bool) -> str:
        """Kill a process, or let it stand still, at some time of some batches, which go on nevertheless."""
        worker, dice = workers.one, self._dice
        worker.begin(self._pipeline, batches=BATCHES)
        event = worker.event()
        done = "nothing was there"
        if event is not None and event["event"] == "up":
            time.sleep(dice.random() * 4)
            deadline = time.monotonic() + _PATIENCE
            while not (found := self._processes(workers, what)) and time.monotonic() < deadline:
                time.sleep(0.1)
            if found:
                done = _signalled(dice.choice(found), is_killed)
            event = worker.end()
        assert event is not None, "the driver died"
        assert not event["failed"], event["said"]
        return f"{done}; {event['said']}"

    @staticmethod
    def _processes(workers: Workers, what: str) -> list[int]:
        """Those of a kind that are there now."""
        match what:
            case "executor":
                return workers.one.executors
            case "Python worker" | "stopped worker":
                return workers.one.python
            case _:
                return workers.cells()


def _signalled(pid: int, is_killed: bool) -> str:
    with suppress(ProcessLookupError):
        if is_killed:
            os.kill(pid, signal.SIGKILL)
            return "killed"
        os.kill(pid, signal.SIGSTOP)
        time.sleep(_PAUSE)
        os.kill(pid, signal.SIGCONT)
        return "stood still"
    return "it had ended"
