"""What the records of a log say, as bytes and back.

A commit is what was asked for, and not what came of it: the changes of each table as words, in the order given, with
their strings beside them, and how conflicts are treated. Law: changes that stood once, brought to tables that are as
those were then, make of them what those became, windows, tombstones and all; so a log is replayed by the code that
commits. A table is named by its number, under which the log declared it. What is declared is JSON, as in a snapshot.
Behind all of that stand the deltas of views with a history (`livejoin.database.durable.history`).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from livejoin.changes import ChangeBatch
from livejoin.database.durable.deltas import Reader
from livejoin.database.durable.history import Told, read_told
from livejoin.database.snapshots.declaration import plain_table
from livejoin.database.transactions.staging import Granularity, OnConflict, TableInput
from livejoin.errors import StateError
from livejoin.schema import Table
from livejoin.state.codec import Codec
from livejoin.state.portable import DECIMAL_BYTES, Coded, Portable, portable, words_here
from livejoin.words import NULL_CODE, Words

SEGMENT: Final = 1
COMMIT: Final = 2
CREATE_TABLE: Final = 3
DROP_TABLE: Final = 4
CREATE_VIEW: Final = 5
DROP_VIEWS: Final = 6
ALTER_TABLE: Final = 7
KEEP: Final = 8
CLOSE: Final = 9
REPLACE_VIEW: Final = 10
ALTER_COLUMNS: Final = 11
HISTORY: Final = 12
EPOCH: Final = 13
"""Kinds of records: the first one of a segment, a commit, declarations, the user's values, and an orderly end."""

_GRANULARITIES: tuple[Granularity, ...] = ("commit", "change")
_CONFLICTS: tuple[OnConflict, ...] = ("error", "ignore", "update")

_HEAD = struct.Struct("<QBBHI")  # versions, granularity, on_conflict, tables, bytes of the notes
_PART = struct.Struct("<IHHQIQI")  # table, columns, flags, rows, strings, their bytes, decimals
_WEIGHTS, _REPLACES, _SEQUENCE, _VERSIONS, _KEPT = (1 << place for place in range(5))


@dataclass(frozen=True, eq=False)
class CommitBody:
    """A commit as the log has it.

    Args:
        versions: How many it is.
        granularity: Whether each change has a version of its own.
        on_conflict: How conflicts were treated.
        notes: JSON values that stand with it.
        parts: The changes of each table.
        told: The deltas of views with a history.
    """

    versions: int
    granularity: Granularity
    on_conflict: OnConflict
    notes: Mapping[str, Any]
    parts: Sequence[TablePart]
    told: Sequence[Told]


@dataclass(frozen=True, eq=False)
class TablePart:
    """The changes of one table.

    Args:
        table: The table's number.
        rows: How many there are.
        kept: The columns that its rows have values of; None for all.
        words: The words of these.
        weights: +1 for each row that comes, -1 for each that goes.
        replaces: By key, whether each takes the place of the row with its key; else None.
        sequence: The ``_seq`` of each change; None if there is none.
        ranks: Where each change has a version of its own, which one, from 0.
    """

    table: int
    rows: int
    kept: tuple[int, ...] | None
    words: Portable
    weights: Words
    replaces: npt.NDArray[np.bool_] | None
    sequence: Words | None
    ranks: Words | None

    def batch(self, codec: Codec, table: Table) -> ChangeBatch:
        """The changes, in the words of a database.

        Raises:
            StateError: The changes are none of this table.
        """
        kept = range(len(table.columns)) if self.kept is None else self.kept
        types = [table.columns[place].type for place in kept]
        if self.words.words.shape[0] != len(types):
            msg = f"changes of {self.words.words.shape[0]} columns of table {table.name!r}, which has {len(types)}"
            raise StateError(msg)

        def written() -> Words:
            words = words_here(codec, self.words, Coded.of(types))
            if self.kept is None:
                return words
            whole = np.full((len(table.columns), self.rows), NULL_CODE)
            whole[list(kept)] = words
            return whole

        return ChangeBatch(table, (), self.weights, self.sequence, self.replaces, written=written)


@dataclass(frozen=True, eq=False)
class Layout:
    """How the rows of a table are written; the same for many commits.

    Args:
        table: The table.
        number: The table's number.
        all_kept: The columns that rows have values of, as the table says it.
        kept: The same columns in order; None for all.
        coded: Which of them may have codes.
    """

    table: Table
    number: int
    all_kept: frozenset[int] | None
    kept: tuple[int, ...] | None
    coded: Coded

    @classmethod
    def of(cls, table: Table, number: int, all_kept: frozenset[int] | None) -> Layout:
        """The layout of a table."""
        kept = None if all_kept is None else tuple(sorted(all_kept))
        places = range(len(table.columns)) if kept is None else kept
        return cls(table, number, all_kept, kept, Coded.of([table.columns[place].type for place in places]))


def plain(value: object) -> list[bytes]:
    """A body of JSON."""
    return [json.dumps(value, separators=(",", ":")).encode()]


