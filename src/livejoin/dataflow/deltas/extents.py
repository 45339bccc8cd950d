"""Changed rows in files, as values: the codes of the dictionaries may mean something else after the next commit.

An extent is a piece of a delta, written as one Arrow record batch: the columns of the view, then ``kind`` (a position
in `livejoin.dataflow.deltas.message.KIND_NAMES`), ``copies`` (how often the row stands there) and ``version``. The
extents of a delta are in the order of its versions, and each has rows of one version, or all rows of each of its
versions; so what may cancel is in one extent, or in neighbours of one version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.deltas.arrow_delta import Kinds
from livejoin.dataflow.deltas.cancellation import has_both_signs
from livejoin.state.scratch import Scratch, ScratchFile
from livejoin.words import Words

KIND, COPIES, VERSION = "kind", "copies", "version"

_AT_ONCE = 1 << 16  # rows


@dataclass(frozen=True, eq=False)
class Extent:
    """A piece of a delta in a file.

    Args:
        file: The file.
        schema: The schema of the piece's record batch.
        at: Where it begins.
        size: The piece's bytes in the file.
        nbytes: The piece's bytes in memory.
        stored: The number of rows in the file, each once.
        rows: The number of rows, each as often as it stands in the delta.
        growth: The rows that come less the rows that go.
        version: The version of all rows; None if there are several versions, and then all rows of each are here.
        goes: Whether a row goes; of several versions, whether in one of them rows go and come.
        comes: The same of rows that come.
    """

    file: ScratchFile
    schema: pa.Schema
    at: int
    size: int
    nbytes: int
    stored: int
    rows: int
    growth: int
    version: int | None
    goes: bool
    comes: bool

    def read(self) -> pa.RecordBatch:
        """The rows.

        Raises:
            StorageError: The system refuses to read them.
        """
        return pa.ipc.read_record_batch(self.file.read(self.at, self.size), self.schema)


def stored_schema(types: Iterable[pa.DataType]) -> pa.Schema:
    """The schema of the extents of a view's delta.

    Args:
        types: The types of the view's columns.
    """
    columns = [(f"c{i}", type_) for i, type_ in enumerate(types)]
    return pa.schema([*columns, (KIND, pa.int8()), (COPIES, pa.int64()), (VERSION, pa.int64())])


class DeltaWriter:
    """Writes a delta in pieces; may be called by several threads at a time. Mutable: the file grows.

    Args:
        scratch: Where files are made.
        schema: As from `stored_schema`.
    """

    def __init__(self, scratch: Scratch, schema: pa.Schema) -> None:
        self.file = scratch.file()
        self.schema = schema
        self._piece = scratch.piece

    def changes(self, delta: Delta) -> list[Extent]:
        """Write changes of multiplicities.

        Raises:
            StorageError: The system refuses.
            ExpressionError, CapacityError: The rows cannot be had as values.
        """
        return self.rows(delta.rows, (delta.weights > 0).astype(np.int8), np.abs(delta.weights), delta.versions)

    def rows(self, rows: Rows, kinds: Kinds, copies: Words, versions: Words) -> list[Extent]:
        """Write rows.

        Args:
            rows: The values of the rows.
            kinds: The kind of each.
            copies: How often each stands there.
            versions: The version of each, ascending.

        Raises:
            StorageError, ExpressionError, CapacityError: As for `changes`.
        """
        found: list[Extent] = []
        for begin in range(0, rows.length, _AT_ONCE):
            end = begin + _AT_ONCE
            part = rows.slice(begin, end)
            values = [part.arrow(i) for i in range(len(part.types))]
            columns = [*values, kinds[begin:end], copies[begin:end], versions[begin:end]]
            found += self.batch(pa.record_batch(columns, schema=self.schema))
        return found

    def batch(self, batch: pa.RecordBatch) -> list[Extent]:
        """Write rows in the form in which they are stored.

        Raises:
            StorageError: The system refuses.
        """
        step = max(1, batch.num_rows * self._piece // max(1, batch.nbytes))
        versions = batch[VERSION].to_numpy()
        found = []
        for begin in range(0, batch.num_rows, step):
            end = min(begin + step, batch.num_rows)
            for first, last in _whole_versions(versions, begin, end):
                found.append(self._write(batch.slice(first, last - first)))
        return found

    def _write(self, batch: pa.RecordBatch) -> Extent:
        data = batch.serialize()
        at = self.file.append(data)
        versions, copies = batch[VERSION].to_numpy(), batch[COPIES].to_numpy()
        signs = np.where(batch[KIND].to_numpy() & 1 == 1, 1, -1)
        is_one = versions[0] == versions[-1]
        goes, comes = bool((signs < 0).any()), bool((signs > 0).any())
        if not is_one:
            goes = comes = has_both_signs(versions, signs)
        return Extent(
            self.file,
            self.schema,
            at,
            data.size,
            batch.nbytes,
            batch.num_rows,
            rows=int(copies.sum()),
            growth=int(copies @ signs),
            version=int(versions[0]) if is_one else None,
            goes=goes,
            comes=comes,
        )


def read_together(extents: Sequence[Extent], most: int) -> Iterator[pa.Table]:
    """The rows of extents, of as many at a time as have no more than so many bytes, and of at least one."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for extent in extents:
        if waiting and size + extent.nbytes > most:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
        waiting.append(extent.read())
        size += extent.nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def _whole_versions(versions: Words, begin: int, end: int) -> list[tuple[int, int]]:
    """A range of rows in parts: those of its first version, those of its last, and those of all between them."""
    first = begin + int(np.searchsorted(versions[begin:end], versions[begin], side="right"))
    last = begin + int(np.searchsorted(versions[begin:end], versions[end - 1], side="left"))
    cuts = (begin, end) if first == end else (begin, first, last, end)
    return [(low, high) for low, high in pairwise(cuts) if high > low]
