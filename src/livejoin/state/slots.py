"""Slots of hash indexes over rows: allocated and enlarged here, used by `livejoin.kernels.relation.rows`."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.errstate import wrapping
from livejoin.kernels.relation import rows as kernel
from livejoin.words import Words


def empty_slots(log: int) -> Words:
    """A cleared hash table; its first word is its log2 size."""
    slots = np.zeros(1 + (1 << log), np.int64)
    slots[0] = log
    return slots


def roomy(slots: Words, rows: int) -> Words:
    """The table itself, or a larger one where ``rows`` would fill it by more than five eighths."""
    log = int(slots[0])
    while rows * 8 > 5 << log:
        log += 1
    if log == slots[0]:
        return slots
    larger = empty_slots(log)
    with wrapping():
        kernel.rehash(slots, larger)
    return larger
