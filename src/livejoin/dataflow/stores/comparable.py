"""Which rows can be told apart and ordered: those whose columns are all codes or have codes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.errors import UnsupportedQueryError
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE


def refuse_lists(rows: Rows, clause: str) -> None:
    """Refuse rows with a column of lists, which have no codes.

    Args:
        rows: The rows that an operator takes in.
        clause: The operator in SQL's words, for the message.

    Raises:
        UnsupportedQueryError: There is such a column.
    """
    for position in range(len(rows.types)):
        column = rows.column(position)
        if isinstance(column, pa.Array) and pa.types.is_nested(column.type) and not rows.types[position].is_payload:
            msg = (
                f"{clause} over lists, which ARRAY_AGG makes in column {position + 1}: rows are compared by "
                f"single values only; apply {clause} first and ARRAY_AGG to its result"
            )
            raise UnsupportedQueryError(msg, clause=clause)


def are_known(rows: Rows, codec: Codec) -> npt.NDArray[np.bool_]:
    """Which of some rows have no text that no row of the database has.

    Args:
        rows: The rows, which somebody asks for.
        codec: The database's codec.
    """
    known = np.ones(rows.length, np.bool_)
    for column, type_ in enumerate(rows.types):
        if type_.word_kind == "string":
            codes = rows.codes(column)
            known &= (codes == NULL_CODE) | ((codes >= 0) & (codes < codec.issued))
    return known
