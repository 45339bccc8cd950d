"""A small delta as the words of one message of Arrow's format for processes (IPC): a record batch in one buffer.

The message begins with a header that says how many rows there are and, for each column, how many NULLs, and where its
buffers begin and how long they are. Behind it stand the buffers, each from a whole word on: of a column its validity,
which is left out where there is no NULL, and its values, or of strings their offsets and their bytes; then those of the
change types and of the versions.
`livejoin.dataflow.deltas.message` knows where the numbers of the header stand.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.parameters import Line, Matrix
from livejoin.kernels.values.strings import Bytes
from livejoin.words import NULL_CODE

# The layout: positions in the message of the number of rows, of the first column's numbers, of the first buffer's
# numbers and of the bytes behind the header; words of the header; columns. Then for each its form and its line.
L_ROWS = 0
L_NODES = 1
L_BUFFERS = 2
L_BODY = 3
L_HEADER = 4
L_COLUMNS = 5
L_FIRST = 6

# Forms: bytes of a value where they are its word's low ones, else these.
BIT = 0
PAIR = 16
FLOAT = 5
TEXT = 6

WORD_BYTES = 8
OFFSET_BYTES = 4
_BITS = 64


@helper
def _note(message: Line, layout: Line, buffer: int, at: int, size: int) -> int:
    """Note where a buffer of so many bytes begins; returns where the next one does."""
    numbers = layout[L_BUFFERS] + 2 * buffer
    message[numbers] = WORD_BYTES * (at - layout[L_HEADER])
    message[numbers + 1] = size
    return int(at + (size + WORD_BYTES - 1) // WORD_BYTES)


@helper
def _write_validity(line: Line, column: int, buffer: int, layout: Line, message: Line, at: int) -> int:
    """Write which words are not NULL, and how many are; returns where the next buffer begins."""
    rows = line.shape[0]
    nulls = 0
    for row in range(rows):
        if line[row] == NULL_CODE:
            nulls += 1
    message[layout[L_NODES] + 2 * column] = rows
    message[layout[L_NODES] + 2 * column + 1] = nulls
    begin = at
    at = _note(message, layout, buffer, begin, (rows + 7) // 8 if nulls > 0 else 0)
    message[begin:at] = 0
    if nulls > 0:
        for row in range(rows):
            if line[row] != NULL_CODE:
                message[begin + row // _BITS] |= np.int64(1) << (row % _BITS)
    return at


@helper
def _write_values(line: Line, form: int, buffer: int, layout: Line, message: Line, at: int) -> int:
    """Write the values of words; returns where the next buffer begins."""
    rows = line.shape[0]
    begin = at
    if form == BIT:
        at = _note(message, layout, buffer, begin, (rows + 7) // 8)
        message[begin:at] = 0
        for row in range(rows):
            if line[row] == 1:
                message[begin + row // _BITS] |= np.int64(1) << (row % _BITS)
    elif form == WORD_BYTES:
        at = _note(message, layout, buffer, begin, WORD_BYTES * rows)
        for row in range(rows):
            message[begin + row] = line[row]
    elif form == PAIR:
        at = _note(message, layout, buffer, begin, PAIR * rows)
        for row in range(rows):
            message[begin + 2 * row] = line[row]
            message[begin + 2 * row + 1] = line[row] >> (_BITS - 1)
    elif form == FLOAT:
        at = _note(message, layout, buffer, begin, 4 * rows)
        floats = message[begin:at].view(np.float32)
        doubles = line.view(np.float64)
        for row in range(rows):
            floats[row] = doubles[row]
    else:
        at = _note(message, layout, buffer, begin, form * rows)
        data = message[begin:at].view(np.uint8)
        for row in range(rows):
            for byte in range(form):
                data[form * row + byte] = (line[row] >> (8 * byte)) & 255
    return at


@helper
def _write_strings(
    heap: Bytes, ends: Line, first: int, rows: int, buffer: int, layout: Line, message: Line, at: int
) -> int:
    """Write strings, from the first one on; returns where the next buffer begins."""
    begin = at
    at = _note(message, layout, buffer, begin, OFFSET_BYTES * (rows + 1))
    offsets = message[begin:at].view(np.int32)
    for row in range(rows + 1):
        offsets[row] = ends[first + row] - ends[first]
    size = ends[first + rows] - ends[first]
    begin = at
    at = _note(message, layout, buffer + 1, begin, size)
    data = message[begin:at].view(np.uint8)
    for byte in range(size):
        data[byte] = heap[ends[first] + byte]
    return at


@helper
def _write_columns(words: Matrix, heap: Bytes, ends: Line, layout: Line, message: Line) -> tuple[int, int]:
    """Write the header's number of rows and all columns; returns where the next buffer begins, and its number."""
    rows = words.shape[1]
    message[layout[L_ROWS]] = rows
    at = layout[L_HEADER]
    buffer = texts = 0
    for column in range(layout[L_COLUMNS]):
        form, line = layout[L_FIRST + 2 * column], layout[L_FIRST + 2 * column + 1]
        at = _write_validity(words[line], column, buffer, layout, message, at)
        if form == TEXT:
            at = _write_strings(heap, ends, texts * rows, rows, buffer + 1, layout, message, at)
            texts += 1
            buffer += 3
        else:
            at = _write_values(words[line], form, buffer + 1, layout, message, at)
            buffer += 2
    return at, buffer


