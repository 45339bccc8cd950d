"""How many words, and which, are what is looked for."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line

_TRUE = 1


@kernel
def count_positive(words: Line) -> int:
    """How many of some numbers are above zero."""
    number = 0
    for i in range(words.shape[0]):
        if words[i] > 0:
            number += 1
    return number


@kernel
def places_of_true(words: Line, places: Line) -> int:
    """Find the words of a condition that are true.

    Args:
        words: The words of a BOOLEAN for each row: 1, 0 or that of NULL.
        places: int64, as many; the positions of those that are true are written to its beginning.

    Returns:
        How many there are.
    """
    number = 0
    for i in range(words.shape[0]):
        if words[i] == _TRUE:
            places[number] = i
            number += 1
    return number
