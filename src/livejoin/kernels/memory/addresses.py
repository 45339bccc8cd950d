"""Lines of addresses: how a kernel finds the buffers of a state by one array.

A line has two words for each field of a NamedTuple: the address and the length of an array, or a number and 0. What
owns the buffers makes it (`livejoin.state.addressed`), anew whenever one of them is another one; a line keeps its
buffers alive. So a call costs one array at the border, 0.1 us, where ten arrays cost ten times that.

In compiled code an address becomes a pointer, and with ``NUMBA_BOUNDSCHECK=1`` one that knows its length; without the
compiler it becomes an array over the memory that is there.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.pointer import pointer_in
from livejoin.kernels.parameters import Words

FIELD = 2
"""Words of a field in a line."""

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    class _Memory:
        """Words that somebody else owns, as NumPy asks for them."""

        def __init__(self, address: int, length: int) -> None:
            self.__array_interface__ = {
                "data": (address, False),
                "shape": (length,),
                "typestr": np.dtype(np.int64).str,
                "version": 3,
            }

    def pointer_at(line: Words, place: int) -> Any:
        """The words of a field that is an array."""
        return np.asarray(_Memory(int(line[FIELD * place]), int(line[FIELD * place + 1])))

else:

    @inlined
    def pointer_at(line: Words, place: int) -> Any:
        """The words of a field that is an array."""
        return pointer_in(line, FIELD * place)


@inlined
def length_at(line: Words, place: int) -> int:
    """How many words a field has that is an array."""
    return line[FIELD * place + 1]  # type: ignore[no-any-return]


@inlined
def number_at(line: Words, place: int) -> int:
    """A field that is a number."""
    return line[FIELD * place]  # type: ignore[no-any-return]
