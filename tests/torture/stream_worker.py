"""The parent's side of the processes of a campaign."""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stream_child import LOCAL

from local_cluster import cells_below, executors_of, python_of, second_attempts

_PATIENCE = 300.0


class Worker:
    """A process that runs pipelines; mutable.

    Args:
        seed: Of its dice.
        master: That of its Spark.
        shared: A folder for temporary files, in which processes of cells find each other.
    """

    def __init__(self, seed: int, master: str, shared: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="livejoin-campaign-"))
        script = Path(__file__).with_name("stream_child.py")
        paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(shared)}
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(script), str(seed), str(self._folder), master],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._said: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._jvm = 0
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def _errors(self) -> Path:
        return self._folder / "errors"

    @property
    def _log(self) -> Path:
        return self._folder / "spark.log"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))
        self._said.put(None)

    def warm(self) -> None:
        """Wait until its Spark is there."""
        event = self.alive(self.event())
        assert event["event"] == "warm", event
        self._jvm = event["jvm"]

    def begin(self, pipeline: Path, fault: str = "none", count: int = 0, batches: int = 0) -> None:
        """Let it run a pipeline, to its end or for some batches."""
        self._write({"pipeline": str(pipeline), "fault": fault, "count": count, "batches": batches})

    def go_on(self) -> None:
        """Let it go on behind a pause."""
        self._write({})

    def _write(self, what: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it is dead, as `event` tells
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()

    def event(self) -> dict[str, Any] | None:
        """The next thing that it says; None if it is dead, from then on."""
        said = self._said.get(timeout=_PATIENCE)
        if said is None:
            self._said.put(None)
        return said

    def alive(self, event: dict[str, Any] | None) -> dict[str, Any]:
        """The same event, of a process that nothing was to kill; how it ended and its last words if it is dead."""
        if event is None:
            msg = f"the driver died by itself, {self._ended()}: {_tail(self._errors)}; Spark's log: {_tail(self._log)}"
            raise AssertionError(msg)
        return event

    def _ended(self) -> str:
        """How it ended: a signal from outside, as the system's for want of memory, or a code of its own."""
        code = self._process.wait(_PATIENCE)
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"

    @property
    def has_said(self) -> bool:
        """Whether it has said what nobody has asked for."""
        return not self._said.empty()

    def end(self) -> dict[str, Any] | None:
        """How the pipeline ended; None if the process did before."""
        while (event := self.event()) is not None and event["event"] != "end":
            if event["event"] == "paused":
                self.go_on()
        return event

    def slow(self) -> int:
        """How many tasks of its Spark were attempted a second time, since they were slow."""
        return second_attempts(self._log.read_text(errors="replace")) if self._log.exists() else 0

    def kill_jvm(self) -> None:
        os.kill(self._jvm, signal.SIGKILL)

    @property
    def executors(self) -> list[int]:
        """The executors of its Spark."""
        return executors_of(self._jvm)

    @property
    def python(self) -> list[int]:
        """The processes of Python in them."""
        return python_of(self._jvm)

    def kill(self) -> None:
        """Kill the process; its JVM sees that and ends, as it does for every driver that dies."""
        self._process.kill()
        self._process.wait(_PATIENCE)
        deadline = time.monotonic() + _PATIENCE
        while self._jvm and Path(f"/proc/{self._jvm}").exists():
            assert time.monotonic() < deadline, "the JVM of a driver that was killed is still there"
            time.sleep(0.02)
        shutil.rmtree(self._folder)


def _tail(file: Path) -> str:
    """The last lines of a file, if it is there."""
    return file.read_text(errors="replace")[-2000:].strip() if file.exists() else "none"


class Workers:
    """One that runs pipelines, and one that starts Spark meanwhile, to take its place; mutable.

    Args:
        dice: For what is random.
        master: That of their Spark.
    """

    def __init__(self, dice: random.Random, master: str = LOCAL) -> None:
        self._dice = dice
        self._master = master
        self._shared = Path(tempfile.mkdtemp(prefix="livejoin-cells-"))
        self._spare: Worker | None = None
        self._slow = 0
        self.one = self._next()

    def _next(self) -> Worker:
        one = self._spare or self._made()
        self._spare = self._made()
        one.warm()
        return one

    def _made(self) -> Worker:
        return Worker(self._dice.randrange(1 << 30), self._master, self._shared)

    def cells(self) -> list[int]:
        """The processes that keep cells warm, also those that former workers have started."""
        return cells_below(self._shared)

    def end_cells(self) -> None:
        """Kill them."""
        for pid in self.cells():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def slow(self) -> int:
        """How many tasks were attempted a second time so far, since they were slow."""
        return self._slow + self.one.slow()

    @contextmanager
    def during(self, fault: str) -> Iterator[None]:
        """Let a fault of the executors last for a while."""
        sign = self._shared / fault
        sign.touch()
        try:
            yield
        finally:
            sign.unlink()

    def replace(self) -> None:
        """Another process in the place of the one that runs, which ends if it is there still."""
        self._slow += self.one.slow()
        self.one.kill()
        self.one = self._next()

    def close(self) -> None:
        self.one.kill()
        if self._spare is not None:
            self._spare.warm()
            self._spare.kill()
        self.end_cells()
        shutil.rmtree(self._shared, ignore_errors=True)
