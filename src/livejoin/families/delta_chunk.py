"""A piece of a join's delta, as every join gives it, and how large a piece is at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livejoin.kernels.join.layout import R_SIGN, R_START, R_VERSION
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
        runs: The segments, whose rows have one version and one sign: RUN_FIELDS lines, or a matrix of them, with the
            first row, the version and the sign (+1 or -1) of each.
    """

    words: Words
    runs: Words | tuple[Words, Words, Words]

    @property
    def starts(self) -> Words:
        """First row of each segment."""
        return self.runs[R_START]

    @property
    def versions(self) -> Words:
        """Version of each segment."""
        return self.runs[R_VERSION]

    @property
    def signs(self) -> Words:
        """+1 or -1 of each segment."""
        return self.runs[R_SIGN]

    @property
    def rows(self) -> int:
        """Rows of the chunk."""
        rows: int = self.words.shape[1]
        return rows

    def growth(self) -> int:
        """Rows that come less those that go."""
        signs = self.signs
        return int(signs[0]) * self.rows if signs.shape[0] == 1 else int(signs @ self.lengths())

    def lengths(self) -> Words:
        """Rows of each segment."""
        starts = self.starts
        lengths = np.empty_like(starts)
        np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
        lengths[-1:] = self.rows - starts[-1:]
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
