"""Rounds of a campaign over cells on a cluster: executors, Python workers and processes of cells are killed too."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

from stream_child import FULL_DISK, POINTS_OF_CELLS, SLOW_TASKS, TO_ITS_END
from stream_files import Files
from stream_rounds import Fault, killed, over
from stream_worker import Workers

PROCESSES = ("executor", "Python worker", "Python worker", "cell", "cell", "stopped worker", "stopped cell")
BATCHES = 10  # of a run in which such processes are killed, or stand still, which Spark or the next batch starts again
_OF_A_RUN = 7  # of them
SLOW_BATCHES = 2  # of a run in which tasks are slow, or have no room
_PAUSE = 1.5  # seconds for which a process that stops stands still
_PATIENCE = 240.0  # seconds in which there has to be one, on a machine that is busy with other things


class Cells(Files):
    """A round; mutable."""

    faults = (
        *("driver", "JVM", "full disk", "failing sink", FULL_DISK),
        *(SLOW_TASKS, SLOW_TASKS, "processes", "processes", "processes"),
        *("file", "file", "file", "file", "file", "file"),
    )

    def __init__(self, folder: Path, dice: random.Random) -> None:
        super().__init__(folder, dice, 'mode = "distributed"\ncells = 2')

    def fault(self, what: str, workers: Workers) -> list[Fault]:
        """Let something happen, also while rows move to another number of cells; what came of it."""
        self._redraw()
        if self._dice.random() < 0.3:
            text = re.sub(r"cells = \d", f"cells = {self._dice.randrange(1, 5)}", self._pipeline.read_text())
            self._pipeline.write_text(text)
        match what:
            case "driver" | "JVM":
                return [killed(workers, self._pipeline, self._dice, what, POINTS_OF_CELLS)]
            case "processes":
                return self._during(workers)
            case _ if what == SLOW_TASKS:
                return self._slow_tasks(workers)
            case _ if what == FULL_DISK:
                return [self._full_disk(workers)]
            case "file":
                workers.end_cells()  # so that what they know is read
                return super().fault(what, workers)
            case _:
                return super().fault(what, workers)

    def _during(self, workers: Workers) -> list[Fault]:
        """Kill processes, or let them stand still, at some times of some batches, which go on nevertheless."""
        worker, dice = workers.one, self._dice
        worker.begin(self._pipeline, batches=BATCHES)
        event, done = worker.alive(worker.event()), list[Fault]()
        if event["event"] == "up":
            for what in dice.choices(PROCESSES, k=_OF_A_RUN):
                time.sleep(dice.random() * 3)
                done.append(self._once(workers, what))
            event = worker.alive(worker.end())
        assert not event["failed"], event["said"]
        if event["said"] == TO_ITS_END:
            done.append(over("processes"))
        return done

    def _slow_tasks(self, workers: Workers) -> list[Fault]:
        """Let first attempts of tasks take long, so that Spark begins second ones beside them; a fault for each."""
        before = workers.slow()
        with workers.during(SLOW_TASKS):
            workers.one.begin(self._pipeline, SLOW_TASKS, batches=SLOW_BATCHES)
            event = workers.one.alive(workers.one.end())
        assert not event["failed"], event["said"]
        seconds = workers.slow() - before
        done = [Fault("slow task", hit=True, told="attempted twice")] * seconds
        done += [] if seconds else [Fault("slow task", hit=False, told="Spark began no second attempt")]
        return [*done, over(SLOW_TASKS)] if event["said"] == TO_ITS_END else done

    def _full_disk(self, workers: Workers) -> Fault:
        """Let the executors have no room at some write of some cell, which is told."""
        with workers.during(FULL_DISK):
            workers.one.begin(self._pipeline, FULL_DISK, batches=SLOW_BATCHES)
            event = workers.one.alive(workers.one.end())
        assert not event["failed"] or "No space left" in event["said"], event["said"]
        return Fault(FULL_DISK, event["failed"], str(event["said"])[:160], is_over=event["said"] == TO_ITS_END)

    def _damaged(self, found: list[Path]) -> Path:
        """A file of any sort: there are many of a cell's log for one manifest."""
        sort = self._dice.choice(sorted({_sort(path) for path in found}))
        return self._dice.choice([path for path in found if _sort(path) == sort])

    def _once(self, workers: Workers, what: str) -> Fault:
        """One of them, while batches go on."""
        worker, is_killed = workers.one, not what.startswith("stopped")
        deadline = time.monotonic() + _PATIENCE
        while not (found := self._processes(workers, what)) and not worker.has_said:
            assert time.monotonic() < deadline, f"there is no {what}"
            time.sleep(0.1)
        if worker.has_said or not _signalled(self._dice.choice(found), is_killed):
            return Fault(what, hit=False, told="the run had ended")
        return Fault(what, hit=True, told="killed" if is_killed else "stood still")

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


def _sort(path: Path) -> str:
    """What sort of file it is; a manifest that is not the newest one is another sort."""
    if path.suffix == ".manifest" and path != max(path.parent.glob("*.manifest")):
        return "manifest before"
    return path.suffix or path.name


def _signalled(pid: int, is_killed: bool) -> bool:
    """Whether the process was there still."""
    try:
        os.kill(pid, signal.SIGKILL if is_killed else signal.SIGSTOP)
    except ProcessLookupError:
        return False
    if not is_killed:
        time.sleep(_PAUSE)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return True