@helper
def _write_kinds(
    starts: Line, kinds: Line, texts: Bytes, begins: Line, buffer: int, layout: Line, message: Line, at: int
) -> int:
    """Write the change types; returns where the next buffer begins."""
    rows, begin = message[layout[L_ROWS]], at
    at = _note(message, layout, buffer, begin, OFFSET_BYTES * (rows + 1))
    offsets = message[begin:at].view(np.int32)
    data = message[at:].view(np.uint8)
    end = 0
    for segment in range(starts.shape[0]):
        kind = max(kinds[segment], 0)
        last = starts[segment + 1] if segment + 1 < starts.shape[0] else rows
        for row in range(starts[segment], last):
            offsets[row] = end
            for i in range(begins[kind], begins[kind + 1]):
                data[end] = texts[i]
                end += 1
    offsets[rows] = end
    return _note(message, layout, buffer + 1, at, end)


@helper
def _write_versions(starts: Line, versions: Line, buffer: int, layout: Line, message: Line, at: int) -> int:
    """Write the versions; returns where the message ends."""
    rows, begin = message[layout[L_ROWS]], at
    at = _note(message, layout, buffer, begin, WORD_BYTES * rows)
    for segment in range(starts.shape[0]):
        last = starts[segment + 1] if segment + 1 < starts.shape[0] else rows
        for row in range(starts[segment], last):
            message[begin + row] = versions[segment]
    return at


@kernel
def write_message(
    words: Matrix,
    heap: Bytes,
    ends: Line,
    starts: Line,
    versions: Line,
    kinds: Line,
    texts: Bytes,
    begins: Line,
    layout: Line,
    message: Line,
) -> None:
    """Write the rows of some segments.

    Args:
        words: A line for each column, and maybe others; of strings it says which are NULL.
        heap: The strings of all columns that have such, one behind the other.
        ends: Where the first of them begins, and where each ends.
        starts: The first row of each segment.
        versions: The version of each.
        kinds: The number of the change type of each; also -1 is the first one's.
        texts: The bytes of the change types, one behind the other.
        begins: Where each begins in them, and the end.
        layout: Where what stands, and what the columns are, see `L_ROWS` and what follows it.
        message: The header, and room behind it; written.
    """
    rows = words.shape[1]
    columns = layout[L_COLUMNS]
    for column in range(columns, columns + 2):  # the change types and the versions, without NULL and so validity
        message[layout[L_NODES] + 2 * column] = rows
        message[layout[L_NODES] + 2 * column + 1] = 0
    at, buffer = _write_columns(words, heap, ends, layout, message)
    at = _note(message, layout, buffer, at, 0)
    at = _write_kinds(starts, kinds, texts, begins, buffer + 1, layout, message, at)
    at = _note(message, layout, buffer + 3, at, 0)
    at = _write_versions(starts, versions, buffer + 4, layout, message, at)
    message[layout[L_BODY]] = WORD_BYTES * (at - layout[L_HEADER])
