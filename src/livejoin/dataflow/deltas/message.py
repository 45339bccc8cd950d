"""Small deltas as Arrow tables by one call of a kernel and two of Arrow's.

To make an array a column and a table of them takes some twenty calls, each a microsecond or three, whatever stands in
them. Here a kernel writes the whole delta as a message of Arrow's format for processes, from which Arrow makes a record
batch without a copy: it checks where the buffers begin and end, as it does for messages from anywhere.

Law: the table is the one that `livejoin.dataflow.batches.Rows.arrow` and the change types make, column by column.

Source: Apache Arrow, "Encapsulated message format" and ``Message.fbs``; FlatBuffers, "Internals".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.kernels.values import arrow_message as kernel
from livejoin.schema import SqlType
from livejoin.words import Words

Strings: TypeAlias = tuple[npt.NDArray[np.uint8], Words]
"""The bytes of strings, one behind the other, column by column; where the first begins, and where each ends."""

SMALL = 1 << 10
"""Rows of a delta that is copied into a message; for more the calls cost less than the copy."""

KIND_NAMES = ("delete", "insert", "update_preimage", "update_postimage")
"""The change types by their numbers; those of rows that come are odd."""

TEXTS = np.frombuffer("".join(KIND_NAMES).encode(), np.uint8).copy()
"""The bytes of the change types, one behind the other."""

BEGINS = np.array([*accumulate(map(len, KIND_NAMES), initial=0)], np.int64)
"""Where each begins in them, and the end."""

LONGEST = max(map(len, KIND_NAMES))
"""The bytes of the longest one."""

NO_STRINGS: Strings = (np.empty(0, np.uint8), np.zeros(1, np.int64))
"""Those of a delta without columns of strings."""

_END = np.array([0xFFFFFFFF], np.int64)  # of messages that follow each other
_PREFIX = 8  # bytes of a message before its metadata: a mark, and how long these are
_NARROW_DIGITS = 18  # of decimals whose words are their values


class MessageLayout:
    """What the messages of deltas with columns of some types look like.

    Args:
        forms: For each column the form that its values have, as `livejoin.kernels.values.arrow_message` names it.
        types: The Arrow types of the columns.
        lines: The line of words of each column.

    Attributes:
        texts: The lines of the columns of strings.
    """

    def __init__(self, forms: Sequence[int], types: Sequence[pa.DataType], lines: Sequence[int]) -> None:
        columns = [pa.nulls(1, type) for type in (*types, pa.string(), pa.int64())]
        sample = pa.record_batch(columns, names=[f"c{i}" for i in range(len(columns))]).serialize().to_pybytes()
        places = _places(sample)
        header = _PREFIX + int.from_bytes(sample[4:_PREFIX], "little")
        numbers = [place // kernel.WORD_BYTES for place in (*places, header)]
        of_columns = [number for pair in zip(forms, lines, strict=True) for number in pair]
        self._layout = np.array([*numbers, len(forms), *of_columns], np.int64)
        self._body = numbers[3]
        self._header = np.frombuffer(sample[:header], np.int64)
        self.texts = [line for form, line in zip(forms, lines, strict=True) if form == kernel.TEXT]
        # Each column has a bit and at most a form's bytes a row, and less than a word at the end of each buffer.
        bits = 1 + len(forms) + 8 * (sum(max(form, 1) for form in forms) + kernel.OFFSET_BYTES + kernel.WORD_BYTES)
        self._bits_of_row = bits + 8 * LONGEST
        self._words = self._header.shape[0] + 4 * len(columns)

    def message(
        self, words: Words, starts: Words, versions: Words, kinds: Words, strings: Strings = NO_STRINGS
    ) -> Words:
        """A delta as a message, int64 of shape (words of it,).

        Args:
            words: int64 of shape (lines, rows), C order.
            starts: The first row of each segment; the rows of a segment have one version and one change type.
            versions: The version of each segment.
            kinds: The number of each segment's change type; deletions may also have -1.
            strings: The strings of the columns of strings, less than 2 GiB.

        Cost: some microseconds, and O(rows) of nanoseconds.
        """
        data, ends = strings
        size = self._words + (words.shape[1] * self._bits_of_row + 8 * data.shape[0]) // 64 + 1
        message = np.empty(size, np.int64)
        message[: self._header.shape[0]] = self._header
        words = words if words.flags.carray else words.copy()  # or the kernel would be compiled once more
        kernel.write_message(words, data, ends, starts, versions, kinds, TEXTS, BEGINS, self._layout, message)
        return message[: self._header.shape[0] + int(message[self._body]) // kernel.WORD_BYTES]


def message_table(message: Words, schema: pa.Schema) -> pa.Table:
    """A delta that stands in a message, as Arrow with a schema."""
    return pa.Table.from_batches((pa.ipc.read_record_batch(pa.py_buffer(message), schema),))


def messages_table(messages: Sequence[Words], schema: pa.Schema) -> pa.Table:
    """Deltas that stand in messages, as one table: each is a chunk.

    Arrow reads them by one call, and gives Python's lock away once.

    Args:
        messages: The deltas as messages, in order.
        schema: The schema of the deltas.
    """
    stream = np.concatenate([np.frombuffer(schema.serialize(), np.int64), *messages, _END])
    with pa.ipc.open_stream(pa.py_buffer(stream)) as reader:
        return reader.read_all()


@lru_cache(maxsize=1024)
def layout_of(types: tuple[SqlType, ...], lines: tuple[int, ...]) -> MessageLayout | None:
    """The layout for deltas of some types; None if a column's words do not say its values.

    Args:
        types: The types of the columns.
        lines: The line of words of each.
    """
    forms = [_form(type) for type in types]
    known = [form for form in forms if form is not None]
    return MessageLayout(known, [type.arrow for type in types], lines) if len(known) == len(forms) else None


def _form(type: SqlType) -> int | None:
    match type.kind:
        case "boolean":
            return kernel.BIT
        case "integer":
            return type.bits // 8
        case "date":
            return 4
        case "double":
            return kernel.FLOAT if type.bits else kernel.WORD_BYTES
        case "timestamp":
            return kernel.WORD_BYTES
        case "decimal" if type.precision <= _NARROW_DIGITS:
            return kernel.PAIR
        case "string" | "binary":
            return kernel.TEXT
        case _:
            return None


def _places(message: bytes) -> tuple[int, int, int, int]:
    """Where a message of a record batch has its rows, the first column's numbers, the first buffer's, and its bytes."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(message[at : at + size], "little", signed=size > 2)

    def field(table: int, place: int) -> int:  # tables name their fields by offsets, in a table of their own
        return table + number(table - number(table, 4) + 4 + 2 * place, 2)

    def behind(at: int) -> int:  # what stands elsewhere is named by how far
        return at + number(at, 4)

    whole = behind(_PREFIX)
    batch = behind(field(whole, 2))
    nodes, buffers = (behind(field(batch, place)) + 4 for place in (1, 2))  # behind the length of the vector
    return field(batch, 0), nodes, buffers, field(whole, 3)
