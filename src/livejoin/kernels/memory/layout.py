"""Where things lie in an arena, whatever it is for: named offsets, all in 64-bit words.

Words that carry two numbers have the first in their high and the second in their low 32 bits. A word that refers to a
block has its reference below and its size class in the bits from CLASS_SHIFT on.
"""

from __future__ import annotations

MASK32 = 0xFFFFFFFF
CLASS_SHIFT = 40
REF_MASK = (1 << CLASS_SHIFT) - 1
MAX_WORDS = 1 << 32

# Arena header. The words that are not named here are the owner's: for joins see `livejoin.kernels.join.layout`.
H_BUMP = 1
H_END = 2
H_CLASSES = 17  # bit set of the size classes whose free list is not empty
H_FREE = 28  # one free list a size class
SIZE_CLASSES = 33
H_MOVING = H_FREE + SIZE_CLASSES  # the directory that waits for more hash slots, 0 if none does
H_TARGET = H_MOVING + 1  # its new slots, with their size class
ARENA_HEADER = H_TARGET + 1  # what an owner has of its own follows

# Directory header
D_SLOTS = 0
D_LOG = 1
D_COUNT = 2
D_FREE = 3
DIRECTORY = 4

# What kernels return
DONE = 0
NEED_SPACE = 1
OUTPUT_FULL = 2
TOO_LARGE = 3  # a multiplicity does not fit: it is above the greatest one of a derived row
MORE = 4  # nothing is needed but another call
NEED_ROOM = 5  # scratch that the caller has is too small

AT_ONCE = 1 << 14
"""Rows of a change that one call of a kernel applies: some ten milliseconds, after which Python looks for signals."""

MAX_MULTIPLICITY = 1 << 46
