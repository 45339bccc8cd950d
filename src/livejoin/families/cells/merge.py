"""The deltas of several cells as one: by version, and within a version what goes before what comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from livejoin.families.delta_chunk import DeltaChunk
from livejoin.words import Words


def merged(parts: Sequence[Sequence[DeltaChunk]], alternating: bool) -> Iterator[DeltaChunk]:
    """The chunks of all parts in an order that one join could have given.

    Args:
        parts: The chunks of each cell, in order.
        alternating: Whether a result may come and go several times in a version, so that the order of each cell has to
            stay; else what goes in a version is given before what comes.

    Cost: O(segments) if all are of one version, which copies no row; else O(rows), each copied twice.
    """
    filled = [part for part in parts if part]
    chunks = [chunk for part in filled for chunk in part]
    if len(filled) <= 1:
        yield from chunks
    elif not _is_one(chunks):
        yield _sorted(chunks, alternating)
    elif alternating:
        yield from chunks
    else:
        halves = [halve(chunk) for chunk in chunks]
        for side in (0, 1):
            yield from (half[side] for half in halves if half[side].rows)


def _is_one(chunks: Sequence[DeltaChunk]) -> bool:
    """Whether all segments have the same version."""
    version = chunks[0].versions[0]
    return all(bool(np.all(chunk.versions == version)) for chunk in chunks)


def halve(chunk: DeltaChunk) -> tuple[DeltaChunk, DeltaChunk]:
    """What goes and what comes of a chunk of one version; no row is copied if one stands before the other."""
    if np.any(chunk.signs[1:] < chunk.signs[:-1]):
        chunk = _sorted([chunk], False)
    border = int(np.searchsorted(chunk.signs, 1))
    row = int(chunk.starts[border]) if border < chunk.starts.shape[0] else chunk.rows
    going = (chunk.starts[:border], chunk.versions[:border], chunk.signs[:border])
    coming = (chunk.starts[border:] - row, chunk.versions[border:], chunk.signs[border:])
    return DeltaChunk(chunk.words[:, :row], going), DeltaChunk(chunk.words[:, row:], coming)


def _sorted(chunks: Sequence[DeltaChunk], alternating: bool) -> DeltaChunk:
    """All segments by version, and by sign unless they alternate; otherwise in the order given."""
    return _pieces(chunks, alternating, 1)[0]()


def sorted_pieces(parts: Sequence[Sequence[DeltaChunk]], number: int) -> list[Callable[[], DeltaChunk]]:
    """As `merged` of results that do not alternate, in about so many pieces, each of which is put together when called.

    Calls may run side by side.
    """
    filled = [part for part in parts if part]
    chunks = [chunk for part in filled for chunk in part]
    return [partial(_itself, chunk) for chunk in chunks] if len(filled) <= 1 else _pieces(chunks, False, number)


def _itself(chunk: DeltaChunk) -> DeltaChunk:
    return chunk


def _pieces(chunks: Sequence[DeltaChunk], alternating: bool, number: int) -> list[Callable[[], DeltaChunk]]:
    """The sorted segments in pieces of about equal numbers of rows."""
    words = np.concatenate([chunk.words for chunk in chunks], axis=1)
    ends = np.cumsum([0, *(chunk.rows for chunk in chunks)])
    starts = np.concatenate([chunk.starts + begin for chunk, begin in zip(chunks, ends[:-1], strict=True)])
    lengths = np.concatenate([chunk.lengths() for chunk in chunks])
    versions = np.concatenate([chunk.versions for chunk in chunks])
    signs = np.concatenate([chunk.signs for chunk in chunks])
    order = np.argsort(versions, kind="stable") if alternating else np.lexsort((signs, versions))
    fields = (starts[order], lengths[order], versions[order], signs[order])
    wanted = np.arange(1, number) * words.shape[1] // number
    cuts = [0, *np.searchsorted(np.cumsum(fields[1]), wanted).tolist(), order.shape[0]]
    pairs = [(begin, end) for begin, end in pairwise(cuts) if end > begin]
    return [partial(_gathered, words, *(field[begin:end] for field in fields)) for begin, end in pairs]


def _gathered(words: Words, starts: Words, lengths: Words, versions: Words, signs: Words) -> DeltaChunk:
    """Segments of rows as a chunk."""
    first = np.cumsum(lengths) - lengths
    source = np.repeat(starts - first, lengths) + np.arange(int(lengths.sum()))
    return DeltaChunk(np.take(words, source, axis=1), (first, versions, signs))
