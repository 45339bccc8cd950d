"""Whether there is NULL."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line
from livejoin.words import NULL_CODE


@kernel
def count_nulls(words: Line) -> int:
    """How many of some words are that of NULL."""
    number = 0
    for i in range(words.shape[0]):
        if words[i] == NULL_CODE:
            number += 1
    return number
