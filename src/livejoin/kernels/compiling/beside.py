"""A second process, which compiles some of the kernels into the cache while this one compiles the others.

Numba compiles under one lock, so a second thread would not help. The process is nothing but a help: where there is one
core, or what runs here is not Python by itself, there is none, and whatever it leaves is compiled here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from livejoin.aside import is_ending

_LONGEST = 120.0  # seconds that are waited for it
_A_LOOK = 0.02  # seconds between two looks whether it is done


def start(statement: str) -> subprocess.Popen[bytes] | None:
    """Run a statement in a Python of its own that imports what this one does; nothing if there is no core for it."""
    python = sys.executable or ""
    if _cores() < 2 or getattr(sys, "frozen", False) or not Path(python).name.lower().startswith("python"):
        return None
    seen = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    silent = subprocess.DEVNULL
    try:
        return subprocess.Popen([python, "-P", "-c", statement], env=seen, stdin=silent, stdout=silent, stderr=silent)
    except OSError:
        return None


def end(process: subprocess.Popen[bytes] | None) -> None:
    """Wait for it to be done, or end it where that takes too long or this process comes to its end."""
    if process is None:
        return
    longest = time.monotonic() + _LONGEST
    try:
        while process.poll() is None and time.monotonic() < longest and not is_ending():
            time.sleep(_A_LOOK)
    finally:
        process.kill()
        process.wait()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
