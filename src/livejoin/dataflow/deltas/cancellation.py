"""Rows that one version of a delta both deletes and inserts cancel.

Law: for every version and row, the signs that are left add up to those that came, and all of them are equal. Words
decide, which are equal iff the values are (`livejoin.state.codec`); the order of the rows that are left stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import CapacityError
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.query.session import LINEAR, reason, session
from livejoin.words import Words

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth, volume 3, section 6.4)
_HALF = np.uint64(32)


def net_chunks(chunks: Sequence[DeltaChunk], lines: Sequence[int]) -> list[DeltaChunk]:
    """A delta without what cancels in it.

    Cost: O(segments) where no version both deletes and inserts, as when each is one change of a table without a window:
    a join without negation is monotone. Else O(rows) to find those that may stand on both sides, by their hashes; only
    these are sorted and compared.

    Args:
        chunks: The delta, its versions ascending.
        lines: The lines of the chunks' words that make a row.
    """
    kept = [chunk for chunk in chunks if chunk.rows]
    if not may_cancel(kept):
        return kept
    signs = np.concatenate([np.repeat(chunk.signs, chunk.lengths()) for chunk in kept])
    versions = np.concatenate([np.repeat(chunk.versions, chunk.lengths()) for chunk in kept])
    stays = net_rows([np.concatenate([chunk.words[line] for chunk in kept]) for line in lines], signs, versions)
    if stays.all():
        return kept
    parts = np.split(stays, np.cumsum([chunk.rows for chunk in kept])[:-1])
    return [_filtered(chunk, part) for chunk, part in zip(kept, parts, strict=True) if part.any()]


def net_values(rows: pa.Table, keys: Sequence[str], copies: str) -> pa.Table:
    """Equal rows once, by DuckDB, whose equality decides.

    Args:
        rows: The rows.
        keys: The columns that make a row.
        copies: How often a row stands there, with its sign, in DuckDB's SQL over the columns.

    Returns:
        The columns of the keys, and as ``net`` what the copies add up to; in any order.

    Raises:
        CapacityError: The number of copies is beyond 64 bits, or the groups of equal rows do not fit into memory.

    Cost: O(rows) expected.
    """
    names = ", ".join(keys)
    try:
        with session(LINEAR) as connection:
            counted = connection.from_arrow(rows).aggregate(f"{names}, sum({copies})::BIGINT AS net", names)
            return counted.to_arrow_table()
    except duckdb.Error as error:
        msg = f"{rows.num_rows} rows of a delta cannot be made net: {reason(error)}; commit fewer changes at a time"
        raise CapacityError(msg) from error


def may_cancel(chunks: Sequence[DeltaChunk]) -> bool:
    """Whether a version of a delta both deletes and inserts; O(segments).

    Args:
        chunks: The delta, its versions ascending.
    """
    if not chunks:
        return False
    versions = np.concatenate([chunk.versions for chunk in chunks])
    return has_both_signs(versions, np.concatenate([chunk.signs for chunk in chunks]))


def has_both_signs(versions: Words, signs: Words) -> bool:
    """Whether a version has both signs; as versions ascend, two neighbours of it then differ."""
    return bool(((versions[1:] == versions[:-1]) & (signs[1:] != signs[:-1])).any())


def net_rows(columns: Sequence[Words], signs: Words, versions: Words) -> npt.NDArray[np.bool_]:
    """Which rows of a delta do not cancel.

    Args:
        columns: The words of the rows, a column each.
        signs: +1 or -1 of each row.
        versions: The version of each row.

    Cost: as of `net_chunks`, O(rows) and what may cancel is sorted.
    """
    keys = [*columns, versions]
    hashes = _hashes(keys)
    stays = np.ones(signs.shape[0], bool)
    stays[_cancelled(keys, signs, hashes, on_both_sides(hashes, signs))] = False
    return stays


def on_both_sides(hashes: npt.NDArray[np.uint64], signs: Words) -> Words:
    """Positions of the rows whose hash's bucket has a deletion and an insertion."""
    bits = max(10, hashes.shape[0].bit_length() + 3)
    buckets = (hashes >> np.uint64(64 - bits)).view(np.int64)
    deleted, inserted = np.zeros((2, 1 << bits), bool)
    deleted[buckets[signs < 0]] = True
    inserted[buckets[signs > 0]] = True
    return np.flatnonzero((deleted & inserted)[buckets])


def _cancelled(columns: Sequence[Words], signs: Words, hashes: npt.NDArray[np.uint64], candidates: Words) -> Words:
    """Positions of the rows that cancel, among some."""
    if not candidates.size:
        return candidates
    rows = candidates[np.lexsort([signs[candidates], hashes[candidates]])]
    fresh = _differs(columns, rows)
    if (fresh[1:] & (hashes[rows[1:]] == hashes[rows[:-1]])).any():  # other rows with the same hash stand in between
        rows = candidates[np.lexsort([signs[candidates], *(column[candidates] for column in columns)])]
        fresh = _differs(columns, rows)
    starts = np.flatnonzero(fresh)
    sizes = np.diff(starts, append=rows.shape[0])
    net = np.repeat(np.add.reduceat(signs[rows], starts), sizes)
    # Deletions come first among equal rows, so that those left over are the first ones or the last.
    position = np.arange(rows.shape[0]) - np.repeat(starts, sizes)
    left = np.where(net > 0, position >= np.repeat(sizes, sizes) - net, position < -net)
    return rows[~left]


def _differs(columns: Sequence[Words], rows: Words) -> npt.NDArray[np.bool_]:
    """Which of some rows are not the same as the one before."""
    fresh = np.zeros(rows.shape[0], bool)
    fresh[0] = True
    for column in columns:
        fresh[1:] |= column[rows[1:]] != column[rows[:-1]]
    return fresh


def _filtered(chunk: DeltaChunk, stays: npt.NDArray[np.bool_]) -> DeltaChunk:
    if stays.all():
        return chunk
    segments = chunk.signs.shape[0]
    lengths = np.bincount(np.repeat(np.arange(segments), chunk.lengths())[stays], minlength=segments)
    starts = np.cumsum(lengths) - lengths
    return DeltaChunk(chunk.words.compress(stays, axis=1), (starts, chunk.versions, chunk.signs))


def _hashes(columns: Sequence[Words]) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(columns[0].shape[0], np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed * _ODD
