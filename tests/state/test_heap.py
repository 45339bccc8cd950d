"""Memory that is freed stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from livejoin.state import heap

PROGRAM = """
import resource, runpy, sys
import numpy as np

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.ones(100_000) for _ in range(8)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
first = faults()
runpy.run_path(sys.argv[1])["keep_freed_memory"]()
faults()
print(first, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heap is not that of glibc")
def test_what_is_freed_is_not_given_back() -> None:
    """Eight arrays of 0.8 MB each are 1,560 pages; a process that has nothing else gets them anew each time before."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(Path(heap.__file__))], capture_output=True, text=True, check=True
    )
    before, after = map(int, found.stdout.split())
    assert before > 20 * 1_000
    assert after < 100
