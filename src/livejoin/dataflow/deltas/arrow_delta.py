"""From head words to Arrow: results and deltas as a user sees them.

A delta has the view's columns, then ``_change_type`` and ``_commit_version``; a row of multiplicity m stands there m
times. The type is ``insert`` or ``delete``, and of a row that replaces another one with the same group
``update_preimage`` and ``update_postimage``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.deltas.cancellation import has_both_signs, may_cancel, net_chunks, net_rows, net_values
from livejoin.dataflow.deltas.message import (
    BEGINS,
    LONGEST,
    NO_STRINGS,
    SMALL,
    TEXTS,
    Strings,
    layout_of,
    message_table,
)
from livejoin.dataflow.reading.same_values import same_rows
from livejoin.dataflow.results import Results
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.kernels.relation.replaced import goes_first, mark_replaced
from livejoin.kernels.values.change_types import SIGN_BYTES, write_kinds, write_signs, write_versions
from livejoin.query import ConjunctiveQuery
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.words import Words

_LEAST_CONSTANT = 1 << 12  # rows
_MARKED = 18  # bytes of a change type and a version where they are not slices of constants that deltas share
Kinds: TypeAlias = npt.NDArray[np.int8]
"""Positions in `livejoin.dataflow.deltas.message.KIND_NAMES`."""

_RANKS = np.array([0, 2, 1, 1], np.int8)  # of kinds, by which rows of one version are ordered

_SIGNS = TEXTS[: 2 * SIGN_BYTES].view(np.int16)
_EACH = np.arange(SMALL)  # the first rows of segments of one row


def delta_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema of the deltas of a view with a schema."""
    schema = schema.append(pa.field(CHANGE_TYPE, pa.string(), nullable=False))
    return schema.append(pa.field(COMMIT_VERSION, pa.int64(), nullable=False))


class ChunkRows:
    """Changed rows as a join writes them.

    Args:
        chunk: The chunk.
        results: Makes rows of the chunk's words; computed outputs are computed here.
        rows: The rows, if they are there.
        strings: The strings of a small delta, if they are there.

    Raises:
        ExpressionError: An output has no value for some row.
    """

    __slots__ = ("_results", "_rows", "_strings", "chunk")

    def __init__(
        self, chunk: DeltaChunk, results: Results, rows: Rows | None = None, strings: Strings | None = None
    ) -> None:
        self.chunk = chunk
        self._results = results
        self._strings = strings
        self._rows = results.rows(chunk.words) if rows is None and results.computes else rows

    @property
    def rows(self) -> Rows:
        """The rows as the outputs of the view."""
        if self._rows is None:
            self._rows = self._results.rows(self.chunk.words)
        return self._rows

    @property
    def length(self) -> int:
        """The number of rows."""
        return self.chunk.rows

    @property
    def _is_message(self) -> bool:
        """Whether it is to become a message; its rows are not there then."""
        return self._rows is None and self.chunk.rows <= SMALL and self._results.message is not None

    def keep_values(self) -> None:
        """As `Rows.keep_values`."""
        if self._results.has_codes and self._strings is None:
            if self._rows is None and self._is_message:
                self._strings = self._results.strings(self.chunk.words)
            if self._strings is None:
                self.rows.keep_values()

    def values(self) -> ChunkRows:
        """As `Rows.values`."""
        results = self._results
        self.keep_values()
        if self._strings is not None:
            return ChunkRows(self.chunk, results.detached, None, self._strings)
        if results.holds_values:
            return ChunkRows(self.chunk, results.detached, self.rows.values())
        return self if results.is_detached else ChunkRows(self.chunk, results.detached)

    def message(self) -> Words | None:
        """The rows as a message of `livejoin.dataflow.deltas.message`, if they are few and have one."""
        chunk, strings = self.chunk, self._strings
        if strings is None and not self._results.has_codes:
            strings = NO_STRINGS
        layout = self._results.message
        if strings is None or layout is None or not self._is_message:
            return None
        return layout.message(chunk.words, chunk.starts, chunk.versions, chunk.signs, strings)

    def table(self, schema: pa.Schema) -> pa.Table:
        """The rows as Arrow, with the schema of a delta."""
        message = self.message()
        if message is not None:
            return message_table(message, schema)
        rows = self.rows
        columns = [rows.arrow(i) for i in range(len(rows.types))]
        return pa.Table.from_arrays([*columns, _kinds(self.chunk), _versions(self.chunk)], schema=schema)


@dataclass(eq=False, slots=True)
class MarkedRows:
    """Changed rows, each with its kind and its version; never changed, as `Delta`.

    Args:
        rows: The rows.
        kinds: The change type of each row.
        versions: The version of each row.
    """

    rows: Rows
    kinds: Kinds
    versions: Words

    @property
    def length(self) -> int:
        """The number of rows."""
        return self.rows.length

    def message(self) -> Words | None:
        """The rows as a message of `livejoin.dataflow.deltas.message`, if they are few and have one."""
        rows = self.rows
        lines = tuple(range(len(rows.types)))
        layout = layout_of(rows.types, lines) if rows.length <= SMALL and rows.has_words else None
        if layout is None or layout.texts:
            return None
        versions, kinds = np.ascontiguousarray(self.versions), self.kinds.astype(np.int64)
        return layout.message(rows.lines(lines), _EACH[: rows.length], versions, kinds)

    def table(self, schema: pa.Schema) -> pa.Table:
        """The rows as Arrow, with the schema of a delta."""
        message = self.message()
        if message is not None:
            return message_table(message, schema)
        rows = self.rows
        columns = [rows.arrow(i) for i in range(len(rows.types))]
        return pa.table(
            [*columns, kind_names(self.kinds), _integers(np.ascontiguousarray(self.versions))], schema=schema
        )


def copied_columns(query: ConjunctiveQuery) -> tuple[int, ...]:
    """Positions of the columns of a delta that are not the words of its chunks."""
    words = [isinstance(o.source, int) and _is_word(f.type) for o, f in zip(query.outputs, query.schema, strict=True)]
    return tuple(i for i, is_word in enumerate(words) if not is_word)


def copied_bytes(piece: ChunkRows, copied: Sequence[int]) -> int:
    """Bytes that a piece takes beside the chunk's words, once it has been read; O(columns).

    Args:
        piece: The piece.
        copied: The `copied_columns` of its query.
    """
    size = sum(piece.rows.nbytes(i) for i in copied)
    versions = piece.chunk.versions
    return size if versions[0] == versions[-1] else size + _MARKED * piece.length


def _is_word(type: pa.DataType) -> bool:
    return bool(pa.types.is_int64(type) or pa.types.is_float64(type) or pa.types.is_timestamp(type))


def net_pieces(results: Results, pieces: Sequence[ChunkRows]) -> Sequence[ChunkRows]:
    """The pieces of a delta without rows that one version both deletes and inserts.

    Args:
        results: Made the rows of the pieces.
        pieces: The pieces in order.
    """
    if not may_cancel([piece.chunk for piece in pieces]):
        return pieces
    shown = [results.shown(piece.chunk, piece.rows) for piece in pieces]
    net = net_chunks(shown, range(len(results.query.outputs)))
    if sum(chunk.rows for chunk in net) == sum(chunk.rows for chunk in shown):
        return pieces
    return [ChunkRows(chunk, results.of_shown) for chunk in net]


def _versions(chunk: DeltaChunk) -> pa.Array:
    """The version of each row; in a commit all are one, and then the chunks of a large one share a constant."""
    versions = chunk.versions
    if chunk.rows > _LEAST_CONSTANT and np.all(versions == versions[0]):
        return _number(int(versions[0]), _padded(chunk.rows)).slice(0, chunk.rows)
    out = np.empty(chunk.rows, np.int64)
    write_versions(chunk.starts, versions, out)
    return _integers(out)


