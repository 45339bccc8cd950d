"""A piece of a join's delta, as every join gives it, and how large a piece is at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livejoin.words import Words

OUTPUT_BYTES = 4 << 20
SEGMENTS = 1 << 15
_LEAST_ROWS = 1024


@dataclass(eq=False)
class DeltaChunk:
    """A piece of a delta.

    Args:
        words: int64 of shape (head columns and words of an annotation, rows): the base columns in the query's head, a
            row as often as its multiplicity.
        starts: First row of each segment; a segment's rows have one version and one sign.
        versions: Version of each segment.
        signs: +1 or -1 of each segment.
    """

    words: Words
    starts: Words
    versions: Words
    signs: Words

    @property
    def rows(self) -> int:
        """Rows of the chunk."""
        return int(self.words.shape[1])

    def lengths(self) -> Words:
        """Rows of each segment."""
        lengths = np.empty_like(self.starts)
        np.subtract(self.starts[1:], self.starts[:-1], out=lengths[:-1])
        lengths[-1:] = self.rows - self.starts[-1:]
        return lengths


def chunk_limits(columns: int, emit: bool, capacity: int | None) -> tuple[int, int]:
    """Rows and segments that a chunk has at most.

    Args:
        columns: Words a row.
        emit: Whether there are chunks at all.
        capacity: Both of them; None for as many rows as fill a few MB.
    """
    if not emit:
        return 1, 1
    return capacity or max(_LEAST_ROWS, OUTPUT_BYTES // (8 * max(1, columns))), capacity or SEGMENTS
