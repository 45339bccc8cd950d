"""The state of a store of groups as one parameter of kernels: an arena, the plan of what is in it, and scratch."""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Arena, Line, Plan


class GroupBuffers(NamedTuple):
    """The state: arrays to its owner, pointers inside of a kernel.

    Args:
        arena: The groups; changed.
        plan: The plan's words, see `livejoin.kernels.groups.layout`.
        places: SCRATCH words: the groups of rows that are found before they are added, and what is read ahead.
    """

    arena: Arena
    plan: Plan
    places: Line


opened = opener(GroupBuffers)
"""The state of a line of addresses."""
