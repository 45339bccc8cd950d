"""Doubles in words: their bits, with one zero and one NaN (`livejoin.state.codec`)."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import inlined
from livejoin.words import CANONICAL_NAN


@inlined
def double_of(word: int) -> float:
    """The double with the given bits."""
    return np.int64(word).view(np.float64)


@inlined
def word_of(value: float) -> int:
    """The word of a double."""
    if np.isnan(value):
        return CANONICAL_NAN
    return np.float64(value + 0.0).view(np.int64)  # type: ignore[return-value]


@inlined
def to_integer(value: float) -> int:
    """The nearest BIGINT towards zero; 0 for NaN."""
    if np.isnan(value):
        return 0
    if value >= 9223372036854775808.0:
        return (1 << 63) - 1
    if value < -9223372036854775808.0:
        return -(1 << 63)
    return np.int64(value)  # type: ignore[return-value]
