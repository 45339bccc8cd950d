"""What a commit does to a view, as a table or in batches: in memory, or in files if it takes too much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

import numpy as np
import pyarrow as pa

from livejoin.dataflow.deltas.arrow_delta import kind_names
from livejoin.dataflow.deltas.extents import COPIES, KIND, VERSION, Extent
from livejoin.dataflow.deltas.message import messages_table
from livejoin.dataflow.deltas.repeated import repeated
from livejoin.errors import MemoryLimitError
from livejoin.kernels.compiling.python_lock import give_back, keep
from livejoin.state.budget import Budget, shown_bytes
from livejoin.words import Words

_LARGEST_BATCH = 1 << 20
_AT_ONCE = 64  # small deltas that become Arrow together, in less than a millisecond


class ViewDelta(Protocol):
    """A delta as a user sees it, net within each version."""

    @property
    def num_rows(self) -> int:
        """The number of rows of the delta."""

    @property
    def is_in_files(self) -> bool:
        """Whether it is in files, and not in memory."""

    def table(self) -> pa.Table:
        """All of it.

        Raises:
            StorageError: The delta is in a file, which the system refuses to read.
            MemoryLimitError: The delta is in files, and would pass the limit of the database.
        """

    def batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        """All of it in batches of at most so many rows.

        Raises:
            StorageError: As for `table`.
        """


class DeltaPart(Protocol):
    """A piece of a delta in memory."""

    @property
    def length(self) -> int:
        """The number of rows of the part."""

    def message(self) -> Words | None:
        """The rows as a message of `livejoin.dataflow.deltas.message`; None if they have none."""

    def table(self, schema: pa.Schema) -> pa.Table:
        """The rows as Arrow, with the schema of a delta."""


class MemoryDelta:
    """A delta in memory, which becomes Arrow when it is read.

    Law: the parts hold words that nobody writes to, and no codes of dictionaries, which may come to mean something
    else. May be read by several threads at a time.

    Args:
        parts: The pieces of the delta, in order.
        schema: The schema of the delta, as from `livejoin.dataflow.deltas.arrow_delta.delta_schema`.
    """

    def __init__(self, parts: Sequence[DeltaPart], schema: pa.Schema) -> None:
        self.num_rows = sum([part.length for part in parts])
        self._parts: Sequence[DeltaPart] = parts
        self._schema = schema
        self._table: pa.Table | None = None

    @property
    def is_in_files(self) -> bool:
        return False

    def table(self) -> pa.Table:
        parts, table = self._parts, self._table  # in this order: the parts go when the table is there
        if table is None:
            tables = [part.table(self._schema) for part in parts]
            if len(tables) == 1:
                table = tables[0]
            else:
                table = pa.concat_tables(tables) if tables else self._schema.empty_table()
            self._table = table
            self._parts = ()
        return table

    def message(self) -> Words | None:
        """As `DeltaPart.message`, while it has not been read and has one part."""
        parts, table = self._parts, self._table
        return parts[0].message() if table is None and len(parts) == 1 else None

    def batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        parts, table = self._parts, self._table
        tables = (part.table(self._schema) for part in parts) if table is None else iter((table,))
        for one in tables:
            yield from (batch for batch in one.to_batches(max_chunksize=max_rows) if batch.num_rows)


def tables_of(deltas: Sequence[ViewDelta], schema: pa.Schema) -> list[pa.Table]:
    """Deltas as few tables, in order: many small ones become one.

    Args:
        deltas: The deltas.
        schema: The schema of the deltas.

    Raises:
        StorageError, MemoryLimitError: As for `ViewDelta.table`.
    """
    found: list[pa.Table] = []
    for begin in range(0, len(deltas), _AT_ONCE):
        piece = deltas[begin : begin + _AT_ONCE]
        keep()  # or Python's lock would be given away behind each
        try:
            messages = [delta.message() if isinstance(delta, MemoryDelta) else None for delta in piece]
        finally:
            give_back()
        for has_message, group in groupby(zip(messages, piece, strict=True), lambda one: one[0] is not None):
            run = list(group)
            if has_message:
                found.append(messages_table([message for message, _ in run if message is not None], schema))
            else:
                found += [delta.table() for _, delta in run]
    return found


class TableDelta:
    """A delta that is a table.

    Args:
        table: The delta.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def num_rows(self) -> int:
        rows: int = self._table.num_rows
        return rows

    @property
    def is_in_files(self) -> bool:
        return False

    def table(self) -> pa.Table:
        return self._table

    def batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        yield from (batch for batch in self._table.to_batches(max_chunksize=max_rows) if batch.num_rows)


class FileDelta:
    """A delta in files, which it holds: they are closed when it is gone.

    Args:
        extents: The pieces of the delta, in order.
        schema: The schema of the delta, as from `livejoin.dataflow.deltas.arrow_delta.delta_schema`.
        budget: The memory of the database.
    """

    def __init__(self, extents: Sequence[Extent], schema: pa.Schema, budget: Budget) -> None:
        self._extents = tuple(extents)
        self._schema = schema
        self._budget = budget
        self.num_rows = sum(one.rows for one in extents)

    @property
    def is_in_files(self) -> bool:
        return True

    def table(self) -> pa.Table:
        stored = sum(one.stored for one in self._extents)
        size = sum(one.nbytes for one in self._extents) * self.num_rows // max(1, stored)
        if not self._budget.has_room(size):
            msg = (
                f"its delta has {self.num_rows:,} rows, which take about {shown_bytes(size)}, and would pass the "
                f"memory_limit of {shown_bytes(self._budget.limit or 0)}; read it in pieces, by Commit.batches"
            )
            raise MemoryLimitError(msg)
        return pa.Table.from_batches(self.batches(_LARGEST_BATCH), self._schema)

    def batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        for extent in self._extents:
            stored = extent.read()
            kinds = kind_names(np.array(stored[KIND], np.int8))
            values = [stored[i] for i in range(len(self._schema) - 2)]
            table = pa.table([*values, kinds, stored[VERSION]], schema=self._schema)
            for piece in repeated(table, stored[COPIES].to_numpy(), max_rows):
                yield from piece.combine_chunks().to_batches(max_chunksize=max_rows)