def _integers(values: Words) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), values.shape[0], [None, pa.py_buffer(values)], 0)


@lru_cache(maxsize=2)
def _number(value: int, rows: int) -> pa.Array:
    return _integers(np.full(rows, value, np.int64))


def _kinds(chunk: DeltaChunk) -> pa.Array:
    """The change type of each row; where all are one, a slice of a constant that all deltas share."""
    signs = chunk.signs
    if signs.shape[0] == 1 or (signs == signs[0]).all():
        return _constant(int(signs[0] > 0), _padded(chunk.rows)).slice(0, chunk.rows)
    data = np.empty(SIGN_BYTES * chunk.rows, np.uint8)
    write_signs(chunk.starts, signs, chunk.rows, _SIGNS, data.view(np.int16))
    return _strings(_offsets(_padded(chunk.rows)), data, chunk.rows)


def kind_names(kinds: Kinds) -> pa.Array:
    """The change types of rows, by their numbers."""
    offsets = np.empty(kinds.shape[0] + 1, np.int32)
    data = np.empty(LONGEST * kinds.shape[0], np.uint8)
    write_kinds(kinds, TEXTS, BEGINS, offsets, data)
    return _strings(offsets, data, kinds.shape[0])


def _strings(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0)


@lru_cache(maxsize=8)
def _offsets(rows: int) -> npt.NDArray[np.int32]:
    """Where the change types of at most so many rows begin that all have as many bytes."""
    return np.arange(0, SIGN_BYTES * rows + 1, SIGN_BYTES, dtype=np.int32)


def _padded(rows: int) -> int:
    """A power of two, so that few lengths of constants are made."""
    return max(_LEAST_CONSTANT, 1 << (rows - 1).bit_length())


@lru_cache(maxsize=8)
def _constant(kind: int, rows: int) -> pa.Array:
    return kind_names(np.full(rows, kind, np.int8))


def cancel(delta: pa.Table) -> pa.Table:
    """Cancel equal rows that one version both deletes and inserts; versions stay in order, deletions first.

    Raises:
        CapacityError: The memory does not hold the groups of equal rows.

    Cost: O(rows) expected, in DuckDB, whose equality decides.
    """
    plain = pa.table(delta.columns, names=[f"c{i}" for i in range(delta.num_columns)])
    *values, kind, version = plain.column_names
    net = net_values(plain, [*values, version], f"if({kind} = 'insert', 1, -1)")
    change = net["net"].to_numpy()
    order = np.lexsort((change > 0, net[version].to_numpy()))
    order = np.repeat(order, np.abs(change[order]))
    kinds = kind_names((change[order] > 0).astype(np.int8))
    taken = net.take(pa.array(order))
    return pa.table([*(taken[v] for v in values), kinds, taken[version]], names=delta.schema.names).cast(delta.schema)


def shown_rows(delta: Delta) -> MarkedRows | None:
    """A delta as rows of a view, net within each version; None if words cannot tell what cancels (`cancelled`)."""
    if (replaced := replacements(delta)) is not None:
        return MarkedRows(*replaced)
    rows, signs, versions = _copies(delta)
    kinds = (signs > 0).astype(np.int8)
    if not has_both_signs(versions, signs):
        return MarkedRows(rows, kinds, versions)
    if (words := rows.words()) is None:
        return None
    kept = np.flatnonzero(net_rows(words, signs, versions))
    kept = kept[np.lexsort((signs[kept], versions[kept]))]
    return MarkedRows(rows.take(kept), kinds[kept], versions[kept])


def cancelled(delta: Delta, schema: pa.Schema) -> pa.Table:
    """A delta as a table, net within each version, where words cannot tell what cancels.

    Args:
        delta: The delta.
        schema: The table's, as from `delta_schema`.
    """
    rows, signs, versions = _copies(delta)
    return cancel(MarkedRows(rows, (signs > 0).astype(np.int8), versions).table(schema))


