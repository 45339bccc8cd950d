"""Compiles kernels ahead of use, in a process beside this one, until the cache has all that are known.

Where kernels came compiled with the package, or the cache has them all, nothing happens. Else the process begins when
the first database does, with what most views take. `want` names what a view that was planned now will take, which then
comes first. Who needs a kernel that is being compiled waits for it (`livejoin.kernels.compiling.turns`). One process a
cache, whoever started it; it ends behind its kernel when the process that started it has ended.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from livejoin.kernels.compiling import beside
from livejoin.kernels.compiling.signatures import declared, described
from livejoin.kernels.compiling.turns import take_now
from livejoin.kernels.jit import cache_folder

_COMPLETE = "complete"
_FIRST = ("crown.maintain.maintain", "evaluate.machine", "values", "memory", "crown", "groups", "relation", "ordered")
"""What most views take, in the order in which it is compiled; the largest first, as the one that waits takes others."""

_process: Popen[bytes] | None = None


def is_complete() -> bool:
    """Whether the cache has all kernels that are known."""
    return (cache_folder() / _COMPLETE).exists()


def note_complete() -> None:
    """Note that the cache has them all."""
    with suppress(OSError):
        (cache_folder() / _COMPLETE).touch()


def begin() -> bool:
    """Compile what is missing, in a process beside. Give whether there is one; once more begins no other."""
    global _process  # noqa: PLW0603
    if _process is None:
        _process = beside.start(f"from {__name__} import run; run({str(cache_folder())!r})")
        if _process is not None:
            threading.Thread(target=_process.wait, name="livejoin-ahead", daemon=True).start()
    return _process is not None


def want(names: Iterable[str]) -> None:
    """Let kernels come first whose names begin so, as ``groups`` or ``relation.multiset``, if some are compiled."""
    process = _process
    if process is not None and process.stdin is not None and process.poll() is None:
        with suppress(OSError):  # it has just ended
            process.stdin.write("".join(f"{name}\n" for name in names).encode())


def run(folder: str) -> None:
    """Compile what is missing in a folder: what the process does."""
    if str(cache_folder()) != folder:  # it would go with this process
        return
    try:
        lock = take_now(Path(folder) / "ahead.lock")
    except OSError:  # another process is at it
        return
    os.nice(5)
    wanted: deque[str] = deque()
    heard = threading.Thread(target=_hear, args=(wanted,), daemon=True)
    heard.start()
    known = [(described(kernel.py_func, signature), kernel, signature) for kernel, signature in declared()]
    missing = sorted(known, key=lambda one: _rank(one[0], _FIRST))
    while missing and heard.is_alive():
        missing.sort(key=lambda one: _rank(one[0], tuple(wanted)))  # which keeps the order of the others
        _, kernel, signature = missing.pop(0)
        kernel.compile(signature)
    if not missing:
        note_complete()
    os.close(lock)


def _hear(wanted: deque[str]) -> None:
    """Take what is wanted until whoever started this process has ended."""
    for line in sys.stdin:
        wanted.append(line.strip())


def _rank(line: str, names: tuple[str, ...]) -> int:
    """The place of the first name with which a line begins; behind all if it begins with none."""
    return next((at for at, name in enumerate(names) if line.startswith(name)), len(names))
