"""The least work that the machine must do: random probes of a hash table, and the filling of memory."""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np


def probe_rate(entries: int, probes: int) -> float:
    """Random look-ups a second in a hash table of 64-bit keys that has as many entries as a window has rows.

    Linear probing, at most half full, 16 bytes a slot, keys present, in random order; best of three.
    """
    rng = np.random.default_rng(1)
    keys = rng.permutation(np.arange(1, 4 * entries, 4, dtype=np.int64))
    slots = np.zeros((1 << (2 * entries - 1).bit_length(), 2), dtype=np.int64)
    _build(slots, keys)
    asked = keys[rng.integers(0, len(keys), probes)]
    _probe(slots, asked[:1])
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        found = _probe(slots, asked)
        best = min(best, time.perf_counter() - start)
        if found != int(asked.sum()):
            msg = "the floor's hash table lost keys"
            raise AssertionError(msg)
    return probes / best


def fill_rate(total: int, buffer: int) -> float:
    """Bytes a second at which NumPy fills one buffer of ``buffer`` bytes until ``total`` bytes are written."""
    words = np.full(max(1, buffer // 8), 0)
    times = max(1, total // words.nbytes)
    start = time.perf_counter()
    for value in range(times):
        words.fill(value)
    return times * words.nbytes / (time.perf_counter() - start)


def fresh_fill_rate(total: int, buffer: int) -> float:
    """Like `fill_rate`, with a new buffer each time: what a reader pays for who keeps what was written."""
    words = max(1, buffer // 8)
    times = max(1, total // (8 * words))
    np.full(words, 0)
    start = time.perf_counter()
    for value in range(times):
        np.full(words, value)
    return times * words * 8 / (time.perf_counter() - start)


@numba.njit(cache=True)
def _slot(key: int, mask: int) -> int:
    return ((key * -7046029254386353131) >> 20) & mask


@numba.njit(cache=True)
def _build(slots: Any, keys: Any) -> None:
    mask = len(slots) - 1
    for key in keys:
        at = _slot(key, mask)
        while slots[at, 0] != 0:
            at = (at + 1) & mask
        slots[at, 0] = key
        slots[at, 1] = key


@numba.njit(cache=True)
def _probe(slots: Any, keys: Any) -> int:
    mask = len(slots) - 1
    total = 0
    for key in keys:
        at = _slot(key, mask)
        while slots[at, 0] != key:
            at = (at + 1) & mask
        total += slots[at, 1]
    return total
