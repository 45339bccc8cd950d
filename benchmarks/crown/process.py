"""A measuring process from its start to its end: whatever ends this one, it and all that it started end too."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

START = 120  # seconds in which a process must be ready, which are not held against it
_PATIENCE = 5.0  # seconds in which a process that has said all must end
_ROOT = Path(__file__).resolve().parents[2]


def lines_of(command: Sequence[str], folder: Path, limit: float) -> Generator[dict[str, Any], None, None]:
    """Run a process and yield what it says.

    Args:
        command: An interpreter and its arguments; the project can be imported there.
        folder: Where it runs.
        limit: Seconds by the clock on the wall from one line to the next after which it is ended.

    Yields:
        Its lines of JSON; a last one tells if it was stopped or failed.
    """
    path = os.pathsep.join(filter(None, [str(_ROOT / "src"), str(_ROOT), os.environ.get("PYTHONPATH", "")]))
    said: queue.Queue[str | None] = queue.Queue()
    process: subprocess.Popen[str] | None = None
    patience = 0.0
    with (folder / "errors.txt").open("w+") as errors:
        try:
            with _held_back():
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**os.environ, "PYTHONPATH": path},
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,
                )
            threading.Thread(target=_read, args=(process, said), daemon=True).start()
            deadline = time.monotonic() + START + limit
            while (line := said.get(timeout=max(0.0, deadline - time.monotonic()))) is not None:
                if line.startswith("{"):
                    yield json.loads(line)
                    deadline = time.monotonic() + limit
            patience = _PATIENCE
        except queue.Empty:
            yield {"stopped": "over the limit", "reason": f"{limit:g} s a step"}
            return
        finally:
            if process is not None:
                with _held_back():
                    _end(process, patience)
        if process.returncode:
            errors.seek(0)
            yield {"stopped": "failed", "reason": f"exit code {process.returncode}: {reason(errors.read())}"}


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until a process that has begun is known, or one that must end has ended."""
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: came.append(number))  # not blocked: a process would inherit that
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for waiting in came[:1]:
            signal.raise_signal(waiting)


def reason(errors: str) -> str:
    """The last line that looks like a message, as warnings may come behind it."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line.split(":")[0] or "No module" in line]
    return (named or lines or ["no message"])[-1][:300]


def _read(process: subprocess.Popen[str], said: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        said.put(line)
    said.put(None)


def _end(process: subprocess.Popen[str], patience: float) -> None:
    """Give a process so many seconds to end, then end it, and all that it started; they are a session of their own."""
    deadline = time.monotonic() + patience
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT  # it is not reaped yet, so that its number stays its own
    while os.waitid(os.P_PID, process.pid, ended) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
