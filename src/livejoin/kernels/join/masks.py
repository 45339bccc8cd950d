"""Which atoms a row of a table takes part in: NULL joins nothing, and a predicate has to be true."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.words import NULL_CODE


@kernel
def mask_rows(
    words: Matrix, begins: Line, columns: Line, others: Line, every: int, values: Matrix, unfit: Line, masks: Line
) -> None:
    """Write for each row the bits of the atoms whose join columns are not NULL and whose predicates are true.

    Args:
        words: The rows.
        begins: Where the columns of each group of atoms begin among all, and the end.
        columns: The columns that may be NULL and join some atoms.
        others: For each group the bits of all atoms but its own.
        every: The bits of all atoms.
        values: A line for each predicate, 1 where it is true; further lines are not looked at.
        unfit: For each predicate the bits of all atoms but its own.
        masks: A word a row; written.
    """
    for row in range(masks.shape[0]):
        mask = every
        for group in range(others.shape[0]):
            for at in range(begins[group], begins[group + 1]):
                if words[columns[at], row] == NULL_CODE:
                    mask &= others[group]
        for predicate in range(unfit.shape[0]):
            if values[predicate, row] != 1:
                mask &= unfit[predicate]
        masks[row] = mask
