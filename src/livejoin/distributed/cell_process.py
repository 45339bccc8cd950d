"""A process that keeps a cell warm: it has the states of the cell's stages, and does its part of every batch.

Spark runs a task wherever there is room, so that the process that runs a cell's part of a batch is seldom the one that
ran the last one. So each host has a process a cell, which its tasks ask through a socket that only this user may open.
It is a cache and nothing else: which state counts is what the manifest says, a process that died, or was never here,
is started anew and makes the state from the files, and where none can be started a task does it by itself. It ends when
the driver on its host says so, or nobody has asked for a while.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from livejoin import own_folders
from livejoin.distributed.cells import Cells
from livejoin.distributed.declaration import Plan
from livejoin.distributed.parts import CellPart, advance
from livejoin.distributed.task import Outcome, Task
from livejoin.state.store_folder import Place

IDLE = 300.0
"""Seconds after which a process ends that nobody asks."""

_SIZE = struct.Struct("<Q")
_STARTING = 60.0  # seconds that one may take to start
_END = b""


def advance_all(
    plan: Plan, task: Task, stage: int, came: Mapping[int, Sequence[CellPart]], at_once: int
) -> list[tuple[Outcome, list[CellPart]]]:
    """The part of some cells in a stage, by the processes that keep them warm on this host.

    Args:
        plan: The plan.
        task: The batch.
        stage: The stage.
        came: The cells, with what is brought to each.
        at_once: How many processes work at the same time.

    Raises:
        LivejoinError: As `advance_warm`, for one of them; all have ended.
    """
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(lambda cell: advance_warm(plan, task, stage, cell, came[cell]), sorted(came)))


def advance_warm(
    plan: Plan, task: Task, stage: int, cell: int, came: Sequence[CellPart]
) -> tuple[Outcome, list[CellPart]]:
    """As `livejoin.distributed.parts.advance`, by the process that keeps the cell warm on this host."""
    path = _address(plan, task.folder, cell)
    task = task.of(stage, cell)
    if path is not None:
        for _ in range(2):  # the second time with another process, as the first one may be ending or be killed
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                return _asked(path, plan, (task, stage, cell, list(came)))
    return advance(Cells(plan.staged, plan.limits), plan, task, stage, cell, came)


def end_processes(plan: Plan, folder: Place) -> None:
    """End the processes on this host that keep the cells of a checkpoint warm.

    Args:
        plan: The plan.
        folder: The folder of the cells' files.
    """
    for cell in range(plan.cells):
        path = _address(plan, folder, cell)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, suppress(OSError):
            connection.connect(str(path))
            _send(connection, _END)


def _address(plan: Plan, folder: Place, cell: int) -> Path | None:
    """The socket of a cell of a checkpoint, in a folder that is this user's alone; None if there can be none."""
    sockets = own_folders.temporary_folder()
    if sockets is None:
        return None
    name = hashlib.sha256(f"{folder}\n{plan.digest}\n{plan.limits}\n{cell}".encode()).hexdigest()[:24]
    return sockets / f"{name}.sock"


def _asked(path: Path, plan: Plan, request: tuple[Task, int, int, list[CellPart]]) -> tuple[Outcome, list[CellPart]]:
    """What a cell's process answers; it is started if there is none.

    Raises:
        OSError, EOFError: The process does not answer.
    """
    with _connected(path, plan) as connection:
        _send(connection, pickle.dumps(request))
        answer = pickle.loads(_receive(connection))
    if isinstance(answer, BaseException):
        raise answer
    found: tuple[Outcome, list[CellPart]] = answer
    return found


@contextmanager
def _connected(path: Path, plan: Plan) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            _start(path, plan)
            connection.connect(str(path))
        yield connection


def _start(path: Path, plan: Plan) -> None:
    """Start the process of a cell, unless another task has just done so; it listens when this returns."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
            probe.connect(str(path))
            return
        command = [sys.executable, "-m", "livejoin.distributed.cell_process", str(path), str(IDLE)]
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "start_new_session": True}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, **quiet)  # type: ignore[call-overload]
        with process.stdin, process.stdout:
            with suppress(BrokenPipeError):
                process.stdin.write(pickle.dumps(plan))
                process.stdin.close()
            ready, _, _ = select.select([process.stdout], [], [], _STARTING)
            if not ready or not process.stdout.read(1):
                process.kill()
                process.wait()
                msg = "the process of a cell does not start"
                raise OSError(msg)


def serve(path: Path, plan: Plan, idle: float) -> None:
    """Answer what tasks ask of a cell, one after the other, until nobody has asked for a while.

    Args:
        path: The socket.
        plan: The plan.
        idle: Seconds.
    """
    cells = Cells(plan.staged, plan.limits)
    with suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
        listener.settimeout(idle)
        os.write(1, b"+")
        os.close(1)
        try:
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError, EOFError):
                    connection.settimeout(None)
                    request = _receive(connection)
                    if request == _END:
                        return
                    task, stage, cell, came = pickle.loads(request)
                    try:
                        answer: object = advance(cells, plan, task, stage, cell, came)
                    except Exception as error:
                        answer = error
                    _send(connection, pickle.dumps(answer))
        except TimeoutError:
            pass
        finally:
            with suppress(FileNotFoundError):
                path.unlink()


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_SIZE.pack(len(data)))
    connection.sendall(data)


def _receive(connection: socket.socket) -> bytes:
    (size,) = _SIZE.unpack(_exactly(connection, _SIZE.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = bytearray(size)
    view, have = memoryview(found), 0
    while have < size:
        got = connection.recv_into(view[have:])
        if not got:
            raise EOFError
        have += got
    return bytes(found)


def main() -> None:
    """The process: its plan comes through the standard input."""
    path, idle = Path(sys.argv[1]), float(sys.argv[2])
    serve(path, pickle.loads(sys.stdin.buffer.read()), idle)


if __name__ == "__main__":
    main()
