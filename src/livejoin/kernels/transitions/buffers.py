"""The state of a transition system as one parameter of kernels, but for what is known and the static join.

These two have numbers of 32 bits, which a line of addresses does not hold, so that they cross the border by themselves
(`Known` and `Joined` of `livejoin.kernels.transitions.layout`).
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.parameters import Arena, Line, Output, Plan


class TransitionBuffers(NamedTuple):
    """The state: arrays to its owner, pointers inside of a kernel.

    Args:
        records: The arena of the records; changed.
        live: The live arena, see `livejoin.kernels.transitions.layout`; changed.
        plan: The plan.
        touched: The cells that a version touches, TOUCHED words for each event and atom of its table; it means
            something from one call to the next until the version ends.
        found: The instances that it touches, FOUND words, as ``touched``.
        keys: A word and one more, as ``touched``: the keys of the change that has no transition yet.
    """

    records: Arena
    live: Arena
    plan: Plan
    touched: Line
    found: Line
    keys: Line


opened = opener(TransitionBuffers)
"""The state of a line of addresses."""


class Lines(NamedTuple):
    """Where results are written: the words of an output, and how many places each of its lines has."""

    words: Output
    places: int
