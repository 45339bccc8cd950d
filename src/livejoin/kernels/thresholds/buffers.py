"""The state of rows within bounds as one parameter of kernels: an arena, and plans of the words in it."""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Arena, Line, Plan


class ThresholdBuffers(NamedTuple):
    """The state: arrays to its owner, pointers inside of a kernel.

    Args:
        arena: The rows and the bounds; changed.
        whole, key, grouped, placed: Plans of the words of a row, see `livejoin.kernels.values.row_order`: all of them,
            those of the key, these with those of the group, these with the compared ones.
        wide: The plan of the words of an entry, whose values are counted too.
        bounded: The plan of the compared words alone.
        form: See P_KEY of `livejoin.kernels.thresholds.layout` and the constants behind it.
        summed: Where sums are kept, the plan of the groups (`livejoin.kernels.groups.layout`).
        place: One place, scratch.
    """

    arena: Arena
    whole: Plan
    wide: Plan
    key: Plan
    grouped: Plan
    placed: Plan
    bounded: Plan
    form: Plan
    summed: Plan
    place: Line


opened = opener(ThresholdBuffers)
"""The state of a line of addresses."""
