"""The UNIQUE constraints of a table as the kernels know them (`livejoin.kernels.relation.unique`)."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.relation.unique import U_BEGINS
from livejoin.schema import Table
from livejoin.words import Words


def constraints(table: Table, first: int) -> Words:
    """The number of constraints, where the offsets of each begin and those of the last one end, and the offsets.

    Args:
        table: The declaration.
        first: Offset of a row's first value.
    """
    number = len(table.unique)
    if number == 0:
        return np.zeros(1, np.int64)
    begins = U_BEGINS + number + 1 + np.cumsum([0, *(len(columns) for columns in table.unique)])
    offsets = [first + column for columns in table.unique for column in columns]
    return np.array([number, *begins, *offsets], np.int64)
