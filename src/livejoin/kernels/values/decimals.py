"""Decimals of two words that fit one."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line


@kernel
def narrow(pairs: Line, limit: int, words: Line) -> int:
    """Write the low words of decimals; how many are not below a limit, so that a word does not hold them.

    Args:
        pairs: Two words a decimal, the low one first.
        limit: The first unscaled value that is too large, of both signs.
        words: A word a decimal; written.
    """
    wide = 0
    for i in range(words.shape[0]):
        low = pairs[2 * i]
        words[i] = low
        if pairs[2 * i + 1] != low >> 63 or low <= -limit or low >= limit:
            wide += 1
    return wide
