"""The change data feed of a Delta table as changes.

A row of the feed has ``_change_type``, one of ``insert``, ``delete``, ``update_preimage`` and ``update_postimage``, and
the ``_commit_version`` of the table that brought it. Within a version the feed has no order; here deletions come first.
Law: applied in order, the changes leave the rows of the table at the last version.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.batch import UPSERT
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION

_GOES = ("delete", "update_preimage")
_COMES = ("insert", "update_postimage")


def from_delta(feed: pa.Table, key: str | Sequence[str] | None = None) -> pa.Table:
    """The changes in the change data feed of a Delta table, for `livejoin.Database.apply`.

    Args:
        feed: Rows of the feed in any order, of any versions, as ``table_changes`` and ``readChangeFeed`` give them.
        key: The columns of the table's primary key. Changes then go by key; without ``key`` they are whole rows.

    Returns:
        The rows in the order of their versions, with deletions first in each version. By key, inserted rows are
        ``upsert``s, and deleted rows are ``delete``s of their key. A preimage is left out if another row of its version
        has the same key.

    Raises:
        ChangeFormatError: The feed lacks ``_change_type``, ``_commit_version`` or a column of the key, or has another
            change type.

    Cost: O(rows log rows), without a Python object a row.

    >>> rows = {"id": [1, 1, 2], "n": [1, 2, 9], "_change_type": ["update_preimage", "update_postimage", "delete"]}
    >>> from_delta(pa.table({**rows, "_commit_version": [5, 5, 4]}), key="id").to_pydict()["_change_type"]
    ['delete', 'upsert']
    """
    keys = [key] if isinstance(key, str) else list(key or ())
    if not isinstance(feed, pa.Table):
        msg = f"the feed is of type {type(feed).__name__}; allowed is an Arrow table, as toArrow() gives it"
        raise ChangeFormatError(msg)
    missing = [name for name in (CHANGE_TYPE, COMMIT_VERSION, *keys) if name not in feed.column_names]
    if missing:
        msg = f"the feed has no {', '.join(map(repr, missing))}; it has {', '.join(feed.column_names)}"
        raise ChangeFormatError(msg)
    kinds = feed[CHANGE_TYPE].cast(pa.string())
    goes = pc.is_in(kinds, pa.array(_GOES))
    known = pc.or_(goes, pc.is_in(kinds, pa.array(_COMES)))
    if not pc.all(known, min_count=0).as_py():
        row = pc.index(known, False).as_py()
        msg = f"{CHANGE_TYPE} is {kinds[row].as_py()!r}; in a change data feed it is one of {', '.join(_GOES + _COMES)}"
        raise ChangeFormatError(msg, row=row)
    if feed[COMMIT_VERSION].null_count:
        row = pc.index(feed[COMMIT_VERSION].is_null(), True).as_py()
        msg = f"{COMMIT_VERSION} is NULL; it orders the changes, so that every one needs it"
        raise ChangeFormatError(msg, row=row)
    if keys:
        feed = feed.filter(pc.invert(_comes_again(feed, keys, goes)))
        goes = pc.is_in(feed[CHANGE_TYPE].cast(pa.string()), pa.array(_GOES))
        types = pc.if_else(goes, pa.scalar("delete"), pa.scalar(UPSERT))
        feed = feed.set_column(feed.column_names.index(CHANGE_TYPE), CHANGE_TYPE, types)
    comes = ~goes.to_numpy().astype(bool)
    order = np.lexsort((comes, feed[COMMIT_VERSION].to_numpy()))
    if keys and not comes.any():  # where nothing comes there are no other columns, so that all goes by key
        feed = feed.select([*keys, CHANGE_TYPE, COMMIT_VERSION])
    return feed.take(pa.array(order))


def _comes_again(feed: pa.Table, keys: Sequence[str], goes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each deleted row has a key that another row of the same version inserts."""
    by = [*keys, COMMIT_VERSION]
    counted = feed.select(by).append_column("_comes", pc.invert(goes).cast(pa.int64()))
    counted = counted.append_column("_place", pa.array(np.arange(feed.num_rows)))
    brought = counted.group_by(by).aggregate([("_comes", "max"), ("_place", "list")])
    flags = np.zeros(feed.num_rows, bool)
    places = brought["_place_list"].combine_chunks()
    again = np.repeat(brought["_comes_max"].to_numpy() > 0, np.diff(places.offsets.to_numpy()))
    flags[places.flatten().to_numpy()] = again
    return pc.and_(goes, pa.chunked_array([pa.array(flags)]))
