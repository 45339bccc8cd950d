"""What a view needs to know of base rows beside their values, a batch at a time.

That is the atoms that a row takes part in, because their predicates hold and their join columns are not NULL, and the
factors of annotations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.plan.operators import JoinPlan
from livejoin.plan.physical import TableUse
from livejoin.query import ConjunctiveQuery
from livejoin.query.condition import holds, table_columns
from livejoin.query.expression import evaluate, select_each_true
from livejoin.state.codec import NULL_CODE

Words = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Selection:
    """What a join has to know of rows of a table.

    Args:
        masks: One word a row with the bit of every atom that the row takes part in.
        factors: int64 of shape (factors, rows).
    """

    masks: Words
    factors: Words


def select(plan: JoinPlan, use: TableUse, rows: pa.Table, words: Words) -> Selection:
    """What a plan has to know of rows of a table; as `atom_masks` and `factors`."""
    return Selection(atom_masks(plan.query, use.name, rows, words), factors(use.factors, rows))


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
    atoms = {i: atom for i, atom in enumerate(query.atoms) if atom.table.name == table}
    columns = table_columns(rows)
    simple = {i: holds(atom.condition, columns) for i, atom in atoms.items() if atom.condition is not None}
    others = {i: atom.predicate for i, atom in atoms.items() if atom.predicate is not None and i not in simple}
    chosen = simple | dict(zip(others, select_each_true(list(others.values()), rows), strict=True))
    masks = np.zeros(words.shape[1], np.int64)
    for i, atom in atoms.items():
        taken = chosen[i].copy() if i in chosen else np.ones(words.shape[1], bool)
        for variable in query.join_variables(i):
            taken &= words[atom.column_of(variable)] != NULL_CODE
        masks |= taken.astype(np.int64) << i
    return masks


def factors(expressions: tuple[str, ...], rows: pa.Table) -> Words:
    """The factors of annotations for rows of a table, int64 of shape (expressions, rows); NULL counts as zero.

    Args:
        expressions: DuckDB expressions over the table's columns whose values fit BIGINT.
        rows: Rows of the table.

    Raises:
        ExpressionError: DuckDB cannot evaluate an expression on some row, or the value does not fit.
    """
    values = np.zeros((len(expressions), rows.num_rows), np.int64)
    computed = evaluate([f"({expression})::BIGINT" for expression in expressions], rows)
    for line, column in zip(values, computed, strict=True):
        line[:] = pc.fill_null(column, 0).to_numpy()
    return values
