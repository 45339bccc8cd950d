"""The lines of words that groups read, from the columns of rows."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.words import NULL_CODE, WIDE_BASE


@kernel
def arrange(columns: Matrix, places: Line, lines: Matrix) -> bool:
    """Write the lines that groups read.

    Args:
        columns: The words of rows, a line for each column.
        places: For each line the column that it is of; of the upper word of a decimal the complement of its column.
        lines: int64 of shape (lines, rows); written, in part if the answer is False.

    Returns:
        Whether words say all: there is no decimal of more than a word.
    """
    rows = columns.shape[1]
    for line in range(places.shape[0]):
        place = places[line]
        if place >= 0:
            for i in range(rows):
                lines[line, i] = columns[place, i]
        else:
            for i in range(rows):
                word = columns[~place, i]
                if word == NULL_CODE:
                    lines[line, i] = NULL_CODE
                elif word >= WIDE_BASE:
                    return False
                else:
                    lines[line, i] = word >> 63
    return True
