"""The dictionaries of strings and wide decimals as kernels see them: five arrays to read from.

They are the heap, starts and lengths of the strings, then the heap and starts of the wide decimals, see
`livejoin.kernels.values.strings`. Inside compiled code they are bare pointers, as an arena is
(`livejoin.kernels.memory.pointer`): as arrays, handed from function to function, they made an ordered index half as
fast. Without the JIT they stay arrays.
"""

from __future__ import annotations

from typing import Any

import numba

from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.pointer import pointer

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def pointers(texts: Any) -> Any:
        """Pointers to the arrays of the dictionaries."""
        return texts

    def strings_of(text: Any) -> Any:
        """Pointers to the arrays of the strings alone."""
        return text

else:

    @inlined
    def pointers(texts: Any) -> Any:
        """Pointers to the arrays of the dictionaries."""
        return (pointer(texts[0]), pointer(texts[1]), pointer(texts[2]), pointer(texts[3]), pointer(texts[4]))

    @inlined
    def strings_of(text: Any) -> Any:
        """Pointers to the arrays of the strings alone."""
        return (pointer(text[0]), pointer(text[1]), pointer(text[2]))
