"""A second process, which compiles kernels into the cache while this one goes on.

Numba compiles under one lock, so a second thread would not help. The process is nothing but a help: where there is one
core, or what runs here is not Python by itself, there is none, and whatever it leaves is compiled here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def start(statement: str) -> subprocess.Popen[bytes] | None:
    """Run a statement in a Python of its own that imports what this one does; nothing if there is no core for it.

    The process hears this one by its standard input, which ends with this one. Ctrl-C is not for it.
    """
    python = sys.executable or ""
    if _cores() < 2 or getattr(sys, "frozen", False) or not Path(python).name.lower().startswith("python"):
        return None
    seen = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    silent = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [python, "-P", "-c", statement],
            env=seen,
            stdin=subprocess.PIPE,
            stdout=silent,
            stderr=silent,
            bufsize=0,
            start_new_session=True,
        )
    except OSError:
        return None


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
