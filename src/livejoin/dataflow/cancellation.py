"""Rows that one version of a delta both deletes and inserts cancel.

Law: for every version and row, the signs that are left add up to those that came, and all of them are equal. Words
decide, which are equal iff the values are (`livejoin.state.codec`); the order of the rows that are left stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.multiway import DeltaChunk

Words = npt.NDArray[np.int64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth, volume 3, section 6.4)
_HALF = np.uint64(32)


def net_chunks(chunks: Sequence[DeltaChunk], lines: Sequence[int]) -> list[DeltaChunk]:
    """A delta without what cancels in it.

    Cost: one sort of the rows' hashes; only rows whose hash stands on both sides are compared.

    Args:
        chunks: The delta.
        lines: The lines of the chunks' words that make a row.
    """
    kept = [chunk for chunk in chunks if chunk.rows]
    if not kept:
        return kept
    signs = np.concatenate([np.repeat(chunk.signs, chunk.lengths()) for chunk in kept])
    if (signs == signs[0]).all():
        return kept
    columns = [np.concatenate([chunk.words[line] for chunk in kept]) for line in lines]
    columns.append(np.concatenate([np.repeat(chunk.versions, chunk.lengths()) for chunk in kept]))
    hashes = _hashes(columns)
    both = np.isin(hashes, np.intersect1d(hashes[signs < 0], hashes[signs > 0]))
    gone = _cancelled(columns, signs, np.flatnonzero(both))
    if not gone.size:
        return kept
    stays = np.ones(signs.shape[0], bool)
    stays[gone] = False
    parts = np.split(stays, np.cumsum([chunk.rows for chunk in kept])[:-1])
    return [_filtered(chunk, part) for chunk, part in zip(kept, parts, strict=True) if part.any()]


def _cancelled(columns: Sequence[Words], signs: Words, candidates: Words) -> Words:
    """Positions of the rows that cancel, among some."""
    if not candidates.size:
        return candidates
    order = np.lexsort([signs[candidates], *(column[candidates] for column in columns)])
    rows = candidates[order]
    fresh = np.zeros(rows.shape[0], bool)
    fresh[0] = True
    for column in columns:
        fresh[1:] |= column[rows[1:]] != column[rows[:-1]]
    starts = np.flatnonzero(fresh)
    sizes = np.diff(starts, append=rows.shape[0])
    net = np.repeat(np.add.reduceat(signs[rows], starts), sizes)
    # Deletions come first among equal rows, so that those left over are the first ones or the last.
    position = np.arange(rows.shape[0]) - np.repeat(starts, sizes)
    left = np.where(net > 0, position >= np.repeat(sizes, sizes) - net, position < -net)
    return rows[~left]


def _filtered(chunk: DeltaChunk, stays: npt.NDArray[np.bool_]) -> DeltaChunk:
    if stays.all():
        return chunk
    segments = chunk.signs.shape[0]
    lengths = np.bincount(np.repeat(np.arange(segments), chunk.lengths())[stays], minlength=segments)
    starts = np.cumsum(lengths) - lengths
    return DeltaChunk(np.ascontiguousarray(chunk.words[:, stays]), starts, chunk.versions, chunk.signs)


def _hashes(columns: Sequence[Words]) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(columns[0].shape[0], np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed
