"""Rows that change under a key: what is deleted and what is inserted with one key is an update.

Law: the paired delta has the rows of the delta, in their places and with their signs; of each key and version whose row
goes and comes, the one is an ``update_preimage`` and the other an ``update_postimage``. It goes by the law of keys: a
delta has at most one row that goes and one that comes of each (`livejoin.database.view.View.delta_schema`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.row_words import groups, row_words
from livejoin.database.versions.rolling import comes
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SqlType
from livejoin.state.codec import Codec


def paired(delta: pa.Table, key: Sequence[int], types: Sequence[SqlType]) -> pa.Table:
    """A delta in which rows with a key that go and come are updates.

    Args:
        delta: The delta of a view.
        key: The positions of the columns of one of its keys.
        types: The types of these columns.

    Cost: O(rows * log(rows)); nothing where rows only come, or only go.

    >>> delta = pa.table({"k": [1, 1, 2], "_change_type": ["delete", "insert", "insert"], "_commit_version": [1, 1, 1]})
    >>> paired(delta, [0], [SqlType.integer(64)])["_change_type"].to_pylist()
    ['update_preimage', 'update_postimage', 'insert']
    """
    there = comes(delta).to_numpy(zero_copy_only=False)
    if there.all() or not there.any():
        return delta
    words = row_words(delta.select(list(key)), types, Codec())
    order, begins = groups(np.concatenate([words, delta[COMMIT_VERSION].to_numpy()[np.newaxis]]))
    some, every = (of_group.reduceat(there[order], begins) for of_group in (np.logical_or, np.logical_and))
    sizes = np.diff(np.append(begins, order.shape[0]))
    chosen = np.zeros(there.shape[0], np.bool_)
    chosen[order] = np.repeat(some & ~every, sizes)
    kinds = delta[CHANGE_TYPE].combine_chunks()
    images = pc.if_else(pa.array(there[chosen]), "update_postimage", "update_preimage").cast(kinds.type)
    place = delta.schema.get_field_index(CHANGE_TYPE)
    kinds = pc.replace_with_mask(kinds, pa.array(chosen), images)
    return delta.set_column(place, delta.schema.field(place), kinds)