def declared_table(number: int, table: Table) -> list[bytes]:
    """A body that declares a table, by which number others name it."""
    return plain({"number": number, "table": plain_table(table)})


def commit_body(
    inputs: Sequence[TableInput],
    layout: Callable[[TableInput], Layout],
    codec: Codec,
    versions: tuple[int, int],
    manner: tuple[Granularity, OnConflict],
    notes: Mapping[str, Any],
) -> list[bytes | memoryview]:
    """The body of a commit.

    Args:
        inputs: The changes of each table.
        layout: How the rows of a table are written.
        codec: The dictionaries.
        versions: The first of its versions, and how many it is.
        manner: The granularity, and how conflicts are treated.
        notes: JSON values that stand with it.
    """
    granularity, on_conflict = manner
    first, count = versions
    noted = plain(notes)[0] if notes else b""
    head = _HEAD.pack(count, _GRANULARITIES.index(granularity), _CONFLICTS.index(on_conflict), len(inputs), len(noted))
    body: list[bytes | memoryview] = [head, noted]
    for given in inputs:
        body += _part(given, layout(given), codec, first if granularity == "change" else None)
    return body


def _part(given: TableInput, layout: Layout, codec: Codec, first: int | None) -> list[bytes | memoryview]:
    batch, kept = given.batch, layout.kept
    words = given.words if kept is None else given.words[list(kept)]
    found = portable(codec, words, layout.coded)
    flags, rest = 0, list[bytes | memoryview]()
    if kept is not None:
        flags |= _KEPT
        rest.append(np.array(kept, np.uint16).tobytes())
    if not (batch.weights[0] == 1 if batch.weights.shape[0] == 1 else (batch.weights > 0).all()):
        flags |= _WEIGHTS
        rest.append(batch.weights.astype(np.int8).tobytes())
    if batch.replaces is not None:
        flags |= _REPLACES
        rest.append(batch.replaces.tobytes())
    if batch.sequence is not None:
        flags |= _SEQUENCE
        rest.append(batch.sequence.tobytes())
    if first is not None:
        flags |= _VERSIONS
        rest.append((given.versions - first).tobytes())
    lengths = found.lengths
    head = _PART.pack(
        *(layout.number, words.shape[0], flags, batch.length),
        *(lengths.size, found.heap.size, found.decimals.size // DECIMAL_BYTES),
    )
    return [head, *rest, found.words.tobytes(), lengths.tobytes(), found.heap.tobytes(), found.decimals.tobytes()]


def read_commit(body: memoryview) -> CommitBody:
    """The commit of a body.

    Raises:
        ValueError, LookupError, struct.error: The body is none.
    """
    reader = Reader(body)
    versions, granularity, on_conflict, tables, noted = reader.fields(_HEAD)
    notes = json.loads(bytes(reader.raw(noted))) if noted else {}
    if not isinstance(notes, dict):
        msg = f"the notes of a commit are {notes!r:.80}"
        raise ValueError(msg)
    parts = [_read_part(reader) for _ in range(tables)]
    granular, conflicts = _GRANULARITIES[granularity], _CONFLICTS[on_conflict]
    return CommitBody(versions, granular, conflicts, notes, parts, read_told(reader))


def read_json(body: memoryview) -> tuple[Any, list[Told]]:
    """The JSON of a body, and the deltas that stand behind it, parted by a byte of zero, which no JSON has.

    Raises:
        ValueError, struct.error: The body is none.
    """
    text, zero, _ = bytes(body).partition(b"\0")
    reader = Reader(body)
    reader.raw(len(text) + len(zero))
    return json.loads(text), read_told(reader)


def _read_part(reader: Reader) -> TablePart:
    table, columns, flags, rows, strings, string_bytes, decimals = reader.fields(_PART)
    kept = tuple(reader.array(np.uint16, columns).tolist()) if flags & _KEPT else None
    sound = True
    if flags & _WEIGHTS:
        weights = reader.array(np.int8, rows).astype(np.int64)
        sound = bool((np.abs(weights) == 1).all())
    else:
        weights = np.ones(rows, np.int64)
    replaces = reader.array(np.uint8, rows).astype(np.bool_) if flags & _REPLACES else None
    sequence = reader.array(np.int64, rows) if flags & _SEQUENCE else None
    ranks = reader.array(np.int64, rows) if flags & _VERSIONS else None
    words = reader.array(np.int64, columns, rows)
    lengths = reader.array(np.int32, strings)
    heap = reader.array(np.uint8, string_bytes)
    wide = reader.array(np.uint8, decimals * DECIMAL_BYTES)
    if strings:
        sound = sound and int(lengths.min()) >= 0 and int(lengths.sum(dtype=np.int64)) == string_bytes
    if not sound or (string_bytes and not strings):
        msg = "the weights or strings of changes are none"
        raise ValueError(msg)
    return TablePart(table, rows, kept, Portable(words, heap, lengths, wide), weights, replaces, sequence, ranks)
