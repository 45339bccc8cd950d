"""Results of two words that fit one."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.words import NULL_CODE


@kernel
def narrow_pairs(words: Matrix, lines: Line, limits: Line, narrow: Matrix) -> bool:
    """Write numbers of two words as one word each, NULL where the upper word is NULL.

    Args:
        words: Results, a column each.
        lines: The line of the lower word of each number; that of the upper one is the next.
        limits: For each number what its magnitude is below, if it fits its type and one word.
        narrow: int64 of shape (numbers, results); written, in part if the answer is False.

    Returns:
        Whether all of them fit.
    """
    for number in range(lines.shape[0]):
        line, limit = lines[number], limits[number]
        for i in range(words.shape[1]):
            low, high = words[line, i], words[line + 1, i]
            if high == NULL_CODE:
                narrow[number, i] = NULL_CODE
            elif high == low >> 63 and -limit < low < limit:
                narrow[number, i] = low
            else:
                return False
    return True
