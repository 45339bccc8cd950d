"""Memory that one commit frees, kept by the process for the next one.

A commit of 10,000 rows takes and frees some megabytes of arrays. The C library of most Linux systems gives the end of
its heap back to the system where more than a threshold is free there, and the next commit gets these pages again one by
one, cleared: a quarter of a millisecond for a megabyte. The threshold begins at 128 KiB, and is twice the largest array
that the process ever took from the system and freed, up to 64 MiB (``mallopt(3)``, M_MMAP_THRESHOLD and
M_TRIM_THRESHOLD). So whether a process pays that in each commit would depend on whether it once freed a large array.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np

_LARGEST = 31 << 20  # what is above 32 MiB goes back to the system whatever the threshold


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB that are free at the end of its heap; done once in a process.

    One array is taken and freed. No byte of it is touched, so that it is never in memory. A second one would come from
    the heap, and not from the system.
    """
    with suppress(MemoryError):  # there are too few addresses for it: the threshold stays as it is
        np.empty(_LARGEST, np.uint8)
