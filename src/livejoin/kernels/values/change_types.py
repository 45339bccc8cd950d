"""Change types, of changes that come and of a delta's rows, and versions of these, in the layout of Arrow's arrays."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.memory.foreign import word_at
from livejoin.kernels.parameters import Line
from livejoin.kernels.values.strings import Bytes

SIGN_BYTES = 6
"""Bytes of ``insert`` and of ``delete``."""

_PAIRS = SIGN_BYTES // 2
_WORD_BYTES = 8
_SHORT = (1 << (8 * SIGN_BYTES)) - 1


@kernel
def write_signs(starts: Line, signs: Line, rows: int, texts: Line, data: Line) -> None:
    """Write ``delete`` or ``insert`` for each row of some segments.

    Args:
        starts: The first row of each segment.
        signs: -1 or +1 of each.
        rows: How many rows there are.
        texts: The bytes of both words, that of deletions first, two by two: int16.
        data: int16, `_PAIRS` a row; written.
    """
    for segment in range(starts.shape[0]):
        end = starts[segment + 1] if segment + 1 < starts.shape[0] else rows
        text = _PAIRS if signs[segment] > 0 else 0
        first, second, third = texts[text], texts[text + 1], texts[text + 2]
        for row in range(starts[segment], end):
            data[row * _PAIRS] = first
            data[row * _PAIRS + 1] = second
            data[row * _PAIRS + 2] = third


@kernel
def write_versions(starts: Line, versions: Line, out: Line) -> None:
    """Write for each row the version of its segment.

    Args:
        starts: The first row of each segment.
        versions: The version of each.
        out: A word a row; written.
    """
    for segment in range(starts.shape[0]):
        end = starts[segment + 1] if segment + 1 < starts.shape[0] else out.shape[0]
        for row in range(starts[segment], end):
            out[row] = versions[segment]


@kernel
def write_kinds(kinds: Line, texts: Bytes, begins: Line, offsets: Line, data: Bytes) -> None:
    """Write the change type of each row.

    Args:
        kinds: int8, the number of each.
        texts: The bytes of all change types, one behind the other.
        begins: Where each begins in them, and the end.
        offsets: int32, one more than there are rows; written.
        data: uint8, room for all; written.
    """
    at = 0
    for row in range(kinds.shape[0]):
        offsets[row] = at
        for i in range(begins[kinds[row]], begins[kinds[row] + 1]):
            data[at] = texts[i]
            at += 1
    offsets[kinds.shape[0]] = at


@kernel
def read_kinds(offsets: Line, data: Bytes, texts: Bytes, begins: Line, shorts: Line, kinds: Line) -> bool:
    """Find the number of each row's change type; whether all of them are some.

    Args:
        offsets: int32, where each row's text begins, and the end; the data begins where the first one does.
        data: The bytes of the rows.
        texts: The bytes of the change types that are known, one behind the other; length and first byte tell each
            from the others.
        begins: Where each begins in them, and the end.
        shorts: For each change type of SIGN_BYTES bytes these as a number, the first one low; 0 for the others.
        kinds: A word a row; written.

    Cost: O(rows), 2 ns for one of SIGN_BYTES bytes, 20 ns for another one.
    """
    address, last = np.int64(data.ctypes.data), data.shape[0] - _WORD_BYTES
    number = begins.shape[0] - 1
    for row in range(kinds.shape[0]):
        begin, length = np.int64(offsets[row] - offsets[0]), offsets[row + 1] - offsets[row]
        if length == SIGN_BYTES and begin <= last:
            word = word_at(address + begin) & _SHORT
            kind = 0
            while kind < number and shorts[kind] != word:
                kind += 1
            if kind == number:
                return False
        else:
            kind = _kind_of(data, int(begin), length, texts, begins)
            if kind < 0:
                return False
        kinds[row] = kind
    return True


@inlined
def _kind_of(data: Bytes, begin: int, length: int, texts: Bytes, begins: Line) -> int:
    """The number of a change type, -1 for a text that is none."""
    if length == 0:
        return -1
    kind = 0
    while begins[kind + 1] - begins[kind] != length or texts[begins[kind]] != data[begin]:
        kind += 1
        if kind == begins.shape[0] - 1:
            return -1
    differing = 0
    for i in range(length):
        differing |= data[begin + i] ^ texts[begins[kind] + i]
    return kind if differing == 0 else -1
