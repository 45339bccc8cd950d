"""Lines of addresses: how a kernel finds the buffers of a state by one array.

A line has two words for each field of a NamedTuple: the address and the length of an array, or a number and 0. What
owns the buffers makes it (`livejoin.state.addressed`), anew whenever one of them is another one; a line keeps its
buffers alive. So a call costs one array at the border, 0.1 us, where ten arrays cost ten times that.

In compiled code an address becomes a pointer, and with ``NUMBA_BOUNDSCHECK=1`` one that knows its length; without the
compiler it becomes an array over the memory that is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

import numba
import numpy as np

from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.pointer import fields_of
from livejoin.kernels.parameters import Addresses, Words

FIELD = 2
"""Words of a field in a line."""

Buffers = TypeVar("Buffers", bound=NamedTuple)


def _numbers(kind: type[Buffers]) -> list[bool]:
    """Which fields of some buffers are numbers: those that are declared as ``int``."""
    hints = get_type_hints(kind)
    return [hints[name] is int for name in kind._fields]


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

    def opener(kind: type[Buffers]) -> Callable[[Addresses], Buffers]:
        """What makes a NamedTuple of a line of addresses, its fields one after the other."""
        numbers = _numbers(kind)

        def opened(line: Words) -> Buffers:
            fields: list[Any] = []
            for at, number in enumerate(numbers):
                word, length = line[FIELD * at].item(), line[FIELD * at + 1].item()
                fields.append(word if number else np.asarray(_Memory(word, length)))
            return kind._make(fields)

        return opened

else:

    def opener(kind: type[Buffers]) -> Callable[[Addresses], Buffers]:
        """What makes a NamedTuple of a line of addresses, its fields one after the other."""
        return cast("Callable[[Addresses], Buffers]", fields_of(kind, _numbers(kind)))


@inlined
def length_at(line: Words, place: int) -> int:
    """How many words a field has that is an array."""
    return line[FIELD * place + 1]  # type: ignore[no-any-return]
