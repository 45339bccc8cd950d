"""Which atoms a row takes part in: predicates, evaluated a batch at a time, and join columns that are not NULL."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.query import ConjunctiveQuery
from livejoin.query.expression import select_each_true
from livejoin.state.codec import NULL_CODE

Words = npt.NDArray[np.int64]


def atom_masks(query: ConjunctiveQuery, table: str, rows: pa.Table, words: Words) -> Words:
    """One word a row with the bit of every atom over the table that the row takes part in.

    Args:
        query: The query.
        table: The table's name.
        rows: Rows of the table.
        words: Their words, of shape (columns, rows).

    Raises:
        ExpressionError: DuckDB cannot evaluate a predicate on some row.
    """
    atoms = [i for i, atom in enumerate(query.atoms) if atom.table.name == table]
    filtered = [i for i in atoms if query.atoms[i].predicate is not None]
    predicates = [p for i in filtered if (p := query.atoms[i].predicate) is not None]
    chosen = dict(zip(filtered, select_each_true(predicates, rows), strict=True)) if predicates else {}
    masks = np.zeros(words.shape[1], np.int64)
    for i in atoms:
        holds = chosen[i].copy() if i in chosen else np.ones(words.shape[1], bool)
        for variable in query.join_variables(i):
            holds &= words[query.atoms[i].column_of(variable)] != NULL_CODE
        masks |= holds.astype(np.int64) << i
    return masks
