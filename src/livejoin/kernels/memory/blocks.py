"""Contiguous blocks of row references: the V_s rows of a slot and the parent rows of an edge entry.

A block's capacity is a power of two and always holds all *registered* rows, so that propagation itself never needs
space: only the registration of a row does.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.memory.layout import CLASS_SHIFT, REF_MASK
from livejoin.kernels.parameters import Arena


@helper
def make_room(m: Arena, holder: int, used: int, needed: int) -> bool:
    """Make the block that word ``holder`` refers to hold ``needed`` rows, keeping ``used``; False if no space."""
    word = m[holder]
    old = word & REF_MASK
    size_class = word >> CLASS_SHIFT
    if old != 0 and needed <= 1 << size_class:
        return True
    while needed > 1 << size_class:
        size_class += 1
    block = allocate(m, size_class)
    if block == 0:
        return False
    for i in range(used):
        m[block + i] = m[old + i]
    if old != 0:
        release(m, old, word >> CLASS_SHIFT)
    m[holder] = block | (size_class << CLASS_SHIFT)
    return True


@inlined
def reserve(m: Arena, holder: int, used: int, needed: int) -> bool:
    """As `make_room`, which is called only where the block is too small."""
    word = m[holder]
    if word & REF_MASK != 0 and needed <= 1 << (word >> CLASS_SHIFT):
        return True
    return bool(make_room(m, holder, used, needed))


@inlined
def shrink(m: Arena, holder: int, used: int, needed: int) -> None:
    """Halve a block until more than a quarter is needed; without space for the smaller one it stays."""
    word = m[holder]
    old = word & REF_MASK
    size_class = word >> CLASS_SHIFT
    smaller = size_class
    while smaller >= 3 and needed << 2 <= 1 << smaller:
        smaller -= 1
    if smaller == size_class:
        return
    block = allocate(m, smaller)
    if block == 0:
        return
    for i in range(used):
        m[block + i] = m[old + i]
    release(m, old, size_class)
    m[holder] = block | (smaller << CLASS_SHIFT)


@inlined
def drop(m: Arena, holder: int) -> None:
    """Give a block back."""
    word = m[holder]
    if word != 0:
        release(m, word & REF_MASK, word >> CLASS_SHIFT)
        m[holder] = 0
