"""Which atoms a row of a table takes part in, as far as NULL decides: NULL joins nothing."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.words import NULL_CODE


@kernel
def mask_nulls(words: Matrix, begins: Line, columns: Line, others: Line, every: int, masks: Line) -> None:
    """Write for each row the bits of the atoms whose join columns are not NULL.

    Args:
        words: The rows.
        begins: Where the columns of each group of atoms begin among all, and the end.
        columns: The columns that may be NULL and join some atoms.
        others: For each group the bits of all atoms but its own.
        every: The bits of all atoms.
        masks: A word a row; written.
    """
    for row in range(masks.shape[0]):
        mask = every
        for group in range(others.shape[0]):
            for at in range(begins[group], begins[group + 1]):
                if words[columns[at], row] == NULL_CODE:
                    mask &= others[group]
        masks[row] = mask
