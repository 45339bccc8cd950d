"""What changed between two versions of an ordered result, with positions.

Law: take the rows that go out of the first version's rows, by their positions there, and put those that come where they
stand in the second one's, in ascending order: these are the second version's rows, in their order. It goes by the law
of the order: it is total, so that rows that stay do not change places with each other.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from livejoin.database.row_words import groups, row_words
from livejoin.database.versions.shape import Shape
from livejoin.state.codec import Codec
from livejoin.words import Words


def moved(before: pa.Table, after: pa.Table, shape: Shape, version: int, schema: pa.Schema) -> tuple[pa.Table, Words]:
    """The delta between two images, and the position of each of its rows.

    A row that changes its place, as a column that is not shown has another value, goes and comes.

    Args:
        before: The rows of the first version, as images keep them, in their order.
        after: The rows of the second one, likewise.
        shape: The shape of the images, with an order and without nested columns.
        version: The version that the delta names.
        schema: The schema of the view's deltas.

    Returns:
        The delta, with the rows that go first, both in the order of their positions; and the positions, from 0 on, of
        those that go before the change, and of those that come behind it.

    Cost: O(rows * log(rows)) of the images.
    """
    whole = pa.concat_tables([before, after.cast(before.schema)])
    words = row_words(whole, shape.types, Codec())
    order, begins = groups(words)
    group = np.empty(order.shape[0], np.int64)
    group[order] = np.repeat(np.arange(begins.shape[0]), np.diff(np.append(begins, order.shape[0])))
    first, second = group[: before.num_rows], group[before.num_rows :]
    gone = _surplus(first, np.bincount(second, minlength=begins.shape[0]))
    come = _surplus(second, np.bincount(first, minlength=begins.shape[0]))
    rows = shape.shown(pa.concat_tables([before.take(pa.array(gone)), after.take(pa.array(come)).cast(before.schema)]))
    kinds = pa.array(["delete"] * gone.shape[0] + ["insert"] * come.shape[0], pa.string())
    versions = pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows)
    columns = zip([*rows.columns, kinds, versions], schema, strict=True)
    delta = pa.Table.from_arrays([column.cast(field.type) for column, field in columns], schema=schema)
    return delta, np.concatenate([gone, come])


def _surplus(group: Words, others: Words) -> Words:
    """The positions of rows beyond as many equal ones as another version has, ascending.

    >>> _surplus(np.array([0, 1, 1, 2]), np.array([1, 1, 0])).tolist()
    [2, 3]
    """
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    begins = np.searchsorted(ordered, ordered)
    nth = np.arange(order.shape[0]) - begins
    return np.sort(order[nth >= others[ordered]])
