"""Results of groups as one word each."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.words import NULL_CODE


@kernel
def narrow(words: Matrix, lines: Line, limits: Line, results: Matrix) -> bool:
    """Write the results of groups as one word each, those of two words too, NULL where the upper word is NULL.

    Args:
        words: Groups and their results, a column each.
        lines: For each line to write the one that has it; of a number of two words the lower one, before the upper one.
        limits: For each line what the number's magnitude is below, if it fits its type and one word; 0 for a line of
            one word.
        results: int64 of shape (lines, groups); written, in part if the answer is False.

    Returns:
        Whether all of them fit.
    """
    for number in range(lines.shape[0]):
        line, limit = lines[number], limits[number]
        if limit == 0:
            for i in range(words.shape[1]):
                results[number, i] = words[line, i]
            continue
        for i in range(words.shape[1]):
            low, high = words[line, i], words[line + 1, i]
            if high == NULL_CODE:
                results[number, i] = NULL_CODE
            elif high == low >> 63 and -limit < low < limit:
                results[number, i] = low
            else:
                return False
    return True
