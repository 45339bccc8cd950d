"""PostgreSQL's text of values as Arrow columns. Law: a value that has none in the column's type is an error."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.errors import ChangeValueError
from livejoin.spark.postgres.published import PublishedTable


def rows_of(table: PublishedTable, columns: Sequence[pa.Array]) -> pa.StructArray:
    """Rows from the text of their columns. Cost: linear, in Arrow.

    Raises:
        ChangeValueError: A text is no value of its column's type: ``infinity`` as a date, or NaN as a decimal.
    """
    arrays = []
    for column, texts in zip(table.columns, columns, strict=True):
        try:
            arrays.append(_converted(texts, column.type))
        except pa.ArrowInvalid as error:
            msg = f"column {column.name!r} has a value that {column.type} cannot hold: {error}"
            raise ChangeValueError(msg, table.name) from error
    return pa.StructArray.from_arrays(arrays, names=[column.name for column in table.columns])


def _converted(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    texts = texts.cast(pa.string())
    if pa.types.is_binary(kind):  # PostgreSQL writes bytes as \\x and their hexadecimal digits
        return pa.array([None if text is None else bytes.fromhex(text[2:]) for text in texts.to_pylist()], kind)
    if pa.types.is_boolean(kind):
        return pc.equal(texts, "t")
    return texts.cast(kind)
