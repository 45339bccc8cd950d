"""From changed rows to a delta in files, where memory shall not hold them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta
from livejoin.dataflow.deltas.arrow_delta import ChunkRows, copied_bytes, replacements
from livejoin.dataflow.deltas.extents import DeltaWriter, Extent, stored_schema
from livejoin.dataflow.deltas.netting import net
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.state.budget import Budget
from livejoin.state.scratch import Scratch

_FIXED_BYTES = 18  # of a row of a delta in memory, for its change type and its version
_SAMPLE = 1024  # rows

Piece: TypeAlias = DeltaChunk | ChunkRows
"""A chunk, with its rows if a view wants them."""


def bytes_about(delta: Delta) -> float:
    """About how many bytes the table of a delta takes, by some of its rows."""
    rows = delta.rows.length
    if not rows:
        return 0.0
    some = delta.rows.take(np.linspace(0, rows - 1, min(rows, _SAMPLE)).astype(np.int64))
    each: float = some.table().nbytes / some.length + _FIXED_BYTES
    return each * float(np.abs(delta.weights).sum(dtype=np.float64))


def spilled(delta: Delta, types: Sequence[pa.DataType], scratch: Scratch) -> list[Extent]:
    """A delta in files, net within each version.

    Args:
        delta: The delta, which is in memory.
        types: The types of the view's columns.
        scratch: Where files are made.

    Raises:
        StorageError, ExpressionError, CapacityError: As for `DeltaWriter.changes`.
    """
    writer = DeltaWriter(scratch, stored_schema(types))
    if (replaced := replacements(delta)) is not None:
        rows, kinds, versions = replaced
        return writer.rows(rows, kinds, np.ones(rows.length, np.int64), versions)
    return net(writer.changes(delta), scratch)


class Gathering:
    """The pieces of a delta as a join writes them: in memory up to a bound, and from there on in a file.

    Several threads may bring pieces at a time. Mutable.

    Args:
        scratch: Where files are made.
        types: The types of the view's columns.
        budget: The memory of the database, which has counted the words of each chunk.
        changes: Gives the changed rows of a chunk.
        finish: Makes rows of a chunk that stays in memory, if a view wants them.
        copied: The columns of such rows that are not the words of the chunk.
    """

    def __init__(
        self,
        scratch: Scratch,
        types: Sequence[pa.DataType],
        budget: Budget,
        changes: Callable[[DeltaChunk], Delta],
        finish: Callable[[DeltaChunk], Piece],
        copied: Sequence[int],
    ) -> None:
        self._scratch = scratch
        self._types = types
        self._budget = budget
        self._changes = changes
        self._finish = finish
        self._copied = copied
        self._lock = threading.Lock()
        self._bytes = 0
        self._writer: DeltaWriter | None = None

    def take(self, chunk: DeltaChunk) -> Piece | list[Extent]:
        """A chunk in memory, or where it is written.

        Raises:
            StorageError, ExpressionError, CapacityError: As for `DeltaWriter.changes`.
        """
        if self._writer is not None:
            return self._written(self._writer, chunk)
        piece = self._finish(chunk)
        with self._lock:
            self._bytes += piece_bytes(piece, self._copied)
            if self._bytes > self._scratch.over and self._writer is None:
                self._writer = DeltaWriter(self._scratch, stored_schema(self._types))
        return piece

    def extents(self, pieces: list[Piece | list[Extent]]) -> list[Extent] | None:
        """Where the pieces are written; None if all are in memory.

        Args:
            pieces: The results of `take`, in order; those in memory are taken out one after the other.

        Raises:
            StorageError, ExpressionError, CapacityError: As for `DeltaWriter.changes`.
        """
        if self._writer is None:
            return None
        found: list[Extent] = []
        pieces.reverse()
        while pieces:
            piece = pieces.pop()
            found += piece if isinstance(piece, list) else self._written(self._writer, piece)
        return found

    def _written(self, writer: DeltaWriter, piece: Piece) -> list[Extent]:
        found = writer.changes(self._changes(chunk_of(piece)))
        self._budget.release(piece_bytes(piece, self._copied), "deltas")
        return found


def chunk_of(piece: Piece) -> DeltaChunk:
    """The chunk of a piece."""
    return piece.chunk if isinstance(piece, ChunkRows) else piece


def piece_bytes(piece: Piece, copied: Sequence[int]) -> int:
    """Bytes of a piece in memory.

    Args:
        piece: The piece.
        copied: The columns of its rows that are not the words of its chunk.
    """
    if isinstance(piece, ChunkRows):
        return piece.chunk.words.nbytes + copied_bytes(piece, copied)
    return piece.words.nbytes
