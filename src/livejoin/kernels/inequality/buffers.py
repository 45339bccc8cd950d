"""The state of two sides that are compared as one parameter of kernels: three arenas, and plans of their words."""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Arena, Line, Plan


class InequalityBuffers(NamedTuple):
    """The state: arrays to its owner, pointers inside of a kernel.

    Args:
        left, low, right: The left rows; these in the order of their lower bounds, where they have upper ones too; the
            right rows; changed.
        left_whole, right_whole: Plans of the words of a row, see `livejoin.kernels.values.row_order`.
        left_wide, right_wide: Plans of the words of an entry, whose values are counted too.
        left_grouped, right_grouped: Plans of the words of a key, and of those of a group where groups stand in front.
        left_placed, right_placed: Plans of these words and of the compared ones.
        key: The plan of the words of a key, with which all rows begin.
        compared: The plan of the compared words alone.
        form: See P_ROW of `livejoin.kernels.inequality.layout` and the constants behind it.
        summed: The plan of the groups (`livejoin.kernels.groups.layout`).
        place: One place, scratch.
    """

    left: Arena
    low: Arena
    right: Arena
    left_whole: Plan
    right_whole: Plan
    left_wide: Plan
    right_wide: Plan
    left_grouped: Plan
    right_grouped: Plan
    left_placed: Plan
    right_placed: Plan
    key: Plan
    compared: Plan
    form: Plan
    summed: Plan
    place: Line


opened = opener(InequalityBuffers)
"""The state of a line of addresses."""
