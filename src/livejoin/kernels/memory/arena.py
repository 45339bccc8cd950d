"""The arena: one flat buffer of 64-bit words that holds all kernel state of a view.

Inside compiled code an arena is a bare pointer (`livejoin.kernels.memory.pointer`). A *reference* is the index of a
word in the arena, 0 is null, and references stay valid when the arena grows, as what it holds stays as it is.

Memory inside the arena is handed out in blocks of ``1 << class`` words from free lists, one a class, and in raw pieces
from the bump pointer. `allocate` never grows the arena: it returns 0, the kernel returns NEED_SPACE with its cursor
saved, the owner doubles the buffer and enters again.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import H_BUMP, H_CLASSES, H_END, H_FREE
from livejoin.kernels.memory.pointer import word_pointer
from livejoin.kernels.parameters import Arena

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def words(array: np.ndarray) -> Any:
        """View a contiguous int64 array as an arena."""
        return array.reshape(-1)

else:

    @inlined
    def words(array: np.ndarray) -> Any:
        """View a contiguous int64 array as an arena."""
        return word_pointer(array)


@inlined
def allocate_raw(m: Arena, size: int) -> int:
    """Take ``size`` words from the bump pointer; 0 if there is no space."""
    at: int = m[H_BUMP]
    if at + size > m[H_END]:
        return 0
    m[H_BUMP] = at + size
    return at


@inlined
def release(m: Arena, at: int, size_class: int) -> None:
    """Give a block back to its free list."""
    m[at] = m[H_FREE + size_class]
    m[H_FREE + size_class] = at
    m[H_CLASSES] |= 1 << size_class


@inlined
def _take(m: Arena, size_class: int) -> int:
    """Take a block off a free list that has one."""
    at: int = m[H_FREE + size_class]
    m[H_FREE + size_class] = m[at]
    if m[at] == 0:
        m[H_CLASSES] ^= 1 << size_class
    return at


@helper
def allocate(m: Arena, size_class: int) -> int:
    """Take a block of ``1 << size_class`` words, not cleared; 0 if there is no space.

    A larger free block is split before new words are taken, or the blocks that growing keys leave behind would be a
    fifth of the state.
    """
    classes = m[H_CLASSES] >> size_class
    if classes == 0:
        return allocate_raw(m, 1 << size_class)
    larger = size_class
    while classes & 1 == 0:
        classes >>= 1
        larger += 1
    at = _take(m, larger)
    while larger > size_class:
        larger -= 1
        release(m, at + (1 << larger), larger)
    return at