def _copies(delta: Delta) -> tuple[Rows, Words, Words]:
    """The rows of a delta as often as they change, with the sign and the version of each."""
    if (np.abs(delta.weights) == 1).all():
        return delta.rows, delta.weights, delta.versions
    copies = np.repeat(np.arange(delta.weights.shape[0]), np.abs(delta.weights))
    return delta.rows.take(copies), np.sign(delta.weights)[copies], delta.versions[copies]


def replacements(delta: Delta) -> tuple[Rows, Kinds, Words] | None:
    """Rows of a delta that replace others, with their kinds and versions; net.

    Returns:
        None if rows are not replaced, or if what cancels cannot be told by words.
    """
    if delta.pairs is None:
        return None
    if not (delta.hidden and has_both_signs(delta.versions, np.sign(delta.weights))):
        return _replacements(delta, delta.pairs)
    words = delta.rows.words()
    if words is None:
        return None
    stays = np.flatnonzero(net_rows(words, np.sign(delta.weights), delta.versions))
    left = Delta(delta.rows.take(stays), delta.weights[stays], delta.versions[stays])
    return _replacements(left, delta.pairs[stays])


def _replacements(delta: Delta, pairs: Words) -> tuple[Rows, Kinds, Words]:
    """Rows that replace others: those that stay as they were are left out."""
    whole = delta.rows.whole
    if whole is None and delta.rows.has_words and (words := delta.rows.words()):
        whole = np.array(words)
    if whole is not None and whole.shape[0]:
        kinds, stays = np.empty(pairs.shape[0], np.int8), np.empty(pairs.shape[0], np.bool_)
        number, in_order = mark_replaced(whole, pairs, delta.versions, delta.weights, kinds, stays)
        if in_order and number == pairs.shape[0]:
            return delta.rows, kinds, delta.versions
        return _stay(delta, kinds, stays, number)
    joined = np.flatnonzero((pairs[1:] == pairs[:-1]) & (delta.versions[1:] == delta.versions[:-1]))
    same = same_rows(delta.rows.take(joined), delta.rows.take(joined + 1))
    kinds = (delta.weights > 0).astype(np.int8)
    kinds[joined] = 2
    kinds[joined + 1] = 3
    kept = np.ones(pairs.shape[0], bool)
    kept[joined[same]] = False
    kept[joined[same] + 1] = False
    return _stay(delta, kinds, kept, int(np.count_nonzero(kept)))


def _stay(delta: Delta, kinds: Kinds, stays: npt.NDArray[np.bool_], number: int) -> tuple[Rows, Kinds, Words]:
    """The rows of a delta that stay, ``number`` of them, with their change types and versions.

    In each version deleted rows come first, then rows that replace others, then new rows. Groups from the cells of a
    join, or flushed annotations, are in the order of the groups.
    """
    rows, versions = delta.rows, delta.versions
    if number != stays.shape[0]:
        kept = np.flatnonzero(stays)
        rows, kinds, versions = rows.take(kept), kinds[kept], versions[kept]
    if goes_first(kinds, versions):
        return rows, kinds, versions
    order = np.lexsort((_RANKS[kinds], versions))
    return rows.take(order), kinds[order], versions[order]


def is_injective(query: ConjunctiveQuery) -> bool:
    """Whether a result row determines what it is made of, so that distinct ones never cancel."""
    if query.free is not None:
        return False
    if not all(isinstance(o.source, int) for o in query.outputs):
        return False
    kept = {query.atoms[r.atom].variables[query.atoms[r.atom].columns.index(r.column)] for r in query.head}
    shown = {o.source for o in query.outputs}
    return (
        len(shown) == len(query.head)
        and query.variables <= kept
        and all(len(atom.columns) == len(atom.table.columns) for atom in query.atoms)
    )
