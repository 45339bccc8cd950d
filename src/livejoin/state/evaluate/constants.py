"""The words of constants."""

from __future__ import annotations

import math
import struct
from decimal import Context, Decimal

from livejoin.query.scalar import Constant
from livejoin.words import CANONICAL_NAN

_EXACT = Context(prec=100)


def double_word(value: float) -> int:
    """The word of a double."""
    return CANONICAL_NAN if math.isnan(value) else int(struct.unpack("<q", struct.pack("<d", value + 0.0))[0])


def constant_word(constant: Constant) -> int:
    """The word of a constant that is neither NULL nor a string; of a decimal the unscaled value."""
    value, type = constant.value, constant.type
    match type.kind:
        case "double":
            return double_word(float(value))  # type: ignore[arg-type]
        case "decimal":
            scaled = Decimal(value).scaleb(type.scale, _EXACT)  # type: ignore[arg-type]
            return int(scaled)
        case _:
            return int(value)  # type: ignore[arg-type]
