"""The state of an as-of join as one parameter of kernels: two arenas, and plans of the words in them."""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Arena, Plan


class AsOfBuffers(NamedTuple):
    """The state: arrays to its owner, pointers inside of a kernel.

    Args:
        left, right: The rows of both sides; changed.
        left_whole, right_whole: Plans of the words of a row, see `livejoin.kernels.values.row_order`.
        key: The plan of the words of a key, with which the rows of both sides begin.
        placed: The plan of these words and of those that are compared, with which they begin too.
        form: See P_AFTER of `livejoin.kernels.as_of.layout` and the constants behind it.
    """

    left: Arena
    right: Arena
    left_whole: Plan
    right_whole: Plan
    key: Plan
    placed: Plan
    form: Plan


opened = opener(AsOfBuffers)
"""The state of a line of addresses."""
