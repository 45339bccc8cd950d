"""Buffers with the line of addresses by which kernels find them.

An owner of buffers has them as one `Addressed`, which never changes, and takes over another one by a single assignment
where a buffer is another one: so that the addresses are those of its buffers at any moment, also where it is cut off.
The line keeps the buffers alive, so that a kernel that was given it may go on without the GIL, whatever its owner does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from livejoin.kernels.memory.addresses import FIELD
from livejoin.words import Words

Buffers = TypeVar("Buffers", bound=NamedTuple)
_WORD = np.dtype(np.int64)


class _Kept(np.ndarray):
    """The words of a line, with what they point to; a line is a view of them."""

    buffers: Any


class Addressed(Generic[Buffers]):
    """Some buffers and numbers, and their line of addresses; never changed, though what is in the buffers is.

    Args:
        buffers: A NamedTuple of arrays, int64 in C order, and of integers.

    Attributes:
        buffers: The same.
        line: The line of addresses for kernels (`livejoin.kernels.memory.addresses`).

    Raises:
        TypeError: An array is not what kernels would take it for.

    Cost: 9 us for a table, 3 us for one that differs in a buffer.
    """

    __slots__ = ("buffers", "line")

    def __init__(self, buffers: Buffers) -> None:
        self.buffers = buffers
        self.line = _line(buffers, buffers._fields)

    def replaced(self, **changed: Any) -> Addressed[Buffers]:
        """The same with other buffers, by name; it itself where all of them are the same. Cost there: 0.3 us."""
        for name, field in changed.items():
            if getattr(self.buffers, name) is not field:
                break
        else:
            return self
        other: Addressed[Buffers] = Addressed.__new__(Addressed)
        other.buffers = self.buffers._replace(**changed)
        other.line = _line(other.buffers, changed, self.line)
        return other


def _line(buffers: Any, names: Iterable[str], before: Words | None = None) -> Words:
    """The line of some buffers, which differs from another one in the fields of these names."""
    words = np.ndarray.__new__(_Kept, (FIELD * len(buffers),), np.int64)
    words.buffers = buffers
    words[:] = 0 if before is None else before
    for name in names:
        field, at = getattr(buffers, name), FIELD * buffers._fields.index(name)
        if not isinstance(field, np.ndarray):
            words[at] = field
        elif field.dtype == _WORD and field.flags.carray:
            words[at], words[at + 1] = _address_of(field), field.size
        else:
            what = f"{type(buffers).__name__}.{name}"
            msg = f"{what} is of {field.dtype}, or not in C order, or may not be written to: kernels take words there"
            raise TypeError(msg)
    return words.view(np.ndarray)


def _address_of(array: Any) -> int:
    """Where an array lies; NumPy takes three times as long to say it."""
    return ctypes.addressof(ctypes.c_byte.from_buffer(array)) if array.size else 0
