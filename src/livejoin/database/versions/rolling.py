"""The rows of one version from those of another: what came in between is added or taken back.

The rows are a multiset, so that it does not matter which of several equal rows goes. To find rows that go, whole
columns are compared with few values first; only the rows that this leaves are compared exactly, by their words. Chunks
of the table from which nothing goes are shared with the table of before. Whole columns are looked at by Arrow, which
lets go of Python's lock meanwhile: commits run beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.row_words import groups, row_words
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

CHUNK = 1 << 14
"""Rows of a chunk of an image: one that loses a row is copied."""

_SAMPLE = 1000  # rows by which it is told how selective a column is
_FEW = 1024  # rows that are compared exactly without a further column
_EACH = 8  # values for each of which a column is compared: 47 us of 100,000 BIGINTs, where a look into a set is 700
_FRAGMENTS = 4  # times as many chunks as there need be, before a table is put together anew


def rolled(rows: pa.Table, deltas: Sequence[pa.Table], types: Sequence[SqlType], back: bool = False) -> pa.Table:
    """The rows behind some deltas, or before them.

    Args:
        rows: The rows of a version.
        deltas: The deltas that follow it, or with ``back`` those that led to it: the columns of the rows,
            ``_change_type`` and ``_commit_version``.
        types: The types of the columns.
        back: Whether the deltas are taken back.

    Raises:
        ValueError: A row goes that is not there: the deltas are not those of this table.

    Cost: O(rows of the deltas) in words, one look at one column or few of the rows, and a copy of the chunks that lose
    rows.

    >>> delta = pa.table({"a": [1, 5], "_change_type": ["delete", "insert"], "_commit_version": [2, 2]})
    >>> now = rolled(pa.table({"a": [1, 1, 2]}), [delta], [SqlType.integer(64)])
    >>> sorted(now["a"].to_pylist()), sorted(rolled(now, [delta], [SqlType.integer(64)], back=True)["a"].to_pylist())
    ([1, 2, 5], [1, 1, 2])
    """
    whole = _together([delta for delta in deltas if delta.num_rows])
    if whole is None:
        return rows
    changed = whole.select(range(len(types))).cast(rows.schema)
    signs = _signs(whole)
    signs = -signs if back else signs
    codec = Codec()
    first, times = _net(row_words(changed, types, codec), signs)
    goes, comes = first[times < 0], first[times > 0]
    kept = rows
    if goes.size:
        kept = _without(rows, changed.take(pa.array(goes)), -times[times < 0], types, codec)
    if comes.size:
        kept = _with(kept, changed.take(pa.array(np.repeat(comes, times[times > 0]))))
    return _whole(kept)


def _together(deltas: Sequence[pa.Table]) -> pa.Table | None:
    """Deltas as one table, or None: each call of Arrow's gives Python's lock away, so that one a delta takes long."""
    if not deltas:
        return None
    schema = deltas[0].schema
    return pa.concat_tables([delta if delta.schema.equals(schema) else delta.cast(schema) for delta in deltas])


def insertions(rows: pa.Table, version: int, schema: pa.Schema) -> pa.Table:
    """Rows as the delta that inserts them.

    Args:
        rows: The rows.
        version: The version that the delta names.
        schema: The schema of the delta.
    """
    kinds = pa.repeat(pa.scalar("insert"), rows.num_rows)
    versions = pa.repeat(pa.scalar(version, pa.int64()), rows.num_rows)
    columns = zip([*rows.columns, kinds, versions], schema, strict=True)
    return pa.Table.from_arrays([column.cast(field.type) for column, field in columns], schema=schema)


def netted(deltas: Sequence[pa.Table], types: Sequence[SqlType]) -> pa.Table:
    """Several deltas as one of the last version, without what comes and goes in between; deletions come first."""
    changed = pa.concat_tables(deltas)
    words = row_words(changed.select(range(len(types))), types, Codec())
    first, times = _net(words, _signs(changed))
    order = np.lexsort((first, times > 0))
    first, times = first[order], times[order]
    taken = changed.take(pa.array(np.repeat(first, np.abs(times))))
    kinds = pc.if_else(pa.array(np.repeat(times > 0, np.abs(times))), "insert", "delete")
    version = deltas[-1][COMMIT_VERSION][-1]
    for name, column in ((CHANGE_TYPE, kinds), (COMMIT_VERSION, pa.repeat(version, taken.num_rows))):
        place = taken.schema.get_field_index(name)
        taken = taken.set_column(place, taken.schema.field(place), column)
    return taken


def comes(delta: pa.Table) -> pa.ChunkedArray:
    """Whether each row of a delta comes; the others go."""
    kinds = delta[CHANGE_TYPE]
    return pc.or_(pc.equal(kinds, "insert"), pc.equal(kinds, "update_postimage"))


def _signs(delta: pa.Table) -> npt.NDArray[np.int64]:
    """1 for each row of a delta that comes and -1 for each that goes."""
    return np.where(comes(delta).to_numpy(zero_copy_only=False), 1, -1)


def _net(words: Words, signs: npt.NDArray[np.int64]) -> tuple[Words, Words]:
    """For each distinct row whose signs do not add up to 0 its first position, and what they add up to."""
    order, begins = groups(words)
    sums = np.add.reduceat(signs[order], begins) if begins.size else np.empty(0, np.int64)
    changed = sums != 0
    return order[begins][changed], sums[changed]


def _without(rows: pa.Table, going: pa.Table, times: Words, types: Sequence[SqlType], codec: Codec) -> pa.Table:
    """Rows without some of them.

    Args:
        rows: The rows.
        going: The rows that go, each once.
        times: How often each of them goes.
        types: The types of the columns.
        codec: Turns strings and wide decimals into words.
    """
    places = _candidates(rows, going)
    both = pa.concat_tables([going, rows.take(pa.array(places))])
    order, begins = groups(row_words(both, types, codec))
    lengths = np.diff(np.append(begins, order.shape[0]))
    number = np.repeat(np.arange(begins.shape[0]), lengths)
    within = np.arange(order.shape[0]) - begins[number]  # a row that goes stands first in its group
    wanted = np.zeros(begins.shape[0], np.int64)
    is_going = order < going.num_rows
    wanted[number[is_going]] = times[order[is_going]]
    gone = order[~is_going & (within >= 1) & (within <= wanted[number])] - going.num_rows
    if gone.shape[0] != times.sum():
        msg = f"{int(times.sum()) - gone.shape[0]} rows go that are not there: these are not the deltas of these rows"
        raise ValueError(msg)
    return _filtered(rows, np.sort(places[gone]))


def _candidates(rows: pa.Table, going: pa.Table) -> Words:
    """Positions of the rows that may be equal to some others, ascending."""
    there: pa.ChunkedArray | None = None
    places: Words | None = None
    for column in _comparable(rows) if going.num_rows <= _EACH else _selective(rows):
        same = _among(rows[column], going[column].unique())
        there = same if there is None else pc.and_kleene(there, same)
        places = _places(there)
        if places.shape[0] <= max(_FEW, 2 * going.num_rows):
            break
    return np.arange(rows.num_rows) if places is None else places


def _among(column: pa.ChunkedArray, values: pa.Array) -> pa.ChunkedArray:
    """Whether each value of a column is among some distinct ones; NULL may stand for no."""
    if len(values) > _EACH or pa.types.is_interval(values.type):  # Arrow compares intervals with sets alone
        return pc.is_in(column, value_set=values)
    found = [pc.equal(column, value) if value.is_valid else pc.is_null(column) for value in values]
    return reduce(pc.or_kleene, found)


def _places(chosen: pa.ChunkedArray) -> Words:
    """The positions at which something is true, ascending; pieces without any are only counted."""
    found, begin = [np.empty(0, np.int64)], 0
    for chunk in chosen.chunks:
        for first in range(0, len(chunk), CHUNK):
            piece = chunk.slice(first, CHUNK)
            if piece.true_count:
                found.append(pc.indices_nonzero(piece).to_numpy().astype(np.int64) + (begin + first))
        begin += len(chunk)
    return np.concatenate(found)


def _comparable(rows: pa.Table) -> list[int]:
    """The columns that can be compared as they stand.

    Floating-point numbers have several NaN and zeros that are the same, and are left to words; so are nested values.
    """
    return [
        place
        for place, field in enumerate(rows.schema)
        if not (pa.types.is_nested(field.type) or pa.types.is_floating(field.type) or pa.types.is_null(field.type))
    ]


def _selective(rows: pa.Table) -> list[int]:
    """The columns that can be compared, those with the most distinct values in a sample first."""
    fit = _comparable(rows)
    step = max(1, rows.num_rows // _SAMPLE)
    sample = rows.select(fit).take(pa.array(np.arange(0, rows.num_rows, step)))
    distinct = [pc.count_distinct(column, mode="all").as_py() for column in sample.columns]
    return [place for _, place in sorted(zip(distinct, fit, strict=True), key=lambda one: -one[0])]


def _with(rows: pa.Table, come: pa.Table) -> pa.Table:
    """Rows and some more of them; a short last chunk takes them in, or each step would leave one more chunk."""
    chunks = [*rows.to_batches(), *come.combine_chunks().to_batches()]
    if len(chunks) > 1 and chunks[-2].num_rows + chunks[-1].num_rows <= CHUNK:
        chunks[-2:] = [pa.concat_batches(chunks[-2:])]
    return pa.Table.from_batches(chunks, rows.schema)


def _filtered(rows: pa.Table, gone: Words) -> pa.Table:
    """Rows without those at some ascending positions; a chunk that loses none is shared."""
    batches, begin = [], 0
    for batch in rows.to_batches():
        low, high = np.searchsorted(gone, [begin, begin + batch.num_rows])
        if low != high:
            kept = np.ones(batch.num_rows, bool)
            kept[gone[low:high] - begin] = False
            batches.append(batch.filter(pa.array(kept)))
        else:
            batches.append(batch)
        begin += batch.num_rows
    return pa.Table.from_batches(batches, rows.schema)


def _whole(rows: pa.Table) -> pa.Table:
    """The rows in not too many chunks."""
    chunks = max((column.num_chunks for column in rows.columns), default=0)
    if chunks <= _FRAGMENTS * (1 + rows.num_rows // CHUNK):
        return rows
    whole = rows.combine_chunks().to_batches(max_chunksize=CHUNK)
    return pa.Table.from_batches(whole, rows.schema)
