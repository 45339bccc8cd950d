"""Numbers in memory that somebody else owns, by their addresses: what the structs of Arrow's C data interface point to.

Nothing is checked: an address must be that of a number that is there, and stays there for the call.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_WORD = 64

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    _KINDS = {64: ctypes.c_int64, 32: ctypes.c_int32, 16: ctypes.c_int16, 8: ctypes.c_int8}

    def _reader(bits: int) -> Any:
        """What reads a signed number of so many bits."""
        kind = _KINDS[bits]
        return lambda address: kind.from_address(int(address)).value

else:

    def _reader(bits: int) -> Any:
        """What reads a signed number of so many bits, widened to 64; the address may be any."""

        def read_of(typingctx: Any, address: Any) -> Any:
            def read(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                place = builder.inttoptr(args[0], ir.IntType(bits).as_pointer())
                value = builder.load(place, align=1)
                return value if bits == _WORD else builder.sext(value, ir.IntType(_WORD))

            return types.int64(types.int64), read

        return intrinsic(read_of)


word_at: Any = _reader(_WORD)
"""The number of 64 bits at an address."""

half_at: Any = _reader(_WORD // 2)
"""The number of 32 bits at an address, as one of 64."""

short_at: Any = _reader(_WORD // 4)
"""The number of 16 bits at an address, as one of 64."""

byte_at: Any = _reader(_WORD // 8)
"""The number of 8 bits at an address, as one of 64."""
