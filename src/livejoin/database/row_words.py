"""Rows of Arrow as words: two rows are the same, as SQL groups them, if and only if their words are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.query.session import LINEAR, session
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words


def row_words(rows: pa.Table, types: Sequence[SqlType], codec: Codec) -> Words:
    """The words of rows, of shape (columns, rows).

    Args:
        rows: The rows, as a view or a delta shows them.
        types: The types of the columns.
        codec: Turns strings and wide decimals into words. Words of two calls can be compared if they had the same
            codec and no column is nested: lists, structs and maps are numbered anew by each call.

    Cost: O(values); nested values are sorted, O(rows * log(rows)).

    >>> rows = pa.table({"a": [1.5, None, float("nan"), float("nan")], "b": ["x", "y", None, None]})
    >>> words = row_words(rows, [SqlType("double"), SqlType("string")], Codec())
    >>> (words[:, 2] == words[:, 3]).all(), (words[:, 0] == words[:, 1]).any()
    (np.True_, np.False_)
    """
    words = np.empty((len(types), rows.num_rows), np.int64)
    plain = [place for place, field in enumerate(rows.schema) if not pa.types.is_nested(field.type)]
    columns = [rows[place].cast(types[place].arrow) for place in plain]
    coded = Rows(codec, [types[place] for place in plain], columns, rows.num_rows)
    for number, place in enumerate(plain):
        words[place] = coded.codes(number)
    for place in set(range(len(types))) - set(plain):
        words[place] = nested_codes(rows[place]).to_numpy()
    return words


def nested_codes(values: pa.ChunkedArray) -> pa.Array:
    """Lists, structs or maps as numbers from 0 on, in their order; NULL has one too."""
    rows = pa.table({"place": pa.array(np.arange(len(values))), "value": values})
    numbered = 'SELECT DENSE_RANK() OVER (ORDER BY "value") - 1 FROM rows ORDER BY place'
    with session(LINEAR) as connection:
        connection.register("rows", rows)
        try:
            return connection.sql(numbered).to_arrow_table().column(0).combine_chunks()
        finally:
            connection.unregister("rows")


def groups(words: Words) -> tuple[Words, Words]:
    """Positions of rows, so that equal ones stand together in their order, and where each group of them begins."""
    order = np.lexsort(words) if words.shape[0] else np.arange(words.shape[1])
    ordered = words[:, order]
    new = np.ones(order.shape[0], bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    return order, np.flatnonzero(new)
