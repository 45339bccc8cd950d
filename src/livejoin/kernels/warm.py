"""Compiles all kernels, or loads them from the cache, before they are needed; once a process."""

from __future__ import annotations

import logging
import sys
import time
from functools import cache
from typing import Any

import numba
from numba.core import types

from livejoin.kernels import (
    binary_join,
    counting,
    dyn,
    dyn_counting,
    maintain,
    range_window,
    records,
    rows,
    settling,
    staging,
    window,
)

logger = logging.getLogger("livejoin")

_INT = types.int64
_BOOL = types.boolean
_LINE = types.Array(_INT, 1, "C")
_MATRIX = types.Array(_INT, 2, "C")
_STORE = (_LINE, _LINE, _INT, _INT, _LINE, _LINE, _LINE, _LINE, _LINE, _MATRIX, _LINE, _BOOL, _MATRIX)

# Smallest first: the first one tells whether the cache holds them.
_KERNELS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (rows.rehash, (_LINE, _LINE)),
    (rows.live_rows, (_LINE, _LINE, _INT, _LINE, _LINE)),
    (settling.net_events, (_LINE, _INT, _MATRIX, _INT, _MATRIX)),
    (settling.finish_commit, (_LINE, _LINE, _INT, _INT, _LINE, _MATRIX, _INT)),
    (window.compact_window, (_LINE, _LINE, _INT, _LINE, _LINE)),
    (range_window.compact_range, (_LINE, _LINE, _INT, _LINE, _LINE)),
    (settling.undo, (_LINE, _LINE, _INT, _INT, _LINE, _LINE, _LINE, _LINE, _MATRIX, _INT, _INT, _INT)),
    (staging.stage_commit, _STORE),
    (staging.stage_changes, (*_STORE, _MATRIX)),
    (records.load, (_LINE, _LINE, _INT, _LINE, _LINE, _INT)),
    (records.load_factors, (_LINE, _LINE, _INT, _LINE, _MATRIX)),
    (counting.count, (_LINE, _LINE)),
    (maintain.scan, (_LINE, _LINE, _LINE, _MATRIX)),
    (maintain.maintain, (_LINE, _LINE, _MATRIX, _LINE, _BOOL, _MATRIX, _MATRIX)),
)

_BATCHES = (_LINE, _LINE, _LINE, _MATRIX, _LINE, _BOOL, _MATRIX, _MATRIX)

# What only views with a certain algorithm need.
_BY_NAME: dict[str, tuple[tuple[Any, tuple[Any, ...]], ...]] = {
    "dyn": (
        (dyn_counting.count, (_LINE, _LINE)),
        (dyn.scan, (_LINE, _LINE, _LINE, _MATRIX)),
        (dyn.maintain, _BATCHES),
    ),
    "change-propagation": (
        (binary_join.count, (_LINE, _LINE)),
        (binary_join.scan, (_LINE, _LINE, _LINE, _MATRIX)),
        (binary_join.maintain, _BATCHES),
    ),
}


def ready(algorithm: str = "auto") -> float:
    """Make the kernels ready to run and say on standard error what happened; later calls do nothing.

    ``logging.getLogger("livejoin").setLevel(logging.WARNING)`` silences the line.

    Args:
        algorithm: Also those of this algorithm, if it has kernels of its own.

    Returns:
        Seconds it took: about 20 when the kernels are compiled, under 2 when they come from the cache.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0.0
    return _ready(algorithm if algorithm in _BY_NAME else "auto")


@cache
def _ready(algorithm: str) -> float:
    begin = time.perf_counter()
    compiling = False
    for kernel, signature in _BY_NAME.get(algorithm, _KERNELS):
        kernel.compile(signature)
        if kernel.stats.cache_misses and not compiling:
            compiling = True
            _say("compiling the kernels for this machine, once (about 20 s) ...")
    seconds = time.perf_counter() - begin
    _say(f"kernels {'compiled' if compiling else 'loaded from the cache'} in {seconds:.1f} s")
    return seconds


def _say(text: str) -> None:
    if logger.level <= logging.INFO:
        print(f"livejoin: {text}", file=sys.stderr)
